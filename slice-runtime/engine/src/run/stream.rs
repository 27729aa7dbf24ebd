//! The buffer: values that translated code writes for the tool to take in bulk, so that a stream of addresses costs a few
//! instructions for each.
//!
//! The buffer is a region of the bubble. [`ThreadState::buffer`](translator::abi::ThreadState) is where its next word goes; code
//! that writes words moves it on once for several instructions. Nothing checks for the end: after it lies memory that is never mapped, so the first
//! store that doesn't fit faults. The words before are handed over then, and the instruction is started again. Mostly it doesn't come to that, since
//! the buffer is emptied earlier at the heads of some traces, see `translator::emit::stream::drain`.
//!
//! Named invariant *words of what was executed*: whenever translated code is left, the buffer holds the words of exactly those
//! instructions that have been executed. An instruction that faults, or before which the app is interrupted, may have written its words already:
//! they are taken back, and written again when it is started again. So the stream is the same however often a run is interrupted or cut.

use bubble::map::{BUFFER, BUFFER_GUARD};
use translator::abi::{BufferMark, ThreadState, WORD};

use crate::gateway;
use crate::interface::{Fault, TRAP_PAGE_FAULT};

const _: () = assert!(BUFFER.size.is_power_of_two() && BUFFER.start.is_multiple_of(2 * BUFFER.size));

/// The buffer pointer if translated code is left `inside` a trace, in the block that the app is in, before the instruction at `pc`.
pub(super) fn compensated(pointer: u64, marks: &[BufferMark], pc: u64, inside: u32) -> u64 {
    marks.iter().fold(pointer, |pointer, mark| {
        let bytes = u64::from(mark.words) * WORD;
        match (inside >= mark.counted, pc > mark.pc) {
            (false, true) => pointer + bytes,
            (true, false) => pointer - bytes,
            _ => pointer,
        }
    })
}

/// Whether a fault says that the thread's buffer is full.
pub(super) fn is_full(thread: &ThreadState, fault: &Fault) -> bool {
    let address = fault.address.wrapping_sub(thread.moved());
    // Other faults come with the address of the last page fault. An app that reaches there by itself meets an empty buffer the second time.
    fault.trap == TRAP_PAGE_FAULT && BUFFER_GUARD.contains(address) && thread.buffer > start(thread)
}

/// Appends words, if there is room for them. Only while translated code doesn't run.
pub(super) fn put(thread: &mut ThreadState, words: &[u64]) -> bool {
    let fits = thread.has_room(words.len());
    if fits {
        // SAFETY: there is room, and translated code, which writes to the buffer, doesn't run.
        thread.buffer = unsafe { thread.write_words(words) };
    }
    fits
}

/// Hands over the words in the calling thread's buffer, and empties it. Only while translated code doesn't run.
pub fn take(consumer: impl FnMut(&[u64])) {
    take_of(gateway::current(), consumer);
}

/// The same of the thread whose window lies `moved` bytes from the calling one's, and has been begun.
pub fn take_from(moved: u64, consumer: impl FnMut(&[u64])) {
    take_of((gateway::current() as u64).wrapping_add(moved) as *mut ThreadState, consumer);
}

fn take_of(thread: *mut ThreadState, mut consumer: impl FnMut(&[u64])) {
    // SAFETY: the thread state is mapped before any code is translated.
    let (start, end) = unsafe { (start(&*thread), (*thread).buffer) };
    if end <= start {
        return;
    }
    // SAFETY: translated code wrote the words up to the buffer pointer, and doesn't run meanwhile.
    let words = unsafe { std::slice::from_raw_parts(start as *const u64, ((end - start) / WORD) as usize) };
    consumer(words);
    // SAFETY: as above.
    unsafe { (*thread).buffer = start };
}

/// Where a thread's buffer begins.
fn start(thread: &ThreadState) -> u64 {
    BUFFER.start.wrapping_add(thread.moved())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two words for the instruction at 1, three for the one at 5, counted from offset 100 on.
    const MARKS: [BufferMark; 2] =
        [BufferMark { pc: 1, words: 2, counted: 100 }, BufferMark { pc: 5, words: 3, counted: 100 }];

    #[test]
    fn words_of_what_was_not_executed_are_taken_back() {
        assert_eq!(compensated(1000, &MARKS, 1, 10), 1000);
        assert_eq!(compensated(1000, &MARKS, 5, 50), 1000 + 2 * WORD);
        assert_eq!(compensated(1000, &MARKS, 5, 100), 1000 - 3 * WORD);
        assert_eq!(compensated(1000, &MARKS, 6, 120), 1000);
    }
}
