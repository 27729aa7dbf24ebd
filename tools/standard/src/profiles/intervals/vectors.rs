//! Instructions by block, in each interval of the run.
//!
//! A block belongs to the interval in which it begins. Blocks are numbered from 0, in the order in which they were first executed. An interval is so many instructions of the run, from its first one on, also in slices:
//! each is told how many were executed before it.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;

use superpin_tool::serde::{Deserialize, Serialize};
use superpin_tool::{AddressHasher, AppPc, Arg, At, BlockCounts, CodeAddress, CountsBlocks, Prefix, Trace};

/// A block: its address in its program, and how many bytes it has.
pub type Block = (u64, u64);
type Numbers = HashMap<Block, u32, BuildHasherDefault<AddressHasher>>;

/// What was executed of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Executed {
    /// How often it was entered.
    pub entries: u64,
    /// Instructions.
    pub instructions: u64,
}

/// What was executed in an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Vector {
    /// Its number.
    pub interval: u64,
    /// Instructions of the run before it.
    pub start: u64,
    /// The number of its first block.
    pub first: u32,
    /// By number.
    pub blocks: BTreeMap<u32, Executed>,
}

impl Vector {
    /// Its instructions.
    pub fn instructions(&self) -> u64 {
        self.blocks.values().map(|executed| executed.instructions).sum()
    }
}

/// What a part of the run has executed.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Part {
    /// Blocks by number.
    pub blocks: Vec<Block>,
    /// By interval.
    pub vectors: Vec<Vector>,
}

impl Part {
    /// Instructions by block, of all intervals.
    pub fn sums(&self) -> Vec<u64> {
        let mut sums = vec![0; self.blocks.len()];
        for (number, executed) in self.vectors.iter().flat_map(|vector| &vector.blocks) {
            sums[*number as usize] += executed.instructions;
        }
        sums
    }
}

/// Blocks whose numbers are noted beside the table, each at a place of its own, until another one wants it.
const PLACES: usize = 1 << 12;

/// What a slice has.
pub struct Local {
    interval: u64,
    /// Instructions since the run's first one, by the blocks that were entered, as far as the buffer was drained.
    entered: u64,
    /// By the engine, which takes back what wasn't executed of a block that is left in its middle.
    executed: u64,
    numbers: Numbers,
    recent: Vec<(Block, u32)>,
    part: Part,
    /// The interval that is open, but for its blocks, and where it ends.
    open: Vector,
    end: u64,
    counts: Vec<Executed>,
    /// The number of the last block.
    last: u32,
    /// The program that is executed: address 0 in it.
    here: u64,
    /// For a tool that wants the code.
    pub code: BlockCounts,
}

impl CountsBlocks for Local {
    fn block_counts(&self) -> &BlockCounts {
        &self.code
    }
}

/// Bits of a block's number of instructions, below its bytes.
const LEN_BITS: u32 = 8;

fn executes(local: &mut Local, instructions: u64) {
    local.executed = local.executed.wrapping_add(instructions);
}

/// Has a trace tell of its blocks.
pub fn watch(trace: &Trace<'_, Local>) {
    for block in trace.blocks() {
        block.call(At::Anywhere, executes, (Arg::BlockInstructions,));
        let bytes = block.end_address().0 - block.address().0;
        block.first().buffer((block.address(), bytes << LEN_BITS | block.len() as u64));
    }
}

impl Local {
    /// With intervals of so many instructions.
    pub fn new(interval: u64) -> Self {
        Self {
            interval,
            entered: 0,
            executed: 0,
            numbers: Numbers::default(),
            recent: vec![((0, 0), 0); PLACES],
            part: Part::default(),
            open: Vector::default(),
            end: 0,
            counts: Vec::new(),
            last: 0,
            here: CodeAddress::here(AppPc(0)).to_bits(),
            code: BlockCounts::new(),
        }
    }

    /// So much was executed before.
    pub fn begins(&mut self, prefix: Prefix) {
        self.settle();
        (self.entered, self.executed) = (prefix.instructions, prefix.instructions);
        self.end = 0;
    }

    /// Takes what [`watch`] has put into the buffer.
    pub fn drain(&mut self, words: &[u64]) {
        for &[address, shape] in words.as_chunks::<2>().0 {
            self.enter((self.here | address, shape >> LEN_BITS), shape & ((1 << LEN_BITS) - 1));
        }
    }

    /// A block is entered.
    #[inline]
    fn enter(&mut self, block: Block, instructions: u64) {
        let place = (block.0 ^ block.0 >> 12) as usize % PLACES;
        if self.recent[place].0 != block {
            self.recent[place] = (block, self.number(block));
        }
        self.last = self.recent[place].1;
        if self.entered >= self.end {
            self.close();
            let interval = self.entered / self.interval;
            self.open = Vector { interval, start: self.entered, first: self.last, blocks: BTreeMap::new() };
            self.end = (interval + 1) * self.interval;
        }
        self.entered += instructions;
        let count = &mut self.counts[self.last as usize];
        count.entries += 1;
        count.instructions += instructions;
    }

    fn number(&mut self, block: Block) -> u32 {
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry(block).or_insert(next);
        if number == next {
            self.part.blocks.push(block);
            self.counts.push(Executed::default());
        }
        number
    }

    /// The app is between two blocks, or has left the last one in its middle: how much of it was executed is known now.
    pub fn settle(&mut self) {
        let not_executed = self.entered.saturating_sub(self.executed);
        if let Some(count) = self.counts.get_mut(self.last as usize) {
            count.instructions = count.instructions.saturating_sub(not_executed);
        }
        self.entered -= not_executed;
    }

    /// The interval is over.
    fn close(&mut self) {
        let executed = self.counts.iter().enumerate().filter(|(_, count)| count.instructions != 0);
        let blocks: BTreeMap<u32, Executed> = executed.map(|(number, count)| (number as u32, *count)).collect();
        if !blocks.is_empty() {
            self.part.vectors.push(Vector { blocks, ..self.open });
        }
        self.counts.fill(Executed::default());
    }

    /// What there is so far.
    pub fn part(&self) -> Part {
        let mut end = Self {
            numbers: Numbers::default(),
            recent: Vec::new(),
            part: self.part.clone(),
            counts: self.counts.clone(),
            open: self.open.clone(),
            code: BlockCounts::new(),
            ..*self
        };
        end.settle();
        end.close();
        end.part
    }
}

/// The parts of the run put together, in their order.
#[derive(Default)]
pub struct Total {
    numbers: Numbers,
    /// What there is so far.
    pub part: Part,
}

impl Total {
    /// The next part of the run comes to these.
    pub fn fold(&mut self, part: Part) {
        let number = |block: &Block| {
            let next = self.numbers.len() as u32;
            let number = *self.numbers.entry(*block).or_insert(next);
            if number == next {
                self.part.blocks.push(*block);
            }
            number
        };
        let numbers: Vec<u32> = part.blocks.iter().map(number).collect();
        for vector in part.vectors {
            if self.part.vectors.last().is_none_or(|last| last.interval != vector.interval) {
                let first = numbers[vector.first as usize];
                self.part.vectors.push(Vector { first, blocks: BTreeMap::new(), ..vector });
            }
            let Some(sums) = self.part.vectors.last_mut() else { continue };
            for (block, executed) in vector.blocks {
                let sum = sums.blocks.entry(numbers[block as usize]).or_default();
                sum.entries += executed.entries;
                sum.instructions += executed.instructions;
            }
        }
    }
}
