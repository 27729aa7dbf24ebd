//! A file as valgrind's massif writes it: how many bytes there were over time, and who has allocated what there was at the peak and in the end.

use std::collections::BTreeMap;
use std::io;

use superpin_tool::json::{Value, json};
use superpin_tool::{AppPc, CodeAddress, Images, Out};

use super::growth::Held;
use super::samples::Size;

/// What there was at one time.
pub struct Snapshot {
    /// Instructions before.
    pub at: u64,
    /// How much.
    pub size: Size,
    /// What is known besides.
    pub detail: Detail,
}

impl Snapshot {
    /// As JSON.
    pub fn value(&self) -> Value {
        let kind = match self.detail {
            Detail::None => "sample",
            Detail::Peak(_) => "peak",
            Detail::Stacks(_) => "end",
        };
        json!({ "instructions": self.at, "bytes": self.size.bytes, "extra": self.size.extra, "kind": kind })
    }
}

/// What is known of a time besides how much there was.
pub enum Detail {
    /// Nothing.
    None,
    /// Who has allocated it.
    Stacks(Held),
    /// That, and that there never was more.
    Peak(Held),
}

/// Return addresses of a stack, the innermost first, and bytes that it has allocated.
type Share<'a> = (&'a [u64], u64);

/// Writes it. `stacks`: return addresses by a stack's number.
pub fn write(snapshots: &[Snapshot], stacks: &[&[u64]], out: &mut Out<'_>) -> io::Result<()> {
    out.verbatim();
    let images = out.images();
    let main = images.all().into_iter().find(|image| image.is_main());
    writeln!(out, "desc: superpin -t heap --massif")?;
    writeln!(out, "cmd: {}", main.map_or("???".into(), |main| main.path().display().to_string()))?;
    writeln!(out, "time_unit: i")?;
    for (number, Snapshot { at, size, detail }) in snapshots.iter().enumerate() {
        writeln!(out, "#-----------\nsnapshot={number}\n#-----------\ntime={at}")?;
        writeln!(out, "mem_heap_B={}\nmem_heap_extra_B={}\nmem_stacks_B=0", size.bytes, size.extra)?;
        let (kind, held) = match detail {
            Detail::Stacks(held) if held.size.bytes > 0 => ("detailed", held),
            Detail::Peak(held) if held.size.bytes > 0 => ("peak", held),
            _ => {
                writeln!(out, "heap_tree=empty")?;
                continue;
            }
        };
        writeln!(out, "heap_tree={kind}")?;
        let shares: Vec<Share> = held.stacks.iter().map(|(stack, bytes)| (stacks[*stack as usize], *bytes)).collect();
        for line in tree(&shares, size.total() as u64, |address| frame(images, address)) {
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}

/// The lines of a tree. Callers of less than a hundredth of all are one line.
fn tree(shares: &[Share], all: u64, name: impl Fn(u64) -> String) -> Vec<String> {
    let mut lines = Vec::new();
    let name_of_all = "(heap allocation functions) malloc/new/new[], --alloc-fns, etc.";
    let sum = shares.iter().map(|(_, bytes)| bytes).sum();
    node(&mut lines, 0, (sum, name_of_all), shares, all, &name);
    lines
}

/// One of them, and those below: callers of what lies `depth` frames further in.
fn node(
    lines: &mut Vec<String>,
    depth: usize,
    (bytes, text): (u64, &str),
    shares: &[Share],
    all: u64,
    name: &impl Fn(u64) -> String,
) {
    let mut callers: BTreeMap<u64, (u64, Vec<Share>)> = BTreeMap::new();
    for share in shares {
        if let Some(caller) = share.0.get(depth) {
            let (sum, of_caller) = callers.entry(*caller).or_default();
            *sum += share.1;
            of_caller.push(*share);
        }
    }
    let mut callers: Vec<(u64, (u64, Vec<Share>))> = callers.into_iter().collect();
    callers.sort_by_key(|(caller, (bytes, _))| (std::cmp::Reverse(*bytes), *caller));
    let small = callers.partition_point(|(_, (bytes, _))| bytes * 100 >= all);
    let small = callers.split_off(small);
    let below = callers.len() + usize::from(!small.is_empty());
    lines.push(format!("{:depth$}n{below}: {bytes} {text}", ""));
    for (caller, (bytes, shares)) in callers {
        node(lines, depth + 1, (bytes, &name(caller)), &shares, all, name);
    }
    if !small.is_empty() {
        let sum: u64 = small.iter().map(|(_, (bytes, _))| bytes).sum();
        let places = if small.len() == 1 { "place," } else { "places, all" };
        let indent = depth + 1;
        lines.push(format!("{:indent$}n0: {sum} in {} {places} below massif's threshold (1.00%)", "", small.len()));
    }
}

/// Where a call is that returns to this address: address, routine, and source line or file.
fn frame(images: &Images, back: u64) -> String {
    // It may be the last thing of its routine.
    let back = CodeAddress::from_bits(back);
    let call = back.at(AppPc(back.address.0.wrapping_sub(1)));
    let routine = images.routine_at(call).map_or("???".into(), |routine| routine.demangled());
    let line = images.line_at(call).filter(|line| line.line != 0).map(|line| line.to_string());
    let file = || images.at(call).map(|image| format!("in {}", image.path().display()));
    let place = line.or_else(file).map_or(String::new(), |place| format!(" ({place})"));
    format!("{:#X}: {routine}{place}", call.address.0).replacen("0X", "0x", 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_as_massif_writes_it() {
        let shares: [Share; 6] =
            [(&[1, 2, 3], 500), (&[1, 2, 4], 300), (&[1, 5], 5), (&[1, 6], 4), (&[7, 8], 190), (&[9], 1)];
        let lines = tree(&shares, 1000, |address| format!("in {address}"));
        let expected = [
            "n3: 1000 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.",
            " n2: 809 in 1",
            "  n2: 800 in 2",
            "   n0: 500 in 3",
            "   n0: 300 in 4",
            "  n0: 9 in 2 places, all below massif's threshold (1.00%)",
            " n1: 190 in 7",
            "  n0: 190 in 8",
            " n0: 1 in 1 place, below massif's threshold (1.00%)",
        ];
        assert_eq!(lines, expected);
    }
}
