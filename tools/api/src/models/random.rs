//! Chance, for tests: streams, cuts, and the order in which parts are put together.

/// Numbers as chance has them, the same for the same seed.
pub struct Random(u64);

impl Random {
    /// By a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1)
    }

    /// The next one, below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let number = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        (number * bound) >> 32
    }

    /// Up to nine parts, some of them perhaps short or empty.
    pub fn cut<'a, T>(&mut self, all: &'a [T]) -> Vec<&'a [T]> {
        let places = 1 + self.below(8);
        let mut cuts: Vec<usize> = (0..places).map(|_| self.below(all.len() as u64 + 1) as usize).collect();
        if self.below(2) == 0 {
            // A short one.
            cuts.push((cuts[0] + self.below(4) as usize).min(all.len()));
        }
        cuts.extend([0, all.len()]);
        cuts.sort_unstable();
        cuts.windows(2).map(|ends| &all[ends[0]..ends[1]]).collect()
    }
}

/// Puts neighbours together, in an order of chance's choice, until one is left.
pub fn folded<P>(mut parts: Vec<P>, random: &mut Random, mut append: impl FnMut(&mut P, P)) -> P {
    while parts.len() > 1 {
        let left = random.below(parts.len() as u64 - 1) as usize;
        let right = parts.remove(left + 1);
        append(&mut parts[left], right);
    }
    parts.pop().expect("there was one")
}
