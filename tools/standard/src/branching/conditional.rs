//! The predictors of `bpred` for conditional branches.

use std::fmt;
use std::str::FromStr;

use superpin_tool::SliceInfo;
use superpin_tool::models::{Predictor, PredictorShape, Tage, TageShape};
use superpin_tool::serde::{Deserialize, Serialize};

/// Which predictor, of which size.
#[derive(Clone, Copy)]
pub enum Shape {
    /// Two-bit counters: bimodal, gshare, gselect.
    Counters(PredictorShape),
    /// Tables with tags.
    Tage(TageShape),
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split(',').next() {
            Some("tage") => text.parse().map(Self::Tage),
            Some("bimodal" | "gshare" | "gselect") => text.parse().map(Self::Counters),
            _ => Err(format!("{text}: a predictor is bimodal, gshare, gselect or tage, with its sizes behind a comma")),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Counters(shape) => shape.fmt(f),
            Self::Tage(shape) => shape.fmt(f),
        }
    }
}

/// What a predictor has learnt in a part of the execution. Its closures get a branch's address and how often it was mispredicted.
#[derive(Clone, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub enum Conditional {
    Counters(Predictor<u64>),
    Tage(Tage),
}

/// Nothing yet: takes over what is appended.
impl Default for Conditional {
    fn default() -> Self {
        Self::Counters(Predictor::default())
    }
}

impl Conditional {
    pub fn begin(shape: Shape, slice: SliceInfo) -> Self {
        match shape {
            Shape::Counters(shape) => Self::Counters(Predictor::begin(shape, slice)),
            Shape::Tage(shape) => Self::Tage(Tage::begin(shape, slice)),
        }
    }

    /// Branches are executed: their addresses, and whether they are taken.
    pub fn branches(&mut self, branches: impl Iterator<Item = (u64, bool)>, mut mispredicted: impl FnMut(u64, u64)) {
        match self {
            Self::Counters(predictor) => {
                branches.for_each(|(branch, taken)| predictor.branch(branch, taken, branch, &mut mispredicted));
            }
            Self::Tage(predictor) => {
                branches.for_each(|(branch, taken)| predictor.branch(branch, taken, &mut mispredicted));
            }
        }
    }

    pub fn append(&mut self, next: Self, mispredicted: impl FnMut(u64, u64)) {
        match (self, next) {
            (Self::Counters(predictor), Self::Counters(next)) => predictor.append(next, mispredicted),
            (Self::Tage(predictor), Self::Tage(next)) => predictor.append(next, mispredicted),
            // One of them is the default.
            (this, next @ Self::Tage(_)) => *this = next,
            (Self::Tage(_), Self::Counters(_)) => {}
        }
    }

    pub fn end_warm_up(&mut self) {
        match self {
            Self::Counters(predictor) => predictor.end_warm_up(),
            Self::Tage(predictor) => predictor.end_warm_up(),
        }
    }

    pub fn end(self, mispredicted: impl FnMut(u64, u64)) {
        match self {
            Self::Counters(predictor) => predictor.end(mispredicted),
            Self::Tage(predictor) => predictor.end(mispredicted),
        }
    }
}
