//! Tables of TAGE.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Tables with tags, at most.
pub const MOST_TABLES: usize = 16;

/// Branches that a history is long, at most.
const LONGEST: u32 = 4096;

/// The size of a TAGE predictor. As an option of a tool it is written `tage,BASE,TABLES,BITS,TAG,SHORTEST,LONGEST`, or `tage` for the default: `tage,12,7,9,11,5,130`, 64 Kbit.
///
/// * `BASE`: the base predictor has 2 to the power of it two-bit counters.
/// * `TABLES`: so many tables have tags.
/// * `BITS`: each of them has 2 to the power of it entries.
/// * `TAG`: bits of a tag. An entry has five more.
/// * `SHORTEST`, `LONGEST`: how many branches back the first table looks, and the last one. The lengths of those between are a geometric series, rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TageShape {
    base: u32,
    tables: u32,
    bits: u32,
    tag: u32,
    shortest: u32,
    longest: u32,
}

/// 64 Kbit: a base of 4,096 counters, seven tables of 512 entries with tags of 11 bits, histories of 5 to 130 branches.
impl Default for TageShape {
    fn default() -> Self {
        Self { base: 12, tables: 7, bits: 9, tag: 11, shortest: 5, longest: 130 }
    }
}

impl TageShape {
    /// In the order in which they are written: `[BASE, TABLES, BITS, TAG, SHORTEST, LONGEST]`.
    ///
    /// # Errors
    /// If there are more than 24 bits of `BASE`, no table or more than 16, no bits of entries or more than 15, a tag of less than 2 or more than 15 bits, or lengths for which the tables would not be
    /// ever longer ones, of 4,096 branches at most. The text says so.
    pub fn new([base, tables, bits, tag, shortest, longest]: [u32; 6]) -> Result<Self, String> {
        let shape = Self { base, tables, bits, tag, shortest, longest };
        if base > 24 {
            Err(format!("{shape}: the base has at most 24 bits, 16777216 counters"))
        } else if !(1..=MOST_TABLES as u32).contains(&tables) {
            Err(format!("{shape}: there are 1 to {MOST_TABLES} tables"))
        } else if !(1..=15).contains(&bits) {
            Err(format!("{shape}: a table has 1 to 15 bits, 32768 entries"))
        } else if !(2..=15).contains(&tag) {
            Err(format!("{shape}: a tag has 2 to 15 bits"))
        } else if shortest == 0 || longest > LONGEST {
            Err(format!("{shape}: histories are of 1 to {LONGEST} branches"))
        } else if longest < shortest + (tables - 1) || tables == 1 && longest != shortest {
            Err(format!(
                "{shape}: each table has a longer history than the one before, from the shortest to the longest"
            ))
        } else {
            Ok(shape)
        }
    }

    /// How many branches back each table looks, the first one's first.
    pub fn lengths(&self) -> Vec<u32> {
        let mut lengths: Vec<u32> = Vec::new();
        let ratio = self.ratio();
        let mut length = f64::from(self.shortest);
        for _ in 0..self.tables {
            let rounded = (length + 0.5) as u32;
            lengths.push(rounded.max(lengths.last().map_or(1, |last| last + 1)));
            length *= ratio;
        }
        lengths
    }

    /// By which factor histories grow: found by products alone, which are the same on all processors.
    fn ratio(&self) -> f64 {
        let (mut low, mut high) = (1.0, f64::from(LONGEST));
        for _ in 0..64 {
            let middle = (low + high) / 2.0;
            let last = (1..self.tables).fold(f64::from(self.shortest), |length, _| length * middle);
            *if last > f64::from(self.longest) { &mut high } else { &mut low } = middle;
        }
        low
    }

    /// How many bits of memory a processor would need for the tables.
    pub fn storage_bits(&self) -> u64 {
        (2 << self.base) + u64::from(self.tables) * u64::from(self.tag + 5) * (1 << self.bits)
    }

    pub(super) fn base_bits(&self) -> u32 {
        self.base
    }

    pub(super) fn tables(&self) -> usize {
        self.tables as usize
    }

    pub(super) fn entry_bits(&self) -> u32 {
        self.bits
    }

    pub(super) fn tag_bits(&self) -> u32 {
        self.tag
    }
}

impl fmt::Display for TageShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { base, tables, bits, tag, shortest, longest } = self;
        write!(f, "tage,{base},{tables},{bits},{tag},{shortest},{longest}")
    }
}

impl FromStr for TageShape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text}: this predictor is tage or tage,BASE,TABLES,BITS,TAG,SHORTEST,LONGEST");
        if text == "tage" {
            return Ok(Self::default());
        }
        let numbers = text.strip_prefix("tage,").ok_or_else(wrong)?.split(',').map(str::parse);
        let numbers: Vec<u32> = numbers.collect::<Result<_, _>>().map_err(|_| wrong())?;
        Self::new(numbers.try_into().map_err(|_| wrong())?)
    }
}
