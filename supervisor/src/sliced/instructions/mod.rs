//! Instructions whose results a slice can't repeat: executed once, in the master, and recorded.
//!
//! ```text
//!   rdtsc, rdtscp, cpuid ── trap (SIGSEGV) ──► clock ──► record
//!   rdrand, rdseed ──────── breakpoint ──────► random ─► record
//!   call of the vsyscall page ─ breakpoint ──► vsyscall: found here, made by the master
//! ```
//!
//! * `clock`: what traps by itself. `counter`: the time stamp counter, computed from a clock.
//! * `random`, `vsyscall`: what has to be searched for in code.
//! * `breakpoints`: the processor's, which each thread has for itself.
//! * `barren`: code in which `random` found nothing.
//! * `traps`: breakpoints in the app's code, put and lifted.

mod barren;
mod breakpoints;
mod clock;
mod counter;
pub mod random;
mod traps;
pub mod vsyscall;

pub use breakpoints::{AWAITED, Breakpoints};
pub use clock::{ClockInstruction, Tsc};
pub use counter::{CLOCK, Counter, FRACTION, Line};
pub use random::RandomInstructions;
