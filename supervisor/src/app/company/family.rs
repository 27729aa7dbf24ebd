//! Which pages of memory that followed processes have in common were stored to, by anybody but the process that wants to know.
//!
//! Invariants:
//! * Each process that can store to such memory is a member, or expected to become one before its first instruction; else the family is broken, for good. Only where nobody is
//!   expected, and nothing broken, is anything told.
//! * What a member has stored is taken from its page tables before they change, and becomes news to all others.
//! * Whenever others may have stored something unseen, to a segment that they had attached, all members are unsure: nothing is told to one until slices of it have got copies
//!   of all, while nobody else could store.

use std::cell::{RefCell, RefMut};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::ops::Range;
use std::rc::Rc;

use tracee::{Remote, Stopped, TraceError};

use super::files::Files;
use super::member::Member;
use super::page_marks::{PageMarks, is_swapping};
use super::segments::{Attachments, Segments, Who, has_same_numbers};
use super::views::{Page, View, joined};
use crate::app::mappings::{Mapping, can_change, mappings};

/// Bytes of memory that a process may have in common with others: to look at the page tables of more takes too long.
const MOST: u64 = 1 << 30;

#[derive(Default)]
struct Family {
    members: BTreeMap<i32, Member>,
    /// Processes that have such memory, and aren't members yet.
    expected: BTreeSet<i32>,
    segments: Segments,
    files: Files,
    /// Members in calls that write such a file.
    writers: BTreeSet<i32>,
    is_broken: bool,
}

/// A process's family, as all of its members have it. By default nothing is known of it.
#[derive(Clone, Default)]
pub struct Company(Option<Rc<RefCell<Family>>>);

impl Company {
    /// Of a process that has started none yet. All that it will start must be followed.
    pub fn new() -> Self {
        Self(Some(Rc::default()))
    }

    fn family(&self) -> Option<RefMut<'_, Family>> {
        self.0.as_ref().map(|family| family.borrow_mut())
    }

    /// A process that is about to run may store to the memory, and isn't a member yet.
    pub fn expects(&self, pid: i32) {
        if let Some(mut family) = self.family()
            && !family.members.contains_key(&pid)
        {
            family.segments.is_moved();
            family.expected.insert(pid);
        }
    }

    /// Whether nobody is known who may store to the memory unseen.
    pub fn is_whole(&self) -> bool {
        self.family().is_some_and(|family| !family.is_broken)
    }

    /// Somebody may store to the memory unseen.
    pub fn breaks(&self) {
        if let Some(mut family) = self.family() {
            family.is_broken = true;
        }
    }

    /// The process, which can make calls for us, becomes a member; or it was one, and may have mapped something since.
    ///
    /// # Errors
    /// If it was killed.
    pub fn join(&self, process: &mut Stopped, gadget: u64) -> Result<(), TraceError> {
        let Some(mut family) = self.family() else { return Ok(()) };
        let pid = process.pid();
        if family.is_broken {
            return Ok(());
        }
        if !family.members.contains_key(&pid) {
            let Some(marks) = PageMarks::new(process, gadget)? else {
                family.is_broken = true;
                return Ok(());
            };
            family.members.insert(pid, Member::new(marks));
        }
        family.look_again(pid);
        family.expected.remove(&pid);
        Ok(())
    }

    /// The process may have mapped something, or unmapped.
    pub fn is_mapped_anew(&self, pid: i32) {
        if let Some(mut family) = self.family()
            && family.members.contains_key(&pid)
        {
            family.look_again(pid);
        }
    }

    /// Whether the process may have memory that it shares with anybody in this range.
    pub fn may_share(&self, pid: i32, range: &Range<u64>) -> bool {
        let Some(family) = self.family() else { return false };
        !family.is_broken && family.members.get(&pid).is_some_and(|member| member.has_shared_in(range))
    }

    /// Whether the process is on its way out, and will store nothing any more.
    pub fn ends(&self, pid: i32, is_done: bool) {
        let Some(mut family) = self.family() else { return };
        let is_first = !family.members.iter().any(|(other, member)| *other != pid && member.is_done);
        if let Some(member) = family.members.get_mut(&pid) {
            member.is_done = is_done;
            if is_done {
                family.segments.begins_to_end(is_first);
            }
        }
    }

    /// The process has another program, or goes on unseen.
    pub fn leave(&self, pid: i32) {
        self.is_gone(pid);
        // It may have its open files still.
        self.hands_on();
    }

    /// The process has ended: it has nothing open any more.
    pub fn is_gone(&self, pid: i32) {
        if let Some(mut family) = self.family()
            && let Some(member) = family.members.remove(&pid)
        {
            family.segments.leaves(pid);
            family.writers.remove(&pid);
            family.is_broken |= !member.is_done;
        }
    }

    /// A file behind a mapping, open for reading, if it is known who opens it.
    pub fn opened(&self, object: &str) -> Option<Rc<File>> {
        self.family()?.files.opened(object)
    }

    /// A process may have open files of members', and isn't expected to become one.
    pub fn hands_on(&self) {
        if let Some(mut family) = self.family() {
            family.files.suspect();
        }
    }

    /// A member is about to send open files to somebody. They may be nobody's for a while.
    pub fn sends_files(&self) {
        if let Some(mut family) = self.family() {
            family.is_broken |= !family.files.is_empty();
        }
    }

    /// Whether the process is about to write such a file by a call: until its end others see what isn't told.
    pub fn begins_writing(&self, pid: i32, number: u64, args: &[u64; 6]) -> bool {
        let Some(mut family) = self.family() else { return false };
        let is_written = family.files.are_written(pid, number, args);
        if is_written {
            family.writers.insert(pid);
        }
        is_written
    }

    /// The process is back from a call.
    pub fn comes_back(&self, pid: i32) {
        self.ends(pid, false);
        if let Some(mut family) = self.family()
            && family.writers.remove(&pid)
        {
            family.all_are_unsure();
        }
    }

    /// Whether the process has an object mapped in such a way that stores by others aren't seen.
    pub fn shows_otherwise(&self, pid: i32, object: &str) -> bool {
        let is_known =
            |family: RefMut<'_, Family>| family.members.get(&pid).is_some_and(|member| !member.others.contains(object));
        !self.family().is_some_and(is_known)
    }

    /// Whether all that others store to memory of the process's is seen.
    pub fn is_seen(&self, pid: i32) -> bool {
        self.family()
            .is_some_and(|family| family.is_complete() && family.members.get(&pid).is_some_and(|member| member.is_all))
    }

    /// Takes what the process has stored, for the others, before it makes a call that may change who has what mapped. `ends`: it has nothing any more if that succeeds.
    pub fn take_own(&self, pid: i32, ends: bool) {
        if let Some(mut family) = self.family() {
            family.look_for_others(None);
            if !ends {
                family.segments.is_moved();
            }
            family.take(pid);
        }
    }

    /// Where others have stored in what the process has mapped, since [`Company::forget`]. `None`: that isn't known, or no longer.
    pub fn news(&self, pid: i32) -> Option<Vec<Range<u64>>> {
        let mut family = self.family()?;
        family.look_for_others(None);
        family.take_of_others(pid);
        let is_told = |member: &&Member| member.is_all && !member.is_unsure && family.is_complete();
        let member = family.members.get(&pid).filter(is_told)?;
        let shown =
            |view: &View| -> Vec<Range<u64>> { member.news.iter().filter_map(|page| view.shows(page)).collect() };
        Some(joined(member.views.iter().flat_map(shown).collect()))
    }

    /// The process is going to be given all that [`Company::news`] has told.
    pub fn forget(&self, pid: i32) {
        if let Some(mut family) = self.family()
            && let Some(member) = family.members.get_mut(&pid)
        {
            member.news.clear();
        }
    }

    /// The process's slices are going to be given all that its memory holds now, by this copy of it, which `forker` has made.
    pub fn is_copied(&self, pid: i32, copy: i32, forker: i32) {
        let Some(mut family) = self.family() else { return };
        family.segments.is_moved();
        family.segments.is_copied(copy, forker);
        family.look_for_holders(copy);
        let is_closed = family.look_for_others(Some(pid));
        family.take_of_others(pid);
        let is_complete = family.is_complete();
        if let Some(member) = family.members.get_mut(&pid)
            && is_complete
            && member.is_all
            && is_closed
        {
            member.is_unsure = false;
            member.news.clear();
        }
    }

    /// Which pages of these ranges, or of all that it has in common with others, the process may have touched since [`Company::unmap_pages`].
    pub fn touched(&self, pid: i32, ranges: Option<&[Range<u64>]>) -> Option<Vec<Range<u64>>> {
        let family = self.family()?;
        let member = family.members.get(&pid).filter(|member| member.is_all && !is_swapping())?;
        let mut touched = Vec::new();
        let all: Vec<Range<u64>> = member.views.iter().map(|view| view.place.clone()).collect();
        for range in ranges.unwrap_or(&all) {
            member.marks.present(range, |piece| touched.push(piece)).ok()?;
        }
        Some(joined(touched))
    }

    /// Has the process, which can make calls for us, none of the memory's pages mapped: from now on those that it touches are.
    ///
    /// # Errors
    /// If it was killed.
    pub fn unmap_pages(&self, process: &mut Stopped, gadget: u64) -> Result<(), TraceError> {
        let Some(mut family) = self.family() else { return Ok(()) };
        // What is stored to is marked in the page's entry.
        family.take(process.pid());
        let Some(member) = family.members.get(&process.pid()) else { return Ok(()) };
        let mut remote = Remote::new(process, gadget)?;
        for view in &member.views {
            let (start, len) = (view.place.start, view.place.end - view.place.start);
            // What can't be unmapped (locked memory) seems to have been touched.
            remote.call(libc::SYS_madvise, [start, len, libc::MADV_DONTNEED as u64, 0, 0, 0])?;
        }
        Ok(())
    }
}

impl Family {
    fn is_complete(&self) -> bool {
        !self.is_broken && self.expected.is_empty()
    }

    /// Whether nobody but members has attached a segment of theirs. `copied`: a member of which there is a copy that has what it has.
    fn look_for_others(&mut self, copied: Option<i32>) -> bool {
        let mut attachments: BTreeMap<i32, Attachments> = BTreeMap::new();
        for (pid, member) in &self.members {
            let times = if copied == Some(*pid) { 2 } else { 1 };
            for segment in member.segments() {
                let attached = attachments.entry(segment).or_default();
                *(if member.is_done { &mut attached.ending } else { &mut attached.living }) += times;
            }
        }
        let who = |pid: i32| match self.members.get(&pid) {
            Some(member) if member.is_done => Who::Ending,
            Some(_) => Who::Ours,
            None if self.expected.contains(&pid) => Who::Ours,
            None => Who::Unknown,
        };
        // How much of them those have who aren't members yet is seen when they are. Until then nothing is told.
        let are_counted = self.expected.is_empty();
        let mut is_closed = attachments
            .iter()
            .all(|(segment, attached)| self.segments.is_closed(*segment, are_counted.then_some(*attached), who));
        is_closed &= self.writers.is_empty() && self.files.are_closed();
        if !is_closed {
            self.all_are_unsure();
        }
        is_closed
    }

    fn all_are_unsure(&mut self) {
        self.members.values_mut().for_each(|member| member.is_unsure = true);
    }

    /// Looks for others who may write files of theirs. `copy`: one of a member.
    fn look_for_holders(&mut self, copy: i32) {
        let Self { members, expected, files, .. } = self;
        files.look_for_others(|pid| members.contains_key(&pid) || expected.contains(&pid) || pid == copy);
    }

    fn take_of_others(&mut self, pid: i32) {
        let others: Vec<i32> = self.members.keys().copied().filter(|other| *other != pid).collect();
        others.into_iter().for_each(|other| self.take(other));
    }

    /// Takes what a member has stored, for the others.
    fn take(&mut self, pid: i32) {
        let Some(member) = self.members.get(&pid) else { return };
        let mut stored: Vec<Page> = Vec::new();
        for view in member.views.iter().filter(|view| view.is_stored_to) {
            let taken = member.marks.take_written(&view.place, |piece| stored.extend(view.pages(piece)));
            // Of what is gone nothing can be asked.
            self.is_broken |= taken.is_err() && !member.is_done;
        }
        for (_, other) in self.members.iter_mut().filter(|(other, _)| **other != pid) {
            other.news.extend(stored.iter().cloned());
        }
    }

    /// Marks what the member has mapped by now.
    fn look_again(&mut self, pid: i32) {
        let Some(member) = self.members.get_mut(&pid) else { return };
        let (shared, private): (Vec<Mapping>, Vec<Mapping>) = mappings(pid).into_iter().partition(|map| map.is_shared);
        let has_same_segments = shared.iter().any(|map| map.segment.is_some()) && has_same_numbers(pid);
        let files = &mut self.files;
        let (common, others): (Vec<Mapping>, Vec<Mapping>) = shared.into_iter().partition(|map| {
            let is_file = !map.is_anonymous && map.segment.is_none();
            let is_meant = is_file && (files.knows(&map.object) || can_change(std::slice::from_ref(map)));
            map.is_anonymous || map.segment.is_some() && has_same_segments || is_meant && files.watches(pid, map)
        });
        // A private mapping shows what others store as long as the process hasn't stored there itself.
        let is_private = private.iter().any(|map| files.knows(&map.object));
        member.is_all = !is_private && !others.iter().any(|map| can_change(std::slice::from_ref(map)));
        member.other_places = others.iter().map(|map| map.start..map.end).collect();
        member.others = others.into_iter().chain(private).map(|map| map.object).collect();
        let mut views: Vec<View> = common.iter().map(View::of).collect();
        if views.len() == member.views.len() && views.iter().zip(&member.views).all(|(now, before)| now.is_like(before))
        {
            return;
        }
        let size = views.iter().map(|view| view.place.end - view.place.start).sum::<u64>();
        let is_marked = size <= MOST
            && views.iter_mut().zip(&common).all(|(view, map)| {
                view.is_stored_to = member.marks.begin(&view.place).is_ok();
                // What can only be read can't be marked, and needn't be.
                view.is_stored_to || view.is_guarded && map.protection & libc::PROT_WRITE == 0
            });
        member.views = views;
        self.is_broken |= !is_marked;
    }
}
