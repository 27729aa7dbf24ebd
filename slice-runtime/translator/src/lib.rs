//! From traces of app code to machine code.
//!
//! This crate knows no code cache, no process and nobody who runs what it makes. So a JIT, slices that share their translations, and code that is written to
//! a file can use it alike.
//!
//! ```text
//!  in:   a trace::Trace        selected from bytes of app code, filled with a tool's calls
//!        emit::Rules, Shape    what holds for the run, and for this trace
//!        emit::Site            where the code will lie
//!  out:  emit::Translation     bytes, exits, and a state map: from each place in the code back to the app's state
//!
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
