//! Where the in-process recorder keeps what, from the start of [`bubble::map::RECORDER`].
//!
//! ```text
//!   CODE_AT     the recorder's code, then one stub for each patched site        private, read and executed
//!   DATA_AT     words that it shares with the control process, its small stack   shared memory
//!   TABLE_AT    one entry for each system call                                  shared memory
//!   RECORDS_AT  records that the control process hasn't taken yet               shared memory
//! ```

use bubble::map::RECORDER;

/// The code.
pub const CODE_AT: u64 = 0;
/// Stubs: the way from one patched site to the code.
pub const STUBS_AT: u64 = 0x1000;
/// Bytes of a stub.
pub const STUB_BYTES: u64 = 32;
/// Sites that can be patched.
pub const MAX_SITES: usize = 64;
/// Where code ends.
pub const CODE_END: u64 = STUBS_AT + STUB_BYTES * MAX_SITES as u64 + 0x800;

/// Shared with the control process from here on.
pub const DATA_AT: u64 = 0x1_0000;
/// Non-zero: system calls outside the recorder raise SIGSYS. A byte.
pub const SELECTOR: u64 = DATA_AT;
/// Non-zero: the recorder is to stop as soon as it can.
pub const STOP: u64 = DATA_AT + 0x08;
/// Records that may still be written.
pub const ROOM: u64 = DATA_AT + 0x10;
/// Address of the next record.
pub const NEXT: u64 = DATA_AT + 0x18;
/// Address from which on no record may start.
pub const LIMIT: u64 = DATA_AT + 0x20;
/// Address after the `syscall` instruction that is being carried out.
pub const AFTER: u64 = DATA_AT + 0x28;
/// The app's registers there, and the call's result.
pub const RCX: u64 = DATA_AT + 0x30;
pub const R11: u64 = DATA_AT + 0x38;
pub const RSP: u64 = DATA_AT + 0x40;
pub const FLAGS: u64 = DATA_AT + 0x48;
pub const RAX: u64 = DATA_AT + 0x50;
pub const RBX: u64 = DATA_AT + 0x58;
pub const RDI: u64 = DATA_AT + 0x60;
pub const RSI: u64 = DATA_AT + 0x68;
pub const RDX: u64 = DATA_AT + 0x70;
pub const RESULT: u64 = DATA_AT + 0x78;
/// Address of the call's entry in the table.
pub const ENTRY: u64 = DATA_AT + 0x80;
/// A bit for each descriptor that is known to be a file whose calls never wait.
pub const FILES: u64 = DATA_AT + 0x100;
/// Descriptors that have a bit.
pub const MAX_FILES: u64 = 1024;
/// The recorder's stack grows down from here.
pub const STACK_END: u64 = DATA_AT + 0x1000;

/// An entry is two words: the record's first word (0: the call isn't recorded here), and what the call does.
pub const TABLE_AT: u64 = DATA_AT + 0x1000;
/// System calls that have an entry.
pub const TABLE_LEN: u64 = 512;
/// In an entry's second word: writes as many bytes as bits 16 to 31 say, if it succeeds.
pub const FIXED: u64 = 1;
/// Writes as many bytes to its second argument as it returns.
pub const READS: u64 = 2;
/// Reads as many bytes from its second argument as the third says.
pub const WRITES: u64 = 4;
/// What it writes, it writes to its first argument, not its second.
pub const TO_FIRST: u64 = 8;
/// The first argument is a descriptor, and it must be a known file.
pub const NEEDS_FILE: u64 = 16;
/// The second argument must be null.
pub const SECOND_IS_NULL: u64 = 32;

/// What it writes, it writes to its third argument.
pub const TO_THIRD: u64 = 64;
/// Its flags must say that the first argument is meant, and not a path.
pub const BY_DESCRIPTOR: u64 = 128;

/// Records wait here.
pub const RECORDS_AT: u64 = DATA_AT + 0x4000;
/// The most bytes that a call may write for the recorder to take it.
pub const MOST_BYTES: u64 = 0x1_0000;
/// Room that a record needs at most.
pub const MOST_RECORD: u64 = MOST_BYTES + 0x80;
/// Shared memory.
pub const SHARED_BYTES: u64 = RECORDER.size - DATA_AT;
/// Room for records.
pub const RECORDS_BYTES: u64 = RECORDER.size - RECORDS_AT;

/// Where it lies in the master.
pub const fn in_master(offset: u64) -> u64 {
    RECORDER.start + offset
}

const _: () = assert!(CODE_END <= DATA_AT && TABLE_AT + TABLE_LEN * 16 <= RECORDS_AT);
