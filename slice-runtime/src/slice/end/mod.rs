//! How a slice's end is found and proved.
//!
//! ```text
//!   address of the end ──► signature ──► verify: all memory ──► recurrence: is it the only such place?
//! ```
//!
//! * `verify`: the comparison of memory with the next slice's first state. `first_memory`: where that is to be had.
//! * `recurrence`: whether the complete state comes again.
//! * `point`, `expected_memory`, `ahead`: the same at a point, where no next slice starts.
//! * `deadline`, `interruption`: a slice that runs much longer than the app did.
//! * `xsave_images`: images of registers in memory, in which a slice may differ from the app.

pub mod ahead;
pub mod deadline;
pub mod expected_memory;
pub mod first_memory;
mod interruption;
pub mod point;
pub mod recurrence;
pub mod verify;
pub mod xsave_images;
