//! The branch predictor TAGE: tables with tags, each for a longer history than the one before.
//!
//! ```text
//!   shape ─► machine ─► tage ◄─ branches
//!            history ◄┘
//! ```
//!
//! * `shape`: how many tables there are, and of what size.
//! * `history`: which branches were taken, folded to as many bits as a table takes.
//! * `machine`: the predictor, from its start on.
//! * `branches`: branches of a part of the execution, kept in order.
//! * `tage`: the predictor of a part of the execution: the machine where its state is known, branches where it isn't.

mod branches;
mod history;
mod machine;
mod shape;
#[expect(clippy::module_inception, reason = "the file of the type Tage")]
mod tage;
#[cfg(test)]
mod tests;

pub use shape::TageShape;
pub use tage::Tage;
