//! Traces: what is translated, and what tools put into it.
//!
//! ```text
//!   bytes of app code ─ select ─► Trace ─ Instrument ─► Trace with calls ─ leftover ─► what is still to be done of it
//! ```
//!
//! A trace is a contiguous run of instructions with one entry and an exit at each block's end. `select` decides where it ends. A tool inserts [`AnalysisCall`]s
//! and values for the buffer ([`Buffered`]). If its only instruction, or its only block, was begun before, `leftover` takes out what was done then.
//! `jumps`: instructions that a tool has replaced.

mod call;
mod instrument;
mod jumps;
mod leftover;
mod select;
#[expect(clippy::module_inception, reason = "the file of the type Trace")]
mod trace;

pub use call::{AnalysisCall, Arg, Buffered, Form, MAX_ARGS, MAX_LIST, Point, Test, has_after, may_branch};
pub use instrument::Instrument;
pub use jumps::jump_instead;
pub use leftover::{leave_out, leave_part};
pub use select::{Border, FetchFault, Limits, MAX_BYTES, MAX_INSTRUCTIONS, Selected, block_around, select};
pub use trace::{Counted, Trace};
