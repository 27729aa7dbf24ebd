//! Data accesses, as words in the buffer: three for each.
//!
//! ```text
//!   address │ loads, stores, elements and bytes of each │ bytes, or a mask of elements
//! ```
//!
//! Elements that a mask leaves out aren't accessed. Prefetch instructions access nothing.

use superpin_tool::{Arg, Instruction, Property};

/// In [`Access::kinds`].
pub const LOADS: u64 = 1;
/// In [`Access::kinds`].
pub const STORES: u64 = 2;
const KIND_BITS: u32 = 2;
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
    if instruction.is(Property::Prefetch) {
        return;
    }
    for (n, operand) in instruction.memory_operands().iter().enumerate() {
        let kinds = if operand.read { LOADS } else { 0 } | if operand.write { STORES } else { 0 };
        let elements = instruction.elements(n);
        if let Some((register, bytes)) = instruction.opmask(n) {
            // The register has bits for more elements than there are.
            let what = kinds | (elements as u64) << KIND_BITS | u64::from(bytes) << BYTES_SHIFT;
            instruction.buffer((Arg::MemoryAddress(n), what, Arg::Mask(register)));
        } else if elements == 1 && !operand.inexact {
            instruction.buffer((Arg::MemoryAddress(n), kinds, u64::from(operand.size.max(1))));
        } else {
            for element in 0..elements {
                let (address, size) =
                    (Arg::ElementAddress { operand: n, element }, Arg::ElementSize { operand: n, element });
                instruction.buffer((address, kinds, size));
            }
        }
    }
}

/// Calls `access` for each of those in the words.
#[inline(always)]
pub fn each(words: &[u64], mut access: impl FnMut(Access)) {
    for &[address, what, size] in words.as_chunks::<3>().0 {
        let kinds = what & (LOADS | STORES);
        let (elements, bytes) = (what >> KIND_BITS & 0xff, what >> BYTES_SHIFT);
        if elements == 0 {
            if size != 0 {
                access(Access { address, size, kinds });
            }
            continue;
        }
        let (mut mask, mut at) = (size & u64::MAX >> (64 - elements), address);
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
}
