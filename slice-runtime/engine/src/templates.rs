//! What this process's table of indirect branches has in common with those of other slices.
//!
//! A slice looks at a template (`tables::templates`) through a private view: what it stores there is its own. So it starts with all landings that slices before it
//! needed, and gets those that others add while it runs, without entering the runtime for them.
//!
//! A landing in a template can't lead on to others: which these are differs. On a mismatch it goes to what the next *level* has, another table;
//! those of the last one go to the runtime. A landing of the process's own, for further targets and for code that isn't shared, is put at the end of this way.
//!
//! Named invariant *same mappings*: each landing in the view leads to code of a mapping that is, in this process, the registered one. The template's
//! set says which these are, and the view is left before one of them changes.

use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering;

use bubble::map;
use bubble::switches::Optimisation;
use machine::{AppPc, CachePc, proc};
use translator::abi::{IndirectTables, Level, SpaceId, ThreadState, TraceId};
use translator::emit::Otherwise;

use crate::engine::Engine;
use crate::gateway;
use crate::landings::New;
use crate::tables::{RegionSet, TEMPLATES_AT};

/// Targets in mappings that the template isn't for, after which a process looks for a better one.
const MANY: u32 = 64;
/// Views that a process makes at most: each costs some system calls and page faults.
const MOST_VIEWS: u32 = 32;

/// The view, if there is one.
#[derive(Default)]
pub struct Inherited {
    template: Option<(usize, RegionSet)>,
    /// Addresses of the mappings that it is for.
    spans: Vec<(u64, u64)>,
    /// Shared targets outside of them since it was chosen.
    outside: u32,
    views: u32,
    /// Whether the tables hold anything.
    begun: bool,
}

impl Engine {
    /// Fills the tables of indirect branches before the first of them.
    pub(crate) fn begin_indirect(&mut self) {
        if std::mem::replace(&mut self.inherited.begun, true) {
            return;
        }
        if self.settings.replays {
            self.begin_targets();
        }
        if self.targets.are_used() {
            return;
        }
        let found = self.registered().and_then(|set| self.shared_tables()?.template_for(&set));
        if !found.is_some_and(|found| self.view(found)) {
            self.clear_indirect();
        }
    }

    fn shared_tables(&self) -> Option<crate::tables::Tables> {
        self.shared.as_ref().map(|shared| shared.tables)
    }

    /// The registered mappings that are the same here, if a template may be used.
    fn registered(&mut self) -> Option<RegionSet> {
        let off = self.settings.off;
        let wanted = off.leaves(Optimisation::Inherit) && off.leaves(Optimisation::Landings) && self.settings.linking;
        let tables = self.shared_tables().filter(|_| wanted && self.inherited.views < MOST_VIEWS)?;
        Some(self.regions.registered(&tables))
    }

    /// Maps the template in place of the tables, whose contents are lost. False if that can't be done.
    fn view(&mut self, (number, set): (usize, RegionSet)) -> bool {
        let Some((process, descriptor)) = self.settings.run_memory else { return false };
        let Ok(file) = proc::open(format!("{process}/fd/{descriptor}")) else { return false };
        let size = size_of::<IndirectTables>();
        let offset = map::file::TABLES_AT + TEMPLATES_AT + (number * size) as u64;
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_FIXED);
        let flags = flags | libc::MAP_NORESERVE;
        let place = ThreadState::INDIRECT_ADDRESS as *mut libc::c_void;
        // SAFETY: the tables have pages of their own, and no translated code runs.
        let mapped = unsafe { libc::mmap(place, size, protection, flags, file.as_raw_fd(), offset as i64) } == place;
        if mapped {
            let tables = self.shared_tables().expect("a template is in shared tables");
            let inside = tables.registered().iter().enumerate().filter(|&(n, _)| set.contains(n));
            self.inherited.spans = inside.map(|(_, region)| (region.start, region.end)).collect();
            self.inherited.template = Some((number, set));
        }
        self.inherited.outside = 0;
        self.inherited.views += 1;
        mapped
    }

    /// The mapping of `start .. end` changes. Returns whether the view had to be left; the tables must then be cleared.
    pub(crate) fn leave_template(&mut self, start: u64, end: u64) -> bool {
        let touched = self.inherited.spans.iter().any(|&(s, e)| start < e && s < end);
        if touched {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
            let place = ThreadState::INDIRECT_ADDRESS as *mut libc::c_void;
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: the tables have pages of their own, and no translated code runs.
            let mapped = unsafe { libc::mmap(place, size_of::<IndirectTables>(), protection, flags, -1, 0) };
            assert_eq!(mapped, place, "cannot leave the template: {}", std::io::Error::last_os_error());
            self.inherited.template = None;
            self.inherited.spans.clear();
            self.inherited.outside = 0;
        }
        touched
    }

    /// Takes what is this process's own out of the view. False if there is none.
    pub(crate) fn clear_view(&self) -> bool {
        if self.inherited.template.is_none() {
            return false;
        }
        let place = ThreadState::INDIRECT_ADDRESS as *mut libc::c_void;
        // SAFETY: a private view of a file: its pages become the file's again.
        let r = unsafe { libc::madvise(place, size_of::<IndirectTables>(), libc::MADV_DONTNEED) };
        assert_eq!(r, 0, "cannot clear the table of indirect branches: {}", std::io::Error::last_os_error());
        true
    }

    /// Where in the template a landing for `target` has its place, if it has one.
    pub(crate) fn level_for(&self, target: AppPc) -> Option<Level> {
        self.inherited.spans.iter().find(|&&(start, end)| (start..end).contains(&target.0))?;
        let of = |level| self.indirect().level(level)[self.index_of(target)].load(Ordering::Acquire);
        let level = Level::ALL.into_iter().find(|&level| !self.is_shared_landing(of(level)))?;
        (of(level) == gateway::indirect_miss_pc()).then_some(level)
    }

    /// Whether the tables are a view of a template.
    pub(crate) fn has_view(&self) -> bool {
        self.inherited.template.is_some()
    }

    /// Whether an entry of the tables is a shared landing: it leads on to the next table.
    pub(crate) fn is_shared_landing(&self, entry: u64) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.offset(CachePc(entry)).is_some())
    }

    /// What a shared landing does with other targets.
    pub(crate) fn behind_shared(&self, level: Level) -> Otherwise {
        level.next().map_or(Otherwise::Miss, Otherwise::Table)
    }

    /// Makes branches to `target`, whose trace is `id` of the shared space, find a shared landing, `ahead` or another one. False if
    /// this process needs one of its own.
    pub(crate) fn use_shared_landing(&mut self, target: AppPc, id: TraceId, ahead: Option<&New>) -> bool {
        let inside = |engine: &Self| engine.inherited.spans.iter().any(|&(s, e)| (s..e).contains(&target.0));
        if !inside(self) {
            self.inherited.outside += 1;
            if self.inherited.outside < MANY || !self.choose_template() || !inside(self) {
                return false;
            }
        }
        // Others take places too.
        (0..3).any(|_| self.level_for(target).is_some_and(|level| self.place_landing(target, id, ahead, level)))
    }

    /// Looks for a template for all registered mappings that are the same here, and makes it if there is none.
    fn choose_template(&mut self) -> bool {
        self.inherited.outside = 0;
        let Some(set) = self.registered() else { return false };
        if self.inherited.template.is_some_and(|(_, its)| its == set) {
            return false;
        }
        let tables = self.shared_tables().expect("registered mappings are in shared tables");
        let empty = gateway::indirect_miss_pc();
        let Some(number) = tables.lock().make_template(&set, empty) else { return false };
        let viewed = self.view((number, set));
        if viewed {
            self.landings.fill(0);
        }
        viewed
    }

    /// Puts the landing into the template, or into this process's view of it if that has pages of its own there. False if another one came
    /// first.
    fn place_landing(&mut self, target: AppPc, id: TraceId, ahead: Option<&New>, level: Level) -> bool {
        let shared = self.shared.as_ref().expect("the trace is in it");
        let (tables, entry) = (shared.tables, shared.pc(shared.tables.trace(id).start));
        let otherwise = self.behind_shared(level);
        let known = &tables.trace(id).landings[level as usize];
        let landing = match known.load(Ordering::Acquire) {
            0 => {
                let ahead = ahead.filter(|new| (new.space, new.otherwise) == (SpaceId::Shared, otherwise));
                let made = ahead.map(|new| new.landing);
                let made =
                    made.or_else(|| Some(self.make_landing(SpaceId::Shared, target, Some(entry), otherwise)?.landing));
                let Some(made) = made else { return false };
                let offset = self.space(SpaceId::Shared).offset(made).expect("it was made there");
                known.store(offset + 1, Ordering::Release);
                made
            }
            offset => self.space(SpaceId::Shared).pc(offset - 1),
        };
        let Some((number, _)) = self.inherited.template else { return false };
        let (index, empty) = (self.index_of(target), gateway::indirect_miss_pc());
        let common = &tables.template(number).level(level)[index];
        let _ = common.compare_exchange(empty, landing.0, Ordering::AcqRel, Ordering::Relaxed);
        let here = &self.indirect().level(level)[index];
        // A page in which this process has stored something isn't the template's any more.
        let seen = here.load(Ordering::Acquire);
        if seen == empty {
            here.store(landing.0, Ordering::Relaxed);
        }
        seen == empty || seen == landing.0
    }
}
