//! The `superpin` command under test and the modes it is run in.
//!
//! ```text
//!   modes: options ─┐
//!   built: program ─┼─► count ─► Counted: the app's outcome, totals, the report ─► total_of: as natively?
//!   a job ──────────┘     ▲
//!                         switches: what is off in this test
//! ```

mod built;
mod counted;
mod modes;

pub use built::{artifacts, binary, built_example, command, example};
pub use counted::{Counted, count, count_with, parse_total, result_with, total_of};
pub use modes::{EACH_CALL, FOLLOWED, MODES, Mode, SERIAL, SHARES};
