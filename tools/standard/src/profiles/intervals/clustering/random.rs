//! The random numbers that SimPoint takes: those of two multiplicative generators (P. L'Ecuyer, 1988), shuffled (C. Bays, S. D. Durham, 1976). It says so of itself, and whoever takes others finds other
//! points.

/// One of the two: its modulus and its factor.
struct Generator(i64, i64);

const FIRST: Generator = Generator(2_147_483_563, 40_014);
const SECOND: Generator = Generator(2_147_483_399, 40_692);
/// Numbers among which the next is chosen.
const SHUFFLED: usize = 32;

impl Generator {
    fn next(&self, state: i64) -> i64 {
        state * self.1 % self.0
    }
}

/// A sequence.
pub struct Random {
    first: i64,
    second: i64,
    shuffled: [i64; SHUFFLED],
    last: i64,
}

impl Random {
    /// The sequence that begins with this.
    pub fn new(seed: u32) -> Self {
        let mut first = i64::from(seed.max(1));
        let second = first;
        let mut shuffled = [0; SHUFFLED];
        // The first few are left out.
        for place in (0..SHUFFLED + 8).rev() {
            first = FIRST.next(first);
            if let Some(number) = shuffled.get_mut(place) {
                *number = first;
            }
        }
        Self { first, second, shuffled, last: shuffled[0] }
    }

    /// Above 0, below 1.
    pub fn float(&mut self) -> f32 {
        const MOST: f32 = (1.0 - 1.2e-7) as f32;
        self.first = FIRST.next(self.first);
        self.second = SECOND.next(self.second);
        let place = (self.last / (1 + (FIRST.0 - 1) / SHUFFLED as i64)) as usize;
        self.last = self.shuffled[place] - self.second;
        self.shuffled[place] = self.first;
        if self.last < 1 {
            self.last += FIRST.0 - 1;
        }
        ((1.0 / FIRST.0 as f64 * self.last as f64) as f32).min(MOST)
    }

    /// From 0 to 2,147,483,647.
    pub fn int(&mut self) -> i32 {
        (self.float() * i32::MAX as f32) as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_spread_evenly_and_repeat_with_their_seed() {
        let numbers = |seed| {
            let mut random = Random::new(seed);
            std::iter::repeat_with(move || random.float()).take(20_000)
        };
        let mut tenths = [0; 10];
        numbers(493_575_226).for_each(|number| tenths[(number * 10.0) as usize] += 1);
        assert!(tenths.iter().all(|n| (1_850..2_150).contains(n)), "{tenths:?}");
        assert!(numbers(1).eq(numbers(1)) && !numbers(1).eq(numbers(2)));
        // 0 is none of its states.
        assert!(numbers(0).eq(numbers(1)));
    }
}
