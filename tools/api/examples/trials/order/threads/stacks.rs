//! How deep the calls of each thread go: a call stack for each, put together from slices by path.

use std::collections::BTreeMap;

use superpin_tool::{
    Arg, At, BranchKind, CallStack, Gpr, NoOptions, Out, SliceInfo, ThreadInfo, ThreadPath, Threads, Tool, Trace,
};

/// The tool.
pub struct Deepest;

/// Calls that were left, and the stack.
type Seen = (u64, CallStack<u64>);

fn calls(seen: &mut Seen, stack_pointer: u64, target: u64) {
    let (left, stack) = seen;
    stack.enter(stack_pointer, target, |_, _| *left += 1);
}

fn returns(seen: &mut Seen, stack_pointer: u64) {
    let (left, stack) = seen;
    stack.leave(stack_pointer, |_, _| *left += 1);
}

impl Tool for Deepest {
    const NAME: &'static str = "calls-by-thread";
    const ABOUT: &'static str = "Count calls that return, and those that don't, by thread";
    type Options = NoOptions;
    type Local = Seen;
    type Result = Seen;
    type Total = BTreeMap<ThreadPath, Seen>;

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn threads(&self) -> Threads {
        Threads::Each
    }

    fn instrument(&self, trace: &Trace<'_, Seen>) {
        for instruction in trace.instructions() {
            match instruction.branch() {
                Some(BranchKind::Call | BranchKind::IndirectCall) => {
                    instruction.call(At::Taken, calls, (Gpr::Rsp, Arg::BranchTarget));
                }
                Some(BranchKind::Return) => instruction.call(At::Before, returns, (Gpr::Rsp,)),
                _ => {}
            }
        }
    }

    fn begin(&self, _: SliceInfo) -> Seen {
        (0, CallStack::default())
    }

    fn finish(&self, seen: &Seen) -> Seen {
        seen.clone()
    }

    fn fold(&self, _: &mut Self::Total, _: SliceInfo, _: Seen) {
        unreachable!("each thread has a result of its own");
    }

    fn fold_thread(&self, total: &mut Self::Total, _: SliceInfo, thread: &ThreadInfo, (more, part): Seen) {
        let (left, stack) = total.entry(thread.path.clone()).or_default();
        *left += more;
        stack.append(part, |_, _| *left += 1);
    }

    fn fini(&self, total: Self::Total, out: &mut Out<'_>) -> std::io::Result<()> {
        for (path, (left, stack)) in total {
            let mut stay = 0;
            stack.end(|_, _| stay += 1);
            writeln!(out, "{path}: {left} return, {stay} stay")?;
        }
        Ok(())
    }
}
