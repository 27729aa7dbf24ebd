//! The landings of indirect branches: which there are, and where. See `translate::branches`.

use bubble::switches::Optimisation;
use machine::{AppPc, CachePc};

use crate::engine::{Engine, Next};
use crate::gateway;
use crate::guest::Guest;
use crate::space::SpaceId;
use crate::thread::INDIRECT_ENTRIES;
use crate::translate::branches;

/// Landings that an entry of the indirect-branch table has at most before it starts anew.
const MOST_LANDINGS: u8 = 32;

/// A landing that is in the cache and not yet in the table.
struct New {
    target: AppPc,
    landing: CachePc,
    /// First address after it.
    end: CachePc,
    /// Whether it leads on to those that the entry already has.
    chained: bool,
}

fn entry_of(target: AppPc) -> usize {
    target.0 as usize % INDIRECT_ENTRIES
}

impl Engine {
    /// An indirect branch went to the app's `rip` and found no landing: provide one (P20).
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
        let leads_there = |new: &New| (new.target, new.end) == (target, entry) && flushes == self.flushes;
        // Without room the branch goes through the runtime until the next translation flushes the cache.
        if let Some(new) = ahead.filter(leads_there).or_else(|| self.make_landing(target, Some(entry))) {
            self.use_landing(&new);
        }
        Next::Cache(entry)
    }

    /// If there is no trace for `target` yet, it can lie right behind its landing: no jump, and less of the cache is touched.
    fn landing_before_trace(&mut self, target: AppPc) -> Option<New> {
        let lasting = !self.single && self.settings.linking && !self.pages.is_compared(target.0);
        let possible = lasting && self.shared.is_none() && self.settings.off.leaves(Optimisation::Landings);
        if !possible || self.find(target).is_some() {
            return None;
        }
        let new = self.make_landing(target, None)?;
        self.behind = self.own.offset(new.end);
        Some(new)
    }

    /// A landing for `target`, whose trace starts at `entry` or else right behind.
    fn make_landing(&mut self, target: AppPc, entry: Option<CachePc>) -> Option<New> {
        let index = entry_of(target);
        let first = self.thread().indirect[index];
        let next =
            (first != gateway::indirect_miss_pc() && self.landings[index] < MOST_LANDINGS).then_some(CachePc(first));
        let tables = self.own.tables;
        let locked = tables.lock();
        let site = self.site(SpaceId::Own, &locked);
        let made = branches::landing(target, entry, next, site);
        let end = CachePc(site.pc.0 + made.code.len() as u64);
        let id = self.keep(SpaceId::Own, &locked, target, 0, &made, false).ok()?;
        Some(New { target, landing: self.entry_of(SpaceId::Own, id), end, chained: next.is_some() })
    }

    /// Puts a landing before those that its entry of the table already has (M8).
    fn use_landing(&mut self, new: &New) {
        let index = entry_of(new.target);
        self.landings[index] = if new.chained { self.landings[index] + 1 } else { 1 };
        self.thread().indirect[index] = new.landing.0;
    }

    /// Empties the indirect-branch table.
    pub(crate) fn clear_indirect(&mut self) {
        self.thread().indirect.fill(gateway::indirect_miss_pc());
        self.landings.fill(0);
    }
}
