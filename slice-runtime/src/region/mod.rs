//! A tool that looks at a part of the run: from one instruction to another, by what was executed before.
//!
//! ```text
//!   hosts ─► Regioned ─┬─► the tool          while it looks
//!                      └─► counters          what is executed; a test before instructions where the next event may come
//!                            ▲
//!            places ─────────┘               which instructions are an event's place
//! ```
//!
//! Which part that is says [`bubble::region::Spec`]. Serially the events come one after the other, in one process. In a sliced run each slice is
//! run twice: first it counts what it executes, which costs what `icount2` costs; these counts add up in the order of slices, and when those before it are known, so is
//! what the tool is to see of the slice. If that is anything, another process goes on from the slice's first state, with the tool.
//!
//! The test at the head of a trace asks whether an event comes *in* it, and only then is the code translated anew with a test before each instruction: so where it comes is
//! exact to the instruction, and costs a comparison for each trace. When it comes, everything is translated anew, with the tool or without it. What is left of the
//! block is a block of its own to a tool that begins there. Tests only read, and what they read is corrected where a block is left early, so that they may be made again.
//!
//! * `cache`: translations of the two passes are two sorts. `regioned`: the tool as hosts see it. `counters`: the memory that is counted in, and the routines. `places`: names and markers.

mod cache;
mod counters;
mod places;
mod regioned;

pub use cache::shared_cache;
pub use regioned::around;
