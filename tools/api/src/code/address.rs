//! Where code is.

use machine::AppPc;

/// Bits of an address of the app's.
const ADDRESS_BITS: u32 = 48;
const ADDRESS: u64 = (1 << ADDRESS_BITS) - 1;
/// The last number of a program that fits in front of it.
const LAST_PROGRAM: u32 = (1 << 14) - 1;

/// An address in one of the programs that the app is, one after the other: with `exec` another program comes to the same addresses.
///
/// [`crate::Images`] are asked with one of these, or with an [`AppPc`] where it isn't known of which program it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CodeAddress {
    /// The program's number. One that comes again, at the same place, has the same.
    pub program: u32,
    /// The address.
    pub address: AppPc,
}

impl CodeAddress {
    /// An address in the program that is executed now.
    ///
    /// For tools that count by addresses they learn in routines (`Arg::Pc`, return addresses, targets): without the program those of two programs, one of which has executed the other, would be added up.
    /// From [`crate::Tool::begin`] to [`crate::Tool::finish`]; in the collector, where no app is executed, the program is 0.
    pub fn here(address: AppPc) -> Self {
        let program = slice_runtime::OwnSlot::current().map_or(0, |slot| slot.program());
        Self { program, address }
    }

    /// Both in a word, for the keys of maps: the program in front of the address's 48 bits. Words of one program are ordered as its addresses are. The two highest bits are 0, for marks of a tool's own.
    ///
    /// Programs from the 16,383rd on count for one.
    pub fn to_bits(self) -> u64 {
        u64::from(self.program.min(LAST_PROGRAM)) << ADDRESS_BITS | self.address.0 & ADDRESS
    }

    /// What [`Self::to_bits`] has made a word of. Addresses are the app's: none of the kernel's.
    pub fn from_bits(word: u64) -> Self {
        Self { program: (word >> ADDRESS_BITS) as u32, address: AppPc(word & ADDRESS) }
    }

    /// Another address in the same program.
    pub fn at(self, address: AppPc) -> Self {
        Self { address, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_holds_both() {
        for (program, address) in [(0, 0), (1, 0x40_1000), (7, 0x7fff_ffff_ffff), (16_382, 1)] {
            let at = CodeAddress { program, address: AppPc(address) };
            assert_eq!(CodeAddress::from_bits(at.to_bits()), at);
        }
        let last = [16_383, 16_384, u32::MAX].map(|program| CodeAddress { program, address: AppPc(5) }.to_bits());
        assert!(last.iter().all(|word| *word == last[0] && word >> 62 == 0));
    }
}
