//! Events: what a run tells those who work on it (`-log`, `-dump-trace`, `-stop-slice`), on its way to the control process.
//!
//! A process of the app's may open no file of its own: the app would see the descriptor. So it writes text to CONTROL, which it shares with
//! the control process. What is behind the snapshot's header is cut into *chunks*. Who has something to tell takes a chunk for itself,
//! and another one when that is full; the control process reads along ([`Reader`]), and frees chunks that are full, or whose process has ended.
//!
//! ```text
//!   CONTROL ... SnapshotHeader | lost | chunk 0 | chunk 1 | ...
//!   a chunk:  state, process, slice, used | entry | entry | ...          entry: kind, bytes, time | text, padded to 8
//! ```
//! In a run that isn't to tell anything, nothing of this is touched: [`wants`] is one load, and is asked on slow paths only.
//!
//! ```text
//!   kind ◄─ area ◄─ tell, reader
//! ```

mod area;
mod kind;
mod reader;
mod tell;

pub use kind::{EventKind, SERIAL};
pub use reader::{Event, Reader};
pub use tell::{now, start, tell, wants};
