//! Numbers by chance that are the same again from the same seed.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Equal numbers from equal seeds (xorshift64*).
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of this seed.
    pub fn new(seed: u64) -> Self {
        // All-zero bits would stay so.
        Self(seed.max(1))
    }

    /// The numbers of a seed and what they are for, unlike those for something else.
    pub fn of(seed: u64, what: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        (seed, what).hash(&mut hasher);
        Self::new(hasher.finish())
    }

    /// Any number.
    #[expect(clippy::should_implement_trait, reason = "they don't end")]
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Between 1 and `limit`, small numbers as likely as large ones.
    pub fn up_to(&mut self, limit: u64) -> u64 {
        let scale = self.next() % (64 - u64::from(limit.leading_zeros()));
        (1 + self.next() % (2 << scale)).min(limit)
    }

    /// One of them.
    ///
    /// # Panics
    ///
    /// If there are none.
    pub fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[(self.next() % all.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_numbers() {
        let numbers = |mut random: Random| [random.next(), random.next(), random.up_to(1000)];
        assert_eq!(numbers(Random::of(7, "a")), numbers(Random::of(7, "a")));
        assert_ne!(numbers(Random::of(7, "a")), numbers(Random::of(7, "b")));
        assert_ne!(numbers(Random::of(7, "a")), numbers(Random::of(8, "a")));
    }

    #[test]
    fn limits_are_kept() {
        let mut random = Random::new(1);
        let mut seen = [false; 5];
        (0..200).for_each(|_| seen[random.up_to(5) as usize - 1] = true);
        assert_eq!(seen, [true; 5]);
    }
}
