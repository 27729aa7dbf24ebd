//! Who jumps to code that changes again and again.
//!
//! A translation that is no longer valid leads to its successor, since nobody knows who jumps to it. Where code changes often, that would become a
//! chain as long as the code's history. So we remember to which translations others jump. These are few, and all of them lead to the newest:
//!
//! ```text
//!     linked branch ──► trace 3 (old) ──┐
//!     linked branch ──► trace 5 (old) ──┼──► trace 9, the newest      trace 4, 6, 7, 8: nobody jumps there
//! ```

use std::collections::HashMap;

use machine::AppPc;
use translator::abi::{SpaceId, TraceId};

use crate::cache::{Cache, Found};

/// Old translations of one piece of code that may lead to its newest. If there are more it is cheaper to begin anew.
const MOST_OLD: usize = 1024;

/// Traces of this process's own to which others jump.
#[derive(Default)]
pub struct Incoming {
    /// One bit for each trace: whether others jump there.
    noted: Vec<u64>,
    /// Those of them that were dropped, by their heads.
    old: HashMap<AppPc, Vec<TraceId>>,
}

impl Incoming {
    /// From now on others jump to this trace.
    pub fn note(&mut self, (space, id): Found) {
        if space == SpaceId::Own {
            let (word, bit) = bit_of(id);
            if self.noted.len() <= word {
                self.noted.resize(word + 1, 0);
            }
            self.noted[word] |= bit;
        }
    }

    /// This trace of code at `pc` is no longer valid. Whether there are too many such.
    pub fn is_dropped(&mut self, pc: AppPc, id: TraceId) -> bool {
        let (word, bit) = bit_of(id);
        if self.noted.get(word).is_none_or(|noted| noted & bit == 0) {
            return false;
        }
        let old = self.old.entry(pc).or_default();
        old.push(id);
        old.len() > MOST_OLD
    }

    /// This trace is the newest of its code, and may be entered by all: those that are to lead there.
    pub fn old(&self, cache: &Cache, found: Found) -> Vec<TraceId> {
        let old = self.old.get(&cache.trace(found).pc).filter(|_| found.0 == SpaceId::Own);
        old.cloned().unwrap_or_default()
    }

    /// All translations of this process's own are gone.
    pub fn clear(&mut self) {
        self.noted.clear();
        self.old.clear();
    }
}

/// The word and the bit in it that stand for a trace.
fn bit_of(id: TraceId) -> (usize, u64) {
    ((id.0 / 64) as usize, 1 << (id.0 % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_traces_that_others_jump_to_are_remembered() {
        let mut incoming = Incoming::default();
        let pc = AppPc(0x1000);
        incoming.note((SpaceId::Own, TraceId(70)));
        incoming.note((SpaceId::Shared, TraceId(3)));
        for id in [3, 69, 70, 71, 1000] {
            assert!(!incoming.is_dropped(pc, TraceId(id)));
        }
        assert_eq!(incoming.old[&pc], [TraceId(70)]);
        incoming.clear();
        assert!(!incoming.is_dropped(pc, TraceId(70)) && incoming.old.is_empty());
    }

    #[test]
    fn there_are_not_too_many_old_ones() {
        let mut incoming = Incoming::default();
        let is_enough = |n| {
            incoming.note((SpaceId::Own, TraceId(n)));
            incoming.is_dropped(AppPc(0x1000), TraceId(n))
        };
        assert_eq!((0..5000).position(is_enough), Some(MOST_OLD));
    }
}
