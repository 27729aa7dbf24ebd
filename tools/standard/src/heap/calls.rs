//! The calls of allocating routines that the app is in.
//!
//! Such a call is over where the app returns with the stack pointer that it was entered with, whichever routine that return is in.

use std::collections::BTreeMap;

use superpin_tool::CallStack;
use superpin_tool::merge::Merge;
use superpin_tool::serde::{Deserialize, Serialize};

use super::routines::Call;

/// Of each thread, the innermost last.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Calls {
    threads: BTreeMap<u64, CallStack<Call>>,
    /// The thread that has executed something last, and 1; 0: none.
    last: u64,
    /// Its returns with this stack pointer or a higher one end calls.
    ending: u64,
}

impl Calls {
    /// Whether a return may end calls.
    #[inline]
    pub fn may_end(&self, thread: u64, place: u64) -> bool {
        // Without a branch it can be put in place.
        (self.last != thread + 1) | (place >= self.ending)
    }

    /// A call begins, with this stack pointer. Whether it is in no other one.
    pub fn enter(&mut self, thread: u64, place: u64, call: Call) -> bool {
        let stack = self.threads.entry(thread).or_default();
        stack.enter(place, call, |_, _| {});
        let is_outermost = stack.frames().len() == 1;
        self.note(thread);
        is_outermost
    }

    /// A thread returns with this stack pointer. The call that returns so, unless it is in another one.
    pub fn leave(&mut self, thread: u64, place: u64) -> Option<Call> {
        let stack = self.threads.entry(thread).or_default();
        let call = match stack.frames() {
            [outermost] if outermost.stack_pointer == place => Some(outermost.data),
            _ => None,
        };
        stack.leave(place, |_, _| {});
        self.note(thread);
        call
    }

    fn note(&mut self, thread: u64) {
        self.last = thread + 1;
        let Some(stack) = self.threads.get(&thread) else { return };
        // What it was in before is left further up than ever.
        self.ending = stack.frames().last().map_or(stack.unwound_to() + 1, |frame| frame.stack_pointer);
    }
}

impl Merge for Calls {
    fn merge(&mut self, next: Self) {
        Merge::merge(&mut self.threads, next.threads);
        self.last = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(size: u64) -> Call {
        Call::new(0, size, 0, 0)
    }

    #[test]
    fn only_the_outermost_call_counts_and_it_is_over_where_it_returns() {
        let mut calls = Calls::default();
        assert!(calls.enter(1, 800, call(7)) && !calls.enter(1, 700, call(8)));
        assert!(!calls.may_end(1, 690) && calls.may_end(1, 700) && calls.may_end(2, 10));
        assert_eq!(calls.leave(1, 700), None);
        assert!(!calls.may_end(1, 790));
        assert_eq!(calls.leave(1, 800), Some(call(7)));
        // By a jump out of it.
        assert!(calls.enter(1, 600, call(9)));
        assert_eq!(calls.leave(1, 650), None);
        assert!(calls.enter(1, 600, call(9)) && calls.enter(2, 500, call(9)));
    }

    #[test]
    fn calls_of_earlier_parts_end_in_later_ones() {
        let mut before = Calls::default();
        before.enter(1, 800, call(7));
        let mut part = Calls::default();
        assert!(part.may_end(1, 100));
        assert_eq!(part.leave(1, 800), None);
        let mut all = before.clone();
        all.merge(part);
        assert!(all.enter(1, 300, call(1)), "that call is over");
        before.merge(Calls::default());
        assert!(!before.enter(1, 300, call(1)));
        assert_eq!(before.leave(1, 300), None);
        assert_eq!(before.leave(1, 800), Some(call(7)));
    }
}
