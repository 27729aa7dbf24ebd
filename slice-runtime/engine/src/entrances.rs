//! Where others enter code that changes again and again.
//!
//! A translation that isn't valid any more leads on to the one that took its place, since nobody knows who jumps to it. Where code changes often, that would become a chain
//! of jumps as long as its history. So it is remembered to which of its translations others jump, which are few, and all of these lead to the newest.

use std::collections::HashMap;

use machine::AppPc;
use translator::abi::{SpaceId, TraceId};

use crate::engine::Engine;

/// Traces that compare their code and to which others jump, by their heads. The valid one may be among them.
pub(crate) type Entrances = HashMap<AppPc, Vec<TraceId>>;

impl Engine {
    /// From now on others jump to this trace.
    pub(crate) fn note_entrance(&mut self, space: SpaceId, id: TraceId) {
        let trace = self.space(space).tables.trace(id);
        if space == SpaceId::Own && trace.inspects == 1 {
            let known = self.entrances.entry(trace.pc).or_default();
            if known.last() != Some(&id) {
                known.push(id);
            }
        }
    }

    /// This trace is the newest of its code.
    pub(crate) fn lead_to(&mut self, space: SpaceId, id: TraceId) {
        let newest = self.space(space).tables.trace(id);
        if space != SpaceId::Own || newest.inspects != 1 {
            return;
        }
        let entry = self.entry_of(space, id);
        let older = self.entrances.get(&newest.pc).cloned().unwrap_or_default();
        for older in older.into_iter().filter(|&older| older != id) {
            self.redirect(SpaceId::Own, older, entry);
        }
    }
}
