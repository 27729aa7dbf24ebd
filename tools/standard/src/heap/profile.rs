//! What the app has allocated and freed, as it is told in the end.

use std::cmp::Reverse;
use std::io;

use superpin_tool::json::{Value, json};
use superpin_tool::merge::Merge;
use superpin_tool::models::HeapBlock;
use superpin_tool::{AppPc, CodeAddress, Images, Out, clap};

use super::massif::{Detail, Snapshot};
use super::part::{Allocated, Part};
use super::samples::Size;
use super::stacks::Callers;

/// What stacks are sorted by.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Bytes that were allocated
    Allocated,
    /// Blocks that were allocated
    Blocks,
    /// Bytes that weren't freed
    Live,
}

/// What the app has done and what it has in the end.
pub struct Profile {
    allocated: Allocated,
    frees: u64,
    unknown_frees: u64,
    peak: u64,
    live: Allocated,
    stacks: Vec<Row>,
}

/// Of one stack.
struct Row {
    callers: Vec<CodeAddress>,
    allocated: Allocated,
    live: Allocated,
}

impl Profile {
    /// Of the whole run, with as many stacks as are asked for, in this order.
    pub fn of(total: &Part, by: By, top: usize) -> Self {
        let end = total.heap.clone().end(|_, _| {});
        let (mut live, mut of_stacks) = (Allocated::default(), vec![Allocated::default(); total.allocated.len()]);
        for HeapBlock { size, tag, .. } in &end.live {
            for sum in [&mut of_stacks[*tag as usize], &mut live] {
                sum.blocks.0 += 1;
                sum.bytes.0 += size;
            }
        }
        let row = |(callers, stack): (&Callers, u32)| Row {
            callers: callers.addresses.iter().map(|address| CodeAddress::from_bits(*address)).collect(),
            allocated: total.allocated[stack as usize].clone(),
            live: of_stacks[stack as usize].clone(),
        };
        let mut stacks: Vec<Row> = total.numbers.all().map(row).collect();
        let size = |row: &Row| match by {
            By::Allocated => row.allocated.bytes.0,
            By::Blocks => row.allocated.blocks.0,
            By::Live => row.live.bytes.0,
        };
        stacks.sort_by_key(|row| Reverse(size(row)));
        if top > 0 {
            stacks.truncate(top);
        }
        let mut allocated = Allocated::default();
        total.allocated.iter().for_each(|sum| allocated.merge(sum.clone()));
        Profile { allocated, frees: total.frees, unknown_frees: end.unknown_frees, peak: end.peak, live, stacks }
    }

    /// As text.
    pub fn write(&self, out: &mut Out<'_>) -> io::Result<()> {
        let Self { allocated, live, .. } = self;
        writeln!(out, "Allocated: {} bytes in {} blocks", allocated.bytes.0, allocated.blocks.0)?;
        writeln!(out, "Freed: {} blocks", self.frees - self.unknown_frees)?;
        // The C library itself: what its cache for a thread has it frees once more where the thread ends.
        writeln!(out, "Freed again: {} blocks", self.unknown_frees)?;
        writeln!(out, "Peak: {} bytes", self.peak)?;
        writeln!(out, "Left: {} bytes in {} blocks", live.bytes.0, live.blocks.0)?;
        writeln!(out, "{:>16} {:>12} {:>16} {:>12}  allocated by", "bytes", "blocks", "left bytes", "blocks")?;
        for Row { callers, allocated, live } in &self.stacks {
            let numbers = format!(
                "{:>16} {:>12} {:>16} {:>12}",
                allocated.bytes.0, allocated.blocks.0, live.bytes.0, live.blocks.0
            );
            let mut before = numbers.as_str();
            for caller in callers {
                writeln!(out, "{before:>59}  {}", place(out.images(), *caller))?;
                before = "";
            }
        }
        Ok(())
    }

    /// As JSON.
    pub fn values(&self, images: &Images) -> Value {
        let sums = |sum: &Allocated| json!({ "bytes": sum.bytes.0, "blocks": sum.blocks.0 });
        let row = |row: &Row| {
            let callers: Vec<String> = row.callers.iter().map(|caller| place(images, *caller)).collect();
            json!({ "allocated": sums(&row.allocated), "left": sums(&row.live), "callers": callers })
        };
        json!({
            "allocated": sums(&self.allocated),
            "freed": self.frees - self.unknown_frees,
            "freed_again": self.unknown_frees,
            "peak": self.peak,
            "left": sums(&self.live),
            "stacks": self.stacks.iter().map(row).collect::<Vec<_>>(),
        })
    }
}

/// What there was over time: as it begins, at places over all of the run, at the peak, and in the end.
pub fn snapshots(total: &Part) -> Vec<Snapshot> {
    let (begin, end) = total.span.unwrap_or_default();
    let growth = total.growth.clone().unwrap_or_default();
    let first = Snapshot { at: 0, size: Size::default(), detail: Detail::None };
    let points = growth.points().map(|(at, size)| Snapshot { at: at - begin, size, detail: Detail::None });
    let mut snapshots: Vec<Snapshot> = [first].into_iter().chain(points).collect();
    if let Some((at, held)) = growth.peak() {
        let at = at - begin;
        let place = snapshots.partition_point(|snapshot| snapshot.at < at);
        if snapshots.get(place).is_some_and(|snapshot| snapshot.at == at) {
            snapshots.remove(place);
        }
        snapshots.insert(place, Snapshot { at, size: held.size, detail: Detail::Peak(held) });
    }
    let held = growth.end();
    snapshots.push(Snapshot { at: end - begin, size: held.size, detail: Detail::Stacks(held) });
    snapshots
}

/// Where a caller is: routine and distance, source line.
fn place(images: &Images, back: CodeAddress) -> String {
    // A return address is behind the call, which may be the last thing of its routine.
    let call = back.at(AppPc(back.address.0.wrapping_sub(1)));
    let routine = images.routine_at(call);
    let name = routine.map(|routine| format!("{}+{:#x}", routine.demangled(), back.address.0 - routine.address().0));
    let name = name.unwrap_or_else(|| format!("{:#x}", back.address.0));
    let line = images.line_at(call).filter(|line| line.line != 0);
    line.map_or(name.clone(), |line| format!("{name} ({line})"))
}
