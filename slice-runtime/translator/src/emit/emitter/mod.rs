//! The emitter: what goes in, what was written so far, what comes out.

#[expect(clippy::module_inception, reason = "the file of the type Emitter")]
mod emitter;
mod finish;
mod held;
mod rules;
mod spare;
mod translation;

pub(in crate::emit) use emitter::{BOTH, Emitter, Facts, absent_at_ends, bit};
pub(in crate::emit) use held::{Borrowed, Held, WordsState};
pub use rules::{Check, Condition, Lookup, Rules, Site, ThroughSlot};
pub use spare::{Spare, emptied};
pub use translation::{Translation, Untranslatable};
