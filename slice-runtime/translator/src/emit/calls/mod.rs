//! Analysis calls, and how each is made: in place, called from translated code, tested first, or by the runtime. Blocks that are counted.

#[expect(clippy::module_inception, reason = "the order in which the others are tried")]
mod calls;
mod clean;
mod counts;
mod direct;
mod inline;
mod spot;
mod tested;

pub(in crate::emit) use spot::{InPlace, Spot};
