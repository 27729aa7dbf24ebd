//! Instructions of each routine with those that it calls, and how often it was entered.

use std::collections::BTreeMap;

use superpin_tool::merge::{Merge, Sum};
use superpin_tool::{AppPc, At, CallStack, Frame, Gpr, NoOptions, Out, SliceInfo, Tool, Trace};

/// By the address of the routine: entries, and instructions from there on until it is left.
type Costs = BTreeMap<u64, (Sum, Sum)>;
/// What is known, and the routines that the app is in.
type Seen = (Costs, CallStack<u64>);

/// The tool.
pub struct Inclusive;

fn left(costs: &mut Costs) -> impl FnMut(Frame<u64>, u64) + '_ {
    |frame, now| {
        let (entries, instructions) = costs.entry(frame.data).or_default();
        entries.0 += 1;
        instructions.0 += now - frame.entered;
    }
}

fn enters(seen: &mut Seen, stack_pointer: u64, routine: u64) {
    seen.1.enter(stack_pointer, routine, left(&mut seen.0));
}

fn returns(seen: &mut Seen, stack_pointer: u64) {
    seen.1.leave(stack_pointer, left(&mut seen.0));
}

fn executes(seen: &mut Seen) {
    seen.1.advance(1);
}

impl Tool for Inclusive {
    const NAME: &'static str = "inclusive";
    const ABOUT: &'static str = "Count instructions of routines and of what they call";
    type Options = NoOptions;
    type Local = Seen;
    type Result = Seen;
    type Total = Seen;

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, trace: &Trace<'_, Seen>) {
        for instruction in trace.instructions() {
            if let Some(routine) = instruction.enters() {
                instruction.call(At::Before, enters, (Gpr::Rsp, routine.address()));
            }
            instruction.call(At::Before, executes, ());
            if instruction.branch() == Some(superpin_tool::BranchKind::Return) {
                instruction.call(At::Before, returns, (Gpr::Rsp,));
            }
        }
    }

    fn begin(&self, _: SliceInfo) -> Seen {
        Seen::default()
    }

    fn finish(&self, local: &Seen) -> Seen {
        local.clone()
    }

    fn fold(&self, (costs, stack): &mut Seen, _: SliceInfo, (slice, part): Seen) {
        Merge::merge(costs, slice);
        stack.append(part, left(costs));
    }

    fn fini(&self, (mut costs, stack): Seen, out: &mut Out<'_>) -> std::io::Result<()> {
        writeln!(out, "{} instructions", stack.now())?;
        stack.end(left(&mut costs));
        for (address, (entries, instructions)) in costs {
            let routine = out.images().routine_at(AppPc(address)).map(|routine| routine.demangled());
            writeln!(out, "{} {} {}", entries.0, instructions.0, routine.unwrap_or_default())?;
        }
        Ok(())
    }
}
