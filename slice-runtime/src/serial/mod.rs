//! The host of a serial run: the app itself, under translation.
//!
//! Its system calls are made for real, with the app's own arguments. What must not become real is virtual: signal
//! dispositions, the alternate stack and part of the mask (the engine needs signals itself), the segment bases, and what the
//! system call table refuses in every mode.
//!
//! ```text
//!   calls ◄─ signals ◄─ threads, children, memory ◄─ ending ◄─ host ◄─ running ◄─ threaded, told ◄─ answers
//! ```
//!
//! * `answers`: what the engine asks. `host`: what is behind the answers; `threaded`: for threads; `told`: what the tool is told, `changes`: what it changes. [`running`]: the loop of each thread, by turns or at the same time.
//! * [`calls`]: making calls. [`signals`]: the app's signals. [`threads`]: whose turn it is.
//! * [`memory`]: calls that shape memory, and hiding the image. [`children`]: processes that leave.
//! * `ending`: how the app ends.
//!
//! The result is handed in before anything after which this image doesn't run any more: exec, exit, a fatal signal.

mod answers;
mod calls;
mod changes;
mod children;
mod ending;
mod host;
mod memory;
mod running;
mod signals;
mod threaded;
mod threads;
mod told;

pub use memory::{limit_open_files, open_at_start};
pub use running::{host, run};
pub use signals::{Signals, use_area};
