//! Data accesses, as words in the buffer: a pair for each, two for some.
//!
//! ```text
//!   address │ loads, stores; bytes
//!   address │ loads, stores; of several elements how many, bytes of each ║ their mask, or the bytes of one, or how often it is to repeat │ 0
//! ```
//!
//! Elements that a mask leaves out aren't accessed, nor is anything by an instruction that repeats no time. Prefetch instructions access nothing.

use std::slice::Iter;

use superpin_tool::{Arg, Gpr, Instruction, MemoryOperand, Property};

/// In [`Access::kinds`].
pub const LOADS: u64 = 1;
/// In [`Access::kinds`].
pub const STORES: u64 = 2;
/// What a second pair tells: a mask of elements …
const MASKED: u64 = 1 << 2;
/// … a count, without which nothing is accessed …
const COUNTED: u64 = 1 << 3;
/// … the same, of which the lower half counts …
const COUNTED_32: u64 = 1 << 4;
/// … the bytes of an element, none if it isn't accessed.
const ELEMENT: u64 = 1 << 5;
const HAS_SECOND: u64 = MASKED | COUNTED | COUNTED_32 | ELEMENT;
const BYTES_SHIFT: u32 = 8;
const ELEMENTS_SHIFT: u32 = 32;

/// Bytes that were accessed side by side, one at least.
#[derive(Clone, Copy)]
pub struct Access {
    /// Of the first one.
    pub address: u64,
    /// How many.
    pub size: u64,
    /// [`LOADS`], [`STORES`] or both.
    pub kinds: u64,
}

/// Has an instruction's accesses written.
pub fn buffer<L: 'static>(instruction: &Instruction<'_, L>) {
    pairs(instruction, LOADS | STORES).into_iter().flatten().for_each(|pair| instruction.buffer(pair));
}

/// The pairs of an instruction's accesses of these kinds, by access.
pub fn pairs<L: 'static>(instruction: &Instruction<'_, L>, kinds: u64) -> Vec<Vec<(Arg, Arg)>> {
    let mut all = Vec::new();
    if instruction.is(Property::Prefetch) {
        return all;
    }
    for (n, operand) in instruction.memory_operands().iter().enumerate() {
        let kinds = kinds & kinds_of(operand);
        if kinds == 0 {
            continue;
        }
        let address = Arg::MemoryAddress(n);
        let (elements, bytes) = (instruction.elements(n), u64::from(operand.size.max(1)));
        let mut two = |address, what: u64, second| {
            all.push(vec![(address, (kinds | what).into()), (second, Arg::Const(0))]);
        };
        if let Some((register, bytes)) = instruction.opmask(n) {
            let what = MASKED | u64::from(bytes) << BYTES_SHIFT | (elements as u64) << ELEMENTS_SHIFT;
            two(address, what, Arg::Mask(register));
        } else if instruction.is_rep() {
            let counted = if operand.address_32 { COUNTED_32 } else { COUNTED };
            two(address, counted | bytes << BYTES_SHIFT, Gpr::Rcx.into());
        } else if elements == 1 && !operand.inexact {
            all.push(vec![(address, (kinds | bytes << BYTES_SHIFT).into())]);
        } else {
            for element in 0..elements {
                let size = Arg::ElementSize { operand: n, element };
                two(Arg::ElementAddress { operand: n, element }, ELEMENT, size);
            }
        }
    }
    all
}

fn kinds_of(operand: &MemoryOperand) -> u64 {
    (if operand.read { LOADS } else { 0 }) | (if operand.write { STORES } else { 0 })
}

/// How many pairs tell of an access whose first one has this word.
pub fn pairs_of(what: u64) -> usize {
    if what & HAS_SECOND == 0 { 1 } else { 2 }
}

/// The accesses that words tell of.
pub fn of(words: &[u64]) -> Accesses<'_> {
    Accesses { pairs: words.as_chunks().0.iter(), next: Access { address: 0, size: 0, kinds: 0 }, mask: 0 }
}

/// See [`of`].
pub struct Accesses<'a> {
    pairs: Iter<'a, [u64; 2]>,
    /// The next element, if any bit of the mask is set, and those behind it.
    next: Access,
    mask: u64,
}

impl Iterator for Accesses<'_> {
    type Item = Access;

    #[inline(always)]
    fn next(&mut self) -> Option<Access> {
        loop {
            if self.mask != 0 {
                let element;
                (element, self.next, self.mask) = side_by_side(self.next, self.mask);
                return Some(element);
            }
            let &[address, what] = self.pairs.next()?;
            if what & HAS_SECOND == 0 {
                return Some(Access { address, size: what >> BYTES_SHIFT, kinds: what & (LOADS | STORES) });
            }
            let &[second, _] = self.pairs.next()?;
            (self.next, self.mask) = elements(address, what, second);
        }
    }
}

// These two give values, and change none behind a reference: so a loop over accesses has all of its state in registers.

/// What is accessed perhaps, or in part: `second` says so. Gives the first element, and a mask of it and those behind it.
#[cold]
fn elements(address: u64, what: u64, second: u64) -> (Access, u64) {
    let bytes = what >> BYTES_SHIFT & u64::from(u32::MAX >> BYTES_SHIFT);
    let (size, mask) = match what & HAS_SECOND {
        COUNTED => (bytes, u64::from(second != 0)),
        COUNTED_32 => (bytes, u64::from(second as u32 != 0)),
        ELEMENT => (second, u64::from(second != 0)),
        // The register has bits for more elements than there are.
        _ => (bytes, second & u64::MAX >> (64 - (what >> ELEMENTS_SHIFT))),
    };
    (Access { address, size, kinds: what & (LOADS | STORES) }, mask)
}

/// The first elements of these that lie side by side, and the one behind them with what is left of the mask.
#[cold]
fn side_by_side(next: Access, mask: u64) -> (Access, Access, u64) {
    let Access { address, size, kinds } = next;
    let skipped = mask.trailing_zeros();
    let together = (mask >> skipped).trailing_ones();
    let first = address + u64::from(skipped) * size;
    let behind = Access { address: first + u64::from(together) * size, ..next };
    let left = mask.checked_shr(skipped + together).unwrap_or(0);
    (Access { address: first, size: u64::from(together) * size, kinds }, behind, left)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(what: u64, second: u64) -> Vec<(u64, u64, u64)> {
        of(&[100, what, second, 0]).map(|access| (access.address, access.size, access.kinds)).collect()
    }

    #[test]
    fn a_mask_leaves_bytes_out() {
        let masked = |mask| found(STORES | MASKED | 4 << BYTES_SHIFT | 64 << ELEMENTS_SHIFT, mask);
        assert_eq!(masked(0), []);
        assert_eq!(masked(u64::MAX), [(100, 256, STORES)]);
        assert_eq!(masked(0b1101), [(100, 4, STORES), (108, 8, STORES)]);
        assert_eq!(masked(1 << 63), [(352, 4, STORES)]);
        let few = found(LOADS | MASKED | 4 << BYTES_SHIFT | 16 << ELEMENTS_SHIFT, u64::MAX);
        assert_eq!(few, [(100, 64, LOADS)], "there are sixteen");
    }

    #[test]
    fn what_repeats_no_time_accesses_nothing() {
        let counted = |what, count| found(LOADS | what | 8 << BYTES_SHIFT, count).len();
        assert_eq!([0, 3, 1 << 32].map(|count| counted(COUNTED, count)), [0, 1, 1]);
        assert_eq!([0, 3, 1 << 32].map(|count| counted(COUNTED_32, count)), [0, 1, 0]);
        assert_eq!([0, 16].map(|bytes| found(STORES | ELEMENT, bytes)), [vec![], vec![(100, 16, STORES)]]);
    }

    #[test]
    fn sizes_of_whole_states_fit() {
        let words = [100, STORES | 11_008 << BYTES_SHIFT, 200, LOADS | STORES | 1 << BYTES_SHIFT];
        let found: Vec<_> = of(&words).map(|access| (access.address, access.size, access.kinds)).collect();
        assert_eq!(found, [(100, 11_008, STORES), (200, 1, LOADS | STORES)]);
    }
}
