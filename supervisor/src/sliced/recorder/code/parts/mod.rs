//! Parts of the recorder's code ([`super::code`]), each a macro that gives its assembly.
//!
//! `border` is how it is entered and left. `descriptors`, `conditions`, `paths`, `sockets` look at what a call is about before it is made, `events` at calls that
//! wait for descriptors; `outputs` copies what a call has written.
//! `readings` reads the time stamp counter. `turns` passes the turn on among threads.

pub(super) mod border;
pub(super) mod conditions;
pub(super) mod descriptors;
pub(super) mod events;
pub(super) mod outputs;
pub(super) mod paths;
pub(super) mod readings;
pub(super) mod sockets;
pub(super) mod turns;
