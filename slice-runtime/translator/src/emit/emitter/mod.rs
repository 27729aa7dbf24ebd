//! The emitter: what goes in, what was written so far, what comes out.

#[expect(clippy::module_inception, reason = "the file of the type Emitter")]
mod emitter;
mod fields;
mod finish;
mod held;
mod marks;
mod output;
mod registers;
mod rules;
mod spare;
mod translation;

pub(in crate::emit) use emitter::{Emitter, Facts};
pub(in crate::emit) use fields::{Field, Fields};
pub(in crate::emit) use held::{Borrowed, Held, WordsState};
pub(in crate::emit) use registers::{BOTH, absent_at_ends, bit};
pub use rules::{Check, Condition, Lookup, Rules, Shape, Site, ThroughSlot};
pub use spare::{Spare, emptied};
pub use translation::{Translation, Untranslatable};
