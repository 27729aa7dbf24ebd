//! `mremap` of what is one mapping to the master and several here.
//!
//! The kernel makes one mapping of what the app maps side by side. In a fork it does so no more with what was there before: what the app adds behind that
//! afterwards stays by itself. No other call minds, but `mremap` takes a range of one mapping (that which moves without another length: before Linux 6.17).
//!
//! ```text
//!   master   │       from … from + old_len       │ ──►  to … to + new_len
//!   here     │ of before the fork │ newer │ newer │ ──►  each to its place; the last one takes what is new behind it
//! ```

use std::ops::Range;

use machine::mapping::{self, Answer};
use machine::proc;

use crate::ports::raw_syscall;

/// The call that the master made, which has succeeded there.
#[derive(Clone, Copy, Debug)]
pub struct Move {
    pub from: u64,
    pub old_len: u64,
    pub to: u64,
    pub new_len: u64,
    /// As they are to be here.
    pub flags: u64,
}

impl Move {
    /// Does what the call does. Its result, or an error's negative number.
    pub fn make(self) -> u64 {
        let Self { from, old_len, to, new_len, flags } = self;
        let result = mremap(from, old_len, new_len, flags, to);
        if result != error(libc::EFAULT) || old_len == 0 {
            return result;
        }
        let kept = old_len.min(new_len);
        if kept < old_len {
            // It may have been unmapped already.
            raw_syscall(libc::SYS_munmap as u64, [from + kept, old_len - kept, 0, 0, 0, 0]);
        }
        let Some(pieces) = pieces(from..from + kept) else { return result };
        for Range { start, end } in pieces {
            let new_end = if end == from + kept { from + new_len } else { end };
            let there = to + (start - from);
            let stays = from == to && new_end == end;
            if !stays && mremap(start, end - start, new_end - start, flags, there) != there {
                return result;
            }
        }
        to
    }
}

/// Whether the kernel knows the range as one mapping or a part of one: a call that goes mapping by mapping and fails there has done nothing.
pub fn is_in_one_mapping(address: u64, len: u64) -> bool {
    let Ok(maps) = proc::open("thread-self/maps") else { return false };
    matches!(mapping::at(&maps, address), Answer::Is(mapping) if len <= mapping.end - address)
}

/// What of a range belongs to which mapping. `None` if something of it isn't mapped.
fn pieces(range: Range<u64>) -> Option<Vec<Range<u64>>> {
    let mut pieces = Vec::new();
    let mut at = range.start;
    for mapping in mapping::all("self").ok()? {
        if (mapping.start..mapping.end).contains(&at) && at < range.end {
            let end = mapping.end.min(range.end);
            pieces.push(at..end);
            at = end;
        }
    }
    (at == range.end).then_some(pieces)
}

fn mremap(from: u64, old_len: u64, new_len: u64, flags: u64, to: u64) -> u64 {
    raw_syscall(libc::SYS_mremap as u64, [from, old_len, new_len, flags, to, 0])
}

fn error(number: i32) -> u64 {
    -i64::from(number) as u64
}
