//! Memory that the app has in common with other followed processes, all of which may store to it.
//!
//! Slices have copies. What others store afterwards is brought to them with the records of the app's calls, page by page, as long as the app hasn't looked at such a page between
//! two calls: then what it saw isn't known, and the slice ends, as it does at each call where stores aren't seen ([`Company`]).

use std::collections::BTreeSet;
use std::fs::File;
use std::ops::Range;
use std::rc::Rc;

use bubble::end::SHARED_RANGES;
use machine::{Memory, PAGE};
use syscall_replay::effects::{self, View};
use syscall_replay::table::{self, Class, Special};
use tracee::{Stopped, TraceError};

use crate::app::{Company, Kept, LayersOfObjects, Mapping, MutableFiles, leaves_locks};

/// Bytes that are recorded with a call; a boundary costs less than more.
const MOST_NEWS: u64 = 16 << 20;

/// What a copy of a process inherits of its memory.
pub struct InheritedMemory {
    /// It may have mappings that a fork would share with it.
    pub is_shared: bool,
    /// Those with which it has memory in common.
    pub company: Company,
    /// Files whose mappings change when they are written.
    pub mutable_files: MutableFiles,
    /// Files that it has mapped and that must not change.
    pub kept: Kept,
}

/// Such memory of one process.
pub struct CommonMemory {
    pid: i32,
    /// All processes that it will start are followed.
    sees_children: bool,
    company: Company,
    /// What was copied of it for slices, of the process's or of all those with which it has memory in common.
    layers: LayersOfObjects,
    /// Who has forked for the process the last time.
    forker: i32,
}

impl CommonMemory {
    /// None yet.
    pub fn new(pid: i32, sees_children: bool) -> Self {
        let company = new_company(sees_children);
        Self { pid, sees_children, layers: company.layers(), company, forker: pid }
    }

    /// The process is a copy of one with this company.
    pub fn inherit(&mut self, company: Company) {
        self.layers = company.layers();
        self.company = company;
    }

    /// The company of a copy. `is_common`: it has memory in common with it.
    pub fn inherited(&self, is_common: bool) -> Company {
        if is_common { self.company.clone() } else { new_company(self.sees_children) }
    }

    /// A child was born that may store to it. `is_lent`: it does so as the process itself, which waits until it has another program.
    pub fn is_born(&self, child: i32, is_lent: bool) -> Company {
        if !is_lent {
            self.company.expects(child, false);
        }
        self.company.expects(self.pid, is_lent);
        self.company.clone()
    }

    /// The process, which can make calls for us, has others to share it with.
    ///
    /// # Errors
    /// If it was killed.
    pub fn join(&self, process: &mut Stopped, gadget: u64) -> Result<(), TraceError> {
        self.company.join(process, gadget)
    }

    /// It has another program: nothing is mapped any more.
    pub fn is_unmapped(&mut self) {
        self.leaves();
        self.inherit(new_company(self.sees_children));
    }

    /// The process goes on unseen.
    pub fn leaves(&mut self) {
        self.company.leave(self.pid);
    }

    /// The process has ended.
    pub fn is_gone(&mut self) {
        self.company.is_gone(self.pid);
    }

    /// The process is about to make a call.
    pub fn before_call(&mut self, stopped: &Stopped, class: Class, number: u64, args: &[u64; 6]) {
        if table::writes_elsewhere(number, args) || number as i64 == libc::SYS_process_vm_writev {
            // By another's page tables, as if that had stored it.
            self.company.breaks();
        }
        if sends_files(stopped, number, args) {
            self.company.sends_files();
        }
        if class == Class::Replay || self.is_beside(number, args) {
            return;
        }
        let ends = matches!(class, Class::Special(Special::Exec | Special::Exit));
        // Before page tables change.
        self.company.take_own(self.pid, ends, changed_by(number, args).as_deref());
        self.company.ends(self.pid, ends && !leaves_locks(stopped));
        if number as i64 == libc::SYS_madvise && args[2] as i32 == libc::MADV_REMOVE {
            // It shows to all at once.
            self.company.breaks();
        }
    }

    /// The process, which has one thread, is about to make a call that is recorded and stores nothing but in these ranges.
    pub fn begins_call(&self, stores: &[effects::Range]) {
        let stores: Vec<_> = stores.iter().map(|at| at.address..at.address.saturating_add(at.len)).collect();
        self.company.begins_call(self.pid, &stores);
    }

    /// A call is over.
    pub fn comes_back(&mut self) {
        self.company.comes_back(self.pid);
    }

    /// Whether the process is about to write a file by a call that others have mapped.
    pub fn begins_writing(&self, number: u64, args: &[u64; 6]) -> bool {
        self.company.begins_writing(self.pid, number, args)
    }

    /// A file behind a mapping, open for reading, if it is one that others store to.
    pub fn opened(&self, map: &Mapping) -> Option<Rc<File>> {
        self.company.opened(&map.object)
    }

    /// Whether what others store to these files is seen where the process has them mapped.
    pub fn has_files(&self, files: &MutableFiles) -> bool {
        !files.objects().any(|object| self.company.shows_otherwise(self.pid, object))
    }

    /// A call has succeeded.
    pub fn after_call(&mut self, number: u64, args: &[u64; 6]) {
        const MAPS: [i64; 8] = [
            libc::SYS_mmap,
            libc::SYS_munmap,
            libc::SYS_mremap,
            libc::SYS_mprotect,
            libc::SYS_pkey_mprotect,
            libc::SYS_remap_file_pages,
            libc::SYS_shmat,
            libc::SYS_shmdt,
        ];
        if MAPS.contains(&(number as i64)) && !self.is_beside(number, args) {
            self.company.is_mapped_anew(self.pid, &mapped_by(number, args));
        }
    }

    /// Whether the process may share memory of this range with its company.
    pub fn may_share(&self, range: &Range<u64>) -> bool {
        self.company.may_share(self.pid, range)
    }

    /// Whether nobody else can have the memory that is mapped at an address.
    pub fn is_own(&self, address: u64) -> bool {
        self.company.is_own(self.pid, address)
    }

    /// Whether a call changes nothing but memory that the process has for itself: who rewrites code makes many of these.
    fn is_beside(&self, number: u64, args: &[u64; 6]) -> bool {
        const OF_A_RANGE: [i64; 4] = [libc::SYS_mprotect, libc::SYS_pkey_mprotect, libc::SYS_munmap, libc::SYS_madvise];
        let [start, len, ..] = *args;
        // To the end of its last page.
        let end = start.saturating_add(len).saturating_add(PAGE - 1);
        OF_A_RANGE.contains(&(number as i64)) && !self.may_share(&(start..end))
    }

    /// Whether what the process has looked at since its last call, and what a call that it is about to make reads, is what slices have there.
    pub fn is_as_known(&self, stopped: &Stopped, number: u64, args: &[u64; 6]) -> bool {
        let Some(news) = self.company.news(self.pid) else { return false };
        if news.is_empty() {
            return true;
        }
        let read = table::row(number).map(|row| effects::readable(row, args, stopped)).unwrap_or_default();
        let is_read = |page: &Range<u64>| {
            read.iter().any(|range| range.address < page.end && page.start < range.address.saturating_add(range.len))
        };
        !news.iter().any(is_read)
            && self.company.touched(self.pid, Some(&news)).is_some_and(|touched| touched.is_empty())
    }

    /// Whether others are known to have stored what slices don't have yet.
    pub fn has_news(&self) -> bool {
        self.company.news(self.pid).is_some_and(|news| !news.is_empty())
    }

    /// At the end of a call that is recorded: what others have stored since the last one. The process, which can make calls for us, has looked at nothing of it. `None`: that
    /// isn't known, or too much.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn take_news(&self, process: &mut Stopped, gadget: u64) -> Result<Option<Vec<View>>, TraceError> {
        let Some(news) = self.company.news(self.pid) else { return Ok(None) };
        self.company.forget(self.pid);
        if news.iter().map(|range| range.end - range.start).sum::<u64>() > MOST_NEWS {
            return Ok(None);
        }
        let read = |range: Range<u64>| {
            let mut bytes = vec![0; (range.end - range.start) as usize];
            process.read(range.start, &mut bytes).ok()?;
            Some(View { address: range.start, bytes })
        };
        let views = news.into_iter().map(read).collect();
        self.company.unmap_pages(process, gadget)?;
        Ok(views)
    }

    /// Where others have stored since the last call, and the process has looked. `None`: that isn't known.
    pub fn changed_and_touched(&self) -> Option<Vec<[u64; 2]>> {
        let news = self.company.news(self.pid);
        let touched = self.company.touched(self.pid, news.as_deref())?;
        Some(few(touched).into_iter().map(|range| [range.start, range.end]).collect())
    }

    /// The process is about to be forked for a slice.
    pub fn before_fork(&self) {
        self.company.is_to_be_copied();
    }

    /// The process was forked for a slice, as far as the kernel knows by `forker`.
    pub fn is_forked(&mut self, forker: i32) {
        self.forker = forker;
    }

    /// Slices are about to get copies, by a copy of the process.
    pub fn before_copies(&self, copy: i32) {
        // What others have stored so far is in them.
        self.company.is_copied(self.pid, copy, self.forker);
    }

    /// What was copied for slices, by object.
    pub fn layers(&self) -> LayersOfObjects {
        Rc::clone(&self.layers)
    }

    /// Whether copies of an object are needed by others.
    pub fn is_others(&self, object: &str) -> bool {
        self.company.has(object)
    }

    /// Which pages of what is mapped there the copies lack that are about to be brought up to date, if that is known.
    pub fn lacking(&self, map: &Mapping) -> Option<BTreeSet<u64>> {
        self.company.lacking(self.pid, &map.object, &(map.offset..map.offset + map.len()))
    }

    /// An object was read for a fork of the process, which is going to lose it, and to hide by that who has attached or detached a segment before.
    pub fn is_read(&self) {
        self.company.is_read(self.pid);
    }

    /// There are no copies of an object.
    pub fn is_copy_lost(&self, object: &str) {
        self.company.is_copy_lost(object);
    }

    /// The process, which can make calls for us, goes on from where it is known what it has looked at.
    ///
    /// # Errors
    /// If it was killed.
    pub fn looks_at_nothing(&self, process: &mut Stopped, gadget: u64) -> Result<(), TraceError> {
        if self.company.is_seen(self.pid) { self.company.unmap_pages(process, gadget) } else { Ok(()) }
    }
}

/// Where a call may unmap something, or map it anew ([`mapped_by`]), if that is known.
fn changed_by(number: u64, args: &[u64; 6]) -> Option<Vec<Range<u64>>> {
    let at = |start: u64, len: u64| {
        let end = start.saturating_add(len).checked_next_multiple_of(PAGE).unwrap_or(u64::MAX);
        start & !(PAGE - 1)..end
    };
    let [first, second, third, _, fifth, _] = *args;
    Some(match number as i64 {
        libc::SYS_munmap | libc::SYS_mprotect | libc::SYS_pkey_mprotect | libc::SYS_madvise => vec![at(first, second)],
        // It may be a hint only.
        libc::SYS_mmap | libc::SYS_remap_file_pages => vec![at(first, second)],
        libc::SYS_mremap => vec![at(first, second), at(fifth, third)],
        _ => return None,
    })
}

/// Where a call may have mapped something in the place of something else.
fn mapped_by(number: u64, args: &[u64; 6]) -> Range<u64> {
    let (start, len) = match number as i64 {
        libc::SYS_mmap | libc::SYS_remap_file_pages => (args[0], args[1]),
        libc::SYS_mremap => (args[4], args[2]),
        libc::SYS_shmat => (0, u64::MAX),
        _ => (0, 0),
    };
    start & !(PAGE - 1)..start.saturating_add(len).checked_next_multiple_of(PAGE).unwrap_or(u64::MAX)
}

/// Whether a call may send open files.
fn sends_files(memory: &impl Memory, number: u64, args: &[u64; 6]) -> bool {
    const CONTROL_LEN: u64 = 40;
    match number as i64 {
        libc::SYS_sendmsg => memory.read_u64(args[1].wrapping_add(CONTROL_LEN)).is_ok_and(|len| len != 0),
        libc::SYS_sendmmsg => true,
        _ => false,
    }
}

fn new_company(sees_children: bool) -> Company {
    if sees_children { Company::new() } else { Company::default() }
}

/// Ranges that cover these: those with the least between them are taken together until there are no more than can be told.
fn few(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    while ranges.len() > SHARED_RANGES {
        let gaps = ranges.windows(2).map(|pair| pair[1].start - pair[0].end);
        let (nearest, _) = gaps.enumerate().min_by_key(|(_, gap)| *gap).expect("there are several");
        ranges[nearest].end = ranges.remove(nearest + 1).end;
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_change_what_is_mapped_where_they_say() {
        let changed = |number: i64, args: [u64; 6]| changed_by(number as u64, &args);
        assert_eq!(changed(libc::SYS_munmap, [0x5000, 0x1001, 0, 0, 0, 0]), Some(vec![0x5000..0x7000; 1]));
        assert_eq!(changed(libc::SYS_mmap, [0x5000, 1, 3, 0, 0, 0]), Some(vec![0x5000..0x6000; 1]));
        let moved = changed(libc::SYS_mremap, [0x5000, 0x1000, 0x2000, 0, 0x9000, 0]);
        assert_eq!(moved, Some(vec![0x5000..0x6000, 0x9000..0xb000]));
        assert_eq!(changed(libc::SYS_remap_file_pages, [0x5008, 0x1000, 0, 0, 0, 0]), Some(vec![0x5000..0x7000; 1]));
        let any = [0x12345, 0x23456, 0x34567, 0, 0x45678, 0];
        for number in [libc::SYS_mmap, libc::SYS_munmap, libc::SYS_mremap, libc::SYS_remap_file_pages] {
            let anew = mapped_by(number as u64, &any);
            let is_within = |place: &Range<u64>| place.start <= anew.start && anew.end <= place.end;
            assert!(anew.is_empty() || changed(number, any).unwrap().iter().any(is_within), "{number}");
        }
        for number in [libc::SYS_shmat, libc::SYS_shmdt, libc::SYS_brk, libc::SYS_fork, libc::SYS_execve] {
            assert_eq!(changed(number, [0; 6]), None);
        }
    }

    #[test]
    fn ranges_that_are_near_are_told_as_one() {
        let all = |count: u64| (0..count).map(|n| n * n * 10..n * n * 10 + 5).collect::<Vec<_>>();
        assert_eq!(few(all(16)), all(16));
        let told = few(all(18));
        assert_eq!((told.len(), &told[..2]), (16, &[0..45, 90..95][..]));
        assert_eq!(told[2..], all(18)[4..]);
    }
}
