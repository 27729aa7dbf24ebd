//! What an author writes: a tool, its options, how its results are put together and printed.
//!
//! ```text
//!   instrument ─┐
//!               ├─► tool ◄─ options
//!          out ─┘              merge: for results, by itself
//! ```
//!
//! * `tool`: the trait [`Tool`], the contract between an author and whoever runs the tool.
//! * `per_thread`: a tool that also tells of each thread by itself.
//! * `serial_tool`: the trait [`SerialTool`], of tools that change the app.
//! * `options`: its options, with those that every tool has.
//! * `call_stack`: the routines that the app is in, put together from slices.
//! * `prefix`: what was executed before a slice. `first_pass`: what a tool counts of that itself.
//! * `requests`: what routines ask of the run.
//! * [`merge`]: results that are put together by themselves.
//! * `areas`: such results by name.
//! * `out`: what it prints to. `stream`: what it writes meanwhile.

mod areas;
mod call_stack;
pub(crate) mod compare;
mod first_pass;
pub mod merge;
mod options;
mod out;
mod per_thread;
mod prefix;
mod requests;
mod serial_tool;
mod stream;
#[expect(clippy::module_inception, reason = "the file of the trait Tool")]
mod tool;

pub use call_stack::{CallStack, Frame};
pub use first_pass::FirstPass;
pub use options::{Configured, NoOptions, check, configure, help, identity, sees};
pub use out::{Out, Told, Total};
pub use per_thread::PerThread;
pub use prefix::{CountsBefore, Prefix};
pub use requests::{end_slice, leave_slice, stop};
pub use serial_tool::{ChangeSignal, ChangeSyscall, SerialTool};
pub use stream::{Stream, packed};
pub use tool::{OnFirstPass, OnImage, OnPrefix, OnSignal, OnSyscall, OnThread, SliceInfo, Tool};
