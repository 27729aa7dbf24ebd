//! Translations that must not be used any more.

use machine::{CachePc, PAGE};
use translator::abi::{SpaceId, TraceId};
use translator::emit;

use super::engine::Engine;
use crate::cache::Found;
use crate::{block_counts, gateway, log};

impl Engine {
    /// Makes a trace's entry lead to the dispatcher.
    pub(super) fn invalidate(&mut self, found: Found) {
        if self.deferred.applies() {
            return self.deferred.redirect(found.1, None);
        }
        let pc = self.cache.trace(found).pc;
        let tables = self.cache.own().tables;
        let locked = tables.lock();
        let site = self.cache.site(SpaceId::Own, &locked, None);
        let stub = emit::invalid(pc, found.0, found.1, site, self.settings.off);
        let kept = self.cache.keep(&site, &locked, (pc, &[]), &stub, false);
        drop(locked);
        match kept {
            Ok(stub) => {
                let target: CachePc = self.cache.entry((SpaceId::Own, stub));
                self.cache.redirect(found, target);
            }
            Err(_) => self.flush(),
        }
    }

    /// Drops a translation of this process's own.
    pub(super) fn drop_trace(&mut self, id: TraceId) {
        let pc = self.cache.trace((SpaceId::Own, id)).pc;
        log::dropped(id, pc);
        self.cache.own().kill(id);
        if self.links.incoming.is_dropped(pc, id) {
            return self.flush();
        }
        self.invalidate((SpaceId::Own, id));
    }

    /// Drops this process's own translations of code in `start .. end`.
    pub(crate) fn drop_own(&mut self, start: u64, end: u64) {
        let mut found = Vec::new();
        self.cache.own().tables.overlapping(start, end, |id, _| found.push(id));
        let generation = self.cache.generation();
        for id in found {
            if generation != self.cache.generation() {
                return;
            }
            self.drop_trace(id);
        }
    }

    /// The app (or the kernel for it) is about to write to a page whose code was translated.
    pub(crate) fn code_is_written(&mut self, address: u64) {
        let page = address & !(PAGE - 1);
        self.drop_own(page, page + PAGE);
        self.code.release(address);
    }

    /// Empties this process's own cache.
    pub(crate) fn flush(&mut self) {
        if self.deferred.applies() {
            return self.deferred.flush();
        }
        log::flushed();
        gateway::forget();
        block_counts::retire(&self.cache.own().tables);
        self.cache.flush();
        self.links.clear(self.cache.shared().is_some());
        for id in self.points.hidden() {
            self.invalidate((SpaceId::Shared, id));
        }
    }

    /// See [`crate::Control::renew`].
    pub(crate) fn renew(&mut self, enters: bool) {
        assert!(self.cache.shared().is_none(), "others run the same translations");
        self.enters = enters;
        self.flush();
        if self.deferred.applies() {
            self.deferred.forget_counters();
        } else {
            self.cache.forget_counters();
        }
    }

    /// If there are targets that the map can't have: looks all up by IBL stubs from now on.
    pub(crate) fn leave_failed_map(&mut self) {
        if !self.deferred.applies() && self.links.have_failed() {
            self.links.leave_map();
            self.flush();
        }
    }
}
