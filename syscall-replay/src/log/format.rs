//! The records, and the numbers that tell them apart.

use machine::{LaidOut, Registers, SignalOrigin};

use super::threads::{OtherThread, Turn};
use crate::instructions::{NondeterministicKind, NondeterministicRecord, RandomRecord};

/// Kind of a system call's record.
pub const SYSCALL: u64 = 1;
/// Kind of the record of one that slices make again.
pub const REMAP: u64 = 2;
pub(super) const NONDETERMINISTIC: u64 = 3;
pub(super) const RANDOM: u64 = 4;
pub(super) const SIGNAL_RETURN: u64 = 5;
pub(super) const SYSCALL_BEFORE_OTHERS: u64 = 6;
pub(super) const DELIVERY: u64 = 7;
pub(super) const THREAD: u64 = 8;
pub(super) const TURN: u64 = 9;
/// First word of the record of a turn that ends in a call.
pub const TURN_IN_CALL: u64 = TURN | 1 << 8;
/// Bytes of a turn's record.
pub const TURN_BYTES: u64 = 14 * 8;
/// Kind of the record of a place in the app's own code at which something takes place.
pub const POINT: u64 = 10;
/// The last word of such a record, if the call maps no file.
pub const NO_SOURCE: u64 = u64::MAX;
/// In the first word of a system call's record: what follows shows in views of a file that the call has written.
pub(super) const SHOWS: u64 = 1 << 16;

/// First word of the record of a nondeterministic instruction.
pub const fn nondeterministic_head(kind: NondeterministicKind) -> u64 {
    NONDETERMINISTIC | (kind as u64) << 8
}

/// Bytes of such a record.
pub const NONDETERMINISTIC_BYTES: u64 = 7 * 8;

/// What a system call was and gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallRecord<'a> {
    /// Number.
    pub number: u32,
    /// The arguments that the kernel looks at.
    pub args: &'a [u64],
    /// Result.
    pub result: u64,
    /// Hash of what it read, see [`crate::effects::input_hash`].
    pub input_hash: u64,
}

/// One record, in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// A system call to be replayed.
    Syscall(SyscallRecord<'a>),
    /// A system call to be repeated.
    Remap(Remap),
    /// A nondeterministic instruction.
    Nondeterministic(NondeterministicRecord),
    /// An instruction like `rdrand`.
    Random(RandomRecord),
    /// The return from a signal handler.
    SignalReturn(SignalReturn<'a>),
    /// The start of one.
    Delivery(Delivered<'a>),
    /// A thread that is there, and hasn't the turn.
    Thread(OtherThread<'a>),
    /// The turn goes to another thread.
    Turn(Turn),
    /// A place in the app's own code.
    Point(Point<'a>),
}

/// A place in the app's own code at which something takes place, told by the app's state there. What it is says the next record: the start of a handler, or another
/// thread's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point<'a> {
    /// Registers. They belong to the instruction at `rip`, of which nothing was executed.
    pub registers: Registers,
    /// Whether that instruction starts a block.
    pub starts_block: bool,
    /// Words of stack from the stack pointer upwards.
    pub stack: &'a [u8],
    /// The extended state.
    pub xstate: LaidOut<'a>,
    /// On the page with this address what lies below it is dead. 0: nothing is.
    pub live_from: u64,
    /// As [`note_change`] writes them, see [`Self::changes`].
    pub noted: &'a [u8],
}

impl<'a> Point<'a> {
    /// What memory that the app has written since the slice's start holds now, as far as that isn't what the last point has said: address and bytes. At first whole
    /// pages. No bytes: the page there is none of them any more.
    pub fn changes(&self) -> impl Iterator<Item = (u64, &'a [u8])> + use<'a> {
        addressed(self.noted)
    }
}

/// Appends a piece of memory to the changes of a point.
pub fn note_change(changes: &mut Vec<u8>, address: u64, bytes: &[u8]) {
    changes.extend_from_slice(&address.to_le_bytes());
    changes.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    changes.extend_from_slice(bytes);
    changes.resize(changes.len().next_multiple_of(8), 0);
}

/// Pieces of memory, one after the other: address, length, bytes, filled up to whole words.
fn addressed<'a>(mut rest: &'a [u8]) -> impl Iterator<Item = (u64, &'a [u8])> + use<'a> {
    std::iter::from_fn(move || {
        let address = word(rest, 0)?;
        let len = word(rest, 1)? as usize;
        let bytes = rest.get(16..16 + len)?;
        rest = rest.get(16 + len.next_multiple_of(8)..)?;
        Some((address, bytes))
    })
}

/// The start of a signal handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered<'a> {
    /// Registers at its first instruction.
    pub registers: Registers,
    /// The frame that the kernel has written: address and bytes.
    pub frame: (u64, &'a [u8]),
    /// Where the signal came from.
    pub origin: SignalOrigin,
    /// The extended state.
    pub xstate: LaidOut<'a>,
}

/// The state to which `rt_sigreturn` went back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalReturn<'a> {
    /// Registers.
    pub registers: Registers,
    /// The extended state.
    pub xstate: LaidOut<'a>,
}

/// A system call to be replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyscallRecord<'a> {
    /// Number.
    pub number: u32,
    /// Arguments; those that the kernel doesn't look at are 0.
    pub args: [u64; 6],
    /// How many of them the kernel looks at.
    pub arity: usize,
    /// Result.
    pub result: u64,
    /// Hash of what it read.
    pub input_hash: u64,
    /// What it wrote shows in mappings of a file, perhaps in some that the app itself can't write.
    pub shows: bool,
    pub(super) writes: &'a [u8],
}

impl<'a> SyscallRecord<'a> {
    /// What the kernel wrote: address and bytes.
    pub fn writes(&self) -> impl Iterator<Item = (u64, &'a [u8])> + use<'a> {
        addressed(self.writes)
    }
}

/// A system call to be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remap {
    /// Number.
    pub number: u32,
    /// Arguments; those that the kernel doesn't look at are 0.
    pub args: [u64; 6],
    /// How many of them the kernel looks at.
    pub arity: usize,
    /// Result that the master got.
    pub result: u64,
    /// The file to map: its number in the run.
    pub source: Option<u32>,
}

pub(super) fn word(bytes: &[u8], index: usize) -> Option<u64> {
    let chunk = bytes.get(index * 8..index * 8 + 8)?;
    Some(u64::from_le_bytes(chunk.try_into().expect("eight bytes")))
}
