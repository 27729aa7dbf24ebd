//! Sliced mode: the app runs natively in the master, and slice by slice under translation beside it.
//!
//! ```text
//!   master   ────────┬─────────┬──────────┬──►  native, stopped at calls and boundaries
//!                    │ fork    │ fork     │
//!   slice 0  ════════╡         │          │     translated, replays its log, ends where the next one starts
//!   slice 1          ╘═════════╡          │
//!   slice 2                    ╘══════════╡
//! ```
//!
//! From what lies below to what lies above:
//!
//! ```text
//!   boundaries, instructions, memory ◄─ slices ◄─ recorder ◄─ master ◄─ phases, time ◄─ cut ◄─ turns ◄─ begin_end ◄─ follow
//! ```
//!
//! * [`boundaries`]: when and where a slice ends.
//! * [`instructions`]: instructions whose results are recorded.
//! * [`memory`]: memory that a fork shares with the master, and files that are busy.
//! * `log`: what those who work on superpin are told.
//! * [`slices`]: slices, from their fork to their result.
//! * [`recorder`]: the recorder inside the app.
//! * [`master`]: what each of the master's stops means.
//! * `phases`: what the master is doing; letting it go on, or go. `time`: how long a slice works, and a thread has the turn.
//! * `cut`: the end of one slice and the start of the next. `turns`: which of the master's threads runs. `begin_end`: how the run begins and ends. `follow`: reports come in here.

mod begin_end;
mod boundaries;
mod cut;
mod follow;
mod instructions;
mod log;
mod master;
mod memory;
mod phases;
mod recorder;
mod slices;
mod time;
mod turns;

pub use follow::follow;
