//! How large the windows of the target map are.

use bubble::map::{Region, TARGET_WINDOWS, TARGETS};
use machine::AppPc;

/// How much app memory a window is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grain {
    /// The lowest bit of a target that chooses its window.
    pub bit: u32,
}

/// Bits that addresses of the app's have.
pub const ADDRESS_BITS: u32 = 47;
/// Bits that eight times get lost.
const LOST_BITS: u64 = 7 << 61;

impl Grain {
    /// The usual one.
    pub const COARSE: Self = Self { bit: 32 };
    /// For targets that are spread.
    pub const FINE: Self = Self { bit: 27 };

    /// The bits of a target that choose its window.
    pub const fn window_bits(self) -> u64 {
        ((1 << ADDRESS_BITS) - (1 << self.bit)) | LOST_BITS
    }

    /// Windows that targets may have: as many as there are values of those bits, without the lost ones.
    pub const fn numbers(self) -> u64 {
        1 << (ADDRESS_BITS - self.bit)
    }

    /// Those below this number are needed where eight times an address is an address.
    pub const fn low_numbers(self) -> u64 {
        self.numbers() >> 3
    }

    /// The number of the window that is a target's.
    pub const fn number_of(self, target: AppPc) -> u64 {
        target.0 >> self.bit
    }

    /// Bytes of words in a window.
    pub const fn window_bytes(self) -> u64 {
        8 << self.bit
    }

    /// How many there are. The first one is nobody's.
    pub const fn windows(self) -> usize {
        (TARGETS.size / self.window_bytes()) as usize
    }

    /// What is in a window's place in the table: where the word of address 0 would be.
    pub const fn base(self, window: usize, number: u64) -> u64 {
        (TARGETS.start + window as u64 * self.window_bytes()).wrapping_sub(number * self.window_bytes())
    }

    /// The part of the table that is used.
    pub const fn table(self) -> Region {
        Region { start: TARGET_WINDOWS.start, size: self.numbers() * 8 }
    }
}

const _: () = assert!(Grain::FINE.table().size == TARGET_WINDOWS.size);
