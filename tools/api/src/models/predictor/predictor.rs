//! A branch predictor of a part of the execution.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash};

use machine::AddressHasher;
use serde::{Deserialize, Serialize};

use super::counter::Counter;
use super::shape::PredictorShape;
use crate::tool::SliceInfo;

/// How often a counter has predicted wrongly for branches with a tag, by the value that it began with.
type Open<T> = HashMap<(u32, T), [u64; 4], BuildHasherDefault<AddressHasher>>;

/// Two-bit counters that predict whether conditional branches are taken: bimodal, gshare or gselect. All begin with 0, strongly not taken.
///
/// A *tag* goes with each branch and comes back with its mispredictions: `()`, or the branch's address.
///
/// ```no_run
/// use superpin_tool::SliceInfo;
/// use superpin_tool::models::{Predictor, PredictorShape};
///
/// let shape: PredictorShape = "gshare,14,12".parse()?;
/// let mut mispredicted = 0;
/// let mut predictor = Predictor::begin(shape, SliceInfo { number: 0 });
/// for n in 0..100 {
///     predictor.branch(0x401000, n % 10 != 9, (), |(), times| mispredicted += times);
/// }
/// let mut next = Predictor::begin(shape, SliceInfo { number: 1 });
/// for n in 0..100 {
///     next.branch(0x401000, n % 10 != 9, (), |(), times| mispredicted += times);
/// }
/// predictor.append(next, |(), times| mispredicted += times);
/// predictor.end(|(), times| mispredicted += times);
/// # assert!(mispredicted > 10 && mispredicted < 60, "{mispredicted}");
/// # Ok::<(), String>(())
/// ```
///
/// **How it is exact.** A counter whose value isn't known is followed for all four at once, which mostly are one after a few branches; how often each of them was wrong until then is kept, and of these numbers the right one
/// is taken when the slice before is known. Which counters the first branches of a slice belong to isn't known before as many branches were executed as the history is long: these are kept themselves.
///
/// **Cost.** Some nanoseconds a branch. A part takes a byte for each counter; a result some 4 bytes for each that was used, and 5 or more for each counter and tag that is open.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound(serialize = "T: Serialize", deserialize = "T: Deserialize<'de> + Eq + Hash"))]
pub struct Predictor<T> {
    shape: Option<PredictorShape>,
    #[serde(with = "sparse")]
    counters: Vec<Counter>,
    /// Which of the last branches were taken, the latest one the lowest bit; and how many of these bits are known.
    history: u64,
    known: u32,
    /// The branches before that, in order.
    first: Vec<(u64, bool, T)>,
    open: Open<T>,
}

/// Nothing yet: takes over what is appended.
impl<T> Default for Predictor<T> {
    fn default() -> Self {
        let (counters, first, open) = (Vec::new(), Vec::new(), Open::default());
        Self { shape: None, counters, history: 0, known: 0, first, open }
    }
}

impl<T: Copy + Eq + Hash> Predictor<T> {
    /// The predictor as a slice begins: all counters 0 in the first one, unknown in all others.
    pub fn begin(shape: PredictorShape, slice: SliceInfo) -> Self {
        let (counter, known) = if slice.number == 0 { (Counter::ZERO, shape.history()) } else { (Counter::UNKNOWN, 0) };
        let counters = vec![counter; shape.counters()];
        Self { shape: Some(shape), counters, known, ..Self::default() }
    }

    /// A conditional branch is executed. `mispredicted` gets the tag and how often, if it is known now that branches were predicted wrongly.
    ///
    /// # Panics
    /// If this is a `Default`, which has no shape.
    #[inline]
    pub fn branch(&mut self, address: u64, taken: bool, tag: T, mispredicted: impl FnMut(T, u64)) {
        let shape = self.shape.expect("a predictor has a shape: begin() gives it one");
        if self.known < shape.history() {
            self.first.push((address, taken, tag));
            self.known += 1;
        } else {
            self.count(shape.counter(address, self.history), taken, tag, mispredicted);
        }
        self.history = (self.history << 1 | u64::from(taken)) & ((1 << shape.history()) - 1);
    }

    #[inline]
    fn count(&mut self, counter: usize, taken: bool, tag: T, mut mispredicted: impl FnMut(T, u64)) {
        match self.counters[counter].step(taken) {
            0 => {}
            Counter::ALL_WRONG => mispredicted(tag, 1),
            some => {
                let wrong = self.open.entry((counter as u32, tag)).or_default();
                wrong.iter_mut().enumerate().for_each(|(start, count)| *count += u64::from(some >> start & 1));
            }
        }
    }

    /// Adds the part that was executed behind this one.
    ///
    /// # Panics
    /// If that has another shape.
    pub fn append(&mut self, next: Self, mut mispredicted: impl FnMut(T, u64)) {
        let Some(shape) = self.shape else {
            *self = next;
            return;
        };
        if next.shape.is_none() {
            return;
        }
        assert!(next.shape == self.shape, "parts of an execution with other predictors");
        for (address, taken, tag) in next.first {
            self.branch(address, taken, tag, &mut mispredicted);
        }
        for ((counter, tag), wrong) in next.open {
            let wrong = self.counters[counter as usize].wrong_then(wrong);
            let certain = wrong.into_iter().min().unwrap_or(0);
            if certain > 0 {
                mispredicted(tag, certain);
            }
            let rest = wrong.map(|count| count - certain);
            if rest != [0; 4] {
                let open = self.open.entry((counter, tag)).or_default();
                open.iter_mut().zip(rest).for_each(|(count, more)| *count += more);
            }
        }
        for (counter, next) in self.counters.iter_mut().zip(next.counters) {
            *counter = counter.then(next);
        }
        if next.known == shape.history() {
            (self.history, self.known) = (next.history, next.known);
        }
    }

    /// The execution is over, and it began with all counters 0.
    pub fn end(self, mispredicted: impl FnMut(T, u64)) {
        self.behind_nothing(mispredicted);
    }

    /// For `Tool::warmed_up`: the counters stay as they are. What is open is told nobody: before the warm-up all were 0.
    pub fn end_warm_up(&mut self) {
        *self = std::mem::take(self).behind_nothing(|_, _| {});
    }

    /// The same behind counters that are 0.
    fn behind_nothing(self, mispredicted: impl FnMut(T, u64)) -> Self {
        let Some(shape) = self.shape else { return self };
        let mut from_nothing = Self::begin(shape, SliceInfo { number: 0 });
        from_nothing.append(self, mispredicted);
        from_nothing
    }
}

/// Counters without those of which nothing is known.
mod sparse {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

    use super::Counter;

    /// How many there are, and those that are known, each with the distance from the one before.
    type Encoded = (u32, Vec<(u32, Counter)>);

    pub fn serialize<S: Serializer>(counters: &[Counter], serializer: S) -> Result<S::Ok, S::Error> {
        let mut last = 0;
        let known = counters.iter().enumerate().filter(|(_, counter)| **counter != Counter::UNKNOWN);
        let known = known.map(|(number, counter)| (number - std::mem::replace(&mut last, number), *counter));
        let known = known.map(|(distance, counter)| (distance as u32, counter)).collect();
        let encoded: Encoded = (counters.len() as u32, known);
        encoded.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Counter>, D::Error> {
        let (count, known) = Encoded::deserialize(deserializer)?;
        let mut counters = vec![Counter::UNKNOWN; count as usize];
        let mut number = 0;
        for (distance, counter) in known {
            number += distance as usize;
            *counters.get_mut(number).ok_or_else(|| de::Error::custom("a counter that isn't there"))? = counter;
        }
        Ok(counters)
    }
}
