//! The app's signals: virtual dispositions, real queues.
//!
//! ```text
//!   kernel ──► hook (threads) ──► Arrivals ──► actions: what it leads to ──► deliver ──► frame: the app's handler
//!                                                                           sigreturn ──► interrupted_calls
//! ```
//!
//! * `sets`: sets of signals. `arrivals`: what has come for a thread.
//! * `action`, `actions`: dispositions and masks. `alt_stack`: alternate stacks.
//! * `deliver`: into a handler, and back. `frame`, `xstate_area`: what it finds on its stack.
//! * `interrupted_calls`: calls that a handler has come before.
//! * `throttle`: the app gets on where signals come all the time.

mod action;
mod actions;
mod alt_stack;
mod arrivals;
pub mod deliver;
mod frame;
mod interrupted_calls;
mod sets;
pub mod throttle;
mod xstate_area;

pub use action::{Action, set_real_action};
pub use actions::{OfThread, Signals, set_real_mask};
pub use alt_stack::AltStack;
pub use arrivals::{Arrivals, Arrived};
pub use deliver::Death;
pub use interrupted_calls::InterruptedCall;
pub use sets::{FAULTS, bit};
pub use xstate_area::use_area;
