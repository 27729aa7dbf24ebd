//! From traces of app code to machine code.
//!
//! This crate knows no code cache, no process and nobody who runs what it makes: the same goes for a JIT, for slices that share their translations, and for
//! code that is written to a file. What goes in is a [`trace::Trace`], selected from bytes of app code and filled with a tool's calls; the rules for it; and
//! the site where the code will lie. What comes out is a [`emit::Translation`]: bytes, exits, and a state map that leads from each place in them back to the app's state.
//!
//! ```text
//!  trace ◄─ abi ◄─ routines ◄─ emit
//!  liveness ◄──────────────────┘
//! ```
//!
//! * [`trace`]: what is translated, and what tools put into it.
//! * [`abi`]: what emitted code and whoever runs it agree on.
//! * [`liveness`]: flags that are read later.
//! * [`routines`]: what is known of analysis routines.
//! * [`emit`]: the rules by which code is written, in order.

pub mod abi;
pub mod emit;
pub mod liveness;
pub mod routines;
pub mod trace;
