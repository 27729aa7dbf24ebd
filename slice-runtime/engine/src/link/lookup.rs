//! Where indirect branches go: by the target map, or by the tables of IBL stubs.

use std::sync::atomic::Ordering;

use bubble::switches::{Off, Optimisation};
use isa::Kind;
use machine::AppPc;
use translator::abi::{Level, SpaceId, ThreadState};
use translator::emit::{Lookup, Otherwise};
use translator::trace::Trace;

use super::ibl_table::{IblTable, New};
use super::incoming::Incoming;
use super::link_words::LinkWords;
use super::shared_table;
use super::target_map::{TargetMap, may_map_more};
use crate::cache::{Cache, Found};
use crate::coherence::AppCode;
use crate::gateway;
use crate::interface::Settings;

/// All ways that lead from one trace to another and can't be patched into a branch.
pub struct Links {
    thread: *mut ThreadState,
    /// Those of further threads.
    others: Vec<*mut ThreadState>,
    settings: Settings,
    /// Where indirect branches go, unless IBL stubs are used.
    map: TargetMap,
    table: IblTable,
    /// Whether the tables hold anything.
    begun: bool,
    /// Who jumps to code that compares itself.
    pub incoming: Incoming,
    /// Words by which shared code leaves its mapping.
    pub words: LinkWords,
}

impl Links {
    /// None yet.
    ///
    /// # Safety
    /// The thread state must stay mapped, and nobody else may use its tables and words while translated code doesn't run.
    pub unsafe fn new(thread: *mut ThreadState, settings: Settings) -> Self {
        // SAFETY: the caller's promise.
        let (table, words) = unsafe { (IblTable::new(thread, &settings), LinkWords::new(thread)) };
        let (map, others, incoming) = (TargetMap::default(), Vec::new(), Incoming::default());
        Self { thread, others, settings, map, table, begun: false, incoming, words }
    }

    /// Decides whether targets are looked up in the map: not where traces expect r10 and r9 to be loaded.
    ///
    /// In a serial run also not where memory is limited. Slices go the same way in any case, since they share translations.
    pub fn begin_map(&mut self, code: &mut AppCode) {
        let needed = [Optimisation::TargetMap, Optimisation::IblStubs, Optimisation::Late];
        let wanted = self.settings.linking && needed.into_iter().all(|o| self.settings.off.leaves(o));
        let slice = self.settings.replays;
        if wanted && (slice || may_map_more()) {
            self.map.begin(code.find(0).is_some(), !slice);
            let used = self.map.are_used();
            assert!(used || !slice, "cannot map a table of targets: {}", std::io::Error::last_os_error());
            // SAFETY: the promise of `new`.
            unsafe { (*self.thread).looks_in_map = u64::from(used) };
        }
    }

    /// From now on these optimisations are off. All translations are to be dropped.
    pub fn take_switches(&mut self, off: Off) {
        self.settings.off = off;
        self.table.take_switches(off);
    }

    /// A further thread has its window. False if there is no memory for its tables.
    ///
    /// # Safety
    /// As [`Self::new`].
    pub unsafe fn joins(&mut self, thread: *mut ThreadState) -> bool {
        // SAFETY: the caller's promise, and that of `new`.
        let (state, first) = unsafe { (&mut *thread, &*self.thread) };
        (state.looks_in_map, state.target_bits) = (first.looks_in_map, first.target_bits);
        // Its own IBL stubs and link words lead nowhere else: it goes by the map, or by the runtime.
        state.link_words.fill(gateway::leave_by_stub_pc());
        let empty = gateway::indirect_miss_pc();
        if !self.map.are_used() {
            state.indirect.level(Level::First).iter().for_each(|entry| entry.store(empty, Ordering::Relaxed));
        }
        if !self.others.contains(&thread) {
            self.others.push(thread);
        }
        self.map.joins(state.moved())
    }

    /// Fills the tables before the first indirect branch.
    pub fn begin(&mut self, cache: &Cache, code: &mut AppCode) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        if self.settings.replays {
            self.begin_map(code);
        }
        if self.map.are_used() {
            return;
        }
        if !shared_table::begin(&mut self.table, cache, code, &self.settings) {
            self.table.clear();
        }
    }

    /// How a trace's indirect branch finds its target. Where it may go, or come back to, is made ready for.
    pub fn lookup_for(&mut self, trace: &Trace) -> Lookup {
        if !self.map.are_used() {
            return Lookup::IblStubs;
        }
        let last = trace.instructions.last().expect("a trace has an instruction");
        self.map.expect_all(trace.head(), last.next_pc());
        let asks = self.settings.off.leaves(Optimisation::Prefetch) && matches!(last.kind(), Kind::Call { .. });
        Lookup::TargetMap { ask_for: if asks { self.map.ask_for(last.next_pc()) } else { None } }
    }

    /// Branches go to this place, at which there is no code.
    pub fn expect(&mut self, place: AppPc) {
        if self.map.are_used() {
            self.map.expect_all(place, place);
        }
    }

    /// Whether an IBL stub can be made before its trace.
    pub fn go_by_ibl_stubs(&self) -> bool {
        !self.map.are_used() && self.settings.linking && self.settings.off.leaves(Optimisation::IblStubs)
    }

    /// An IBL stub for a target that has no trace yet. The trace can then lie right behind its IBL stub: no jump, and less of the cache is touched.
    /// `space`: where the trace will be.
    pub fn before_trace(&self, cache: &Cache, space: SpaceId, target: AppPc) -> Option<New> {
        let otherwise: Otherwise = match space {
            SpaceId::Own => self.table.own_place(cache, target).otherwise,
            SpaceId::Shared => shared_table::otherwise_at(shared_table::level_for(&self.table, cache, target)?),
        };
        self.table.make(cache, space, target, None, otherwise)
    }

    /// Branches to `target` find its trace from now on. `ahead` is what [`Self::before_trace`] made.
    pub fn provide(&mut self, cache: &Cache, code: &mut AppCode, target: AppPc, found: Found, ahead: Option<New>) {
        let entry = cache.entry(found);
        if self.map.are_used() {
            return self.map.put(target, entry);
        }
        let ahead = ahead.filter(|new| new.leads_to(cache, target, entry));
        let room = (cache, code, &self.settings);
        if found.0 == SpaceId::Shared && shared_table::provide(&mut self.table, room, (target, found.1), ahead.as_ref())
        {
            return;
        }
        // Without room the branch goes through the runtime until the next translation flushes the cache.
        let place = self.table.own_place(cache, target);
        let own = ahead.filter(|new| (new.space, new.otherwise) == (SpaceId::Own, place.otherwise));
        let make = || self.table.make(cache, SpaceId::Own, target, Some(entry), place.otherwise);
        if let Some(new) = own.or_else(make) {
            self.table.put(&new, place.level);
        }
    }

    /// The mapping of `start .. end` changes. Returns whether what was inherited had to be left; then all is to be cleared.
    pub fn leave(&mut self, start: u64, end: u64) -> bool {
        self.table.view.leave(start, end)
    }

    /// Whether targets are looked up in the map, and there are some that it can't have, so that translations have to be dropped. The map has begun anew with smaller windows if that helps.
    /// In a slice branches that it can't have go through the runtime.
    pub fn have_failed(&mut self) -> bool {
        if !self.map.have_failed() {
            return false;
        }
        if let Some(bits) = self.map.refine() {
            for thread in std::iter::once(self.thread).chain(self.others.iter().copied()) {
                // SAFETY: the promise of `new`.
                unsafe { (*thread).target_bits = bits };
            }
            return false;
        }
        !self.settings.replays
    }

    /// Whether there are targets that the map can't have.
    pub fn has_failed_map(&self) -> bool {
        self.map.have_failed()
    }

    /// Looks targets up by IBL stubs from now on. All translations are to be dropped.
    pub fn leave_map(&mut self) {
        self.map.end();
        for &thread in &self.others {
            // SAFETY: the promise of `joins`; no translated code runs.
            let indirect = unsafe { &(*thread).indirect };
            indirect
                .level(Level::First)
                .iter()
                .for_each(|entry| entry.store(gateway::indirect_miss_pc(), Ordering::Relaxed));
        }
    }

    /// The app has mapped address 0, where the map's empty words lead.
    pub fn address_zero_is_mapped(&mut self) {
        if self.map.are_used() {
            self.map.fill();
        }
    }

    /// Whether the map is used.
    pub fn look_in_map(&self) -> bool {
        self.map.are_used()
    }

    /// All translations of this process's own are gone.
    pub fn clear(&mut self, sharing: bool) {
        self.incoming.clear();
        if self.map.are_used() {
            self.map.clear();
        } else {
            self.table.clear();
        }
        if sharing {
            self.words.clear();
        }
    }
}
