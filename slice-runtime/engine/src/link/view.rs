//! The private view of a shared IBL table: its mapping in place of this process's IBL tables.

use std::os::fd::AsRawFd;

use machine::{CachePc, proc};
use translator::abi::{IndirectTables, ThreadState};

use crate::cache::{Cache, RegionSet, SHARED_IBL_AT, give_back};
use crate::interface::Settings;

/// Views that a process makes at most: each costs some system calls and page faults.
const MOST_VIEWS: u32 = 32;

/// The view, if there is one.
#[derive(Default)]
pub(super) struct View {
    shared_ibl: Option<(usize, RegionSet)>,
    /// Addresses of the mappings that it is for.
    spans: Vec<(u64, u64)>,
    /// Shared targets outside of them since it was chosen.
    outside: u32,
    views: u32,
}

impl View {
    /// Whether the tables are a view of a shared IBL table.
    pub(super) fn is_there(&self) -> bool {
        self.shared_ibl.is_some()
    }

    /// The shared IBL table, and the mappings that it is for.
    pub(super) fn shared_ibl(&self) -> Option<(usize, RegionSet)> {
        self.shared_ibl
    }

    /// Whether there may be one more.
    pub(super) fn may_be_made(&self) -> bool {
        self.views < MOST_VIEWS
    }

    /// Whether it is for the mapping of an address.
    pub(super) fn covers(&self, address: u64) -> bool {
        self.spans.iter().any(|&(start, end)| (start..end).contains(&address))
    }

    /// Counts a target that it isn't for. How many there have been since it was chosen, or a better one was looked for.
    pub(super) fn missed(&mut self) -> u32 {
        self.outside += 1;
        self.outside
    }

    /// A better one is looked for.
    pub(super) fn is_reconsidered(&mut self) {
        self.outside = 0;
    }

    /// Maps a shared IBL table in place of the tables, whose contents are lost. False if that can't be done.
    pub(super) fn take(&mut self, cache: &Cache, settings: &Settings, (number, set): (usize, RegionSet)) -> bool {
        let Some((process, descriptor, tables_at)) = settings.run_memory else { return false };
        let Ok(file) = proc::open(format!("{process}/fd/{descriptor}")) else { return false };
        let size = size_of::<IndirectTables>();
        let offset = tables_at + SHARED_IBL_AT + (number * size) as u64;
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_FIXED);
        let flags = flags | libc::MAP_NORESERVE;
        let place = ThreadState::INDIRECT_ADDRESS as *mut libc::c_void;
        // SAFETY: the tables have pages of their own, and no translated code runs.
        let mapped = unsafe { libc::mmap(place, size, protection, flags, file.as_raw_fd(), offset as i64) } == place;
        if mapped {
            let tables = cache.shared_tables().expect("a shared IBL table is in shared tables");
            let inside = tables.registered().iter().enumerate().filter(|&(n, _)| set.contains(n));
            self.spans = inside.map(|(_, region)| (region.start, region.end)).collect();
            self.shared_ibl = Some((number, set));
        }
        self.outside = 0;
        self.views += 1;
        mapped
    }

    /// The mapping of `start .. end` changes. Returns whether the view had to be left; the tables must then be cleared.
    pub(super) fn leave(&mut self, start: u64, end: u64) -> bool {
        let touched = self.spans.iter().any(|&(s, e)| start < e && s < end);
        if touched {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
            let place = ThreadState::INDIRECT_ADDRESS as *mut libc::c_void;
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: the tables have pages of their own, and no translated code runs.
            let mapped = unsafe { libc::mmap(place, size_of::<IndirectTables>(), protection, flags, -1, 0) };
            assert_eq!(mapped, place, "cannot leave the template: {}", std::io::Error::last_os_error());
            self.shared_ibl = None;
            self.spans.clear();
            self.outside = 0;
        }
        touched
    }

    /// Takes what is this process's own out of the view. False if there is none.
    pub(super) fn clear(&self) -> bool {
        if self.shared_ibl.is_none() {
            return false;
        }
        let place = ThreadState::INDIRECT_ADDRESS as *mut libc::c_void;
        // SAFETY: a private view of a file: its pages become the file's again.
        let is_cleared = unsafe { give_back(place, size_of::<IndirectTables>()) };
        assert!(is_cleared, "cannot clear the table of indirect branches: {}", std::io::Error::last_os_error());
        true
    }
}

/// Whether an entry of the tables is a shared IBL stub: it leads on to the next table.
pub(super) fn is_shared_stub(cache: &Cache, entry: u64) -> bool {
    cache.shared().is_some_and(|shared| shared.offset(CachePc(entry)).is_some())
}
