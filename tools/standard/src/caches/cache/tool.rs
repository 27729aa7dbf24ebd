//! What is instrumented.

use superpin_tool::json::Value;
use superpin_tool::merge::Merge;
use superpin_tool::{BlockCounts, Code, CountsBlocks, Images, Out, Repeat, SliceInfo, Tool, Trace};

use super::options::Options;
use super::places::ByPlace;
use super::rows::{self, Events, Of};
use super::{cachegrind, text};
use crate::caches::seen::Seen;
use crate::caches::shapes::Shapes;
use crate::caches::words;
use crate::repeat;

/// Simulates TLBs and caches as [`AllCache`](crate::AllCache) does, and says whose the misses are.
pub struct CacheProfile {
    options: Options,
    shapes: Shapes,
}

/// What a slice has.
pub struct Local {
    blocks: BlockCounts,
    seen: Seen<ByPlace>,
}

impl CountsBlocks for Local {
    fn block_counts(&self) -> &BlockCounts {
        &self.blocks
    }
}

/// What was executed, and what it did.
pub type Total = (Code, Seen<ByPlace>);

impl CacheProfile {
    fn rows(&self, (code, mut seen): Total, images: &Images) -> (Events, Vec<(Of, Events)>) {
        seen.end();
        let all = rows::by_instruction(&code, seen.misses);
        let mut sum = Events::default();
        all.iter().for_each(|(_, events)| sum.merge(*events));
        let asked = (self.options.by, self.options.sort);
        let mut rows = rows::rows(all, images, asked, self.shapes.lower.len());
        if self.options.top > 0 {
            rows.truncate(self.options.top);
        }
        (sum, rows)
    }
}

impl Tool for CacheProfile {
    const NAME: &'static str = "cache";
    const ABOUT: &'static str = "Find the routines, source lines and instructions that miss TLBs and caches";
    type Options = Options;
    type Local = Local;
    type Result = Total;
    type Total = Total;

    fn new(options: Options) -> Result<Self, String> {
        let shapes = options.geometry.shapes()?;
        Ok(Self { options, shapes })
    }

    fn repeat(&self) -> Repeat {
        self.options.repeat
    }

    fn instrument(&self, trace: &Trace<'_, Local>) {
        trace.count_blocks();
        for block in trace.blocks() {
            words::instrument(&block, self.shapes.fetched, |instruction, _| instruction.address().0);
        }
    }

    fn begin(&self, slice: SliceInfo) -> Local {
        let mut seen = Seen::<ByPlace>::begin(&self.shapes, slice);
        seen.misses = ByPlace::begin();
        Local { blocks: BlockCounts::new(), seen }
    }

    fn drain(&self, local: &mut Local, words: &[u64]) {
        local.seen.take(words);
    }

    fn finish(&self, local: &Local) -> Total {
        (local.blocks.executed(), local.seen.clone())
    }

    fn fold(&self, (total, seen): &mut Total, _: SliceInfo, (code, next): Total) {
        total.merge(code);
        seen.append(next);
    }

    fn warmed_up(&self, (code, seen): &mut Total) {
        *code = Code::default();
        seen.end_warm_up();
    }

    fn fini(&self, total: Total, out: &mut Out<'_>) -> std::io::Result<()> {
        if self.options.cachegrind {
            let (code, mut seen) = total;
            seen.end();
            let all = rows::by_instruction(&code, seen.misses);
            return cachegrind::write(&all, &self.shapes, self.options.repeat, out);
        }
        let (sum, rows) = self.rows(total, out.images());
        text::write(&sum, &rows, &self.shapes, out)?;
        repeat::say(self.options.repeat, out)
    }

    fn values_with(&self, total: &Total, images: &Images) -> Option<Value> {
        let (sum, rows) = self.rows(total.clone(), images);
        let mut values = text::values(&sum, &rows, &self.shapes);
        values["repetitions"] = self.options.repeat.to_string().into();
        Some(values)
    }
}
