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
pub use fields::code_at;
pub(in crate::emit) use fields::{Field, Fields};
pub(in crate::emit) use held::{Borrowed, Held, WordsState};
pub(in crate::emit) use registers::{BOTH, bit, unloaded_at_ends};
pub use rules::{Check, Lookup, QuickCondition, Rules, Shape, Site, ThroughPointer};
pub use spare::{ScratchBuffers, emptied};
pub use translation::{Translation, Untranslatable};
