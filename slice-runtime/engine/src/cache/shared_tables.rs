//! Shared IBL tables: what slices have in common of indirect branches.
//!
//! A shared IBL table belongs to a set of registered mappings. It holds IBL stubs in the shared cache, for targets in these mappings only. So a process may use
//! it if all mappings of the set are the registered ones there, whatever others add to it. The process looks at it through a private view, and puts IBL stubs
//! of its own into that, see [`crate::link`].

use std::mem::offset_of;
use std::sync::atomic::{AtomicU64, Ordering};

use bubble::code_files::{FileRegion, FileVersion};
use translator::abi::{IndirectTables, Level};

use super::layout::{Layout, MAX_SHARED_IBL};
use super::locked::Locked;
use super::region_set::RegionSet;
use super::tables::Tables;

/// Offset of the first shared IBL table from the tables' start.
pub const SHARED_IBL_AT: u64 = offset_of!(Layout, shared_ibl) as u64;

impl Tables {
    /// The mappings that were registered so far, in the order of their numbers.
    pub fn registered(&self) -> &[FileRegion] {
        // SAFETY: `at` promised mapped memory.
        unsafe { &(*self.layout).files }.regions()
    }

    /// What their files were then.
    pub fn versions(&self) -> &[FileVersion] {
        // SAFETY: `at` promised mapped memory.
        unsafe { &(*self.layout).files }.versions()
    }

    /// The shared IBL table for these mappings, or else for most of them, with the set that it is for.
    pub fn shared_ibl_for(&self, set: &RegionSet) -> Option<(usize, RegionSet)> {
        let count = self.header().shared_ibl.load(Ordering::Acquire) as usize;
        // SAFETY: entries below the count don't change.
        let sets = unsafe { &(&(*self.layout).header.shared_ibl_sets)[..count] };
        let usable = sets.iter().copied().enumerate().filter(|(_, its)| its.is_subset(set));
        usable.max_by_key(|(_, its)| its.len())
    }

    /// A shared IBL table, to be looked at and added to.
    pub fn shared_ibl(&self, number: usize) -> &IndirectTables {
        // SAFETY: `at` promised mapped memory; all of it are atomics.
        unsafe { &(&(*self.layout).shared_ibl)[number] }
    }
}

impl Locked<'_> {
    /// A shared IBL table for exactly these mappings, made if there is none: it starts with what the nearest one has, or with `empty`
    /// everywhere.
    pub fn make_shared_ibl(&self, set: &RegionSet, empty: u64) -> Option<usize> {
        let nearest = self.tables.shared_ibl_for(set);
        if let Some((number, its)) = nearest
            && its == *set
        {
            return Some(number);
        }
        let count = &self.tables.header().shared_ibl;
        let number = count.load(Ordering::Relaxed) as usize;
        if number == MAX_SHARED_IBL {
            return None;
        }
        let (new, nearest) = (self.tables.shared_ibl(number), nearest.map(|(n, _)| self.tables.shared_ibl(n)));
        let copy = |to: &[AtomicU64], from: Option<&[AtomicU64]>| {
            for (n, entry) in to.iter().enumerate() {
                let value = from.map_or(empty, |from| from[n].load(Ordering::Acquire));
                entry.store(value, Ordering::Relaxed);
            }
        };
        for level in Level::ALL {
            copy(new.level(level), nearest.map(|nearest| nearest.level(level).as_slice()));
        }
        // SAFETY: the lock is held; the entry above the count belongs to the holder.
        unsafe { (&mut (*self.tables.layout).header.shared_ibl_sets)[number] = *set };
        count.store(number as u32 + 1, Ordering::Release);
        Some(number)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Tables in memory of their own.
    pub fn tables() -> Tables {
        tables_in(libc::MAP_PRIVATE)
    }

    /// The same in memory that is private, or shared with forks.
    pub fn tables_in(kind: i32) -> Tables {
        let flags = kind | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let (size, protection) = (size_of::<Layout>(), libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: a new mapping at a place of the kernel's choice, kept for ever.
        unsafe { Tables::at(libc::mmap(std::ptr::null_mut(), size, protection, flags, -1, 0) as u64, true) }
    }

    fn set(numbers: &[usize]) -> RegionSet {
        let mut set = RegionSet::default();
        numbers.iter().for_each(|&n| set.insert(n));
        set
    }

    #[test]
    fn a_process_gets_a_shared_table_of_its_own_mappings_only() {
        let tables = tables();
        assert_eq!(tables.shared_ibl_for(&set(&[0])), None);
        let first = tables.lock().make_shared_ibl(&set(&[0]), 7).unwrap();
        assert_eq!(tables.shared_ibl(first).level(Level::First)[5].load(Ordering::Relaxed), 7);
        tables.shared_ibl(first).level(Level::First)[5].store(8, Ordering::Relaxed);
        assert_eq!(tables.lock().make_shared_ibl(&set(&[0]), 7), Some(first));
        let both = tables.lock().make_shared_ibl(&set(&[0, 100]), 7).unwrap();
        assert_ne!(first, both);
        let entry = |number: usize, n: usize| tables.shared_ibl(number).level(Level::First)[n].load(Ordering::Relaxed);
        assert_eq!((entry(both, 5), entry(both, 6)), (8, 7), "it starts with what the nearest one has");
        assert_eq!(tables.shared_ibl(both).level(Level::Third)[5].load(Ordering::Relaxed), 7);
        assert_eq!(tables.shared_ibl_for(&set(&[0, 3])), Some((first, set(&[0]))));
        assert_eq!(tables.shared_ibl_for(&set(&[0, 3, 100])), Some((both, set(&[0, 100]))));
        assert_eq!(tables.shared_ibl_for(&set(&[3, 100])), None, "one of its mappings is another file here");
        let other = tables.lock().make_shared_ibl(&set(&[3, 100]), 7).unwrap();
        assert_eq!(entry(other, 5), 7);
    }

    #[test]
    fn shared_tables_are_bounded() {
        let tables = tables();
        for n in 0..MAX_SHARED_IBL {
            assert_eq!(tables.lock().make_shared_ibl(&set(&[n]), 1), Some(n));
        }
        assert_eq!(tables.lock().make_shared_ibl(&set(&[500]), 1), None);
        assert_eq!(tables.lock().make_shared_ibl(&set(&[3]), 1), Some(3));
    }
}
