//! Misses by what people call the data that they were of.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use superpin_tool::merge::Merge;
use superpin_tool::{AppPc, CodeAddress, Images, RoutineKind, clap};

use super::misses::{ByData, Counts, Of};

/// By which misses rows are sorted, the most first.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// Of the TLBs
    Tlb,
    /// Of the first caches
    L1,
    /// Of the second cache
    L2,
    /// Of the last cache
    Llc,
}

/// What a row is of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Data {
    /// Everything.
    All,
    /// Instructions.
    Code,
    /// Blocks that a routine has had allocated, at one place in it.
    Blocks { routine: String, image: String, line: Option<(String, u32)> },
    /// A variable, or a section where none has a name.
    Variable { name: String, image: String },
    /// Stacks.
    Stack,
    /// Memory that is neither.
    Other,
}

/// A row.
pub type Row = (Data, Counts);

/// Pages between two of a stack that are further apart aren't of it: no stack is larger, as long as nobody asks for it.
const STACK_PAGES: u64 = 8 << 20 >> 12;

/// What a tool has counted, by name. The first row is of all, the others are sorted by misses of these caches; `last`: the last one's level.
pub fn rows(misses: &ByData, images: &Images, (sort, last): (Sort, usize)) -> Vec<Row> {
    let (counts, stack) = misses.all();
    let mut sums: BTreeMap<Data, Counts> = BTreeMap::new();
    let mut all = Counts::default();
    for (of, counts) in counts {
        all.merge(*counts);
        sums.entry(named(*of, images, stack)).or_default().merge(*counts);
    }
    let misses = |counts: &Counts| match sort {
        Sort::Tlb => counts.tlbs,
        Sort::L1 => counts.caches[0],
        Sort::L2 => counts.caches[1.min(last)],
        Sort::Llc => counts.caches[last],
    };
    let mut rows: Vec<Row> = sums.into_iter().collect();
    rows.sort_by_key(|(_, counts)| Reverse(misses(counts)));
    rows.insert(0, (Data::All, all));
    rows
}

fn named(of: Of, images: &Images, stack: &BTreeSet<u64>) -> Data {
    match of {
        Of::Code => Data::Code,
        Of::Variable(address) | Of::Section(address) => {
            let at = CodeAddress::from_bits(address);
            let image = images.at(at);
            let found = image.and_then(|image| match of {
                Of::Variable(_) => image.variable_at(at.address).map(|variable| variable.demangled()),
                _ => image.section_at(at.address).map(|section| section.name().to_owned()),
            });
            let name = found.unwrap_or_else(|| format!("{:#x}", at.address.0));
            Data::Variable { name, image: image.map_or("?".into(), |image| image.name().to_owned()) }
        }
        Of::Block(returns_to) => {
            let back = CodeAddress::from_bits(returns_to);
            let call = back.at(AppPc(back.address.0.wrapping_sub(1)));
            let routine = images.routine_at(call).map_or_else(
                || format!("{:#x}", call.address.0),
                |found| match found.kind() {
                    // Of what was stripped all code is one routine.
                    RoutineKind::Unnamed => format!("{}+{:#x}", found.name(), call.address.0 - found.address().0),
                    RoutineKind::Function | RoutineKind::Stub => found.demangled(),
                },
            );
            let image = images.at(call).map_or("?".into(), |image| image.name().to_owned());
            let line = images.line_at(call).filter(|line| line.line != 0).map(|line| (line.file, line.line));
            Data::Blocks { routine, image, line }
        }
        Of::Open(_) => Data::Other,
        Of::Page(page) if is_of_stack(page, stack) => Data::Stack,
        Of::Page(_) => Data::Other,
    }
}

/// Whether a page was accessed by the stack pointer, or lies between such pages of one stack.
fn is_of_stack(page: u64, stack: &BTreeSet<u64>) -> bool {
    let below = stack.range(..=page).next_back();
    let above = stack.range(page..).next();
    below.zip(above).is_some_and(|(below, above)| above - below < STACK_PAGES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_frames_are_of_the_stack() {
        let stack = BTreeSet::from([100, 130, 10_000]);
        let is_of_stack = |page| is_of_stack(page, &stack);
        assert!([100, 101, 129, 130, 10_000].into_iter().all(is_of_stack));
        assert!(![99, 131, 5000, 10_001].into_iter().any(is_of_stack));
    }
}
