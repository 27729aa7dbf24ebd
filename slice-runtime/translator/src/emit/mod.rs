//! From a trace of app instructions to machine code for the cache.
//!
//! Most instructions are copied as they are. What depends on its place (RIP-relative operands, branches) is rewritten, what
//! the cache must not run (system calls, nondeterministic instructions) becomes an exit, and analysis calls are put between.
//!
//! ```text
//!   emitter ◄─ plan ◄─ registers ◄─ reads ◄─ calls ◄─ branches, stream, checks ◄─ instructions ◄─ translate
//! ```
//!
//! [`translate()`] is the order of all rules: one page. Each room has the rules of one kind, which write to the `emitter`.
//!
//! Named invariants:
//! * *exact exits*: wherever a trace can be left to the runtime, its state map tells where each of the app's registers is: in place, borrowed (only between
//!   two instructions), in its home slot (`registers::home`), or, r11, in its slot (`registers::r11`). Flags are the app's unless nobody reads them: they are
//!   changed only where the code that follows ([`crate::liveness`]) overwrites them before anything could see them.
//! * *marks*: the state map has a mark at each place from which on another description of the app's state holds, so an
//!   interruption anywhere can be answered.
//! * *one store*: rel32 fields that may be patched lie within one cache line.

mod branches;
mod calls;
mod checks;
mod emitter;
mod instructions;
mod listing;
mod plan;
mod reads;
mod registers;
mod repetition;
mod stream;
mod translate;

pub use branches::{Otherwise, constant_pointer, ibl_stub, invalid, is_lookup, look_up};
pub use emitter::{
    Check, Lookup, QuickCondition, Rules, ScratchBuffers, Shape, Site, ThroughPointer, Translation, Untranslatable,
    code_at, emptied,
};
pub use listing::{Listing, listing};
pub use translate::translate;
