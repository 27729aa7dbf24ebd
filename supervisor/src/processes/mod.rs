//! All processes of a run: the app and, with `-follow 1`, those that it starts.
//!
//! ```text
//!   settings ──► run: checks, launches the app ──► Processes: one loop
//!                                                   ├─ Member (the app) ── Follower
//!                                                   ├─ Member (a child) ── Follower
//!                                                   └─ vfork_child: until its exec
//! ```
//!
//! * `run`: one run from settings to exit status. `together`: whether its tools can look at one run.
//! * `event_loop`: the loop: sleep, pass each report to whom it is about.
//! * `member`: one process, from its start until its result is printed.
//! * `early_stops`: first stops that come before the news of the process.
//! * `vfork_child`: a process in its parent's memory.
//! * `live`: the line that tells a person how the run gets on.
//! * `job_control`: stopping and continuing with the app.

mod early_stops;
mod event_loop;
mod job_control;
mod live;
mod member;
pub mod run;
mod together;
mod vfork_child;
