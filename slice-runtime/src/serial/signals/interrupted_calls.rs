//! System calls that wait for handlers.
//!
//! A signal that comes between the analysis calls before a `syscall` instruction and the call itself is delivered first: the app could wait in the
//! call for that very signal. When its handler returns to the instruction, the call is made without translated code, so that
//! the analysis calls aren't made again. A handler that never returns leaves its call unmade.

use std::collections::BTreeMap;

/// Handlers that never returned don't pile up.
const MOST: usize = 1 << 12;

/// Calls that will be made when handlers return: the address of the instruction, by the handler's stack pointer.
#[derive(Debug, Default)]
pub struct InterruptedCall {
    calls: BTreeMap<u64, u64>,
}

impl InterruptedCall {
    /// A handler starts with this stack pointer. Whatever had its frame there is over.
    pub fn handler(&mut self, rsp: u64) {
        self.calls.remove(&rsp);
    }

    /// A handler starts with this stack pointer before the `syscall` instruction at `pc`, which was begun.
    pub fn before_call(&mut self, rsp: u64, pc: u64) {
        if self.calls.len() >= MOST {
            self.calls.clear();
        }
        self.calls.insert(rsp, pc);
    }

    /// The handler that started with this stack pointer has returned to `pc`. Whether the instruction there was begun.
    pub fn returned(&mut self, rsp: u64, pc: u64) -> bool {
        self.calls.remove(&rsp) == Some(pc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_made_when_its_own_handler_returns() {
        let mut begun = InterruptedCall::default();
        begun.before_call(0x1000, 7);
        begun.before_call(0x800, 8);
        assert!(begun.returned(0x800, 8) && !begun.returned(0x800, 8));
        assert!(!begun.returned(0x1000, 9) && !begun.returned(0x1000, 7));
        begun.before_call(0x1000, 7);
        begun.handler(0x1000);
        assert!(!begun.returned(0x1000, 7));
    }
}
