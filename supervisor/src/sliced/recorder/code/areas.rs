//! What the recorder keeps of each thread that passes the turn on inside the master: words of its area, from [`super::layout::AREAS_AT`] on.

use syscall_replay::HASHED_REGISTERS;

use super::layout::{AREAS_AT, RECORDS_AT};

/// Bytes of an area.
pub const BYTES: u64 = 256;
/// How many there are.
pub const MOST: usize = 64;

/// The app's registers at the entry of the call, in the order in which [`syscall_replay::registers_hash`] takes them. The first is the call's number.
pub const RAX: u64 = 0;
pub const RDX: u64 = 8;
pub const RBX: u64 = 16;
pub const RSP: u64 = 24;
pub const RBP: u64 = 32;
pub const RSI: u64 = 40;
pub const RDI: u64 = 48;
pub const R8: u64 = 56;
pub const R9: u64 = 64;
pub const R10: u64 = 72;
pub const R12: u64 = 80;
pub const R13: u64 = 88;
pub const R14: u64 = 96;
pub const R15: u64 = 104;
/// Behind the call's instruction.
pub const RIP: u64 = 112;
pub const FS: u64 = 120;
pub const GS: u64 = 128;
/// Bytes of all these.
pub const HASHED: u64 = HASHED_REGISTERS as u64 * 8;
/// Their hash.
pub const HASH: u64 = HASHED;
/// Flags.
pub const FLAGS: u64 = HASH + 8;
/// Address of the call's entry in the table.
pub const ENTRY: u64 = HASH + 16;
/// The thread's index, as the log names it.
pub const INDEX: u64 = HASH + 24;
/// Which area this is, counted from 1.
pub const ID: u64 = HASH + 32;

const _: () = assert!(GS + 8 == HASHED && ID + 8 <= BYTES);
const _: () = assert!(AREAS_AT + BYTES * MOST as u64 <= RECORDS_AT);

/// Offset of an area, counted from 0.
pub const fn at(n: usize) -> u64 {
    AREAS_AT + n as u64 * BYTES
}
