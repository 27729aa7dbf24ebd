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

/// Traces that compare their code and to which others jump, by their heads. The valid one may be among them.
#[derive(Default)]
pub struct Incoming(HashMap<AppPc, Vec<TraceId>>);

impl Incoming {
    /// From now on others jump to this trace.
    pub fn note(&mut self, cache: &Cache, found: Found) {
        let trace = cache.trace(found);
        if found.0 == SpaceId::Own && trace.self_checks == 1 {
            let known = self.0.entry(trace.pc).or_default();
            if known.last() != Some(&found.1) {
                known.push(found.1);
            }
        }
    }

    /// This trace is the newest of its code.
    pub fn lead_to(&self, cache: &mut Cache, found: Found) {
        let newest = cache.trace(found);
        if found.0 != SpaceId::Own || newest.self_checks != 1 {
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
