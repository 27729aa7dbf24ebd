//! The loop of each thread.
//!
//! ```text
//!   shared_state ◄─ parallel ◄─ finish ◄─ run
//! ```
//!
//! * `run`: the loop. `shared_state`: what threads share, for the one that has the turn.
//! * [`parallel`]: threads that run translated code at the same time.
//! * `finish`: what is handed in at the app's end.

mod finish;
pub mod parallel;
mod run;
mod shared_state;

pub use run::{host, run};
