//! Short constructors and constants, so that rows read like the manual's synopsis.

use super::types::Len::{Arg, Fixed};
use super::types::Out::Bytes;
use super::types::{Class, Command, In, Len, Out, Row, Special};

pub(super) const INVALID: Class = Class::Refuse { result: -(libc::EINVAL as i64) };
/// Claims success: nobody can tell that it wasn't done.
pub(super) const PRETEND: Class = Class::Refuse { result: 0 };

/// The half of an argument that the kernel looks at where it takes an `int`.
pub(super) const LOW: u64 = 0xffff_ffff;

/// `struct stat`.
pub(super) const STAT: Len = Fixed(144);
/// `struct statfs`.
pub(super) const STATFS: Len = Fixed(120);
/// `struct timespec`, `timeval`, `rlimit`.
pub(super) const TIME: Len = Fixed(16);
/// `struct itimerval`, `itimerspec`, `tms`.
pub(super) const ITIMER: Len = Fixed(32);
pub(super) const RUSAGE: Len = Fixed(144);
pub(super) const SIGINFO: Len = Fixed(128);
pub(super) const THREE_IDS: &[Out] = &[Bytes(0, Fixed(4)), Bytes(1, Fixed(4)), Bytes(2, Fixed(4))];

/// What `write` and its like take.
pub(super) const WRITTEN: &[In] = &[In::Bytes(1, Arg(2))];
pub(super) const GATHERED: &[In] = &[In::Iovecs(1, 2)];
pub(super) const PATH: &[In] = &[In::Text(0)];
pub(super) const PATHS: &[In] = &[In::Text(0), In::Text(1)];
pub(super) const PATH_AT: &[In] = &[In::Text(1)];

/// A call that is replayed and writes nothing but its result.
pub(super) const fn call(number: u32, name: &'static str, arity: u8) -> Row {
    Row { number, name, arity, class: Class::Replay, outputs: &[], inputs: &[], always: false, choice: None }
}

pub(super) const fn special(number: u32, name: &'static str, arity: u8, what: Special) -> Row {
    Row { class: Class::Special(what), ..call(number, name, arity) }
}

/// A command that is replayed and writes nothing but its result.
pub(super) const fn command(value: u64, name: &'static str) -> Command {
    Command { value, name, class: Class::Replay, outputs: &[] }
}

/// A command that is replayed and writes `outputs`.
pub(super) const fn gives(value: u64, name: &'static str, outputs: &'static [Out]) -> Command {
    Command { outputs, ..command(value, name) }
}

/// A command of another class.
pub(super) const fn other(value: u64, name: &'static str, class: Class) -> Command {
    Command { class, ..command(value, name) }
}
