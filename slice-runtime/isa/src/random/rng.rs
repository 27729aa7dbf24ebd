//! Random numbers.

/// A small generator of random numbers whose whole state is the seed (splitmix64).
#[derive(Clone, Debug)]
pub struct Rng(pub u64);

impl Rng {
    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.bits() % n
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of `all`.
    pub fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    /// A value of the kinds that find mistakes: small, near a power of two, or any.
    pub fn value(&mut self) -> u64 {
        match self.below(6) {
            0 => self.below(16),
            1 => self.below(16).wrapping_neg(),
            2 => (1_u64 << self.below(64)).wrapping_sub(self.below(2)),
            3 => u64::from(self.bits() as u32),
            _ => self.bits(),
        }
    }
}
