//! The landings of indirect branches: which there are, and where. See `translator::emit::branches::indirect`.

use std::sync::atomic::Ordering;

use bubble::switches::Optimisation;
use machine::{AppPc, CachePc};
use translator::abi::{IndirectTables, Level, SpaceId, index_of};
use translator::emit::{self, Otherwise};

use crate::engine::{Engine, Next};
use crate::gateway;
use crate::guest::Guest;

/// Landings that an entry of the indirect-branch table has at most before it starts anew.
const MOST_LANDINGS: u8 = 32;

/// A landing that is in the cache and not yet in the table.
pub(crate) struct New {
    pub space: SpaceId,
    pub target: AppPc,
    pub landing: CachePc,
    /// First address after it.
    end: CachePc,
    /// What it does with other targets.
    pub otherwise: Otherwise,
}

/// Where a landing of this process's own goes: before what that table has in the target's place.
#[derive(Clone, Copy)]
struct OwnPlace {
    level: Level,
    otherwise: Otherwise,
}

impl Engine {
    /// The same by the engine's settings.
    pub(crate) fn index_of(&self, target: AppPc) -> usize {
        index_of(target, self.settings.off)
    }

    /// The tables of indirect branches: other processes may add to them.
    pub(crate) fn indirect(&self) -> &'static IndirectTables {
        // SAFETY: the thread state outlives the engine's use, and the tables consist of atomics.
        unsafe { &(*self.thread).indirect }
    }

    /// An indirect branch went to the app's `rip` and found no landing: provide one.
    pub(crate) fn indirect_target(&mut self, guest: &mut dyn Guest) -> Next {
        let target = AppPc(self.cpu().registers.rip);
        let ahead = self.landing_before_trace(target);
        let flushes = self.flushes;
        let found = self.dispatch(guest);
        self.behind = None;
        let Some((space, id)) = found else { return Next::Leave };
        let entry = self.entry_of(space, id);
        let target = AppPc(self.cpu().registers.rip);
        if !self.settings.off.leaves(Optimisation::Landings) || !self.may_enter_directly(space, id) {
            return Next::Cache(entry);
        }
        self.note_entrance(space, id);
        if self.targets.are_used() {
            self.targets.put(target, entry);
            return Next::Cache(entry);
        }
        let leads_there = |new: &New| (new.target, new.end) == (target, entry) && flushes == self.flushes;
        let ahead = ahead.filter(leads_there);
        if space == SpaceId::Shared && self.use_shared_landing(target, id, ahead.as_ref()) {
            return Next::Cache(entry);
        }
        // Without room the branch goes through the runtime until the next translation flushes the cache.
        let place = self.own_place(target);
        let own = ahead.filter(|new| (new.space, new.otherwise) == (SpaceId::Own, place.otherwise));
        if let Some(new) = own.or_else(|| self.make_landing(SpaceId::Own, target, Some(entry), place.otherwise)) {
            self.use_landing(&new, place.level);
        }
        Next::Cache(entry)
    }

    /// If there is no trace for `target` yet, it can lie right behind its landing: no jump, and less of the cache is touched.
    fn landing_before_trace(&mut self, target: AppPc) -> Option<New> {
        let lasting = !self.single
            && !self.targets.are_used()
            && self.settings.linking
            && !self.regions.pages.are_compared(target.0, target.0 + 1);
        if !lasting || !self.settings.off.leaves(Optimisation::Landings) || self.find(target).is_some() {
            return None;
        }
        let (space, otherwise) = if self.shared.is_none() {
            (SpaceId::Own, self.own_place(target).otherwise)
        } else {
            (SpaceId::Shared, self.behind_shared(self.level_for(target)?))
        };
        if space == SpaceId::Shared && !self.makes_shared(target) {
            return None;
        }
        let new = self.make_landing(space, target, None, otherwise)?;
        self.behind = self.space(space).offset(new.end).map(|offset| (space, offset));
        Some(new)
    }

    /// Where a landing of this process's own goes: into the last table that branches to its target come to, before what that has. A page of the tables
    /// in which something is stored isn't shared any more: so there are as few of them as can be, and none where others still add much.
    fn own_place(&self, target: AppPc) -> OwnPlace {
        let index = self.index_of(target);
        let entry = |level| self.indirect().level(level)[index].load(Ordering::Acquire);
        let leads_on = |level| self.has_view() && self.is_shared_landing(entry(level));
        let level = Level::ALL.into_iter().find(|&level| !leads_on(level)).unwrap_or(Level::Third);
        let next = entry(level);
        let chained = next != gateway::indirect_miss_pc() && self.landings[index] < MOST_LANDINGS;
        OwnPlace { level, otherwise: if chained { Otherwise::Next(CachePc(next)) } else { Otherwise::Miss } }
    }

    /// A landing for `target`, whose trace starts at `entry` or else right behind.
    pub(crate) fn make_landing(
        &mut self,
        space: SpaceId,
        target: AppPc,
        entry: Option<CachePc>,
        otherwise: Otherwise,
    ) -> Option<New> {
        let tables = self.space(space).tables;
        let locked = tables.lock();
        let site = self.site(space, &locked);
        let made = emit::landing(target, entry, otherwise, site, self.settings.off, gateway::doors());
        let end = CachePc(site.pc.0 + made.code.len() as u64);
        let id = self.keep(space, &locked, target, 0, &made, false).ok()?;
        Some(New { space, target, landing: self.entry_of(space, id), end, otherwise })
    }

    /// Puts a landing before those that its entry of a table already has.
    fn use_landing(&mut self, new: &New, level: Level) {
        let index = self.index_of(new.target);
        self.landings[index] = if new.otherwise == Otherwise::Miss { 1 } else { self.landings[index] + 1 };
        self.indirect().level(level)[index].store(new.landing.0, Ordering::Relaxed);
    }

    /// Takes this process's own landings out of the table.
    pub(crate) fn clear_indirect(&mut self) {
        if self.targets.are_used() {
            return self.targets.clear();
        }
        self.landings.fill(0);
        if !self.clear_view() {
            let empty = gateway::indirect_miss_pc();
            self.indirect().level(Level::First).iter().for_each(|entry| entry.store(empty, Ordering::Relaxed));
        }
    }
}
