//! Futexes whose owner the kernel knows (`FUTEX_LOCK_PI` and its kin). It writes their words itself: for a thread that waits, and for the next owner.
//!
//! ```text
//!   thread 1   LOCK_PI ── the word says that somebody waits ── sleeps          ╭─ out of its call
//!   thread 0                                                   goes on ── UNLOCK_PI: the word names thread 1 ─ goes on
//! ```
//! Whoever has the turn meanwhile sees what the word says. So nobody goes on before it is known, and the log tells of it.

use std::thread::sleep;
use std::time::Duration;

use machine::{Memory, Status};
use syscall_replay::threads::{given_word, owned_word};
use syscall_replay::{OwnedWord, WaitingCall};

/// How often it is looked, at most, and how long is waited between two looks.
const LOOKS: u32 = 5_000;
const PAUSE: Duration = Duration::from_micros(20);

/// What the kernel has written for thread `tid` of process `pid`, whose memory this is, where it has gone into this call.
pub(super) fn written_at_once(pid: i32, tid: i32, call: &WaitingCall, memory: &dyn Memory) -> Option<OwnedWord> {
    let address = owned_word(call.number, &call.args)?;
    comes_to_rest(pid, tid);
    Some(OwnedWord { address, value: word(memory, address)? })
}

/// A call has been made. If it has given a futex to another thread of process `pid`: that is out of its own call, and changes the word no more.
pub(in crate::sliced::master) fn has_given(pid: i32, number: u64, args: &[u64; 6], memory: &dyn Memory) {
    let given = given_word(number, args).and_then(|address| word(memory, address));
    if let Some(word) = given {
        comes_to_rest(pid, (word & libc::FUTEX_TID_MASK) as i32);
    }
}

fn word(memory: &dyn Memory, address: u64) -> Option<u32> {
    let mut bytes = [0; 4];
    memory.read(address, &mut bytes).ok()?;
    Some(u32::from_le_bytes(bytes))
}

/// Waits until a thread sleeps, or has come to a stop.
fn comes_to_rest(pid: i32, tid: i32) {
    for _ in 0..LOOKS {
        let status = Status::of(format_args!("{pid}/task/{tid}"));
        let runs = status.is_ok_and(|status| status.field("State").is_some_and(|state| state.starts_with(['R', 'D'])));
        if !runs {
            return;
        }
        sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use machine::Here;

    use super::*;

    #[test]
    fn the_word_of_a_futex_that_is_waited_for_is_read() {
        let word = 0x8000_0007_u32;
        let me = std::process::id() as i32;
        let call = |operation: i32| WaitingCall {
            number: libc::SYS_futex as u64,
            args: [&raw const word as u64, operation as u64, 0, 0, 0, 0],
            ..WaitingCall::default()
        };
        // Nobody has this number.
        let written = |operation| written_at_once(me, -1, &call(operation), &Here::new());
        assert_eq!(written(libc::FUTEX_LOCK_PI), Some(OwnedWord { address: &raw const word as u64, value: word }));
        assert_eq!(written(libc::FUTEX_WAIT), None);
    }
}
