//! The JIT engine: runs an app's code from a code cache, translated trace by trace by [`translator`].
//!
//! ```text
//!  interface ◄─ gateway ◄─ cache ◄─ coherence ◄─ link ◄─ translations ◄─ run
//!                            └─ signals ◄───────────────────────────────┘
//! ```
//!
//! * `interface`: what the engine is told ([`Settings`]), and whom it asks ([`Host`]).
//! * `gateway`: into the cache and out of it.
//! * `cache`: code and its tables.
//! * `coherence`: app code, and whether it can change.
//! * `link`: where indirect branches go.
//! * `signals`: faults and interruptions, back to the app's state.
//! * `translations`: what all threads of a process share: finding, making, dropping.
//! * `run`: one thread ([`Runner`]).
//! * `log`: what those who work on it are told.
//! * [`check`]: what analysis routines do that they must not.
//! * [`block_counts`]: how often blocks were executed.
//! * [`routines`]: what is counted of analysis routines that leave the cache.
//! * [`safe_reads`]: what analysis routines read of the app's memory.

pub mod block_counts;
mod cache;
pub mod check;
mod coherence;
mod gateway;
mod interface;
mod link;
mod log;
pub mod routines;
mod run;
pub mod safe_reads;
mod signals;
mod translations;

pub use gateway::{
    detach, enter_window, extended_state, fast_path, host_word, map_window, own, stored_environment, windows_end,
};
pub use interface::{Control, Fault, Flow, Host, Nondeterministic, Settings, TRAP_FLAG, Watched};
pub use link::mapped_later;
pub use run::{App, Runner, StateMut, StoppedIn, ask, stream, write_app};
pub use signals::{Hook, install_signal, interrupt, on_signal, set_interrupted};

#[cfg(test)]
suites::watch_tests!();
