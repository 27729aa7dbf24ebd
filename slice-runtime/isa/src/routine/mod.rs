//! Analysis routines as machine code to be inlined.
//!
//! Problem: an analysis routine is an ordinary compiled function, and calling one from translated code costs far
//! more than what most of them do. Approach: the routine's machine code is read here. If it is a short straight
//! line to its `ret`, it becomes a *template*: the same instructions, with
//! * arguments that are constants at the call folded in (`fold`): addresses become RIP-relative operands, values
//!   become immediates, and what depends on constants only is computed now;
//! * registers left open (`template`), so that the translator can give it those that are free at the place.
//!
//! So `fn(l: &mut u64, n: u64) { *l = l.wrapping_add(n) }` with both arguments known is one `add [rip + x], n`.
//! Whatever isn't understood makes the routine one that has to be called; nothing here is approximate.
//! Invariant: executing the template changes memory as the routine would, and otherwise only the scratch registers
//! and the flags that it names.
//!
//! What is too long for that is called, and what it changes is kept around the call. `clobbers` finds that out for a routine that can be followed in all its ways
//! (`touched`: of one instruction). Most others have ways that are seldom gone (a table grows, a check fails): `plan` says which instructions of such a routine are
//! copied, and where the copy has to put the rest of the app's state aside.

mod branch;
mod clobbers;
mod fold;
mod forms;
mod inline;
mod plan;
mod state;
mod template;
mod text;
mod touched;
mod ways;

pub use clobbers::{Obstacle, SCRATCH, clobbers, followed};
pub use inline::{inline, inline_with_result};
pub use plan::{Act, Plan, Way};
pub use state::ARGUMENTS;
pub use template::Inlined;
pub use text::{Own, Text};
pub use touched::Touched;
