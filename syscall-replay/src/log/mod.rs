//! The format of records.
//!
//! A log is a sequence of records, each a sequence of little-endian 64-bit words, so that a slice reads it in place:
//!
//! ```text
//!   system call   kind 1 | arity << 8 | number << 32      remap   kind 2 | arity << 8 | number << 32
//!                 | 1 << 16 if it has written a file that is mapped
//!                 size of the record in bytes                     size
//!                 result                                          result
//!                 hash of inputs                                  hash of inputs
//!                 arguments [arity]                               arguments [arity]
//!                 writes: address, length, bytes                  number of the file in the run, or all ones
//!                         (padded to 8), until the size
//!
//!   nondeterministic      kind 3 | which << 8, size, pc, rax, rdx, rcx, rbx
//!   random        kind 4 | register << 8, size, pc, length, value, flags
//!   signal return kind 5, size, general registers [16], rip, flags, FS base, GS base, extended state: where components 2 to 9 are (offset | length << 32) [8], then its bytes up to the last word that isn't 0
//!   delivery      kind 7, size, registers as above, address and length of the signal frame, its bytes (padded to 8), extended state as above
//!   thread        kind 8 | in a call << 8 | new << 9, size, registers as above, index, kernel's number, index of its parent or all ones, threads it has started,
//!                 number, hash of inputs, arguments [6] of the call, length of its path, path, extended state as above
//!   turn          kind 9 | how << 8, size, index of the thread that goes on, hash of the registers of the one that doesn't, number, hash of inputs,
//!                 arguments [6] of the call in which that one is
//!   point         kind 10, size, registers as above, where live stack begins on its page, bytes of stack, bytes of changes, words of stack, changes: address, length, bytes (padded to 8); extended state as above
//! ```
//! A delivery lies behind the record of the call at whose end the signal came, or behind the point to which it came, a thread behind that of the call which has started it, or at the log's start. If a system call's record has such
//! a one behind it, or a turn that isn't given up in a call, its kind is 6, so that whoever replays only plain ones leaves it alone.
//! No record names anything of the running system: what else than the app has a number (files) has one of the run.
//! The size comes first so that a reader can step over a record, and lets a writer take back an unfinished one.

mod format;
mod reader;
mod threads;
mod writer;

pub use format::{
    CallRecord, Delivered, NO_SOURCE, NONDETERMINISTIC_BYTES, POINT, Point, REMAP, Record, Remap, SYSCALL,
    SignalReturn, SyscallRecord, TURN_BYTES, TURN_IN_CALL, nondeterministic_head, note_change,
};
pub use reader::{LogReader, Malformed};
pub use threads::{HASHED_REGISTERS, OtherThread, OwnedWord, Turn, TurnEnd, WaitingCall, registers_hash};
pub use writer::{LogFull, LogWriter};
