//! `heap`: what the app allocates and frees, where, and what it has in the end.
//!
//! * `routines`: which routines allocate and free, and what they are given. `calls`: their calls that the app is in. `stacks`: who has called them. `tool`: the rest.

mod calls;
mod routines;
mod stacks;
mod tool;

pub use tool::HeapProfile;
