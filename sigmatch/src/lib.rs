//! What "the same point of execution" means.
//!
//! Where the control process cuts the master by a timer or a signal there is nothing in the code that says so. The
//! slice that ran up to there must find the point by what the app's state looked like: its *signature*, all
//! registers that the app can see and the top of its stack. A slice compares in three steps, cheapest first:
//! a few words inline in translated code (the engine learns which), then all registers, then the stack.
//!
//! Everything is compared by value. An extended state component that the processor holds in its initial configuration
//! has no bytes in the area, yet equals one that holds the same value explicitly; where the last x87 instruction was
//! (FIP, FDP, FOP) and the debugger's flags depend on who looked when, so they are left out.

mod compare;
mod extended;
mod shared_contents;
mod xsave_image;
mod xsave_layout;

pub use compare::{Verdict, capture, explain, matches, stack_difference};
pub use extended::{extended_differences, vector_difference};
pub use shared_contents::{foreign_write, shared_contents};
pub use xsave_image::Images;
pub use xsave_layout::Form;
