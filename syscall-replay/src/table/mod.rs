//! The one table of system calls: what each is for a replay, and which bytes of the app's memory the kernel writes.
//!
//! A row names what the manual page says in a small typed language ([`Out`], [`Len`], [`In`]) over the
//! arguments and the result. Recording interprets it; replay doesn't need it, since the log holds the bytes.
//!
//! Two rules make the table safe:
//! * What isn't named (an unknown number, `ioctl` request or `fcntl` command) is [`Class::Boundary`]: the next slice is
//!   forked after the call and nothing about it needs to be known.
//! * A row may name more bytes than the kernel writes, never fewer. Bytes that the kernel left alone are the same in the
//!   slice, so recording them changes nothing.
//!
//! ```text
//!   types ◄─ values ◄─ choices, commands ◄─ rows ◄─ lookup
//!                                             ▲─ prototypes: names and types of arguments
//! ```

mod choices;
mod commands;
mod lookup;
mod prototypes;
mod rows;
mod types;
mod values;

pub use lookup::{lookup, may_kill, name, row, vsyscall, writes_elsewhere};
pub use prototypes::{Parameter, parameters};
pub use rows::ROWS;
pub use types::{Class, In, Len, Out, Row, Rule, Special};
