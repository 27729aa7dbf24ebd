//! The IBL stubs of indirect branches: which there are, and where. See `translator`'s `branches::ibl_stub`.

use std::sync::atomic::Ordering;

use bubble::switches::Off;
use machine::{AppPc, CachePc};
use translator::abi::{INDIRECT_ENTRIES, IndirectTables, Level, SpaceId, ThreadState, index_of};
use translator::emit::{self, Otherwise};

use super::view::{View, is_shared_stub};
use crate::cache::Cache;
use crate::gateway;
use crate::interface::Settings;

/// IBL stubs that an entry of the IBL table has at most before it starts anew.
const MOST_STUBS: u8 = 32;

/// An IBL stub that is in the cache and not yet in the table.
#[derive(Clone, Copy)]
pub struct New {
    pub(super) space: SpaceId,
    target: AppPc,
    pub(super) ibl_stub: CachePc,
    /// First address after it.
    end: CachePc,
    /// What it does with other targets.
    pub(super) otherwise: Otherwise,
    /// The cache's generation in which it was made.
    generation: u32,
}

impl New {
    /// Where a trace has to start so that the IBL stub leads there without a jump.
    pub fn behind(&self, cache: &Cache) -> Option<(SpaceId, u32)> {
        cache.space(self.space).offset(self.end).map(|offset| (self.space, offset))
    }

    /// Whether it leads to the trace of `target` that starts at `entry`.
    pub(super) fn leads_to(&self, cache: &Cache, target: AppPc, entry: CachePc) -> bool {
        (self.target, self.end) == (target, entry) && self.generation == cache.generation()
    }
}

/// Where an IBL stub of this process's own goes: before what that table has in the target's place.
#[derive(Clone, Copy)]
pub(super) struct OwnPlace {
    pub(super) level: Level,
    pub(super) otherwise: Otherwise,
}

/// The IBL tables of this process.
pub struct IblTable {
    thread: *mut ThreadState,
    off: Off,
    /// IBL stubs in each entry of the first table.
    ibl_stubs: Vec<u8>,
    /// What they have in common with those of other slices.
    pub(super) view: View,
}

impl IblTable {
    /// The tables of a thread state, not yet filled.
    ///
    /// # Safety
    /// It must stay mapped.
    pub unsafe fn new(thread: *mut ThreadState, settings: &Settings) -> Self {
        Self { thread, off: settings.off, ibl_stubs: vec![0; INDIRECT_ENTRIES], view: View::default() }
    }

    /// From now on these optimisations are off.
    pub(super) fn take_switches(&mut self, off: Off) {
        self.off = off;
    }

    /// The tables themselves: other processes may add to them.
    pub(super) fn tables(&self) -> &'static IndirectTables {
        // SAFETY: the promise of `new`, and the tables consist of atomics.
        unsafe { &(*self.thread).indirect }
    }

    /// Index of a target in the tables.
    pub(super) fn index_of(&self, target: AppPc) -> usize {
        index_of(target, self.off)
    }

    /// Where an IBL stub of this process's own goes: into the last table that branches to its target come to, before what is there already. Storing makes a
    /// private copy of the table's page. So as few pages as possible are stored to, and none to which other slices still add much.
    pub(super) fn own_place(&self, cache: &Cache, target: AppPc) -> OwnPlace {
        let index = self.index_of(target);
        let entry = |level| self.tables().level(level)[index].load(Ordering::Acquire);
        let leads_on = |level| self.view.is_there() && is_shared_stub(cache, entry(level));
        let level = Level::ALL.into_iter().find(|&level| !leads_on(level)).unwrap_or(Level::Third);
        let next = entry(level);
        let chained = next != gateway::indirect_miss_pc() && self.ibl_stubs[index] < MOST_STUBS;
        OwnPlace { level, otherwise: if chained { Otherwise::Next(CachePc(next)) } else { Otherwise::Miss } }
    }

    /// An IBL stub for `target`, whose trace starts at `entry` or else right behind.
    pub(super) fn make(
        &self,
        cache: &Cache,
        space: SpaceId,
        target: AppPc,
        entry: Option<CachePc>,
        otherwise: Otherwise,
    ) -> Option<New> {
        let tables = cache.space(space).tables;
        let locked = tables.lock();
        let site = cache.site(space, &locked, None);
        let made = emit::ibl_stub(target, entry, otherwise, site, self.off, gateway::doors());
        let end = CachePc(site.pc.0 + made.code.len() as u64);
        let id = cache.keep(&site, &locked, (target, &[]), &made, false).ok()?;
        let generation = cache.generation();
        Some(New { space, target, ibl_stub: cache.entry((space, id)), end, otherwise, generation })
    }

    /// Puts an IBL stub before those that its entry of a table already has.
    pub(super) fn put(&mut self, new: &New, level: Level) {
        let index = self.index_of(new.target);
        self.ibl_stubs[index] = if new.otherwise == Otherwise::Miss { 1 } else { self.ibl_stubs[index] + 1 };
        self.tables().level(level)[index].store(new.ibl_stub.0, Ordering::Relaxed);
    }

    /// Takes this process's own IBL stubs out.
    pub fn clear(&mut self) {
        self.forget_own();
        if !self.view.clear() {
            let empty = gateway::indirect_miss_pc();
            self.tables().level(Level::First).iter().for_each(|entry| entry.store(empty, Ordering::Relaxed));
        }
    }

    /// The entries of the first table have no IBL stubs of this process's own any more.
    pub(super) fn forget_own(&mut self) {
        self.ibl_stubs.fill(0);
    }
}
