//! Data accesses, as words in the buffer: three for each.
//!
//! ```text
//!   address │ loads, stores, elements and bytes of each │ bytes, a mask of elements, or how often it is to repeat
//! ```
//!
//! Elements that a mask leaves out aren't accessed, nor is anything by an instruction that repeats no time. Prefetch instructions access nothing.

use superpin_tool::{Arg, Gpr, Instruction, MemoryOperand, Property};

/// In [`Access::kinds`].
pub const LOADS: u64 = 1;
/// In [`Access::kinds`].
pub const STORES: u64 = 2;
const KIND_BITS: u32 = 2;
/// The third word is a count: nothing is accessed if it is zero.
const COUNTED: u64 = 1 << 10;
/// Of which the lower half counts.
const SHORT: u64 = 1 << 11;
const BYTES_SHIFT: u32 = 16;

/// Bytes that were accessed side by side, one at least.
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
    for [address, what, size] in words(instruction, LOADS | STORES) {
        instruction.buffer((address, what, size));
    }
}

/// The words of an instruction's accesses of these kinds.
pub fn words<L: 'static>(instruction: &Instruction<'_, L>, kinds: u64) -> Vec<[Arg; 3]> {
    let mut words = Vec::new();
    if instruction.is(Property::Prefetch) {
        return words;
    }
    for (n, operand) in instruction.memory_operands().iter().enumerate() {
        let kinds = kinds & kinds_of(operand);
        if kinds == 0 {
            continue;
        }
        let (elements, size) = (instruction.elements(n), u64::from(operand.size.max(1)));
        let mut push = |address, what: u64, last: Arg| words.push([address, what.into(), last]);
        if let Some((register, bytes)) = instruction.opmask(n) {
            // The register has bits for more elements than there are.
            let what = kinds | (elements as u64) << KIND_BITS | u64::from(bytes) << BYTES_SHIFT;
            push(Arg::MemoryAddress(n), what, Arg::Mask(register));
        } else if instruction.is_rep() {
            let short = if operand.address_32 { SHORT } else { 0 };
            push(Arg::MemoryAddress(n), kinds | COUNTED | short | size << BYTES_SHIFT, Gpr::Rcx.into());
        } else if elements == 1 && !operand.inexact {
            push(Arg::MemoryAddress(n), kinds, size.into());
        } else {
            for element in 0..elements {
                let address = Arg::ElementAddress { operand: n, element };
                push(address, kinds, Arg::ElementSize { operand: n, element });
            }
        }
    }
    words
}

fn kinds_of(operand: &MemoryOperand) -> u64 {
    (if operand.read { LOADS } else { 0 }) | (if operand.write { STORES } else { 0 })
}

/// Calls `access` for each of those in the words.
#[inline(always)]
pub fn each(words: &[u64], mut access: impl FnMut(Access)) {
    words.as_chunks().0.iter().for_each(|three| of(three, &mut access));
}

/// Calls `access` for each of those in three words.
#[inline(always)]
pub fn of(&[address, what, last]: &[u64; 3], mut access: impl FnMut(Access)) {
    let kinds = what & (LOADS | STORES);
    if what == kinds {
        if last != 0 {
            access(Access { address, size: last, kinds });
        }
        return;
    }
    let (elements, bytes) = (what >> KIND_BITS & 0xff, what >> BYTES_SHIFT);
    if what & COUNTED != 0 {
        let count = if what & SHORT != 0 { last & u64::from(u32::MAX) } else { last };
        if count != 0 {
            access(Access { address, size: bytes, kinds });
        }
        return;
    }
    let (mut mask, mut at) = (last & u64::MAX >> (64 - elements), address);
    while mask != 0 {
        let skipped = mask.trailing_zeros();
        mask >>= skipped;
        at += u64::from(skipped) * bytes;
        let together = mask.trailing_ones();
        access(Access { address: at, size: u64::from(together) * bytes, kinds });
        mask = mask.checked_shr(together).unwrap_or(0);
        at += u64::from(together) * bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_leaves_bytes_out() {
        let found = |mask| {
            let mut found = Vec::new();
            each(&[100, STORES | 64 << KIND_BITS | 4 << BYTES_SHIFT, mask], |access| {
                found.push((access.address, access.size, access.kinds))
            });
            found
        };
        assert_eq!(found(0), []);
        assert_eq!(found(u64::MAX), [(100, 256, STORES)]);
        assert_eq!(found(0b1101), [(100, 4, STORES), (108, 8, STORES)]);
        assert_eq!(found(1 << 63), [(352, 4, STORES)]);
        let mut sizes = Vec::new();
        each(&[100, LOADS | 16 << KIND_BITS | 4 << BYTES_SHIFT, u64::MAX], |access| sizes.push(access.size));
        assert_eq!(sizes, [64], "there are sixteen");
    }

    #[test]
    fn what_repeats_no_time_accesses_nothing() {
        let found = |what, count| {
            let mut found = 0;
            each(&[100, LOADS | COUNTED | what | 8 << BYTES_SHIFT, count], |access| found += access.size);
            found
        };
        assert_eq!([found(0, 0), found(0, 3), found(0, 1 << 32)], [0, 8, 8]);
        assert_eq!([found(SHORT, 3), found(SHORT, 1 << 32)], [8, 0]);
    }
}
