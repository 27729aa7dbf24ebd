//! The threads that want the turn, and in which order they get it.
//!
//! A thread that has waited in a call before it had computed for long, or to which a signal was sent, is likely to be waited for: it has the turn before the others. But at least every second turn belongs to a computing thread that has stood in the queue for a while, else two threads that wake each
//! other would keep it out for ever.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use crate::base::Moment;

/// After so long a thread that computes has its turn before those that have waited.
const PATIENCE: Duration = Duration::from_millis(20);

/// A thread whose turn was as long as that computes.
const LONG: Duration = Duration::from_millis(2);

/// The threads that want the turn, by the kernel's numbers of them.
#[derive(Default)]
pub(in crate::sliced) struct TurnQueue {
    /// Those that others may be waiting for.
    soon: VecDeque<i32>,
    /// All others, and since when.
    later: VecDeque<(i32, Moment)>,
    /// Threads whose last turn was a long one.
    compute: BTreeSet<i32>,
    /// One of those was preferred to one that has waited: it won't be the next time.
    was_preferred: bool,
}

impl TurnQueue {
    /// A thread has lost the turn, which it had for so long.
    pub(in crate::sliced) fn had_turn(&mut self, tid: i32, time: Duration) {
        if time >= LONG {
            self.compute.insert(tid);
        } else {
            self.compute.remove(&tid);
        }
    }

    /// A thread has come out of a call.
    pub(in crate::sliced) fn comes(&mut self, tid: i32) {
        if self.compute.contains(&tid) {
            self.waits(tid);
        } else {
            self.soon.push_back(tid);
        }
    }

    /// A thread has begun, or had the turn for long enough.
    pub(in crate::sliced) fn waits(&mut self, tid: i32) {
        self.later.push_back((tid, Moment::now()));
    }

    /// A signal was sent to a thread: if it wants the turn, it has it soon.
    pub(in crate::sliced) fn is_sent_signal(&mut self, tid: i32) {
        let before = self.later.len();
        self.later.retain(|(other, _)| *other != tid);
        if self.later.len() < before {
            self.soon.push_back(tid);
        }
    }

    /// A thread is gone.
    pub(in crate::sliced) fn remove(&mut self, tid: i32) {
        self.soon.retain(|other| *other != tid);
        self.later.retain(|(other, _)| *other != tid);
        self.compute.remove(&tid);
    }

    /// All are gone, or want it no more.
    pub(in crate::sliced) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Whether nobody wants the turn.
    pub(in crate::sliced) fn is_empty(&self) -> bool {
        self.soon.is_empty() && self.later.is_empty()
    }

    /// How many want it.
    pub(in crate::sliced) fn len(&self) -> usize {
        self.soon.len() + self.later.len()
    }

    /// Whether there is one that others may be waiting for.
    pub(in crate::sliced) fn is_urgent(&self) -> bool {
        !self.soon.is_empty()
    }

    /// Takes the one that gets the turn.
    pub(in crate::sliced) fn next(&mut self) -> Option<i32> {
        let has_waited = self.later.front().is_some_and(|(_, since)| since.elapsed() >= PATIENCE);
        let is_preferred = has_waited && !self.was_preferred && self.is_urgent();
        self.was_preferred = is_preferred;
        match self.is_urgent() && !is_preferred {
            true => self.soon.pop_front(),
            false => self.later.pop_front().map(|(tid, _)| tid),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_waited_in_a_call_is_first() {
        let mut queue = TurnQueue::default();
        queue.waits(1);
        queue.comes(2);
        queue.waits(3);
        queue.comes(4);
        queue.had_turn(7, LONG);
        queue.comes(7);
        assert!(queue.is_urgent());
        queue.is_sent_signal(3);
        queue.is_sent_signal(5);
        assert_eq!([queue.next(), queue.next(), queue.next()], [2, 4, 3].map(Some));
        assert!(!queue.is_urgent() && !queue.is_empty());
        assert_eq!([queue.next(), queue.next(), queue.next()], [Some(1), Some(7), None]);
        assert!(queue.is_empty());
        queue.had_turn(7, Duration::ZERO);
        queue.comes(7);
        assert!(queue.is_urgent());
    }

    #[test]
    fn who_computes_is_not_kept_out() {
        let mut queue = TurnQueue::default();
        queue.waits(1);
        queue.waits(3);
        std::thread::sleep(PATIENCE);
        queue.comes(2);
        queue.comes(6);
        assert_eq!([queue.next(), queue.next(), queue.next(), queue.next()], [1, 2, 3, 6].map(Some));
        queue.comes(4);
        queue.waits(5);
        queue.remove(4);
        queue.remove(5);
        assert_eq!(queue.next(), None);
    }
}
