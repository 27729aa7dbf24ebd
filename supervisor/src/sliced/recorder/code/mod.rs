//! The recorder's machine code, and what its memory looks like.
//!
//! ```text
//!   stub: site ──► border: enter ──► conditions, paths, descriptors, … ──► the call ──► record ──► border: leave
//!                                         └─ anything unusual: stop before the call
//! ```
//!
//! * `layout`: offsets of all that both sides know. `areas`: what is kept of each thread. `table`: what is done with each system call. `requests`: with those of `ptrace`.
//! * `code`: the main line. `parts`: what else there is.
//! * `labels`: where in it what is. `entries`: where it is entered, and the stubs that lead there.

pub mod areas;
#[expect(clippy::module_inception, reason = "the file of what the room is named for")]
mod code;
pub mod entries;
pub mod labels;
pub mod layout;
mod parts;
pub mod requests;
pub mod table;

pub use entries::PatchedKind;
pub use labels::Labels;
pub use layout::{
    AFTER, CHANGES_END, CHANGES_FORBIDDEN, CHANGES_START, CLOSED, CODE_AT, CODE_END, CURRENT, DATA_AT, DEVICES,
    ENOUGH_BYTES, FILES, FLAGS, KEPT, KEPT_BITS, LIMIT, MAX_DEVICES, MAX_FILES, MAX_SITES, MAY_BE_IGNORED, MOST_BYTES,
    MOST_RECORD, NEEDED_SIGNALS, NEXT, NS, PER_NS, R10, R11, RBX, RCX, RDI, RDX, RECORDS_AT, RECORDS_BYTES, REQUESTS,
    RESULT, ROOM, RSI, RSP, SELECTOR, SHARED_BYTES, SHOWS_END, SHOWS_MOST, SHOWS_START, SOCKETS, STACK_END, STOP,
    STUB_BYTES, STUBS_AT, TABLE_AT, TICKS, TURN, TURNS, WAITS, WANTED, in_master,
};
pub(in crate::sliced::recorder) use layout::{NULL_DEVICE, TERMINALS, TERMINALS_MASK, ZERO_DEVICE};
