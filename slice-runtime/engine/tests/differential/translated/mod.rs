//! Running a program under the engine.
//!
//! ```text
//!   calls ◄─ around ─► counters     instrumentation, with its routines ─► local: what they write ─┐
//!   blocks: what the engine counts by itself
//!   interrupt: how a run is interrupted ───────────────────────────► translated: runs a program ◄─┘
//! ```

mod around;
mod blocks;
mod calls;
mod counters;
mod interrupt;
mod local;
#[expect(clippy::module_inception, reason = "the file of the type Translated")]
mod translated;

pub use around::{insert_around, insert_counters_behind};
pub use blocks::{insert_counted, insert_only_counted};
pub use calls::{insert_calls, insert_tested};
pub use counters::{insert_block_counters, insert_counters, insert_some_counters, insert_steps, insert_steps_called};
pub use interrupt::{INTERRUPTIONS, Interruptions};
pub use translated::Translated;
