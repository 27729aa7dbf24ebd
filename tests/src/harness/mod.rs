//! What runs a suite's tests, and the programs that they are about.
//!
//! ```text
//!   stop, random ─► switches ─► superpin ◄─ run ◄─ deadline        each room: who uses it stands to the right of it, or below
//!                      │           │         │
//!                      │           ▼         ├─► terminal
//!                      │         guest ◄─────┘
//!                      ▼
//!   selection ──────► trials: the tests of a suite, those that this run has, what was skipped
//! ```
//!
//! * `deadline`: all waits, and what happens to a test that is late. `stop`: why a test didn't come to its end.
//! * `run`: a program, its run, and what it leaves. `terminal`: the same with somebody at the keyboard.
//! * `superpin`: the command under test and its modes. `switches`: which optimisations are off meanwhile, by `random` numbers.
//! * `guest`: the programs of `tests/guests`. `watched`: what random tools see of one.
//! * `selection`: which tests a run has. `trials`: runs them.

pub mod deadline;
pub mod guest;
pub mod random;
pub mod run;
pub mod selection;
pub mod stop;
pub mod superpin;
pub mod switches;
pub mod terminal;
pub mod trials;
pub mod watched;
