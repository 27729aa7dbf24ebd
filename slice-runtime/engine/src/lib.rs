//! The JIT engine: runs an app's code from a code cache, translated trace by trace, ISA to ISA (for indirect branches and returns see `targets` and `landings`).
//!
//! * [`Engine`] runs; [`Guest`] is for whom it runs; what tools see of a trace is in [`translator::trace`].
//! * [`translator`] makes machine code of app code, `space` and `tables` keep it, `dispatch` and `landings` find it,
//!   `gateway` enters and leaves it, `shortcut` goes round the runtime, `signals` maps interruptions back to the app, `finish` does the rest of what was interrupted, `pages` and `regions` watch the app's
//!   memory, `end` finds a slice's end, [`routines`] tells what left the cache.

pub mod buffer;
mod cells;
mod dispatch;
mod end;
mod engine;
mod entrances;
mod exits;
mod finish;
mod gateway;
pub mod guest;
mod invalidate;
mod landings;
mod pages;
mod places;
mod regions;
pub mod routines;
pub mod shortcut;
mod signals;
mod slots;
mod space;
mod tables;
mod targets;
mod templates;

pub use engine::{Engine, Settings, Stats};
pub use gateway::{detach, extended_state, stored_environment};
pub use guest::{Control, Fault, Flow, Guest, Volatile};
pub use signals::{TRAP_FLAG, install_signal, interrupt, on_signal, set_interrupted};
pub use targets::mapped_later;

#[cfg(test)]
suites::watch_tests!();
