//! What a process is told of its family, and what it tells it.

use std::cell::{RefCell, RefMut};
use std::collections::BTreeSet;
use std::fs::File;
use std::ops::Range;
use std::rc::Rc;

use tracee::{Remote, Stopped, TraceError};

use super::family::Family;
use super::layers::LayersOfObjects;
use super::member::{Member, Which};
use super::page_marks::{PageMarks, is_swapping};
use super::views::{View, joined};

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

    /// A process that is about to run may store to the memory, and isn't a member yet. `lends`: it runs already, by another process.
    pub fn expects(&self, pid: i32, lends: bool) {
        if let Some(mut family) = self.family()
            && !family.members.contains_key(&pid)
        {
            family.segments.is_moved();
            family.turns();
            family.expected.insert(pid);
            if lends {
                family.lending.insert(pid);
                family.copies.are_unsure();
            }
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
        family.look_again(pid, &(0..0));
        family.expected.remove(&pid);
        family.lending.remove(&pid);
        family.turns();
        Ok(())
    }

    /// The process may have mapped something, or unmapped. `anew`: where there may be other mappings than before.
    pub fn is_mapped_anew(&self, pid: i32, anew: &Range<u64>) {
        if let Some(mut family) = self.family()
            && family.members.contains_key(&pid)
        {
            family.look_again(pid, anew);
        }
    }

    /// Whether the process may have memory that it shares with anybody in this range.
    pub fn may_share(&self, pid: i32, range: &Range<u64>) -> bool {
        let Some(family) = self.family() else { return false };
        !family.is_broken && family.members.get(&pid).is_some_and(|member| member.has_shared_in(range))
    }

    /// Whether nobody but the process can have the memory that is mapped at an address.
    pub fn is_own(&self, pid: i32, address: u64) -> bool {
        let Some(mut family) = self.family() else { return false };
        family.sort_out(pid);
        let is_own = |member: &Member| member.views_of(&(address..address + 1)).iter().any(|view| !view.is_common);
        !family.is_broken && family.members.get(&pid).is_some_and(is_own)
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
            family.turns();
            family.segments.leaves(pid);
            family.keep_copies();
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
        let Some(mut family) = self.family() else { return };
        family.members.get(&pid).into_iter().for_each(|member| member.rests(false));
        if family.writers.remove(&pid) {
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

    /// Takes what the process has stored, for the others, before it makes a call that may change who has what mapped. `ends`: it has nothing any more if that succeeds. `within`:
    /// where it changes something, if that is known.
    pub fn take_own(&self, pid: i32, ends: bool, within: Option<&[Range<u64>]>) {
        if let Some(mut family) = self.family() {
            family.look_for_others(None);
            if !ends {
                family.segments.is_moved();
            }
            match within {
                Some(places) => places.iter().for_each(|at| family.take(pid, Which::Within([at.start, at.end]))),
                None => family.take(pid, Which::All),
            }
        }
    }

    /// The process, which has one thread, is about to make a call that stores nothing but in these ranges.
    pub fn begins_call(&self, pid: i32, stores: &[Range<u64>]) {
        if let Some(family) = self.family()
            && let Some(member) = family.members.get(&pid)
        {
            member.rests(!stores.iter().any(|range| member.has_shared_in(range)));
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
        Some(joined(member.views().iter().flat_map(shown).collect()))
    }

    /// The process is going to be given all that [`Company::news`] has told.
    pub fn forget(&self, pid: i32) {
        if let Some(mut family) = self.family()
            && let Some(member) = family.members.get_mut(&pid)
        {
            member.news.clear();
        }
    }

    /// A member is about to be forked for a slice, which hides who has attached or detached segments before.
    pub fn is_to_be_copied(&self) {
        if let Some(mut family) = self.family() {
            family.look_for_others(None);
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
        family.take(pid, Which::All);
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

    /// The copies that slices have of the memory. By default nobody else has them.
    pub fn layers(&self) -> LayersOfObjects {
        self.family().map_or_else(LayersOfObjects::default, |family| Rc::clone(&family.copies.layers))
    }

    /// Whether any member has an object mapped.
    pub fn has(&self, object: &str) -> bool {
        self.family().is_some_and(|family| family.members.values().any(|member| member.shows(object)))
    }

    /// Which pages of a part of an object, in bytes, were stored to since it was copied the last time, if that is known. The process's slices are going to be given copies of it as
    /// it is now, since [`Company::is_copied`].
    pub fn lacking(&self, pid: i32, object: &str, part: &Range<u64>) -> Option<BTreeSet<u64>> {
        let mut family = self.family()?;
        // Who is expected stores nothing before it is a member.
        let is_marked = !family.is_broken && family.lending.is_empty() && family.is_closed;
        if !is_marked || !family.members.get(&pid).is_some_and(|member| member.shows(object)) {
            family.copies.is_lost(object);
            return None;
        }
        family.copies.begin(object, part).filter(|_| family.expected.is_empty())
    }

    /// All that is to be copied was read, for a copy of the process which still has what the process has.
    pub fn is_read(&self, pid: i32) {
        if let Some(mut family) = self.family()
            && family.members.contains_key(&pid)
        {
            family.look_for_others(Some(pid));
        }
    }

    /// The copies of an object aren't what they should be.
    pub fn is_copy_lost(&self, object: &str) {
        if let Some(mut family) = self.family() {
            family.copies.is_lost(object);
        }
    }

    /// Which pages of these ranges, or of all that it has in common with others, the process may have touched since [`Company::unmap_pages`].
    pub fn touched(&self, pid: i32, ranges: Option<&[Range<u64>]>) -> Option<Vec<Range<u64>>> {
        let mut family = self.family()?;
        family.sort_out(pid);
        let member = family.members.get(&pid).filter(|member| member.is_all && !is_swapping())?;
        let Some(ranges) = ranges else { return member.touched().ok().map(joined) };
        let mut touched = Vec::new();
        for range in ranges {
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
        family.take(process.pid(), Which::Common);
        let Some(member) = family.members.get(&process.pid()) else { return Ok(()) };
        let mut remote = Remote::new(process, gadget)?;
        let mut unmap = |place: &Range<u64>| {
            let args = [place.start, place.end - place.start, libc::MADV_DONTNEED as u64, 0, 0, 0];
            Ok::<bool, TraceError>(remote.call(libc::SYS_madvise, args)? == 0)
        };
        for place in member.places_to_unmap() {
            if unmap(&place)? {
                continue;
            }
            for view in member.views_of(&place) {
                // It seems to have been touched from now on.
                view.is_locked.set(!unmap(&view.place)?);
            }
        }
        Ok(())
    }
}
