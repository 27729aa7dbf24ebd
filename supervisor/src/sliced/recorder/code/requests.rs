//! Requests of `ptrace`: which the recorder makes, and what they write.
//!
//! All are instantaneous. Most ask for something; others let the traced process go on, or change it. What changes its memory is left to the control process
//! where that may be the app's memory as well.

use std::sync::LazyLock;

use machine::Here;
use syscall_replay::table::{Class, Len, Out, lookup};

/// Requests that change nothing but the state of another process.
const REQUESTS: &[u32] = &[
    libc::PTRACE_PEEKTEXT,
    libc::PTRACE_PEEKDATA,
    libc::PTRACE_PEEKUSER,
    libc::PTRACE_POKEUSER,
    libc::PTRACE_CONT,
    libc::PTRACE_SINGLESTEP,
    libc::PTRACE_GETREGS,
    libc::PTRACE_SETREGS,
    libc::PTRACE_GETFPREGS,
    libc::PTRACE_SETFPREGS,
    libc::PTRACE_SYSCALL,
    libc::PTRACE_SETOPTIONS,
    libc::PTRACE_GETEVENTMSG,
    libc::PTRACE_GETSIGINFO,
    libc::PTRACE_SETSIGINFO,
    libc::PTRACE_LISTEN,
    libc::PTRACE_GETSIGMASK,
    libc::PTRACE_SETSIGMASK,
    libc::PTRACE_GET_SYSCALL_INFO,
];
/// Those that change its memory.
const POKES: &[u32] = &[libc::PTRACE_POKETEXT, libc::PTRACE_POKEDATA];

/// The numbers of old requests are small, those of later ones begin here.
pub(super) const LATER_REQUESTS: u64 = 0x4200;
/// Place of the first of them in the table: all before it is for small numbers.
pub(super) const LATER_AT: u64 = 32;
/// The last of them that has a place.
pub(super) const MOST_LATER: u64 = 31;
const PLACES: usize = (LATER_AT + MOST_LATER + 1) as usize;
/// Bytes of the table.
pub(super) const BYTES: u64 = PLACES as u64 * 2;

/// In the table: the request isn't made.
const NOT_MADE: u16 = 0;
/// It is made, and writes nothing. Else it writes as many bytes as the entry says, less one.
const WRITES_NOTHING: u16 = 1;
/// It writes as many bytes as the third argument says, or as it returns, if that is less.
pub(super) const UP_TO_RESULT: u16 = u16::MAX;

type Table = [u16; PLACES];

/// Without and with [`POKES`].
static TABLES: LazyLock<[Table; 2]> = LazyLock::new(|| {
    let mut tables = [[NOT_MADE; PLACES]; 2];
    let set = |table: &mut Table, requests: &[u32]| {
        for (request, place) in requests.iter().filter_map(|&request| Some((request, place(request.into())?))) {
            table[place] = entry(request);
        }
    };
    tables.iter_mut().for_each(|table| set(table, REQUESTS));
    set(&mut tables[1], POKES);
    tables
});

/// The table's words. `may_poke`: memory that is changed in another process isn't the app's as well.
pub fn words(may_poke: bool) -> impl Iterator<Item = u64> {
    let words = TABLES[usize::from(may_poke)].as_chunks::<4>().0;
    words.iter().map(|word| word.iter().rev().fold(0, |all, &entry| all << 16 | u64::from(entry)))
}

/// Whether the recorder makes a request, unless that changes memory which may be the app's.
pub(super) fn is_taken(request: u64) -> bool {
    place(request).is_some_and(|place| TABLES[1][place] != NOT_MADE)
}

fn place(request: u64) -> Option<usize> {
    match request.checked_sub(LATER_REQUESTS) {
        Some(later) => (later <= MOST_LATER).then_some((LATER_AT + later) as usize),
        None => (request < LATER_AT).then_some(request as usize),
    }
}

/// What the table of system calls says of it.
fn entry(request: u32) -> u16 {
    // As many bytes as a signal mask has.
    let rule = lookup(libc::SYS_ptrace as u64, &[request.into(), 0, 8, 0, 0, 0], &Here::new());
    match rule.outputs {
        _ if rule.class != Class::Replay => NOT_MADE,
        [] => WRITES_NOTHING,
        [Out::Bytes(3, Len::Fixed(len))] => *len as u16 + 1,
        [Out::Bytes(3, Len::ResultUpTo(2))] => UP_TO_RESULT,
        _ => NOT_MADE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_request_is_made_and_writes_what_it_gives() {
        assert!(REQUESTS.iter().chain(POKES).all(|&request| is_taken(request.into())));
        let others = [libc::PTRACE_TRACEME, libc::PTRACE_ATTACH, libc::PTRACE_DETACH, libc::PTRACE_GETREGSET];
        assert!(!others.into_iter().chain([31, 32, 0x41ff, 0x421f, 0x4220, u32::MAX]).any(|n| is_taken(n.into())));
        let of = |request: u32, may_poke: bool| TABLES[usize::from(may_poke)][place(request.into()).unwrap()];
        assert_eq!(of(libc::PTRACE_PEEKUSER, false), 9);
        assert_eq!(of(libc::PTRACE_GETREGS, false), size_of::<libc::user_regs_struct>() as u16 + 1);
        assert_eq!(of(libc::PTRACE_GETSIGINFO, false), size_of::<libc::siginfo_t>() as u16 + 1);
        assert_eq!(of(libc::PTRACE_GET_SYSCALL_INFO, false), UP_TO_RESULT);
        assert_eq!(of(libc::PTRACE_SYSCALL, false), WRITES_NOTHING);
        assert_eq!([false, true].map(|may| of(libc::PTRACE_POKETEXT, may)), [NOT_MADE, WRITES_NOTHING]);
        assert_eq!(words(true).next().unwrap() >> 16 & 0xffff, 9);
    }
}
