//! Where the app goes after each instruction, against where it is next.

use superpin_tool::merge::{Merge, Sum};
use superpin_tool::{Arg, At, NoOptions, Out, SliceInfo, Tool, Trace};

/// What a slice has.
#[derive(Default)]
pub struct Local {
    /// Where the app should be next; 0 if that isn't known.
    next: u64,
    /// Whether the next conditional branch was said to be taken.
    said: u64,
    counts: Counts,
}

/// Calls after instructions, calls of taken branches, and differences.
type Counts = [Sum; 3];

/// The tool.
pub struct Behind;

fn arrive(local: &mut Local, pc: u64) {
    local.counts[2].0 += u64::from(local.next != 0 && local.next != pc);
    local.next = 0;
}

fn say(local: &mut Local, taken: u64) {
    local.said = taken;
}

fn after(local: &mut Local, next: u64) {
    local.counts[0].0 += 1;
    local.next = next;
}

fn taken(local: &mut Local, target: u64, is_taken: u64) {
    local.counts[1].0 += 1;
    local.counts[2].0 += u64::from(is_taken != 1);
    local.next = target;
}

fn compare(local: &mut Local, taken: u64) {
    local.counts[2].0 += u64::from(local.said != taken);
}

impl Tool for Behind {
    const NAME: &'static str = "behind";
    const ABOUT: &'static str = "Check calls behind instructions and branches";
    type Options = NoOptions;
    type Local = Local;
    type Result = Counts;
    type Total = Counts;

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, trace: &Trace<'_, Local>) {
        for instruction in trace.instructions() {
            instruction.call(At::Before, arrive, (Arg::Pc,));
            let conditional = instruction.has_after() && instruction.branch().is_some();
            if conditional {
                instruction.call(At::Before, say, (Arg::BranchTaken,));
                instruction.call(At::After, compare, (Arg::BranchTaken,));
                instruction.call(At::Taken, compare, (Arg::BranchTaken,));
            }
            if instruction.has_after() {
                instruction.call(At::After, after, (instruction.next_address(),));
            }
            if instruction.branch().is_some() {
                instruction.call(At::Taken, taken, (Arg::BranchTarget, Arg::BranchTaken));
            }
        }
    }

    fn begin(&self, _: SliceInfo) -> Local {
        Local::default()
    }

    fn finish(&self, local: &Local) -> Counts {
        local.counts
    }

    fn fold(&self, total: &mut Counts, _: SliceInfo, counts: Counts) {
        total.merge(counts);
    }

    fn fini(&self, [after, taken, differences]: Counts, out: &mut Out<'_>) -> std::io::Result<()> {
        writeln!(out, "behind: {}\ntaken: {}\ndifferences: {}", after.0, taken.0, differences.0)
    }
}
