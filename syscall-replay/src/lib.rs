//! System calls, recorded once and replayed in every slice.
//!
//! The master executes each system call natively; a slice must not execute it again, since its effects on
//! the outside would happen twice and its results could differ. So the control process records what the call did to
//! the app: its result and the bytes that the kernel wrote. A slice checks that it makes the same call with the same
//! arguments and then applies those. Recording effects and not calls keeps replay ignorant of what calls mean.
//!
//! * [`table`]: what each call writes and how it is treated. The one place that knows system calls.
//! * [`effects`]: the interpreter of the table's little language.
//! * [`hash`]: of what calls read.
//! * [`Recorder`]: from a call's entry and exit to a record.
//! * [`threads`]: calls that start and end threads, and how long calls may take.
//! * [`waiting`]: waiting for what a call waits for, without getting it.
//! * [`limits`]: limits of the app's that aren't the kernel's.
//! * [`log`]: the records' format.
//! * [`Replayer`]: a slice's side, with [`Divergence`] for a call that doesn't fit.
//!
//! Everything is generic over [`machine::Memory`], which is a tracee's for the recorder and the process's own for
//! the replayer.

mod described;
pub mod effects;
pub mod hash;
mod instructions;
pub mod limits;
pub mod log;
mod record;
mod replay;
mod result;
pub mod table;
pub mod threads;
pub mod waiting;

#[cfg(test)]
mod round_trip;

pub use instructions::{NondeterministicKind, NondeterministicRecord, RandomRecord};
pub use log::{
    Delivered, HASHED_REGISTERS, LogFull, LogReader, LogWriter, OtherThread, OwnedWord, Point, Record, Remap,
    SignalReturn, SyscallRecord, Turn, TurnEnd, WaitingCall, registers_hash,
};
pub use record::{CallExit, Entered, Files, NoFiles, PendingCall, Recorder, Unrecorded};
pub use replay::{Divergence, Replayed, Replayer, Space, returns_to};
pub use result::{is_error, is_restart, restarted_by};
