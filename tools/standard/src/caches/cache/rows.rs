//! What is known of each instruction, and of all that belong together.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use superpin_tool::merge::Merge;
use superpin_tool::{Code, CodeInstruction, Images, Property};

use super::options::{By, Sort};
use super::places::{ByPlace, Counts};
use crate::caches::words::{FETCH, KINDS, LOAD, STORE, is_exact, kind_of};
use crate::profiles::places::{Place, Places};

/// Executions, accesses and misses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Events {
    /// Instructions, loads and stores that were executed.
    pub accesses: [u64; KINDS.len()],
    /// What missed.
    pub misses: Counts,
}

impl Merge for Events {
    fn merge(&mut self, next: Self) {
        self.accesses.iter_mut().zip(next.accesses).for_each(|(sum, more)| *sum = sum.wrapping_add(more));
        self.misses.merge(next.misses);
    }
}

impl Events {
    /// Misses of the TLBs.
    pub fn tlbs(&self) -> u64 {
        self.misses.tlbs.iter().sum()
    }

    /// Misses of the first cache for instructions.
    pub fn l1i(&self) -> u64 {
        self.misses.caches[0][FETCH]
    }

    /// Misses of the first cache for data.
    pub fn l1d(&self) -> u64 {
        self.misses.caches[0][LOAD] + self.misses.caches[0][STORE]
    }

    /// Misses of a lower cache.
    pub fn lower(&self, level: usize) -> u64 {
        self.misses.caches[level].iter().sum()
    }
}

/// Accesses that each execution of an instruction makes.
fn exact_accesses(instruction: &CodeInstruction) -> [u64; KINDS.len()] {
    let mut accesses = [0; KINDS.len()];
    accesses[FETCH] = 1;
    if instruction.is(Property::Prefetch) || instruction.is_rep() {
        return accesses;
    }
    for (n, operand) in instruction.memory_operands().iter().enumerate() {
        if is_exact(operand, instruction.elements(n)) {
            accesses[kind_of(operand)] += 1;
        }
    }
    accesses
}

/// All instructions that were executed, by address. Code that has changed has several at one address: the first of them has its misses.
pub fn by_instruction(code: &Code, misses: ByPlace) -> Vec<(CodeInstruction, Events)> {
    let mut misses: HashMap<u64, Counts> = Vec::from(misses).into_iter().collect();
    let events = |instruction: CodeInstruction| {
        let misses = misses.remove(&instruction.code_address().to_bits()).unwrap_or_default();
        let mut accesses = exact_accesses(&instruction).map(|each| each.wrapping_mul(instruction.executions()));
        accesses.iter_mut().zip(misses.counted).for_each(|(sum, more)| *sum = sum.wrapping_add(more));
        (instruction, Events { accesses, misses })
    };
    code.instructions().map(events).collect()
}

/// What a row is of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Of {
    /// A routine of an image.
    Routine { routine: String, image: String },
    /// A line of a source file.
    Line { file: String, line: u32 },
    /// An instruction.
    Instruction { address: u64, text: String, routine: String },
    /// An image.
    Image { image: String },
}

impl Of {
    fn new(by: By, instruction: &CodeInstruction, place: Place) -> Self {
        let (file, line) = place.line();
        match by {
            // What isn't from a file is told apart by routine.
            By::Line if line != 0 => Self::Line { file: file.to_owned(), line },
            By::Line | By::Routine => Self::Routine { routine: place.routine, image: place.image },
            By::Image => Self::Image { image: place.image },
            By::Instruction => Self::Instruction {
                address: instruction.address().0,
                text: instruction.to_string(),
                routine: place.routine,
            },
        }
    }
}

/// Rows as they are asked for, sorted. `last`: the last cache's level.
pub fn rows(
    all: Vec<(CodeInstruction, Events)>,
    images: &Images,
    (by, sort): (By, Sort),
    last: usize,
) -> Vec<(Of, Events)> {
    let mut places = Places::new(images);
    let mut sums: BTreeMap<Of, Events> = BTreeMap::new();
    for (instruction, events) in all {
        let place = places.of(instruction.code_address());
        sums.entry(Of::new(by, &instruction, place)).or_default().merge(events);
    }
    let misses = |events: &Events| match sort {
        Sort::Tlb => events.tlbs(),
        Sort::L1i => events.l1i(),
        Sort::L1d => events.l1d(),
        Sort::L2 => events.lower(1.min(last)),
        Sort::Llc => events.lower(last),
    };
    let mut rows: Vec<(Of, Events)> = sums.into_iter().collect();
    rows.sort_by_key(|(_, events)| Reverse((misses(events), events.accesses[FETCH])));
    rows
}
