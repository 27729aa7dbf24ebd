//! What waits until no thread is in the cache ([`super::deferred`]) is done; what others may see meanwhile.

use bubble::switches::Optimisation;
use machine::CachePc;
use translator::abi::SpaceId;

use super::engine::Engine;
use crate::cache::Found;
use crate::gateway;
use crate::link::may_map_more;

impl Engine {
    /// See [`crate::Control::may_have_windows`].
    pub(crate) fn may_have_windows(&mut self) -> bool {
        let is_free = self.cache.shared().is_none() && may_map_more() && self.code.find(0).is_none();
        is_free && self.settings.off.leaves(Optimisation::Windows)
    }

    /// See [`crate::Control::take_windows`].
    pub(crate) fn take_windows(&mut self) {
        if self.settings.off.leaves(Optimisation::Rip) {
            self.settings.off = self.settings.off.and(Optimisation::Rip);
            self.links.take_switches(self.settings.off);
            gateway::begin(self.settings.off);
            self.flush();
        }
    }

    /// Whether something waits until no thread is in the cache.
    pub(crate) fn awaits_others(&self) -> bool {
        self.deferred.applies() && (self.deferred.any() || self.links.has_failed_map())
    }

    /// No thread is in the cache, nor refers to a place there: does what waits for that.
    pub(crate) fn do_deferred(&mut self) {
        let others_run = self.deferred.others_run;
        let waits = std::mem::take(&mut self.deferred);
        (self.deferred.others_run, self.deferred.is_alone) = (others_run, true);
        if waits.zero_is_mapped {
            // A word would be zero for a moment when its part is new, and others would go there.
            self.links.leave_map();
        }
        if waits.flush || waits.zero_is_mapped {
            self.flush();
        }
        if waits.forgets_counters {
            self.cache.forget_counters();
        }
        let generation = self.cache.generation();
        for (id, to) in waits.redirected.into_iter().filter(|_| !waits.flush && !waits.zero_is_mapped) {
            // There was no room: then all are gone.
            if generation != self.cache.generation() {
                break;
            }
            match to {
                Some(to) => self.cache.redirect((SpaceId::Own, id), to),
                None => self.invalidate((SpaceId::Own, id)),
            }
        }
        self.leave_failed_map();
        self.deferred.is_alone = false;
    }

    /// A trace that isn't valid any more leads there from now on.
    pub(crate) fn lead(&mut self, from: Found, to: CachePc) {
        if self.deferred.applies() && !self.cache.is_jump(from) {
            return self.deferred.redirect(from.1, Some(to));
        }
        self.cache.redirect(from, to);
    }

    /// All old translations of its code that others jump to lead to this trace from now on.
    pub(crate) fn lead_old_to(&mut self, found: Found) {
        let entry = self.cache.entry(found);
        for old in self.links.incoming.old(&self.cache, found) {
            self.lead((SpaceId::Own, old), entry);
        }
    }
}
