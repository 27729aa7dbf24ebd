//! Records in words, for what is said of a slice that does something else.

use crate::instructions::{NondeterministicKind, NondeterministicRecord, RandomRecord};
use crate::log::{Record, Turn, TurnEnd};
use crate::table;

/// A call with arguments.
pub fn format_call(number: u64, args: &[u64]) -> String {
    let args: Vec<String> = args.iter().map(|arg| format!("{arg:#x}")).collect();
    format!("{}({})", table::name(number), args.join(", "))
}

/// The instruction.
pub fn nondeterministic_name(kind: NondeterministicKind) -> &'static str {
    match kind {
        NondeterministicKind::Rdtsc => "rdtsc",
        NondeterministicKind::Rdtscp => "rdtscp",
        NondeterministicKind::Cpuid => "cpuid",
    }
}

fn format_nondeterministic(record: &NondeterministicRecord) -> String {
    format!("{} at {:#x}", nondeterministic_name(record.kind), record.pc)
}

/// What the app does, or what happens to it, by the log.
pub fn format_record(record: &Record<'_>) -> String {
    match record {
        Record::Syscall(call) => format_call(call.number.into(), &call.args[..call.arity]),
        Record::Remap(call) => format_call(call.number.into(), &call.args[..call.arity]),
        Record::Nondeterministic(record) => format_nondeterministic(record),
        Record::Random(RandomRecord { pc, register, .. }) => {
            format!("an instruction at {pc:#x} that gives {} a random value", register.name())
        }
        Record::Delivery(delivered) => format!("a signal whose handler is at {:#x}", delivered.registers.rip),
        Record::Point(point) => format!("to come to {:#x}, in the midst of the app's own code", point.registers.rip),
        Record::SignalReturn(record) => format!("the return from a handler to {:#x}", record.registers.rip),
        Record::Thread(thread) => format!("news of thread {}", thread.index),
        Record::Turn(Turn { to, end: TurnEnd::InCall(call), .. }) => {
            format!("{}, in which thread {to} goes on", format_call(call.number, &call.args))
        }
        Record::Turn(Turn { to, .. }) => format!("thread {to} going on"),
    }
}
