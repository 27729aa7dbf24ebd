//! The end of one thread of several: what the kernel writes then.
//!
//! It clears a word that the thread has named, and marks the locks that it still holds. It does so while the thread dies: what it has written can be read as
//! soon as its end is reported.

use std::ops::Range;

use machine::{Gpr, Memory};
use syscall_replay::effects;
use tracee::{Stop, Stopped, TraceError};

/// Locks that are looked at: the kernel looks at no more.
const MOST_LOCKS: usize = 2048;
/// Bytes of a lock's word, and of the word that is cleared.
const WORD: u64 = 4;
/// What of a lock's word names its holder.
const HOLDER: u32 = 0x3fff_ffff;
/// That others wait for it, and that its holder has ended.
const WAITERS: u32 = 0x8000_0000;
const OWNER_DIED: u32 = 0x4000_0000;

/// Words that the kernel may write when a thread ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::sliced::master) struct LeftWords(Vec<Word>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Word {
    address: u64,
    is_lock: bool,
}

impl LeftWords {
    /// Of the thread that is about to end. `cleared`: the word that it has named.
    pub(in crate::sliced::master) fn of(stopped: &Stopped, cleared: u64) -> Self {
        let mut words = Vec::new();
        words.extend(Some(cleared).filter(|word| *word != 0).map(|address| Word { address, is_lock: false }));
        if let Some(list) = robust_list(stopped.pid()) {
            let held = held(list, stopped.pid() as u32, stopped).into_iter();
            words.extend(held.map(|address| Word { address, is_lock: true }));
        }
        Self(words)
    }

    /// Does what the kernel does when the thread ends that stands at the entry of a call: it is to stay there.
    ///
    /// # Errors
    /// If it was killed.
    pub(super) fn leave(&self, mut stopped: Stopped) -> Result<Stopped, TraceError> {
        // None comes on the way: those that are its own are lost with it.
        stopped.set_signal_mask(u64::MAX)?;
        for Word { address, is_lock } in &self.0 {
            let mut bytes = [0; WORD as usize];
            // A word that isn't there is left alone by the kernel as well.
            let _ = stopped.read(*address, &mut bytes);
            let left = if *is_lock { u32::from_le_bytes(bytes) & WAITERS | OWNER_DIED } else { 0 };
            let _ = stopped.write(*address, &left.to_le_bytes());
            stopped = call_at_entry(stopped, libc::SYS_futex, [*address, libc::FUTEX_WAKE as u64, 1, 0, 0, 0])?;
        }
        Ok(stopped)
    }

    pub(super) fn ranges(&self) -> Vec<effects::Range> {
        self.0.iter().map(|word| effects::Range { address: word.address, len: WORD }).collect()
    }
}

/// The head of a thread's list of locks.
fn robust_list(tid: i32) -> Option<Range<u64>> {
    let (mut head, mut len) = (0_u64, 0_u64);
    // SAFETY: both places are valid.
    let result = unsafe { libc::syscall(libc::SYS_get_robust_list, tid, &raw mut head, &raw mut len) };
    (result == 0 && head != 0).then_some(head..head + len)
}

/// Words of the locks in the list that the thread holds, that which it was about to take or give back among them.
fn held(head: Range<u64>, tid: u32, memory: &impl Memory) -> Vec<u64> {
    const OFFSET: u64 = 8;
    const PENDING: u64 = 16;
    // The lowest bit says that the lock hands its holder's priority on.
    let entry = |at: u64| memory.read_u64(at).map(|entry| entry & !1).unwrap_or(0);
    let offset = memory.read_u64(head.start + OFFSET).unwrap_or(0);
    let mut words = Vec::new();
    let mut at = entry(head.start);
    while at != 0 && at != head.start && words.len() < MOST_LOCKS {
        words.push(at.wrapping_add(offset));
        at = entry(at);
    }
    words.extend(Some(entry(head.start + PENDING)).filter(|at| *at != 0).map(|at| at.wrapping_add(offset)));
    let is_held = |word: &u64| {
        let mut bytes = [0; WORD as usize];
        memory.read(*word, &mut bytes).is_ok() && u32::from_le_bytes(bytes) & HOLDER == tid
    };
    words.into_iter().filter(is_held).collect()
}

/// Has a thread that stands at the entry of a call make another one; it stands at that entry again then. Its signals are blocked.
fn call_at_entry(mut stopped: Stopped, number: i64, args: [u64; 6]) -> Result<Stopped, TraceError> {
    const ARGS: [Gpr; 6] = [Gpr::Rdi, Gpr::Rsi, Gpr::Rdx, Gpr::R10, Gpr::R8, Gpr::R9];
    let before = stopped.registers()?;
    let mut again = before;
    again.set(Gpr::Rax, before.syscall_number() as u64);
    again.rewind_syscall();
    let mut turned = before;
    turned.set_syscall_number(number);
    for (gpr, value) in ARGS.into_iter().zip(args) {
        turned.set(gpr, value);
    }
    stopped.set_registers(&turned)?;
    stopped = stopped.resume_until(|stop| matches!(stop, Stop::SyscallExit { .. }))?;
    stopped.set_registers(&again)?;
    stopped.resume_until(|stop| matches!(stop, Stop::SyscallEntry { .. }))
}

#[cfg(test)]
mod tests {
    use machine::Here;

    use super::*;

    #[test]
    fn locks_that_a_thread_holds_are_found() {
        #[repr(C)]
        struct Lock {
            next: u64,
            word: u32,
        }
        let mut second = Lock { next: 0, word: 5 };
        let mut first = Lock { next: 0, word: 0x8000_0007 };
        let pending = Lock { next: 0, word: 7 };
        let mut head = [0_u64, 8, 0];
        head[0] = &raw const first as u64;
        head[2] = &raw const pending as u64 | 1;
        first.next = &raw const second as u64;
        second.next = &raw const head as u64;
        let start = &raw const head as u64;
        std::hint::black_box((&first, &second));
        let held = held(start..start + 24, 7, &Here::new());
        assert_eq!(held, [&raw const first.word as u64, &raw const pending.word as u64]);
    }
}
