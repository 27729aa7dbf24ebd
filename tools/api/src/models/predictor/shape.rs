//! Which counter belongs to a branch.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How a branch's address and the branches before it choose a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PredictorKind {
    /// By the lowest bits of the address.
    Bimodal,
    /// By the exclusive or of the lowest bits of the address and the history (McFarling).
    Gshare,
    /// By the lowest bits of the address, and above these the history. With 14 and 7 bits that is what cachegrind has.
    Gselect,
}

/// A predictor's kind and size. As an option of a tool it is written `bimodal,BITS`, `gshare,BITS,HISTORY` or `gselect,BITS,HISTORY`, as `gshare,14,12`.
///
/// The *history* is which of the last conditional branches, of the whole execution, were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PredictorShape {
    kind: PredictorKind,
    bits: u32,
    history: u32,
}

impl PredictorShape {
    /// A predictor of 2 to the power of `bits` counters, which looks at the last `history` branches: 0 for a bimodal one.
    ///
    /// # Errors
    /// If there are more than 2^24 counters, a longer history than bits, or a history of a bimodal predictor. The text says so.
    pub fn new(kind: PredictorKind, bits: u32, history: u32) -> Result<Self, String> {
        let shape = Self { kind, bits, history };
        if bits > 24 {
            Err(format!("{shape}: there are at most 24 bits, 16777216 counters"))
        } else if history > bits {
            Err(format!("{shape}: a history is no longer than the number of a counter"))
        } else if (kind == PredictorKind::Bimodal) != (history == 0) {
            Err(format!("{shape}: gshare and gselect have a history, bimodal hasn't"))
        } else {
            Ok(shape)
        }
    }

    /// How many counters there are.
    pub fn counters(&self) -> usize {
        1 << self.bits
    }

    /// How many branches back it looks.
    pub fn history(&self) -> u32 {
        self.history
    }

    /// The counter of a branch, below [`Self::counters`].
    #[inline]
    pub(super) fn counter(&self, branch: u64, history: u64) -> usize {
        let mask = |bits: u32| (1_u64 << bits) - 1;
        let number = match self.kind {
            PredictorKind::Bimodal => branch,
            PredictorKind::Gshare => branch ^ history,
            PredictorKind::Gselect => {
                let of_address = self.bits - self.history;
                history << of_address | branch & mask(of_address)
            }
        };
        (number & mask(self.bits)) as usize
    }
}

impl fmt::Display for PredictorShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            PredictorKind::Bimodal => write!(f, "bimodal,{}", self.bits),
            PredictorKind::Gshare => write!(f, "gshare,{},{}", self.bits, self.history),
            PredictorKind::Gselect => write!(f, "gselect,{},{}", self.bits, self.history),
        }
    }
}

impl FromStr for PredictorShape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text}: a predictor is bimodal,BITS, gshare,BITS,HISTORY or gselect,BITS,HISTORY");
        let parts: Vec<&str> = text.split(',').collect();
        let number = |text: &str| text.parse::<u32>().map_err(|_| wrong());
        match parts[..] {
            ["bimodal", bits] => Self::new(PredictorKind::Bimodal, number(bits)?, 0),
            ["gshare", bits, history] => Self::new(PredictorKind::Gshare, number(bits)?, number(history)?),
            ["gselect", bits, history] => Self::new(PredictorKind::Gselect, number(bits)?, number(history)?),
            _ => Err(wrong()),
        }
    }
}
