//! Where others enter code that changes again and again.
//!
//! A translation that isn't valid any more leads on to the one that took its place, since nobody knows who jumps to it. Where code changes often, that would become a chain
//! of jumps as long as its history. So it is remembered to which of its translations others jump, which are few, and all of these lead to the newest.

use std::collections::HashMap;

use machine::AppPc;
use translator::abi::{SpaceId, TraceId};

use crate::cache::{Cache, Found};

/// Traces that compare their code and to which others jump, by their heads. The valid one may be among them.
#[derive(Default)]
pub struct Incoming(HashMap<AppPc, Vec<TraceId>>);

impl Incoming {
    /// From now on others jump to this trace.
    pub fn note(&mut self, cache: &Cache, found: Found) {
        let trace = cache.trace(found);
        if found.0 == SpaceId::Own && trace.inspects == 1 {
            let known = self.0.entry(trace.pc).or_default();
            if known.last() != Some(&found.1) {
                known.push(found.1);
            }
        }
    }

    /// This trace is the newest of its code.
    pub fn lead_to(&self, cache: &mut Cache, found: Found) {
        let newest = cache.trace(found);
        if found.0 != SpaceId::Own || newest.inspects != 1 {
            return;
        }
        let entry = cache.entry(found);
        let older = self.0.get(&newest.pc).cloned().unwrap_or_default();
        for older in older.into_iter().filter(|&older| older != found.1) {
            cache.redirect((SpaceId::Own, older), entry);
        }
    }

    /// All translations of this process's own are gone.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
