//! A thread of the master's: where it stands, and what is its own.
//!
//! * `thread`: calls, interrupts, going on; with the invariants. `awaited`: what waits until it has come to a breakpoint.
//! * `turn`: losing the turn, beginning, ending. `left_words`: what the kernel writes when it ends. `owners`: what it writes where locks are waited for.
//! * `call`: a system call that it is in. `waits`: waiting in it, without getting what it gets. `broken_off`: a call that is made again.
//! * `throttle`: signals that are held back until it has got on.

mod awaited;
mod broken_off;
mod call;
mod left_words;
mod owners;
#[expect(clippy::module_inception, reason = "the file of what the room is named for")]
mod thread;
mod throttle;
mod turn;
mod waits;

pub(in crate::sliced::master) use broken_off::Again;
pub(in crate::sliced::master) use call::OpenCall;
pub(in crate::sliced::master) use left_words::LeftWords;
pub(in crate::sliced::master) use owners::has_given;
pub(in crate::sliced::master) use thread::Awaited;
pub use thread::Thread;
