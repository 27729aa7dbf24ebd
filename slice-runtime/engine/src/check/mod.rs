//! Checking of a tool (`-check-tool 1`): what analysis routines store to, and whether they ask the kernel.
//!
//! Problem: a routine may store anywhere and call anything, and nothing of that is seen from outside. To forbid it by the pages' protection, call by call, takes a hundred
//! microseconds for each. Approach: the routine isn't called itself, but a copy of its machine code, and of all that it calls, in which each store asks first where it
//! goes, and each system call whether it is the runtime's own.
//!
//! ```text
//!   Runner ─► state ─┬─► follow     copies code of the image: stores, system calls and indirect branches go through …
//!                    └─► thunks     … these few instructions, which know where copies lie
//! ```
//!
//! A copy's calls push addresses of the copy, and a return is a return. An indirect branch looks its target up; what isn't copied yet is executed as it is, once, and
//! copied when the routine has returned. So what is reached by function pointers only is checked from its second execution on.

mod follow;
mod state;
mod thunks;

pub use state::{Violation, call, give_up, is_on, is_second, leave_alone, set_second, start, while_allowed, with};
pub(crate) use state::{dispatched, entry, is_checked, locals, passes, set_place};
