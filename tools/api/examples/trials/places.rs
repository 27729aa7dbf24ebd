//! Where calls come from: names and lines that are asked for when the run is over, and no sooner.

use std::collections::BTreeMap;

use superpin_tool::merge::{Merge, Sum};
use superpin_tool::{AppPc, At, Images, NoOptions, Out, SliceInfo, Tool, Trace, json};

/// Calls by the address of the instruction.
type Calls = BTreeMap<u64, Sum>;

/// The tool.
pub struct Places;

fn count(calls: &mut Calls, address: u64) {
    calls.entry(address).or_default().0 += 1;
}

impl Tool for Places {
    const NAME: &'static str = "places";
    const ABOUT: &'static str = "Count calls by the place that they are made from";
    type Options = NoOptions;
    type Local = Calls;
    type Result = Calls;
    type Total = Calls;

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, trace: &Trace<'_, Calls>) {
        for instruction in trace.instructions().filter(|instruction| instruction.is_call()) {
            instruction.call(At::Before, count, (instruction.address(),));
        }
    }

    fn begin(&self, _: SliceInfo) -> Calls {
        Calls::default()
    }

    fn finish(&self, local: &Calls) -> Calls {
        local.clone()
    }

    fn fold(&self, total: &mut Calls, _: SliceInfo, result: Calls) {
        Merge::merge(total, result);
    }

    fn values_with(&self, calls: &Calls, images: &Images) -> Option<json::Value> {
        let mut by_routine = BTreeMap::<String, u64>::new();
        for (address, count) in calls {
            let routine = images.routine_at(AppPc(*address)).map(|routine| routine.demangled());
            *by_routine.entry(routine.unwrap_or_default()).or_default() += count.0;
        }
        Some(json::json!(by_routine))
    }

    fn fini(&self, calls: Calls, out: &mut Out<'_>) -> std::io::Result<()> {
        let images = out.images();
        for (address, count) in calls {
            let address = AppPc(address);
            let image = images
                .at(address)
                .map_or("-".into(), |image| format!("{} {:x}", image.path().display(), address.0 - image.bias()));
            let routine = images.routine_at(address).map_or("-".into(), |routine| routine.demangled());
            let line = images.line_at(address).map_or("??:0".into(), |line| line.to_string());
            writeln!(out, "{} {image} {line} {routine}", count.0)?;
        }
        Ok(())
    }
}
