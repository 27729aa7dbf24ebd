//! IBL tables that slices share.
//!
//! A new slice would start with an empty table and miss on every indirect branch. Instead it maps a shared table (see `cache`), copy on write. It
//! starts with all stubs that earlier slices needed, and sees the stubs that others add while it runs.
//!
//! A stub in a shared table can't chain to another stub: chains differ between slices. On a mismatch it goes to the same place of the next
//! *level*, a further table. The last level goes to the runtime. A slice's own stubs come at the end of this way: for further targets, and for code that
//! isn't shared.
//!
//! ```text
//!     level 1 [ shared stub A ] ≠ → level 2 [ shared stub B ] ≠ → level 3 [ own stub C ] ≠ → runtime
//! ```
//!
//! Named invariant *same mappings*: every stub in the view leads to code whose mapping is, in this process, the registered one. A table is for
//! one set of mappings. Before one of them changes, the process leaves the view.

use std::sync::atomic::Ordering;

use bubble::switches::Optimisation;
use machine::AppPc;
use translator::abi::{Level, SpaceId, TraceId};
use translator::emit::Otherwise;

use super::ibl_table::{IblTable, New};
use super::view::is_shared_stub;
use crate::cache::{Cache, RegionSet};
use crate::coherence::AppCode;
use crate::gateway;
use crate::interface::Settings;

/// Targets in mappings that the shared IBL table isn't for, after which a process looks for a better one.
const MANY: u32 = 64;

/// The registered mappings that are the same here, if a shared IBL table may be used.
fn registered(table: &IblTable, cache: &Cache, code: &mut AppCode, settings: &Settings) -> Option<RegionSet> {
    let off = settings.off;
    let wanted = off.leaves(Optimisation::Inherit) && off.leaves(Optimisation::IblStubs) && settings.linking;
    let tables = cache.shared_tables().filter(|_| wanted && table.view.may_be_made())?;
    Some(code.registered(&tables))
}

/// Maps the best shared IBL table there is in place of the tables. False if there is none.
pub(super) fn begin(table: &mut IblTable, cache: &Cache, code: &mut AppCode, settings: &Settings) -> bool {
    let found = registered(table, cache, code, settings).and_then(|set| cache.shared_tables()?.shared_ibl_for(&set));
    found.is_some_and(|found| table.view.take(cache, settings, found))
}

/// Where in the shared IBL table an IBL stub for `target` has its place, if it has one.
pub(super) fn level_for(table: &IblTable, cache: &Cache, target: AppPc) -> Option<Level> {
    if !table.view.covers(target.0) {
        return None;
    }
    let of = |level| table.tables().level(level)[table.index_of(target)].load(Ordering::Acquire);
    let level = Level::ALL.into_iter().find(|&level| !is_shared_stub(cache, of(level)))?;
    (of(level) == gateway::indirect_miss_pc()).then_some(level)
}

/// What a shared IBL stub does with other targets.
pub(super) fn otherwise_at(level: Level) -> Otherwise {
    level.next().map_or(Otherwise::Miss, Otherwise::Table)
}

/// Makes branches to `target`, whose trace is `id` of the shared space, find a shared IBL stub, `ahead` or another one. False if
/// this process needs one of its own.
pub(super) fn provide(
    table: &mut IblTable,
    (cache, code, settings): (&Cache, &mut AppCode, &Settings),
    (target, id): (AppPc, TraceId),
    ahead: Option<&New>,
) -> bool {
    if !table.view.covers(target.0)
        && (table.view.missed() < MANY || !choose(table, cache, code, settings) || !table.view.covers(target.0))
    {
        return false;
    }
    // Others take places too.
    (0..3).any(|_| level_for(table, cache, target).is_some_and(|level| place(table, cache, (target, id), ahead, level)))
}

/// Looks for a shared IBL table for all registered mappings that are the same here, and makes it if there is none.
fn choose(table: &mut IblTable, cache: &Cache, code: &mut AppCode, settings: &Settings) -> bool {
    table.view.is_reconsidered();
    let Some(set) = registered(table, cache, code, settings) else { return false };
    if table.view.shared_ibl().is_some_and(|(_, its)| its == set) {
        return false;
    }
    let tables = cache.shared_tables().expect("registered mappings are in shared tables");
    let empty = gateway::indirect_miss_pc();
    let Some(number) = tables.lock().make_shared_ibl(&set, empty) else { return false };
    let viewed = table.view.take(cache, settings, (number, set));
    if viewed {
        table.forget_own();
    }
    viewed
}

/// Puts the IBL stub into the shared IBL table, or into this process's view of it if that has pages of its own there. False if another one came
/// first.
fn place(table: &IblTable, cache: &Cache, (target, id): (AppPc, TraceId), ahead: Option<&New>, level: Level) -> bool {
    let shared = cache.space(SpaceId::Shared);
    let (tables, entry) = (shared.tables, cache.entry((SpaceId::Shared, id)));
    let otherwise = otherwise_at(level);
    let known = &tables.trace(id).ibl_stubs[level as usize];
    let ibl_stub = match known.load(Ordering::Acquire) {
        0 => {
            let ahead = ahead.filter(|new| (new.space, new.otherwise) == (SpaceId::Shared, otherwise));
            let made = ahead.map(|new| new.ibl_stub);
            let make = || Some(table.make(cache, SpaceId::Shared, target, Some(entry), otherwise)?.ibl_stub);
            let Some(made) = made.or_else(make) else { return false };
            let offset = shared.offset(made).expect("it was made there");
            known.store(offset + 1, Ordering::Release);
            made
        }
        offset => shared.pc(offset - 1),
    };
    let Some((number, _)) = table.view.shared_ibl() else { return false };
    let (index, empty) = (table.index_of(target), gateway::indirect_miss_pc());
    let common = &tables.shared_ibl(number).level(level)[index];
    let _ = common.compare_exchange(empty, ibl_stub.0, Ordering::AcqRel, Ordering::Relaxed);
    let here = &table.tables().level(level)[index];
    // A page in which this process has stored something isn't the shared IBL table's any more.
    let seen = here.load(Ordering::Acquire);
    if seen == empty {
        here.store(ibl_stub.0, Ordering::Relaxed);
    }
    seen == empty || seen == ibl_stub.0
}
