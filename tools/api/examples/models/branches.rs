//! `longhistory`: which branches a small TAGE predicts wrongly, and how often.

use std::collections::BTreeMap;

use superpin_tool::merge::{Merge, Sum};
use superpin_tool::models::{Tage, TageShape};
use superpin_tool::serde::{Deserialize, Serialize};
use superpin_tool::{Arg, At, BranchKind, NoOptions, Out, SliceInfo, Tool, Trace};

pub struct LongHistory(TageShape);

/// The predictor, all branches, and mispredictions by the branch's address.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Seen {
    predictor: Tage,
    branches: Sum,
    wrong: BTreeMap<u64, Sum>,
}

fn count(wrong: &mut BTreeMap<u64, Sum>) -> impl FnMut(u64, u64) + '_ {
    |branch, times| wrong.entry(branch).or_default().0 += times
}

fn branches(seen: &mut Seen, address: u64, taken: u64) {
    seen.branches.0 += 1;
    seen.predictor.branch(address, taken != 0, count(&mut seen.wrong));
}

impl Tool for LongHistory {
    const NAME: &'static str = "longhistory";
    const ABOUT: &'static str = "Branches that a small TAGE predicts wrongly";
    type Options = NoOptions;
    type Local = Seen;
    type Result = Seen;
    type Total = Seen;

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self("tage,6,4,4,7,3,40".parse()?))
    }

    fn instrument(&self, trace: &Trace<'_, Seen>) {
        for last in trace.blocks().map(|block| block.last()) {
            if last.branch() == Some(BranchKind::Conditional) {
                last.call(At::Before, branches, (Arg::Pc, Arg::BranchTaken));
            }
        }
    }

    fn begin(&self, slice: SliceInfo) -> Seen {
        Seen { predictor: Tage::begin(self.0, slice), ..Seen::default() }
    }

    fn finish(&self, seen: &Seen) -> Seen {
        seen.clone()
    }

    fn fold(&self, total: &mut Seen, _: SliceInfo, part: Seen) {
        total.branches.merge(part.branches);
        Merge::merge(&mut total.wrong, part.wrong);
        total.predictor.append(part.predictor, count(&mut total.wrong));
    }

    fn fini(&self, total: Seen, out: &mut Out<'_>) -> std::io::Result<()> {
        let Seen { predictor, branches, mut wrong } = total;
        predictor.end(count(&mut wrong));
        writeln!(out, "{} branches", branches.0)?;
        wrong.iter().try_for_each(|(branch, times)| writeln!(out, "{branch:#x} {}", times.0))
    }
}
