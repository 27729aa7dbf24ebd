//! Areas that merge by name, and when slices begin and end.

use std::collections::{BTreeMap, BTreeSet};

use superpin_tool::merge::{Append, First, Last, Max, Merge, Min, Or, Sum};
use superpin_tool::{AppPc, Arg, At, NoOptions, Out, SliceInfo, Tool, Trace, json};

superpin_tool::areas! {
    /// What a part of the execution was seen to do.
    pub struct Seen {
        instructions: Sum,
        longest_block: Max,
        lowest_stack: Min,
        bits_of_rax: Or,
        pages: BTreeSet<u64>,
        lengths: BTreeMap<u64, Sum>,
        first_block: First<u64>,
        last_block: Last<u64>,
        system_calls: Append<u64>,
    }
}

fn block(seen: &mut Seen, address: u64, length: u64, stack_pointer: u64, rax: u64) {
    seen.instructions.0 += length;
    seen.longest_block.0 = seen.longest_block.0.max(Some(length));
    seen.lowest_stack.merge(Min(Some(stack_pointer)));
    seen.bits_of_rax.0 |= rax;
    seen.pages.insert(address >> 12);
    seen.lengths.entry(length).or_default().0 += 1;
    seen.first_block.merge(First(Some(address)));
    seen.last_block.0 = Some(address);
}

fn calls(seen: &mut Seen, number: u64) {
    seen.system_calls.0.push(number);
}

/// The tool.
pub struct Areas;

impl Tool for Areas {
    const NAME: &'static str = "areas";
    const ABOUT: &'static str = "Totals that merge by name";
    type Options = NoOptions;
    superpin_tool::auto_merge!(Seen);

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, trace: &Trace<'_, Seen>) {
        for of_app in trace.blocks() {
            let args = (Arg::Pc, of_app.len(), superpin_tool::Gpr::Rsp, superpin_tool::Gpr::Rax);
            of_app.call(At::Before, block, args);
        }
        for call in trace.instructions().filter(|instruction| instruction.is_syscall()) {
            call.call(At::Before, calls, (superpin_tool::Gpr::Rax,));
        }
    }

    fn fini(&self, total: Seen, out: &mut Out<'_>) -> std::io::Result<()> {
        writeln!(out, "{}", json::to_value(&total).expect("areas have names"))
    }
}

/// Tells when it is asked for what.
pub struct Slices;

/// The number that it was begun with, calls, and words that were drained.
type Noted = (u64, u64, u64);

fn count(noted: &mut Noted) {
    noted.1 += 1;
}

impl Tool for Slices {
    const NAME: &'static str = "slices";
    const ABOUT: &'static str = "Check when slices begin, end and are folded";
    type Options = NoOptions;
    type Local = Noted;
    type Result = Noted;
    type Total = (u64, u64, u64, Vec<String>);

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, trace: &Trace<'_, Noted>) {
        for block in trace.blocks() {
            block.call(At::Before, count, ());
            block.first().buffer((AppPc(0),));
        }
    }

    fn begin(&self, slice: SliceInfo) -> Noted {
        (slice.number, 0, 0)
    }

    fn drain(&self, noted: &mut Noted, words: &[u64]) {
        noted.2 += words.len() as u64;
    }

    fn finish(&self, noted: &Noted) -> Noted {
        *noted
    }

    fn fold(&self, total: &mut Self::Total, slice: SliceInfo, (number, calls, words): Noted) {
        let (slices, of_all, words_of_all, wrong) = total;
        if (number, slice.number) != (*slices, *slices) {
            wrong.push(format!("slice {number} is folded as {}, after {slices} slices", slice.number));
        }
        if calls != words {
            wrong.push(format!("slice {number}: {calls} calls, {words} words before it finished"));
        }
        *slices += 1;
        *of_all += calls;
        *words_of_all += words;
    }

    fn fini(&self, (slices, calls, words, wrong): Self::Total, out: &mut Out<'_>) -> std::io::Result<()> {
        writeln!(out, "several slices: {}", slices > 1)?;
        writeln!(out, "{calls} calls, {words} words")?;
        wrong.iter().try_for_each(|wrong| writeln!(out, "{wrong}"))
    }
}
