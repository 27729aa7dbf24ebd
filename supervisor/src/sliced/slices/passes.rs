//! Slices that are run twice, where the tool looks at a part of the run only.
//!
//! ```text
//!   a slice has counted ─► counted ─ (all before it are known) ─┬─► nothing to be looked at: it has finished
//!                                                               └─► again: once more, with the tool
//! ```
//! What is known of the run before a slice is what the slices before it have executed, and which events came there. Where an event's place depends on more than
//! sums, that is known when its slice has been run for the second time. Where the tool counts things of its own ([`bubble::values`]), the collector puts these together first.

use std::collections::{BTreeMap, VecDeque};

use bubble::end::EndStands;
use bubble::region::{INSTRUCTIONS, Progress, Spec, pass};
use bubble::shared::{SliceStats, state};

use crate::base::Failure;
use crate::run_memory::ClaimedSlot;

/// The passes of a run's slices.
pub struct Passes {
    spec: Spec,
    /// How far the run has come before slice `next`, if that is known.
    known: Option<Progress>,
    /// The first slice of which nothing was decided.
    next: u64,
    /// The tool counts things of its own: of so many slices it was asked to have them put together, and that was done of so many.
    asked: u64,
    put_together: u64,
    /// Slices that have counted, and wait for those before them.
    counted: BTreeMap<u64, ClaimedSlot>,
    /// Slices that are to be run again.
    again: VecDeque<(u64, ClaimedSlot)>,
    /// What the first passes did of slices that are run twice.
    stats: SliceStats,
}

impl Passes {
    /// Of a run whose tool looks at this part. `None` if that is all of it: each slice is run once.
    pub fn new(spec: &Spec) -> Option<Self> {
        (!spec.is_all()).then(|| Self {
            spec: *spec,
            known: Some(Progress::default()),
            next: 0,
            asked: 0,
            put_together: if spec.has_values() { 0 } else { u64::MAX },
            counted: BTreeMap::new(),
            again: VecDeque::new(),
            stats: SliceStats::default(),
        })
    }

    /// How far the run has come before the first slice of which nothing was decided, if that is known.
    pub fn progress(&self) -> Option<Progress> {
        self.known
    }

    /// The last slice that matters, if that is known: the tool looks at nothing behind it.
    pub fn last(&self) -> Option<u64> {
        let is_over = self.known.as_ref().is_some_and(|progress| self.spec.is_over(progress));
        self.next.checked_sub(1).filter(|_| is_over)
    }

    /// Slices behind this one don't matter. Gives them.
    pub fn forget_behind(&mut self, last: u64) -> Vec<(u64, ClaimedSlot)> {
        let behind = self.counted.split_off(&(last + 1));
        let (again, forgotten) = std::mem::take(&mut self.again).into_iter().partition(|(number, _)| *number <= last);
        self.again = again;
        behind.into_iter().chain(VecDeque::into_iter(forgotten)).collect()
    }

    /// Whether no slice waits.
    pub fn is_empty(&self) -> bool {
        self.counted.is_empty() && self.again.is_empty()
    }

    /// How many wait for others, or to be run again.
    pub fn waiting(&self) -> usize {
        self.counted.len() + self.again.len()
    }

    /// Slots of slices that wait.
    pub fn slots(&self) -> impl Iterator<Item = (u64, &ClaimedSlot)> {
        let counted = self.counted.iter().map(|(number, slot)| (*number, slot));
        counted.chain(self.again.iter().map(|(number, slot)| (*number, slot)))
    }

    /// All of them, which wait no more.
    pub fn take_slots(&mut self) -> impl Iterator<Item = ClaimedSlot> {
        let counted = std::mem::take(&mut self.counted).into_values();
        counted.chain(std::mem::take(&mut self.again).into_iter().map(|(_, slot)| slot))
    }

    /// A slice has been run. Gives those that have finished by that.
    ///
    /// # Errors
    /// If an event can't be placed.
    pub fn ended(&mut self, number: u64, slot: ClaimedSlot) -> Result<Vec<(u64, ClaimedSlot)>, Failure> {
        let mut finished = Vec::new();
        if slot.pass() == pass::COUNTS {
            self.counted.insert(number, slot);
        } else {
            if number + 1 == self.next && self.known.is_none() {
                self.known = Some(slot.ends());
            }
            finished.push((number, slot));
        }
        self.decide(&mut finished)?;
        Ok(finished)
    }

    /// The next slice whose values are to be put together with those before: its slot.
    pub fn take_next_counted(&mut self) -> Option<usize> {
        let slot = self.counted.get(&self.asked).filter(|_| self.spec.has_values())?;
        self.asked += 1;
        Some(slot.index())
    }

    /// That was done of the next `slices`. Gives those that have finished by that.
    ///
    /// # Errors
    /// As [`Self::ended`].
    pub fn were_put_together(&mut self, slices: usize) -> Result<Vec<(u64, ClaimedSlot)>, Failure> {
        self.put_together += slices as u64;
        let mut finished = Vec::new();
        self.decide(&mut finished)?;
        Ok(finished)
    }

    /// Decides about slices that have counted, as far as all before them have.
    fn decide(&mut self, finished: &mut Vec<(u64, ClaimedSlot)>) -> Result<(), Failure> {
        while let Some(progress) = self.known.filter(|_| self.next < self.put_together)
            && let Some(slot) = self.counted.remove(&self.next)
        {
            let number = self.next;
            self.next += 1;
            let outlook = self.spec.over(&progress, &slot.ends().counts);
            self.known = outlook.end;
            if slot.end().stands == EndStands::Faults
                && let Some(end) = &outlook.end
                && self.comes_before(end, &slot.ends())
            {
                return Err(Failure::Slice { slice: number, report: AT_FAULT.into() });
            }
            if outlook.looks || outlook.end.is_none() {
                self.stats.add(&SliceStats { verified: 0, shared_changed: 0, ..slot.stats() });
                slot.set_pass(if outlook.watches { pass::WATCHES } else { pass::LOOKS }, &progress);
                self.again.push_back((number, slot));
            } else {
                finished.push((number, slot));
            }
        }
        Ok(())
    }

    /// Whether the next event comes before the instruction that follows. `counted`: what the slice says of its end.
    fn comes_before(&self, progress: &Progress, counted: &Progress) -> bool {
        let is_there = |counter| {
            counter == INSTRUCTIONS || self.spec.next(progress).is_some_and(|(number, _)| counted.is_at(number))
        };
        self.spec
            .target(progress)
            .is_some_and(|(counter, target)| progress.counts[counter] == target && is_there(counter))
    }

    /// A slice that is to be run again, and is begun.
    pub fn begin_again(&mut self) -> Option<(u64, ClaimedSlot)> {
        let (number, slot) = self.again.pop_front()?;
        slot.begin_again(state::RELEASED);
        Some((number, slot))
    }

    /// What first passes did since the last time.
    pub fn take_stats(&mut self) -> SliceStats {
        std::mem::take(&mut self.stats)
    }
}

/// Why an event can't be placed.
const AT_FAULT: &str = "the tool is to begin or to end looking right before an instruction that raises a signal, where slices are cut: \
                        begin or end one instruction earlier, or run with -sp 0";
