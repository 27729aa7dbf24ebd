//! The memory that all processes of a run have: one memfd, in slots.
//!
//! ```text
//!   control process ── claim ──► ClaimedSlot ── log, end ──► slice
//!                   ◄─ result, counters, report ────────────
//!   persistent: shared code, from an earlier run and for the next
//! ```
//!
//! * `memory`: the memfd, its header, which slots are free.
//! * `slot`: what is told to a slice, and what it answers.
//! * `view`: mappings of parts of it, and what is written there while slices run: where files are.
//! * `step_names`: by which step a take-over failed.
//! * [`persistent`]: translations that outlive a run.

mod memory;
mod persistent;
mod slot;
mod step_names;
mod view;

pub use memory::RunMemory;
pub use persistent::KeptCode;
pub use slot::ClaimedSlot;
pub use step_names::{FAILURE_BASE, StepNames};
pub use view::OpenFiles;
