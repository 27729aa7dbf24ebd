//! Which pages of memory that followed processes have in common were stored to, by anybody but the process that wants to know.
//!
//! Invariants:
//! * Each process that can store to such memory is a member, or expected to become one before its first instruction; else the family is broken, for good. Only where nobody is
//!   expected, and nothing broken, is anything told.
//! * What a member has stored is taken from its page tables before they change, and becomes news to all others.
//! * Whenever others may have stored something unseen, to a segment that they had attached, all members are unsure: nothing is told to one until slices of it have got copies
//!   of all, while nobody else could store.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::copies::Copies;
use super::files::Files;
use super::member::{Member, Which};
use super::segments::{Attachments, Segments, Who, has_same_numbers};
use super::views::{Page, View};
use crate::app::mappings::{Mapping, can_change, mappings};

/// Bytes of memory that a process may have in common with others: to look at the page tables of more takes too long.
const MOST: u64 = 1 << 30;

/// Such processes.
#[derive(Default)]
pub(super) struct Family {
    pub(super) members: BTreeMap<i32, Member>,
    /// Processes that have such memory, and aren't members yet.
    pub(super) expected: BTreeSet<i32>,
    /// Those of them that go on already, as processes that they have lent their memory to.
    pub(super) lending: BTreeSet<i32>,
    pub(super) segments: Segments,
    pub(super) files: Files,
    pub(super) copies: Copies,
    /// Whether nobody else was seen at the last look.
    pub(super) is_closed: bool,
    /// Members in calls that write such a file.
    pub(super) writers: BTreeSet<i32>,
    pub(super) is_broken: bool,
    /// How often it has changed who may have what.
    turn: u64,
}

impl Family {
    pub(super) fn is_complete(&self) -> bool {
        !self.is_broken && self.expected.is_empty()
    }

    /// Whether nobody but members has attached a segment of theirs. `copied`: a member of which there is a copy that has what it has.
    pub(super) fn look_for_others(&mut self, copied: Option<i32>) -> bool {
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
        self.is_closed = is_closed;
        is_closed
    }

    pub(super) fn all_are_unsure(&mut self) {
        self.copies.are_unsure();
        self.members.values_mut().for_each(|member| member.is_unsure = true);
    }

    /// Looks for others who may write files of theirs. `copy`: one of a member.
    pub(super) fn look_for_holders(&mut self, copy: i32) {
        let Self { members, expected, files, .. } = self;
        files.look_for_others(|pid| members.contains_key(&pid) || expected.contains(&pid) || pid == copy);
    }

    pub(super) fn take_of_others(&mut self, pid: i32) {
        let others: Vec<i32> = self.members.keys().copied().filter(|other| *other != pid).collect();
        others.into_iter().for_each(|other| self.take(other, Which::Common));
    }

    /// Who has what may be otherwise from now on.
    pub(super) fn turns(&mut self) {
        self.turn += 1;
    }

    /// Finds out which memory of a member's others have, or may have. Memory without a name that nobody else has can't come to others but by a new process.
    pub(super) fn sort_out(&mut self, pid: i32) {
        let may_all_be = !self.expected.is_empty() || !self.lending.is_empty();
        // The first turn is none.
        let turn = self.turn + 1;
        if self.members.get(&pid).is_none_or(|member| member.is_sorted_out(turn)) {
            return;
        }
        let Some(mut member) = self.members.remove(&pid) else { return };
        if may_all_be {
            member.sort_out(turn, |_| true);
        } else {
            let others: BTreeSet<&str> = self.members.values().flat_map(Member::objects).collect();
            member.sort_out(turn, |view| view.is_guarded || others.contains(view.object()));
        }
        self.members.insert(pid, member);
    }

    /// Takes what a member has stored, for the others.
    pub(super) fn take(&mut self, pid: i32, which: Which) {
        self.sort_out(pid);
        let Some(member) = self.members.get(&pid) else { return };
        let taken = member.take_written(which);
        // Of what is gone nothing can be asked.
        self.is_broken |= taken.is_err() && !member.is_done;
        self.is_news(pid, &taken.unwrap_or_default());
    }

    /// A member has stored to these pages.
    fn is_news(&mut self, pid: i32, stored: &[Page]) {
        stored.iter().for_each(|page| self.copies.lack(page));
        for (_, other) in self.members.iter_mut().filter(|(other, _)| **other != pid) {
            other.news.extend(stored.iter().cloned());
        }
    }

    /// Marks what the member has mapped by now. `anew`: where it may have mapped the same once more, which isn't marked then. Of what was unmapped or is mapped anew, all was taken before.
    pub(super) fn look_again(&mut self, pid: i32, anew: &Range<u64>) {
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
        let before = std::mem::take(&mut member.others);
        member.others = others.into_iter().chain(private).map(|map| map.object).collect();
        self.turn += u64::from(member.others != before);
        let views: Vec<View> = common.iter().map(View::of).collect();
        let known = member.views();
        let stays = |view: &View| view.place.end <= anew.start || anew.end <= view.place.start;
        let is_same = |(now, before): (&View, &View)| now.is_like(before) && stays(before);
        if views.len() == known.len() && views.iter().zip(known).all(is_same) {
            return;
        }
        let size = views.iter().map(|view| view.place.end - view.place.start).sum::<u64>();
        // Marks of what stays are set anew where its mapping has another beginning or end.
        let mut stored = Vec::new();
        let mut is_taken = true;
        let is_known =
            |view: &View| member.views_of(&view.place).iter().any(|known| known.is_like(view) && stays(known));
        for view in views.iter().filter(|view| !is_known(view)) {
            is_taken &= member.take_parts(view, anew, &mut stored).is_ok();
        }
        let mut known: BTreeMap<u64, View> =
            member.take_views().into_iter().filter(stays).map(|view| (view.place.start, view)).collect();
        let mut is_marked = size <= MOST && is_taken;
        let mark = |(mut view, map): (View, &Mapping)| match known.remove(&view.place.start) {
            Some(before) if before.is_like(&view) => before,
            _ => {
                view.is_stored_to = member.marks.begin(&view.place).is_ok();
                // What can only be read can't be marked, and needn't be.
                is_marked &= view.is_stored_to || view.is_guarded && map.protection & libc::PROT_WRITE == 0;
                view
            }
        };
        let views = views.into_iter().zip(&common).map(mark).collect();
        member.set_views(views);
        self.turn += 1;
        self.is_broken |= !is_marked;
        self.is_news(pid, &stored);
        self.keep_copies();
    }

    /// An object that no member has mapped may be gone.
    pub(super) fn keep_copies(&mut self) {
        let Self { members, copies, .. } = self;
        copies.keep(|object| members.values().any(|member| member.shows(object)));
    }
}
