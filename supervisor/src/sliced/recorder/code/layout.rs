//! Where the in-process recorder keeps what, from the start of [`bubble::map::RECORDER`]. Records go to the slice's log itself, if
//! that could be mapped ([`crate::sliced::recorder::logs`]).
//!
//! ```text
//!   CODE_AT     the recorder's code, then one stub for each patched site        private, read and executed
//!   DATA_AT     words that it shares with the control process, its small stack   shared memory
//!   TABLE_AT    one entry for each system call                                  shared memory
//!   RECORDS_AT  records that the control process copies to the slice's log      shared memory
//! ```

use bubble::map::RECORDER;
use syscall_replay::effects::HASHED;

/// The code.
pub const CODE_AT: u64 = 0;
/// Stubs: the way from one patched site to the code.
pub const STUBS_AT: u64 = 0x2000;
/// Bytes of a stub.
pub const STUB_BYTES: u64 = 64;
/// Sites that can be patched.
pub const MAX_SITES: usize = 128;
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
/// Address that no record reaches before the last; behind it there is room for the longest one.
pub const LIMIT: u64 = DATA_AT + 0x20;
/// Address after the instruction that is being carried out.
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
pub const R10: u64 = DATA_AT + 0x78;
pub const RESULT: u64 = DATA_AT + 0x80;
/// Address of the call's entry in the table.
pub const ENTRY: u64 = DATA_AT + 0x88;
/// First word of the record of a reading of the time stamp counter.
pub const READING: u64 = DATA_AT + 0x90;
/// Address in the stub of what follows it and is executed there, or 0.
pub const FOLLOWS: u64 = DATA_AT + 0x98;
/// How the counter is computed ([`crate::sliced::instructions::Line`]).
pub const TICKS: u64 = DATA_AT + 0xa0;
pub const NS: u64 = DATA_AT + 0xa8;
pub const PER_NS: u64 = DATA_AT + 0xb0;
/// Memory of which the recorder may change the protection, and bits that it leaves to the control process ([`crate::sliced::recorder::Changes`]).
pub const CHANGES_START: u64 = DATA_AT + 0xb8;
pub const CHANGES_END: u64 = DATA_AT + 0xc0;
pub const CHANGES_FORBIDDEN: u64 = DATA_AT + 0xc8;
/// Shared memory of which the recorder may map other pages in the place of some, up to an offset in the object ([`crate::sliced::recorder::Shows`]).
pub const SHOWS_START: u64 = DATA_AT + 0xd0;
pub const SHOWS_END: u64 = DATA_AT + 0xd8;
pub const SHOWS_MOST: u64 = DATA_AT + 0xe0;
/// The segment whose limit is the number of the processor and its node, as `rdtscp` gives it, for those that may not execute that.
pub const CPU_NODE: u64 = 0x7b;
/// The result of an `fstat` of the recorder's own.
pub const STATUS: u64 = DATA_AT + 0x100;
/// Slot of the thread that has the turn, counted from 1, or 0: nobody has it. 32 bits, a futex: see [`WANTED`].
pub const TURN: u64 = DATA_AT + 0x190;
/// The place of that thread, or of the one that has had the turn last. 0: threads don't pass turns on among themselves.
pub const CURRENT: u64 = DATA_AT + 0x198;
/// How often the turn has gone over to another thread.
pub const TURNS: u64 = DATA_AT + 0x1a0;
/// In [`TURN`]: others wait for it.
pub const WANTED: u32 = 1 << 31;
/// Devices of local file systems, as `fstat` names them, then zeroes. None: no descriptor becomes known inside the master.
pub const DEVICES: u64 = DATA_AT + 0x200;
/// Of which there are at most so many.
pub const MAX_DEVICES: usize = 16;
/// A bit for each descriptor that is known to be one of which reading and writing can be recorded.
pub const FILES: u64 = DATA_AT + 0x300;
/// A bit for each that was closed, or may have been.
pub const CLOSED: u64 = DATA_AT + 0x400;
/// A bit for each known one that may wait, a pipe or a terminal.
pub const WAITS: u64 = DATA_AT + 0x480;
/// A bit for each known one that is a socket.
pub const SOCKETS: u64 = DATA_AT + 0x980;
/// The list that `poll` gets.
pub const POLLED: u64 = DATA_AT + 0x700;
/// What is done with each request of `ptrace` ([`super::requests`]).
pub const REQUESTS: u64 = DATA_AT + 0xa00;
/// What is written to such a one in one go: more may be written in part when an interrupt comes.
pub const MOST_AT_ONCE: u64 = 4096;
/// Descriptors that have a bit.
pub const MAX_FILES: u64 = 1024;
/// A bit for some of the inode number's bits of each file that slices may look at: it mustn't be opened for writing by the recorder.
pub const KEPT: u64 = DATA_AT + 0x500;
/// How many bits there are.
pub const KEPT_BITS: u64 = 4096;
/// The recorder's stack grows down from here.
pub const STACK_END: u64 = DATA_AT + 0x1000;

/// Pieces are put together here.
pub const SCRATCH: u64 = TABLE_AT + TABLE_LEN * 16;
/// An entry is two words: the record's first word (0: the call isn't recorded here), and what the call does.
pub const TABLE_AT: u64 = DATA_AT + 0x1000;
/// System calls that have an entry.
pub const TABLE_LEN: u64 = 512;
/// In an entry's second word: writes as many bytes as bits 16 to 31 say, if it succeeds.
pub const FIXED: u64 = 1;
/// Writes as many bytes as it returns, but no more than a certain argument says.
pub const READS: u64 = 2;
/// Reads as many bytes from its second argument as the third says.
pub const WRITES: u64 = 4;
/// Reads a path, which the first argument points to.
pub const PATH: u64 = 8;
/// The second argument points to the path.
pub const PATH_IS_SECOND: u64 = 16;
/// The first argument is a descriptor, and it must be known.
pub const NEEDS_FILE: u64 = 32;
/// The second argument must be null.
pub const SECOND_IS_NULL: u64 = 64;
/// Closes its first argument.
pub const CLOSES: u64 = 128;
/// Bits 8 to 10: which argument points to what it writes.
pub const OUTPUT: u32 = 8;
/// Opens a file.
pub const OPENS: u64 = 1 << 11;
/// `fcntl`: only commands up to [`LAST_COMMAND`], and [`OTHER_COMMAND`].
pub const COMMAND: u64 = 1 << 12;
/// Bits 32 to 34, of a call that reads: which argument says how much at most.
pub const ROOM_ARGUMENT: u32 = 32;

/// `ioctl`: only `TCGETS`, `TIOCGWINSZ` and `FIONREAD`, which write some bytes to where the third argument points.
pub const IOCTL: u64 = 1 << 13;
/// The second argument points to another path.
pub const TWO_PATHS: u64 = 1 << 14;
/// Waits for descriptors: made without waiting, and left to the control process if there is nothing. Of `poll`, or, if it writes to where its
/// second argument points, `epoll_wait`.
pub const POLLS: u64 = 1 << 15;
/// Descriptors that `poll` may wait for.
pub const MOST_POLLED: u64 = 64;
/// Events that `epoll_wait` may report.
pub const MOST_EVENTS: u64 = 0x1_0000;

/// A bit's number, as the others from here on. Sends to a socket or receives from it: only without an address and with [`MESSAGE_FLAGS`].
pub const MESSAGE: u32 = 35;
/// Has its own conditions: one of the following.
pub const CONDITIONS: u32 = 36;
/// Sets the signal mask: none of [`super::layout::NEEDED_SIGNALS`] may become blocked. The others: up to [`MOST_RANDOM`] random bytes; waking of
/// a futex's waiters.
pub const MASKS: u32 = 37;
/// See [`MASKS`].
pub const RANDOM: u32 = 38;
/// See [`MASKS`]. Reads bytes from where an array of pieces says, at most [`MOST_PIECES`].
pub const GATHERS: u32 = 39;
/// It is the second argument that is closed, and another descriptor takes its place.
pub const CLOSES_SECOND: u32 = 40;
/// Opens a file to write it anew: there is no argument that says so.
pub const CREATES: u32 = 41;
/// See [`MASKS`]. Changes the protection of memory, and slices make it again: only of the memory from [`CHANGES_START`] on.
pub const PROTECTS: u32 = 42;
/// See [`MASKS`]. `ptrace`: only the requests of [`REQUESTS`].
pub const TRACES: u32 = 43;
/// See [`MASKS`]. Waits for a child: only if its use of resources isn't asked for.
pub const CHILDREN: u32 = 44;
/// See [`PROTECTS`], which it has as well. Maps other pages of an object in the place of some: only in the memory from [`SHOWS_START`] on.
pub const SHOWS: u32 = 45;
/// See [`MASKS`]. Lets others go first: where there are several threads the turn is passed on.
pub const YIELDS: u32 = 46;
/// Pieces of what is written by one call.
pub const MOST_PIECES: u64 = 16;
/// So many random bytes are never broken off.
pub const MOST_RANDOM: u64 = 256;
/// Flags of a call that sends or receives which change nothing about what it writes and whether it waits, but for `MSG_DONTWAIT`.
pub const MESSAGE_FLAGS: u32 = (libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL | libc::MSG_PEEK | libc::MSG_MORE) as u32;
/// What may be received in one go: its place is looked at beforehand.
pub const MOST_RECEIVED: u64 = 0x4_0000;

/// `F_SETLK`: its locks are the process's, and no mapping holds them.
pub const LOCK_COMMAND: u64 = 6;
/// `F_SETFL`. None of the commands up to this has to do with locks.
pub const LAST_COMMAND: u64 = 4;
/// `F_DUPFD_CLOEXEC`.
pub const OTHER_COMMAND: u64 = 1030;
/// The longest path.
pub const MOST_PATH: u64 = 1000;

/// Places of threads that wait inside the recorder, or have the turn (`areas`).
pub const AREAS_AT: u64 = DATA_AT + 0x4000;
/// Records wait here that can't be written to a slice's log.
pub const RECORDS_AT: u64 = DATA_AT + 0x8000;
/// The most bytes that a call may read for the recorder to take it.
pub const MOST_BYTES: u64 = 0x10_0000;
/// So many bytes of records are enough there: then they are taken. More wouldn't stay in a core's own cache, which costs more than a stop now and then.
pub const ENOUGH_BYTES: u64 = 0x10_0000;
/// Room that a record needs besides those bytes, or at most if it holds none.
pub const MOST_RECORD: u64 = 0x800;
/// Shared memory.
pub const SHARED_BYTES: u64 = RECORDER.size - DATA_AT;
/// Room for records.
pub const RECORDS_BYTES: u64 = RECORDER.size - RECORDS_AT;

/// Where it lies in the master.
pub const fn in_master(offset: u64) -> u64 {
    RECORDER.start + offset
}

const _: () = assert!(POLLED + MOST_POLLED * 8 <= SOCKETS && SOCKETS + MAX_FILES / 8 <= REQUESTS);
const _: () = assert!(REQUESTS + super::requests::BYTES < STACK_END - 0x100);
const _: () = assert!(KEPT_BITS.is_power_of_two() && KEPT + KEPT_BITS / 8 < STACK_END);
const _: () = assert!(CODE_END <= DATA_AT && SCRATCH + HASHED as u64 <= AREAS_AT);
const _: () = assert!(ENOUGH_BYTES + MOST_BYTES + MOST_RECORD <= RECORDS_BYTES);

/// Signals by which the recorder stops, and what else instructions raise: it is known then whether the app blocks that.
pub const NEEDED_SIGNALS: u64 = 1 << (libc::SIGSYS - 1)
    | 1 << (libc::SIGTRAP - 1)
    | 1 << (libc::SIGSEGV - 1)
    | 1 << (libc::SIGBUS - 1)
    | 1 << (libc::SIGILL - 1)
    | 1 << (libc::SIGFPE - 1);

/// Of these, one that the recorder doesn't stop by: it is known that the app ignores it, as perl does.
pub const MAY_BE_IGNORED: u64 = 1 << (libc::SIGFPE - 1);

/// Devices as `fstat` names them: `/dev/null` and `/dev/zero`.
pub(in crate::sliced::recorder) const NULL_DEVICE: u64 = libc::makedev(1, 3);

pub(in crate::sliced::recorder) const ZERO_DEVICE: u64 = libc::makedev(1, 5);

/// What the majors of pseudo-terminals, 136 to 143, have in common, where no more than their low bits are looked at.
pub(in crate::sliced::recorder) const TERMINALS: u64 = libc::makedev(136, 0);

pub(in crate::sliced::recorder) const TERMINALS_MASK: u64 = libc::makedev(0xff8, 0);
