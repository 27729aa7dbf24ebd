//! Translations that must not be used any more: of code that changed, and of code at a slice's end.

use std::sync::atomic::Ordering;

use machine::{AppPc, CachePc, Registers, flags};
use translator::abi::{SpaceId, TraceId};
use translator::emit;

use crate::end::End;
use crate::engine::Engine;
use crate::guest::Guest;
use crate::pages::PAGE;
use crate::space::CodeSpace;

impl Engine {
    /// Makes a trace's entry a jump elsewhere, for this process.
    pub(crate) fn redirect(&mut self, space: SpaceId, id: TraceId, target: CachePc) {
        let code: &mut CodeSpace = match space {
            SpaceId::Own => &mut self.own,
            SpaceId::Shared => self.shared.as_mut().expect("the shared space is in use"),
        };
        let tables = code.tables;
        let start = tables.trace(id).start;
        code.redirect(&tables.lock(), start, target);
    }

    /// Makes a trace's entry lead to the dispatcher.
    fn make_stale(&mut self, space: SpaceId, id: TraceId) {
        let pc = self.space(space).tables.trace(id).pc;
        let tables = self.own.tables;
        let locked = tables.lock();
        let site = self.site(SpaceId::Own, &locked);
        let stub = emit::stale(pc, space, id, site);
        let kept = self.keep(SpaceId::Own, &locked, pc, 0, &stub, false);
        drop(locked);
        match kept {
            Ok(stub) => {
                let target = self.entry_of(SpaceId::Own, stub);
                self.redirect(space, id, target);
            }
            Err(_) => self.flush_own(),
        }
    }

    pub(crate) fn drop_trace(&mut self, id: TraceId) {
        self.own.kill(id);
        self.make_stale(SpaceId::Own, id);
    }

    /// Drops this process's own translations of code in `start .. end`.
    pub(crate) fn drop_own(&mut self, start: u64, end: u64) {
        let mut found = Vec::new();
        self.own.tables.overlapping(start, end, |id, _| found.push(id));
        let flushes = self.flushes;
        for id in found {
            if flushes != self.flushes {
                return;
            }
            self.drop_trace(id);
        }
    }

    /// The app (or the kernel for it) is about to write to a page whose code was translated.
    pub(crate) fn code_is_written(&mut self, address: u64) {
        let page = address & !(PAGE - 1);
        self.drop_own(page, page + PAGE);
        self.regions.pages.release(address);
    }

    /// Empties this process's own cache.
    pub(crate) fn flush_own(&mut self) {
        self.flushes += 1;
        self.show_x87_pc();
        self.own.flush();
        self.entrances.clear();
        self.finishing = None;
        self.clear_indirect();
        self.clear_cells();
        for id in self.hidden.clone() {
            self.make_stale(SpaceId::Shared, id);
        }
    }

    /// Does what [`crate::guest::Control::arm`] asked for.
    ///
    /// With a shared cache: from the moment the end is in the list, no new trace runs across it. The trace that starts at
    /// the end is made now if there is none, since another slice could make it later and link to it unseen. Then
    /// all traces that run across or start at the end are hidden from this process.
    pub(crate) fn arm_end(&mut self, registers: &Registers, guest: &mut dyn Guest) {
        let pc = registers.rip;
        if let Some(shared) = &self.shared {
            let tables = shared.tables;
            let locked = tables.lock();
            tables.of_one_run().ends[self.settings.slot].store(pc, Ordering::SeqCst);
            drop(locked);
            if self.is_shared(AppPc(pc)) {
                // An end that can't be fetched or translated can't be reached by shared code either.
                let _ = self.make_in(SpaceId::Shared, AppPc(pc), guest);
            }
            let mut found = Vec::new();
            tables.overlapping(pc, pc + 1, |id, _| found.push(id));
            for id in found {
                self.hidden.push(id);
                self.make_stale(SpaceId::Shared, id);
            }
        }
        self.drop_own(pc, pc + 1);
        let dead = flags::ARITHMETIC & !self.live_flags_at(AppPc(pc));
        self.end = Some(End::new(registers, dead));
    }

    /// This process looks for its end no more.
    pub fn disarm(&mut self) {
        if let Some(shared) = &self.shared {
            shared.tables.of_one_run().ends[self.settings.slot].store(0, Ordering::SeqCst);
        }
    }
}
