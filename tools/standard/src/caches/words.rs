//! Accesses of all kinds as words in the buffer: what is written for an instruction, and read again.
//!
//! ```text
//!   address │ place, size, kind                                            an operand, a fetch
//!   address │ place, its kind, ELEMENT │ size, 0 if a mask leaves it out    an element of a gather, a scatter …
//!   address │ place, their kind, MASKED │ mask │ how many, bytes of each    elements side by side
//!   address │ place, its kind, COUNTED │ rcx │ bytes                        an operand of an instruction that repeats
//!   stack pointer │ number, MARK │ four words more                          whatever else is to be known in the order of execution
//! ```

use superpin_tool::{Arg, Block, Gpr, Instruction, MemoryOperand, Property};

/// Kinds of accesses, by their numbers.
pub const KINDS: [&str; 3] = ["fetches", "loads", "stores"];
/// The number of fetches.
pub const FETCH: usize = 0;
/// That of loads, and of what loads and stores at once.
pub const LOAD: usize = 1;
/// That of stores.
pub const STORE: usize = 2;

/// In place of a kind, which stands where the size does.
const ELEMENT: u64 = 3;
/// The same.
const MASKED: u64 = 4;
/// The same.
const COUNTED: u64 = 5;
/// The same, by the lower half of rcx.
const COUNTED_32: u64 = 6;
/// The same: no access.
const MARK: u64 = 7;
/// Bits of a kind.
const KIND_BITS: u32 = 3;
/// Bits of a kind and a size: what is stored at once has eleven thousand bytes at most (`xsave`).
const WHAT_BITS: u32 = 17;

/// The second word of a mark: the first one is the stack pointer, four follow. `number` comes back with it.
pub const fn mark(number: u64) -> u64 {
    number << WHAT_BITS | MARK
}

/// Something that isn't an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// What it was made with.
    pub number: u64,
    /// The stack pointer.
    pub stack_pointer: u64,
    /// What was written with it.
    pub words: [u64; 4],
}

/// What an operand in memory counts as.
pub fn kind_of(operand: &MemoryOperand) -> usize {
    if operand.read { LOAD } else { STORE }
}

/// Has the accesses of a block written. `line`: bytes of a line of the first cache for instructions. `place` tells them apart in 47 bits, by instruction and operand (none of a
/// fetch).
///
/// A line is fetched by its first instruction that comes behind another line: what follows in that line finds it.
pub fn instrument<L: 'static>(
    block: &Block<'_, L>,
    line: u64,
    place: impl Fn(&Instruction<'_, L>, Option<&MemoryOperand>) -> u64,
) {
    let line_bits = line.trailing_zeros();
    let mut last = None;
    for instruction in block.instructions() {
        let fetched = |size: u64| place(&instruction, None) << WHAT_BITS | size << KIND_BITS | FETCH as u64;
        let (first, end) = (instruction.address().0, instruction.next_address().0 - 1);
        let lines = (first >> line_bits, end >> line_bits);
        if last != Some(lines.0) || lines.0 != lines.1 {
            instruction.buffer((Arg::Pc, fetched(end - first + 1)));
        }
        last = Some(lines.1);
        if instruction.is(Property::Prefetch) {
            continue;
        }
        for (n, operand) in instruction.memory_operands().iter().enumerate() {
            let (kind, elements) = (kind_of(operand) as u64, instruction.elements(n));
            let what =
                |size: u64, kind: u64| place(&instruction, Some(operand)) << WHAT_BITS | size << KIND_BITS | kind;
            if instruction.is_rep() {
                let counted = if operand.address_32 { COUNTED_32 } else { COUNTED };
                instruction.buffer((Arg::MemoryAddress(n), what(kind, counted), Gpr::Rcx, operand.size.max(1)));
                continue;
            }
            if is_exact(operand, elements) {
                instruction.buffer((Arg::MemoryAddress(n), what(operand.size.max(1).into(), kind)));
                continue;
            }
            if let Some((register, bytes)) = instruction.opmask(n) {
                let shape = elements as u64 | u64::from(bytes) << 8;
                instruction.buffer((Arg::MemoryAddress(n), what(kind, MASKED), Arg::Mask(register), shape));
                continue;
            }
            for element in 0..elements {
                let address = Arg::ElementAddress { operand: n, element };
                let size = Arg::ElementSize { operand: n, element };
                instruction.buffer((address, what(kind, ELEMENT), size));
            }
        }
    }
}

/// Whether an operand is accessed once by each execution, if its instruction doesn't repeat.
pub fn is_exact(operand: &MemoryOperand, elements: usize) -> bool {
    elements == 1 && !operand.inexact
}

/// One access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Of its first byte.
    pub address: u64,
    /// Its bytes, one at least.
    pub size: u64,
    /// Its kind's number.
    pub kind: u8,
    /// Of its instruction.
    pub place: u64,
    /// Whether there may be another number of them in each execution.
    pub is_counted: bool,
}

/// Calls `access` for each in the words. There are no marks among them.
#[inline(always)]
pub fn each(words: &[u64], mut access: impl FnMut(Access)) {
    each_marked(words, |told| {
        if let Told::Access(one) = told {
            access(one);
        }
    });
}

/// An access or a mark.
pub enum Told {
    /// An access.
    Access(Access),
    /// A mark.
    Mark(Mark),
}

/// Calls `tell` for each access and each mark.
#[inline(always)]
pub fn each_marked(mut words: &[u64], mut tell: impl FnMut(Told)) {
    while let [address, what, rest @ ..] = words {
        words = rest;
        let (address, place) = (*address, what >> WHAT_BITS);
        let size = (what & ((1 << WHAT_BITS) - 1)) >> KIND_BITS;
        let counted = |address, size, kind| Told::Access(Access { address, size, kind, place, is_counted: true });
        match what & ((1 << KIND_BITS) - 1) {
            ELEMENT => {
                let [of_element, rest @ ..] = rest else { return };
                words = rest;
                if *of_element != 0 {
                    tell(counted(address, *of_element, size as u8));
                }
            }
            how @ (COUNTED | COUNTED_32) => {
                let [count, bytes, rest @ ..] = rest else { return };
                words = rest;
                if if how == COUNTED { *count } else { *count & u64::from(u32::MAX) } != 0 {
                    tell(counted(address, *bytes, size as u8));
                }
            }
            MASKED => {
                let [mask, shape, rest @ ..] = rest else { return };
                words = rest;
                // The register has bits for more elements than there are.
                let mut mask = mask & u64::MAX >> (64 - (shape & 0xff));
                while mask != 0 {
                    let bytes = shape >> 8;
                    tell(counted(address + u64::from(mask.trailing_zeros()) * bytes, bytes, size as u8));
                    mask &= mask - 1;
                }
            }
            MARK => {
                let [a, b, c, d, rest @ ..] = rest else { return };
                words = rest;
                tell(Told::Mark(Mark { number: place, stack_pointer: address, words: [*a, *b, *c, *d] }));
            }
            kind => tell(Told::Access(Access { address, size, kind: kind as u8, place, is_counted: false })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_and_counts_leave_accesses_out() {
        let place = 0x7fff_ffff_fff0;
        let what = |size: u64, kind: u64| place << WHAT_BITS | size << KIND_BITS | kind;
        let words: Vec<u64> = [
            vec![100, what(11_008, STORE as u64)],
            vec![200, what(LOAD as u64, MASKED), u64::MAX << 14, 16 | 4 << 8],
            vec![300, what(STORE as u64, ELEMENT), 0],
            vec![400, what(STORE as u64, ELEMENT), 8],
            vec![500, what(LOAD as u64, COUNTED), 0, 8],
            vec![600, what(LOAD as u64, COUNTED), 1 << 32, 8],
            vec![700, what(LOAD as u64, COUNTED_32), 1 << 32, 8],
        ]
        .concat();
        let mut found = Vec::new();
        each(&words, |access| {
            assert_eq!(access.place, place);
            found.push((access.address, access.size, usize::from(access.kind), access.is_counted));
        });
        let expected = [
            (100, 11_008, STORE, false),
            (256, 4, LOAD, true),
            (260, 4, LOAD, true),
            (400, 8, STORE, true),
            (600, 8, LOAD, true),
        ];
        assert_eq!(found, expected);
    }
}
