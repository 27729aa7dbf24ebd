//! The master: what each of its stops means for the slice that is being recorded.
//!
//! ```text
//!   stop ──► take_back (from the recorder inside it) ──► stops ─┬─ entry, exit: calls
//!                                                               ├─ signal: signals ─ deliveries, handlers, page_calls
//!                                                               ├─ interrupt: interrupts
//!                                                               └─ exec
//!        ──► Next: go on, cut here, ask again, give up
//! ```
//!
//! * `master`: its state, with the invariants.
//! * `call`: a system call that it is in. `check_calls`: whether a call did what the table says.
//! * `hold`: signals that are held back until it has got on.

mod call;
mod calls;
mod check_calls;
mod deliveries;
mod handlers;
mod hold;
mod interrupts;
#[expect(clippy::module_inception, reason = "the file of what the room is named for")]
mod master;
mod page_calls;
mod signals;
mod stops;
mod take_back;

pub(in crate::sliced) use handlers::{enter_handler, frame_elsewhere};
pub(in crate::sliced) use hold::{Hold, Leaves};
pub use master::Master;
