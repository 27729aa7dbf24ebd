//! Tool registers: values that a tool keeps from one place of a block to a later one (Pin's `PIN_ClaimToolRegister` and `IARG_RETURN_REGS`).
//!
//! A tool register belongs to one block, and its value ends with the block. So it holds at each use what was put into it in the same execution of the block, whatever came
//! between: it is a pure function of the code, and of what the app did in the block. What is to live longer is a field of the tool's `Local`, which results say how to merge.

use std::collections::BTreeMap;

use translator::abi::KEPT;
use translator::trace::{Arg, Point};

/// A value of the tool's own that lives from a place in a block to the block's end. See [`crate::Instruction::keep`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolRegister {
    number: u8,
    /// Index of the block in its trace.
    block: usize,
}

impl ToolRegister {
    /// Whether it belongs to the block with this index in the trace.
    pub(in crate::instrument) fn is_of(self, block: usize) -> bool {
        self.block == block
    }

    /// The argument that it is.
    pub(in crate::instrument) fn to_engine(self) -> Arg {
        Arg::Kept(self.number)
    }

    /// The argument that says where its value lies.
    pub(in crate::instrument) fn place(self) -> Arg {
        Arg::KeptAt(self.number)
    }
}

/// Where values were put into tool registers, in the order of insertion.
pub struct Kept {
    /// Number of the first that the tool has.
    first: u8,
    /// How many it has.
    registers: u8,
    /// How many registers each block has, by its index.
    claimed: BTreeMap<usize, u8>,
    put: Vec<(ToolRegister, Point)>,
}

impl Default for Kept {
    fn default() -> Self {
        Self { first: 0, registers: KEPT as u8, claimed: BTreeMap::new(), put: Vec::new() }
    }
}

impl Kept {
    /// The tool has these alone.
    pub fn take(&mut self, first: u8, registers: u8) {
        (self.first, self.registers) = (first, registers);
    }

    /// Another register of this block; `None` if it has all there are.
    pub fn claim(&mut self, block: usize) -> Option<ToolRegister> {
        let count = self.claimed.entry(block).or_default();
        let number = *count;
        *count = number.saturating_add(1);
        (number < self.registers).then(|| ToolRegister { number: self.first + number, block })
    }

    /// A value is put into the register at `point`.
    pub fn put(&mut self, register: ToolRegister, point: Point) {
        self.put.push((register, point));
    }

    /// Whether a value has been put into the register before all calls at the instruction with this index.
    pub fn has_before_calls(&self, register: ToolRegister, index: usize) -> bool {
        let precedes = |put: Point| matches!(put, Point::Before(put) | Point::After(put) if put < index);
        self.put.iter().any(|&(of, put)| of == register && precedes(put))
    }

    /// Whether a value has been put into the register whenever the app comes to `point`.
    pub fn has(&self, register: ToolRegister, point: Point) -> bool {
        let precedes = |put: Point| match (put, point) {
            (Point::Before(put), Point::Before(at) | Point::After(at) | Point::Taken(at)) => put <= at,
            (Point::After(put), Point::After(at)) => put <= at,
            (Point::After(put), Point::Before(at) | Point::Taken(at)) => put < at,
            (Point::Taken(put), Point::Taken(at)) => put == at,
            _ => false,
        };
        self.put.iter().any(|&(of, put)| of == register && precedes(put))
    }
}
