//! What the kernel is asked, and what it answers.
//!
//! ```text
//! request ──► ptrace(2)        waitid(2) ──► wait: a Report, an ExitStatus
//!    └──► error: gone, or refused
//! ```

mod error;
mod request;
mod wait;

pub use error::TraceError;
pub(crate) use request::request;
pub use wait::{ExitStatus, Report, next_report, threads_are_traced};
pub(crate) use wait::{report_on, wait_for_stop};
