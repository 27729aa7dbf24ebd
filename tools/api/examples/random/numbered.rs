//! A tool that numbers what is executed from the program's first instruction on, and so has to know in each slice, and where a region begins, what was executed before.

use superpin_tool::merge::{Append, Last, Merge, Sum};
use superpin_tool::{
    Arg, At, FirstPass, Gpr, Instruction, NoOptions, OnFirstPass, OnPrefix, Out, Prefix, SliceInfo, Tool, Trace,
};

use super::hash;

/// The tool.
pub struct Numbered;

superpin_tool::areas! {
    /// Executions of chosen instructions, those of each kind, and the stack pointer at the last one.
    struct Counted {
        all: Sum,
        kinds: [Sum; KINDS],
        last: Last<u64>,
    }
}

#[derive(Default)]
pub struct Local {
    executed: u64,
    told: u64,
    counted: Counted,
    seen: Append<String>,
}

/// Kinds of chosen instructions.
const KINDS: usize = 16;

/// Executions from one that is written down to the next.
const INTERVAL: u64 = 64;

fn count(counted: &mut Counted, kind: u64, stack_pointer: u64) {
    counted.all.0 += 1;
    counted.kinds[kind as usize % KINDS].0 += 1;
    counted.last = Last(Some(stack_pointer));
}

fn count_too(local: &mut Local, kind: u64, stack_pointer: u64) {
    count(&mut local.counted, kind, stack_pointer);
}

fn is_due(local: &mut Local) -> bool {
    local.counted.all.0.is_multiple_of(INTERVAL)
}

fn note(local: &mut Local, pc: u64, kind: u64) {
    let Counted { all, kinds, last } = &local.counted;
    local.seen.0.push(format!("{} {} {pc:x} {} {:x?}", all.0, local.executed, kinds[kind as usize].0, last.0));
}

fn execute(local: &mut Local, instructions: u64) {
    local.executed = local.executed.wrapping_add(instructions);
}

impl Numbered {
    /// Its kind, if it is one of those that are chosen.
    fn kind<L: 'static>(instruction: &Instruction<'_, L>) -> Option<u64> {
        let drawn = hash(3, instruction.address().0);
        drawn.is_multiple_of(64).then_some(drawn / 64 % KINDS as u64)
    }

    fn counts(&self, instruction: &Instruction<'_, Counted>) {
        if let Some(kind) = Self::kind(instruction) {
            instruction.call(At::Before, count, (kind, Gpr::Rsp));
        }
    }

    fn told(&self, local: &mut Local, prefix: Prefix) {
        local.told = prefix.instructions;
    }

    fn begins(&self, local: &mut Local, prefix: Prefix, before: &Counted) {
        assert_eq!(prefix.instructions, local.told);
        local.executed = prefix.instructions;
        local.counted = before.clone();
    }
}

impl Tool for Numbered {
    const NAME: &'static str = "numbered";
    const ABOUT: &'static str = "Number executions of chosen instructions from the program's begin on";
    const PREFIX: Option<OnPrefix<Self>> = Some(Self::told);
    const FIRST_PASS: Option<OnFirstPass<Self>> = Some(&FirstPass { counts: Self::counts, begins: Self::begins });
    type Options = NoOptions;
    type Local = Local;
    type Result = Append<String>;
    type Total = Append<String>;

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, trace: &Trace<'_, Local>) {
        for instruction in trace.instructions() {
            if let Some(kind) = Self::kind(&instruction) {
                instruction.call_if(At::Before, is_due, (), note, (Arg::Pc, kind));
                instruction.call(At::Before, count_too, (kind, Gpr::Rsp));
            }
            instruction.call(At::Before, execute, (Arg::BlockInstructions,));
        }
    }

    fn begin(&self, _: SliceInfo) -> Local {
        Local::default()
    }

    fn finish(&self, local: &Local) -> Self::Result {
        local.seen.clone()
    }

    fn fold(&self, total: &mut Self::Total, _: SliceInfo, seen: Self::Result) {
        total.merge(seen);
    }

    fn fini(&self, seen: Self::Total, out: &mut Out<'_>) -> std::io::Result<()> {
        for line in seen.0 {
            writeln!(out, "{line}")?;
        }
        Ok(())
    }
}
