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
use std::ops::Range;
use std::rc::Rc;

use machine::PAGE;
use tracee::{Remote, Stopped, TraceError};

use super::page_marks::{PageMarks, is_swapping};
use super::segments::{Segments, has_same_numbers};
use crate::app::mappings::{Mapping, can_change, mappings};

/// Bytes of memory that a process may have in common with others: to look at the page tables of more takes too long.
const MOST: u64 = 1 << 30;

/// A page of an object.
type Page = (Rc<str>, u64);

#[derive(Default)]
struct Family {
    members: BTreeMap<i32, Member>,
    /// Processes that have such memory, and aren't members yet.
    expected: BTreeSet<i32>,
    segments: Segments,
    is_broken: bool,
}

struct Member {
    marks: PageMarks,
    views: Vec<View>,
    /// Where its other shared mappings are.
    others: Vec<Range<u64>>,
    /// Whether it has no other memory that others may write.
    is_all: bool,
    /// Whether it is on its way out, and all that it has stored was taken.
    is_done: bool,
    /// Whether others may have stored something unseen.
    is_unsure: bool,
    /// What others have stored to.
    news: BTreeSet<Page>,
}

impl Member {
    /// Nothing is known of what it has mapped.
    fn new(marks: PageMarks) -> Self {
        Self {
            marks,
            views: Vec::new(),
            others: Vec::new(),
            is_all: false,
            is_done: false,
            is_unsure: false,
            news: BTreeSet::new(),
        }
    }

    /// Whether any of its shared mappings lies in this range.
    fn has_shared_in(&self, range: &Range<u64>) -> bool {
        let mut shared = self.views.iter().map(|view| &view.place).chain(&self.others);
        shared.any(|place| place.start < range.end && range.start < place.end)
    }

    fn segments(&self) -> impl Iterator<Item = i32> {
        self.views.iter().filter_map(|view| view.segment)
    }
}

/// A mapping of a part of an object.
struct View {
    place: Range<u64>,
    object: Rc<str>,
    offset: u64,
    segment: Option<i32>,
    /// Whether the process can store there, now or after `mprotect`.
    is_stored_to: bool,
}

impl View {
    fn of(map: &Mapping) -> Self {
        let Mapping { start, end, offset, segment, .. } = *map;
        Self { place: start..end, object: map.object.as_str().into(), offset, segment, is_stored_to: true }
    }

    fn is_like(&self, other: &Self) -> bool {
        (&self.place, &self.object, self.offset) == (&other.place, &other.object, other.offset)
    }

    fn pages(&self, place: Range<u64>) -> impl Iterator<Item = Page> {
        let first = (place.start - self.place.start + self.offset) / PAGE;
        let count = (place.end - place.start) / PAGE;
        (first..first + count).map(|page| (Rc::clone(&self.object), page))
    }

    /// Where it shows a page.
    fn shows(&self, (object, page): &Page) -> Option<Range<u64>> {
        let at = (page * PAGE).checked_sub(self.offset)? + self.place.start;
        (*object == self.object && self.place.contains(&at)).then_some(at..at + PAGE)
    }
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
        if let Some(mut family) = self.family()
            && let Some(member) = family.members.get_mut(&pid)
        {
            member.is_done = is_done;
        }
    }

    /// The process is gone, or goes on unseen.
    pub fn leave(&self, pid: i32) {
        if let Some(mut family) = self.family()
            && let Some(member) = family.members.remove(&pid)
        {
            family.segments.leaves(pid);
            family.is_broken |= !member.is_done;
        }
    }

    /// Whether all that others store to memory of the process's is seen.
    pub fn is_seen(&self, pid: i32) -> bool {
        self.family()
            .is_some_and(|family| family.is_complete() && family.members.get(&pid).is_some_and(|member| member.is_all))
    }

    /// Takes what the process has stored, for the others, before it makes a call that may change who has what mapped.
    pub fn take_own(&self, pid: i32) {
        if let Some(mut family) = self.family() {
            family.look_for_others(None);
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
        family.segments.is_copied(copy, forker);
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
        let mut attachments: BTreeMap<i32, u64> = BTreeMap::new();
        // Whether one that ends has detached its segments yet isn't known.
        let mut is_closed = true;
        for (pid, member) in &self.members {
            is_closed &= !(member.is_done && member.segments().next().is_some());
            let times = if copied == Some(*pid) { 2 } else { 1 };
            member.segments().for_each(|segment| *attachments.entry(segment).or_default() += times);
        }
        let knows = |pid: i32| self.members.contains_key(&pid) || self.expected.contains(&pid);
        is_closed &= attachments.iter().all(|(segment, count)| self.segments.is_closed(*segment, *count, knows));
        if !is_closed {
            self.members.values_mut().for_each(|member| member.is_unsure = true);
        }
        is_closed
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
        let maps: Vec<Mapping> = mappings(pid).into_iter().filter(|map| map.is_shared).collect();
        let has_same_segments = maps.iter().any(|map| map.segment.is_some()) && has_same_numbers(pid);
        let is_common = |map: &Mapping| map.is_anonymous || map.segment.is_some() && has_same_segments;
        let (common, others): (Vec<Mapping>, Vec<Mapping>) = maps.into_iter().partition(is_common);
        member.others = others.iter().map(|map| map.start..map.end).collect();
        member.is_all = !others.iter().any(|map| can_change(std::slice::from_ref(map)));
        let mut views: Vec<View> = common.iter().map(View::of).collect();
        if views.len() == member.views.len() && views.iter().zip(&member.views).all(|(now, before)| now.is_like(before))
        {
            return;
        }
        let size = views.iter().map(|view| view.place.end - view.place.start).sum::<u64>();
        let is_marked = size <= MOST
            && views.iter_mut().zip(&common).all(|(view, map)| {
                view.is_stored_to = member.marks.begin(&view.place).is_ok();
                // What is attached for reading only can't be marked, and needn't be.
                view.is_stored_to || view.segment.is_some() && map.protection & libc::PROT_WRITE == 0
            });
        member.views = views;
        self.is_broken |= !is_marked;
    }
}

/// In order, and those that touch as one.
fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut all: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match all.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => all.push(range),
        }
    }
    all
}
