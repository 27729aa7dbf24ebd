//! What a part of the run allocates and frees, and how parts are put together.

use superpin_tool::merge::{Merge, Sum};
use superpin_tool::models::Heap;
use superpin_tool::serde::{Deserialize, Serialize};

use super::growth::{Freed, Growth};
use super::samples::Size;
use super::stacks::{Callers, Numbers, Stacks};

superpin_tool::areas! {
    /// What was allocated.
    pub struct Allocated {
        /// How many.
        pub blocks: Sum,
        /// Their sizes.
        pub bytes: Sum,
    }
}

/// What a part of the run has done.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Part {
    /// Of threads, as they are at its end.
    pub stacks: Stacks,
    /// Those that have allocated something.
    pub numbers: Numbers,
    /// Blocks with the numbers of stacks.
    pub heap: Heap<u32>,
    /// By the numbers of stacks.
    pub allocated: Vec<Allocated>,
    /// How often something was freed.
    pub frees: u64,
    /// If it is asked for. Its times are instructions since the app's first one, those of the heap instructions since this part's first one.
    pub growth: Option<Growth>,
    /// Instructions before it and until its end, if they are counted; none if it has nothing of the region.
    pub span: Option<(u64, u64)>,
}

impl Part {
    /// A block is allocated, behind so many instructions of the run.
    pub fn allocate(&mut self, block: u64, size: u64, callers: Callers, now: u64) {
        let stack = self.numbers.of(callers);
        if self.allocated.len() <= stack as usize {
            self.allocated.resize_with(stack as usize + 1, Allocated::default);
        }
        let sum = &mut self.allocated[stack as usize];
        sum.blocks.0 += 1;
        sum.bytes.0 += size;
        self.heap.allocate(block, size, stack);
        if let Some(growth) = &mut self.growth {
            growth.allocate(now, stack, Size::of_block(size));
        }
    }

    /// A block is freed; 0: none.
    pub fn free(&mut self, block: u64, now: u64) {
        if block == 0 {
            return;
        }
        self.frees += 1;
        self.comes_to(now);
        let mut freed = None;
        self.heap.free(block, |block, _| freed = Some((block.tag, block.size)));
        match (&mut self.growth, freed) {
            (None, _) => {}
            (Some(growth), None) => growth.free_unknown(),
            (Some(growth), Some((stack, size))) => growth.free(Freed { at: now, stack, size: Size::of_block(size) }),
        }
    }

    /// So much was executed until the slice or the region begins, where something is counted from then on; `executed` is what was counted until now.
    pub fn begins(&mut self, executed: u64, now: u64) {
        self.comes_to(executed);
        // A slice is told twice if the region begins in it.
        if self.has_executed_nothing() {
            self.span = Some((now, now));
        }
    }

    /// So much was executed until the slice ends.
    pub fn ends(&mut self, now: u64) {
        self.comes_to(now);
        if self.has_executed_nothing() {
            self.span = None;
        }
    }

    fn has_executed_nothing(&self) -> bool {
        self.span.is_none_or(|(begin, end)| begin == end)
    }

    /// So much of the run was executed.
    fn comes_to(&mut self, now: u64) {
        if let Some((begin, end)) = &mut self.span {
            *end = now;
            self.heap.advance(now - *begin - self.heap.now());
        }
    }

    /// Adds the part behind this one.
    pub fn append(&mut self, mut next: Self, depth: usize) {
        let here = self.numbers.append(next.numbers, &self.stacks, depth);
        self.allocated.resize_with(self.numbers.len(), Allocated::default);
        for (allocated, here) in next.allocated.into_iter().zip(&here) {
            self.allocated[*here as usize].merge(allocated);
        }
        next.heap.tags_mut().for_each(|stack| *stack = here[*stack as usize]);
        if let Some((begin, end)) = next.span {
            let (first, _) = *self.span.get_or_insert((begin, begin));
            // Also over what lies between two regions.
            self.comes_to(begin);
            let mut freed = Vec::new();
            self.heap.append(next.heap, |block, now| {
                freed.push(Freed { at: first + now, stack: block.tag, size: Size::of_block(block.size) });
            });
            self.comes_to(end);
            if let Some(growth) = next.growth {
                self.growth.get_or_insert_default().append(growth, &here, &freed);
            }
        } else {
            self.heap.append(next.heap, |_, _| {});
        }
        Merge::merge(&mut self.stacks, next.stacks);
        self.frees += next.frees;
    }
}
