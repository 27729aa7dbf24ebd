//! What the suites share.
//!
//! A *guest* is a small program that does one thing and is named for it ([`guest`]); a *mode* is a set of superpin's options
//! ([`superpin::MODES`]). A suite runs guests in modes and compares everything that can be seen of a run ([`run::Outcome`]: output, files,
//! exit status) with the native run, and the totals with each other and with an independent count ([`oracle`]).

pub mod guest;
pub mod oracle;
pub mod random;
pub mod run;
pub mod superpin;
pub mod switches;
pub mod workload;
