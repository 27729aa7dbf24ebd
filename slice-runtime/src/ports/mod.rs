//! Those that a host talks to.
//!
//! ```text
//!   host ──► slot: the control process, by the run memory
//!        ──► stream: the collector, by a ring in the slot
//!        ──► tool: the author's code; requests: what its routines ask for, granting: and get
//!        ──► kernel: system calls without libc
//!        ──► calls: what tools are told of those, and of signals; threads_told: of threads
//!        ──► changes: what a tool may change of those
//!        ──► images: the collector, which knows what the app's files have in them
//! ```

mod app_events;
mod app_image;
mod app_thread;
mod calls;
mod changes;
mod granting;
mod images;
mod kernel;
pub mod requests;
mod slot;
pub mod stream;
mod threads_told;
mod tool;

pub use app_events::{SignalChange, SystemCall};
pub use app_image::{AppImage, Happened};
pub use app_thread::{AppThread, ThreadChange};
pub use calls::{Calls, signals_behind};
pub use changes::{CallChange, SignalArrival};
pub use granting::{Granted, grant};
pub use images::{Images, image_at, note_code};
pub use kernel::{cpu_time, execute_cpuid, grow_stack, processor, raw_syscall, time_of};
pub use slot::{OwnSlot, exit_now, header};
pub use threads_told::ThreadsTold;
pub use tool::{Asked, RunningTool};
