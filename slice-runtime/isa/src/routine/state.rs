//! What is known at a place of a routine.

use iced_x86::{Instruction as Iced, OpAccess};
use machine::Gpr;

use crate::decode::gpr;
use crate::facts::with_iced_info;

/// Arguments of the C convention that are passed in registers.
pub const ARGUMENTS: usize = 6;

/// What is known of a register while the routine is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    /// The caller's; a routine that reads it isn't understood.
    Foreign,
    /// Nothing that the routine may read. It needn't keep it either.
    Undefined,
    /// Its lowest eight bits are in the template's register; the others are undefined.
    Low,
    /// Known now. `loaded`: the template's register holds it as well.
    Known { value: u64, loaded: bool },
    /// Only the template's register holds it.
    Dynamic,
}

/// The argument registers of the C convention.
pub(super) const ARGUMENT_REGISTERS: [Gpr; ARGUMENTS] = [Gpr::Rdi, Gpr::Rsi, Gpr::Rdx, Gpr::Rcx, Gpr::R8, Gpr::R9];

/// What is known before an instruction of the routine.
#[derive(Clone)]
pub(super) struct RoutineState {
    pub(super) values: [Value; 16],
    /// Whether the flags are those that the last flag-writing instruction of the routine left (it wasn't folded).
    pub(super) flags_valid: bool,
    /// Which these are, if it compared constants.
    pub(super) flags: Option<u64>,
    /// Whether the caller's rbp was pushed.
    pub(super) frame: bool,
}

impl RoutineState {
    /// What is known on both of two ways.
    pub(super) fn met_by(&self, other: &RoutineState) -> Option<RoutineState> {
        let mut values = self.values;
        for (value, other) in values.iter_mut().zip(other.values) {
            *value = match (*value, other) {
                (one, other) if one == other => one,
                (Value::Foreign, _) | (_, Value::Foreign) => Value::Foreign,
                (Value::Undefined, _) | (_, Value::Undefined) => Value::Undefined,
                (Value::Known { loaded: false, .. }, _) | (_, Value::Known { loaded: false, .. }) => return None,
                (Value::Low, _) | (_, Value::Low) => Value::Low,
                _ => Value::Dynamic,
            };
        }
        let flags = self.flags.filter(|_| self.flags == other.flags);
        let flags_valid = self.flags_valid && other.flags_valid;
        (self.frame == other.frame).then_some(RoutineState { values, flags_valid, flags, frame: self.frame })
    }
}

/// A branch whose target is still to be come to.
pub(super) struct Way {
    /// Address in the routine, or `u64::MAX`: behind it.
    pub(super) target: u64,
    /// The template that branches.
    pub(super) from: usize,
    pub(super) state: RoutineState,
}

/// Calls `f` with each general register that a simple instruction names, how, and in which size.
pub(super) fn for_each_register(iced: &Iced, mut f: impl FnMut(Gpr, OpAccess, usize)) {
    with_iced_info(iced, |info| {
        for used in info.used_registers() {
            if let Some(r) = gpr(used.register()) {
                f(r, used.access(), used.register().size());
            }
        }
    });
}
