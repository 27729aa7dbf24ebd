//! What the suites share.
//!
//! A *guest* is a small program that does one thing and is named for it ([`guest`]); a *mode* is a set of superpin's options
//! ([`superpin::MODES`]). A suite runs guests in modes and compares everything that can be seen of a run ([`run::Outcome`]: output, files,
//! exit status) with the native run, and the totals with each other and with an independent count ([`oracle`]). A run has a share of the tests, and some commits together
//! have all ([`selection`]); each test has a deadline ([`deadline`]), and what happens on the machine meanwhile makes no difference to it ([`run::libraries`]).
//!
//! ```text
//!   harness ─┬─► oracle      counts by single steps
//!            ├─► workload    real programs and their inputs
//!            └─► suites/, benches, bin/: soak, oracle, first-difference ◄─ path: the way that a run took
//! ```

mod harness;
pub mod oracle;
pub mod path;
pub mod workload;

pub use harness::{deadline, guest, random, run, selection, stop, superpin, switches, terminal, trials, watched};
