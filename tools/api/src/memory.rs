//! Reads of the app's memory by analysis routines (`PIN_SafeCopy`, `dr_safe_read`).
//!
//! ```no_run
//! use superpin_tool::memory;
//!
//! struct Local {
//!     opened: Vec<Vec<u8>>,
//! }
//!
//! // Called At::Before the first instruction of `fopen`, with Arg::Argument(0).
//! fn opens(local: &mut Local, path: u64) {
//!     local.opened.extend(memory::read_c_string(path, 4096));
//! }
//! ```
//!
//! A read never faults: it says how much was there. It sees what the app itself would see at the place of the call, the same serially and in slices; of superpin's own
//! memory, which lies in the same process, it sees nothing. The exception is memory that other processes write to at the same time: there nobody's reads repeat.
//!
//! It belongs into analysis routines, into [`crate::Tool::ON_SYSCALL`] and [`crate::Tool::ON_SIGNAL`], and into [`crate::Tool::ON_IMAGE`] when an image is loaded or unloaded. Elsewhere (`drain`, `instrument`, `begin`, `finish`, the collector)
//! memory is that of some other moment, which differs between serial and sliced runs; a read there ends the run with a message.
//!
//! Cost: a few nanoseconds for a word, some tens for more bytes. A routine that reads is called from the code cache if the rest of it lets it be, see [`crate::AnalysisRoutine`]. Where
//! nothing can be read there is a fault behind it, which costs about a microsecond in slices and eight in a serial run, where superpin is told of each fault.

use engine::safe_reads;
use machine::AppPc;

use crate::instrument::REGISTER_ARGUMENTS;

/// Reads memory of the app's from `address` on. Returns how many bytes were read: all of `into`, or those before the first one that the app couldn't read.
/// The rest of `into` stays as it is.
#[inline]
pub fn read(address: u64, into: &mut [u8]) -> usize {
    safe_reads::read(address, into)
}

/// Reads the eight bytes at `address` as a number. `None` if not all of them can be read.
#[inline]
pub fn read_word(address: u64) -> Option<u64> {
    safe_reads::read_word(address)
}

/// The address that a routine returns to, and so who has called it: for routines that are called At::Before its first instruction
/// ([`crate::Instruction::enters`]) with `Gpr::Rsp`. Where a loop of the app's routine comes back to its first instruction, the stack's top is something else. `None` if it can't be
/// read.
#[inline]
pub fn return_address(stack_pointer: u64) -> Option<AppPc> {
    read_word(stack_pointer).map(AppPc)
}

/// An integer or pointer argument of a call of the app's that is passed on the stack, `number` being 6 or more: those below it are passed in registers, see [`crate::Arg::Argument`]. For
/// routines that are called At::Before the first instruction of the routine that gets it ([`crate::Instruction::enters`]) with `Gpr::Rsp`.
///
/// By the convention of System V: whether the routine has that argument nobody knows, and arguments that are no integers, pointers or in vector registers take room between them.
/// `None` if it can't be read.
///
/// # Panics
/// If that argument is passed in a register.
#[inline]
pub fn stack_argument(stack_pointer: u64, number: u8) -> Option<u64> {
    let behind = number.checked_sub(REGISTER_ARGUMENTS).expect("Arg::Argument has those that are passed in registers");
    // The return address comes first.
    read_word(stack_pointer.checked_add(8 + 8 * u64::from(behind))?)
}

/// Reads a string of C's: the bytes from `address` to the first zero, which isn't among them, or the first `most` bytes if there is none. `None` if memory that can't be read comes
/// first.
pub fn read_c_string(address: u64, most: usize) -> Option<Vec<u8>> {
    const PIECE: usize = 64;
    let mut string = Vec::new();
    while string.len() < most {
        let mut piece = [0; PIECE];
        let wanted = PIECE.min(most - string.len());
        let here = address.checked_add(string.len() as u64)?;
        let read = safe_reads::read(here, &mut piece[..wanted]);
        if let Some(end) = piece[..read].iter().position(|&byte| byte == 0) {
            string.extend(&piece[..end]);
            return Some(string);
        }
        if read < wanted {
            return None;
        }
        string.extend(&piece[..read]);
    }
    Some(string)
}
