//! TAGE of a part of the execution.

use serde::{Deserialize, Serialize};

use super::branches::{Branches, Writer};
use super::machine::Machine;
use super::shape::TageShape;
use crate::tool::SliceInfo;

/// The branch predictor TAGE (A. Seznec and P. Michaud, *A case for (partially) TAgged GEometric history length branch prediction*, Journal of Instruction-Level Parallelism 8, 2006).
///
/// A base of two-bit counters by address predicts branches for which no table has an entry. A table's entry is found by the branch's address, by which of the last conditional branches of the whole execution were taken,
/// as many as the table's history is long, and by the lowest bit of the addresses of the last 16 of them; a tag says whether the entry is this branch's.
///
/// * *Prediction*: of the tables that have an entry the one with the longest history predicts, by a counter of three bits. A new entry, whose counter is weak and which wasn't useful yet, isn't believed where that has been better of
///   late (a counter of four bits, for all branches): then the next shorter one predicts.
/// * *Learning*: that counter goes by the outcome. The entry is more useful, up to 3, if it was right and the next shorter one wrong, and less the other way round. After each 2^18 branches the upper or the lower bit of that is cleared in all entries, in turn.
/// * *Allocation*: a branch that was mispredicted gets an entry with a longer history, among those that aren't useful: in the first such table with a chance of a half, else in the second, and so on. If all are useful, they become less so.
///   No chance is left: the numbers are a fixed series, a part of the predictor's state.
///
/// Addresses come back with mispredictions.
///
/// ```no_run
/// use superpin_tool::SliceInfo;
/// use superpin_tool::models::{Tage, TageShape};
///
/// let shape = TageShape::default();
/// let mut mispredicted = 0;
/// let mut predictor = Tage::begin(shape, SliceInfo { number: 0 });
/// for n in 0..1000 {
///     predictor.branch(0x401000, n % 10 != 9, |_address, times| mispredicted += times);
/// }
/// let mut next = Tage::begin(shape, SliceInfo { number: 1 });
/// for n in 0..1000 {
///     next.branch(0x401000, n % 10 != 9, |_address, times| mispredicted += times);
/// }
/// predictor.append(next, |_address, times| mispredicted += times);
/// predictor.end(|_address, times| mispredicted += times);
/// # assert!(mispredicted > 1 && mispredicted < 100, "{mispredicted}");
/// # Ok::<(), String>(())
/// ```
///
/// **How it is exact.** What a branch does to the predictor depends on all that it has learnt, and no slice but the first one knows that. So a slice simulates nothing: it keeps its branches, and `append` runs them in order.
///
/// **Cost.** In a slice some nanoseconds for a branch, and its memory grows with its length: a bit for each branch and a byte or two where another one comes next than the last time, 130 to 400 KB for a million. In the collector, or serially,
/// some 30 to 60 ns for a branch, with seven tables: that is not done in parallel, and soon is what a run waits for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Tage {
    shape: Option<TageShape>,
    /// Branches before anything is known, in the order of execution.
    kept: Vec<Branches>,
    /// For the last of them.
    #[serde(skip)]
    writer: Option<Writer>,
    /// Once everything is known.
    machine: Option<Box<Machine>>,
}

impl Tage {
    /// The predictor as a slice begins: it has learnt nothing in the first one, and in all others what it has learnt is unknown.
    pub fn begin(shape: TageShape, slice: SliceInfo) -> Self {
        let machine = (slice.number == 0).then(|| Box::new(Machine::new(shape)));
        Self { shape: Some(shape), machine, ..Self::default() }
    }

    /// A conditional branch is executed. `mispredicted` gets its address and how often, 1, if it is known now that it was predicted wrongly.
    ///
    /// # Panics
    /// If this is a `Default`, which has no shape.
    #[inline]
    pub fn branch(&mut self, address: u64, taken: bool, mut mispredicted: impl FnMut(u64, u64)) {
        if let Some(machine) = &mut self.machine {
            if machine.branch(address, taken) {
                mispredicted(address, 1);
            }
            return;
        }
        assert!(self.shape.is_some(), "a predictor has a shape: begin() gives it one");
        let writer = self.writer.get_or_insert_with(|| {
            self.kept.push(Branches::default());
            Writer::default()
        });
        if let Some(branches) = self.kept.last_mut() {
            writer.push(branches, address, taken);
        }
    }

    /// Adds the part that was executed behind this one.
    ///
    /// # Panics
    /// If that has another shape.
    pub fn append(&mut self, next: Self, mut mispredicted: impl FnMut(u64, u64)) {
        if self.shape.is_none() {
            *self = next;
            return;
        }
        if next.shape.is_none() {
            return;
        }
        assert!(next.shape == self.shape, "parts of an execution with other predictors");
        if let Some(machine) = &mut self.machine {
            for branches in next.kept {
                branches.each(|address, taken| {
                    if machine.branch(address, taken) {
                        mispredicted(address, 1);
                    }
                });
            }
        } else {
            self.kept.extend(next.kept);
            self.writer = None;
        }
        if next.machine.is_some() {
            self.machine = next.machine;
        }
    }

    /// The execution is over, and it began with a predictor that had learnt nothing.
    pub fn end(self, mispredicted: impl FnMut(u64, u64)) {
        self.behind_nothing(mispredicted);
    }

    /// For `Tool::warmed_up`: what was learnt stays. What is open is told nobody.
    pub fn end_warm_up(&mut self) {
        *self = std::mem::take(self).behind_nothing(|_, _| {});
    }

    /// The same behind a predictor that has learnt nothing.
    fn behind_nothing(self, mispredicted: impl FnMut(u64, u64)) -> Self {
        let Some(shape) = self.shape else { return self };
        let mut from_nothing = Self::begin(shape, SliceInfo { number: 0 });
        from_nothing.append(self, mispredicted);
        from_nothing
    }
}
