//! Connecting traces.

use machine::AppPc;
use translator::abi::{SpaceId, TraceExit};

use super::engine::Engine;
use crate::cache::Found;
use crate::link::New;
use crate::log;

impl Engine {
    /// Patches an exit so that it goes straight to its target.
    ///
    /// Shared code can't go to this process's own. But where that stands in for a hidden trace, the link may go to the hidden
    /// trace, whose entry leads on for this process.
    pub(crate) fn link(&mut self, from: SpaceId, exit: &TraceExit, to: Found) {
        let to = match (from, to.0, self.hidden_at(exit.pc)) {
            (SpaceId::Shared, SpaceId::Own, Some(hidden)) => (SpaceId::Shared, hidden),
            _ => to,
        };
        if !self.may_enter_directly(to) {
            return;
        }
        if from == SpaceId::Shared {
            let inside = self.code.same(self.cache.trace((from, exit.from)).pc.0, exit.pc.0);
            if !inside {
                return;
            }
            // It would ask each time, as long as an end keeps others from having a trace there: this process has its own of that code, too.
            if to.0 == SpaceId::Own {
                if self.points.has_ends() && self.points.hide(exit.from) {
                    self.invalidate((SpaceId::Shared, exit.from));
                }
                return;
            }
        }
        self.links.incoming.note(to);
        log::linked(from, exit, to.0, to.1, self.cache.entry(to));
        self.cache.space(from).link(exit.site, self.cache.entry(to));
    }

    /// Makes branches to `target` find its trace, if that may be.
    pub(crate) fn lead_to_target(&mut self, target: AppPc, found: Found, ahead: Option<New>) {
        self.links.incoming.note(found);
        self.links.provide(&self.cache, &mut self.code, target, found, ahead);
    }
}
