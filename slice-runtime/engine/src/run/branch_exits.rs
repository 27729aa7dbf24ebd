//! Exits at branches that found nothing: from the next time on they find what is found for them now.

use bubble::switches::Optimisation;
use machine::AppPc;
use translator::abi::{SpaceId, TraceExit, TraceId};
use translator::emit;

use super::next::Next;
use super::runner::Runner;
use crate::cache::Found;
use crate::interface::Host;
use crate::link::New;

impl Runner {
    pub(super) fn after_direct(&mut self, host: &mut dyn Host, from: SpaceId, exit: &TraceExit) -> Next {
        self.engine.stats.entries[0] += 1;
        let generation = self.engine.cache.generation();
        let found = match self.dispatch(host, None) {
            Ok(found) => found,
            Err(next) => return next,
        };
        if self.has_come_to(exit.pc, generation, found) {
            self.engine.link(from, exit, found);
            if generation != self.engine.cache.generation() {
                return Next::Dispatch;
            }
        }
        Next::Cache(self.engine.cache.entry(found))
    }

    pub(super) fn after_invalid(&mut self, host: &mut dyn Host, exit: &TraceExit) -> Next {
        self.engine.stats.entries[0] += 1;
        let invalid = (if exit.site == 0 { SpaceId::Own } else { SpaceId::Shared }, TraceId(exit.argument));
        let generation = self.engine.cache.generation();
        let found = match self.dispatch(host, None) {
            Ok(found) => found,
            Err(next) => return next,
        };
        let entry = self.engine.cache.entry(found);
        if self.has_come_to(exit.pc, generation, found) && self.engine.may_enter_directly(found) {
            self.engine.lead(invalid, entry);
            self.engine.lead_old_to(found);
        }
        Next::Cache(entry)
    }

    pub(super) fn after_changed(&mut self, host: &mut dyn Host, exit: &TraceExit) -> Next {
        self.engine.stats.entries[0] += 1;
        let generation = self.engine.cache.generation();
        let found = match self.dispatch(host, None) {
            Ok(found) => found,
            Err(next) => return next,
        };
        if self.has_come_to(exit.pc, generation, found) && self.engine.may_enter_directly(found) {
            self.engine.lead_old_to(found);
        }
        Next::Cache(self.engine.cache.entry(found))
    }

    /// A branch found nothing in its link word.
    pub(super) fn after_constant_pointer(&mut self, host: &mut dyn Host, space: SpaceId, exit: &TraceExit) -> Next {
        self.engine.stats.entries[0] += 1;
        let branch = self.decode(exit.pc);
        let pointer = emit::constant_pointer(&branch).expect("it is a branch through a constant pointer");
        let Some(target) = self.engine.code.constant_target(pointer) else {
            let otherwise = self.engine.cache.space(space).pc(exit.site);
            self.engine.links.words.lead(exit.argument, otherwise);
            return Next::Cache(otherwise);
        };
        self.cpu().registers.rip = target.0;
        let generation = self.engine.cache.generation();
        let found = match self.dispatch(host, None) {
            Ok(found) => found,
            Err(next) => return next,
        };
        let entry = self.engine.cache.entry(found);
        if self.has_come_to(target, generation, found) && self.engine.may_enter_directly(found) {
            self.engine.links.incoming.note(found);
            self.engine.links.words.lead(exit.argument, entry);
        }
        Next::Cache(entry)
    }

    /// An indirect branch went to the app's `rip` and found nothing.
    pub(super) fn after_miss(&mut self, host: &mut dyn Host) -> Next {
        self.engine.stats.entries[1] += 1;
        let target = AppPc(self.cpu().registers.rip);
        let ahead = self.stub_before_trace(target);
        let behind = ahead.and_then(|new| new.behind(&self.engine.cache));
        let found = match self.dispatch(host, behind) {
            Ok(found) => found,
            Err(next) => return next,
        };
        let target = AppPc(self.cpu().registers.rip);
        let is_whole = self.begun.block_of(&self.engine.cache, found).is_none();
        if is_whole && self.engine.settings.off.leaves(Optimisation::IblStubs) && self.engine.may_enter_directly(found)
        {
            self.engine.lead_to_target(target, found, ahead);
        }
        Next::Cache(self.engine.cache.entry(found))
    }

    /// If there is no trace for `target` yet, it can lie right behind its IBL stub.
    fn stub_before_trace(&mut self, target: AppPc) -> Option<New> {
        let engine = &mut self.engine;
        let lasting = !self.begun.is_next()
            && engine.links.go_by_ibl_stubs()
            && !engine.code.are_compared(target.0, target.0 + 1);
        if !lasting || engine.find(target).is_some() {
            return None;
        }
        let space = if engine.cache.shared().is_none() {
            SpaceId::Own
        } else if engine.makes_shared(target) {
            SpaceId::Shared
        } else {
            return None;
        };
        engine.links.before_trace(&engine.cache, space, target)
    }

    /// Whether what was found for the app's state may be entered at the next time without asking: it is where the app was going to, and not the handler of a fault that
    /// it met there, nothing was flushed meanwhile, and it isn't the rest of a block.
    fn has_come_to(&mut self, target: AppPc, generation: u32, found: Found) -> bool {
        let cache = &self.engine.cache;
        let is_whole = self.begun.block_of(cache, found).is_none();
        is_whole && generation == cache.generation() && AppPc(self.cpu().registers.rip) == target
    }
}
