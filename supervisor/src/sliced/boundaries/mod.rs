//! When and where a slice ends: decisions and data, no process is touched to decide.
//!
//! ```text
//!   a call, an interrupt, a signal ──► decide ──► record it │ cut here │ cut at that address │ later
//!   registers at the place ──────────► ends ───► End: what the slice will look for
//!   ──► Next, Cut: what is done with the master
//! ```
//!
//! * `decide`: the decisions. `next`: their form.
//! * `ends`: the ends of slices.
//! * `timer`, `copy_on_write`: how long a slice has worked, without the pages that were copied for slices.
//! * `unfollowed`: what can't be followed in slices, and the words for it.

mod copy_on_write;
pub mod decide;
mod ends;
mod next;
mod timer;
mod unfollowed;

pub use decide::{Amount, CutPoint, Plan, Reached, SliceState, most_bytes};
pub(in crate::sliced) use ends::{
    behind_call, call_end, cut_at_block, cut_at_fault, cut_here, entry_registers, replaces_registers, returned_to,
};
pub use next::{Cut, Next, Then};
pub use timer::Timer;
pub(in crate::sliced) use timer::{cpu_clock, reading};
pub use unfollowed::{
    FOREIGN_CALL, OTHER_NUMBERS, SHARED_PROCESS, TRAP_FLAG, give_up, lends_all, numbers_children_anew, shares_all,
    traps_itself,
};
