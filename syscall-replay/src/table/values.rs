//! Short constructors, so that rows read like the manual's synopsis.

use machine::Memory;

use super::types::{Choice, Class, Command, In, Out, Row, Special};

pub(super) const NOSYS: Class = Class::Refuse { result: -(libc::ENOSYS as i64) };
pub(super) const INVALID: Class = Class::Refuse { result: -(libc::EINVAL as i64) };
/// Claims success: nobody can tell that it wasn't done.
pub(super) const PRETEND: Class = Class::Refuse { result: 0 };

/// A call that is replayed and writes nothing but its result.
pub(super) const fn call(number: u32, name: &'static str, arity: u8) -> Row {
    Row { number, name, arity, class: Class::Replay, outputs: &[], inputs: &[], always: false, choice: None }
}

pub(super) const fn special(number: u32, name: &'static str, arity: u8, what: Special) -> Row {
    Row { class: Class::Special(what), ..call(number, name, arity) }
}

impl Row {
    pub(super) const fn out(self, outputs: &'static [Out]) -> Row {
        Row { outputs, ..self }
    }

    /// Like [`Row::out`]; these are written even if the call fails.
    pub(super) const fn out_always(self, outputs: &'static [Out]) -> Row {
        Row { outputs, always: true, ..self }
    }

    pub(super) const fn reads(self, inputs: &'static [In]) -> Row {
        Row { inputs, ..self }
    }

    pub(super) const fn is(self, class: Class) -> Row {
        Row { class, ..self }
    }

    pub(super) const fn repeat(self) -> Row {
        self.is(Class::Repeat)
    }

    pub(super) const fn boundary(self) -> Row {
        self.is(Class::Boundary)
    }

    pub(super) const fn refuse(self) -> Row {
        self.is(NOSYS)
    }

    pub(super) const fn by_value(self, arg: u8, mask: u64, commands: &'static [Command]) -> Row {
        Row { choice: Some(Choice::Value { arg, mask, commands }), ..self }
    }

    pub(super) const fn by_args(self, class: fn(&[u64; 6]) -> Class) -> Row {
        Row { choice: Some(Choice::Args(class)), ..self }
    }

    pub(super) const fn by_memory(self, class: fn(&[u64; 6], &dyn Memory) -> Class) -> Row {
        Row { choice: Some(Choice::Memory(class)), ..self }
    }
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
