//! A process that has memory in common with others.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::io;
use std::ops::Range;

use super::page_marks::PageMarks;
use super::views::{Page, View, joined};

/// Which of its memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// What others have as well.
    Common,
    /// And what they had, or may have when it starts a process.
    All,
    /// What is mapped there.
    Within([u64; 2]),
}

/// Whether a member may store at the moment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rests {
    /// It executes code of its own, or a call that may store for it.
    No,
    /// It is in a call that stores nowhere in the memory, and has stored what wasn't taken yet.
    Untaken,
    /// It is in such a call, and all was taken that others have by this [`Family::turn`](super::family::Family).
    Taken(u64),
}

/// Where views are, and those where the process can store: those next to each other as one, since each costs a call of the kernel.
#[derive(Default)]
struct Places {
    shown: Vec<Range<u64>>,
    stored: Vec<Range<u64>>,
}

impl Places {
    fn of<'a>(views: impl Iterator<Item = &'a View> + Clone) -> Self {
        let places = |views: &mut dyn Iterator<Item = &View>| joined(views.map(|view| view.place.clone()).collect());
        Self { shown: places(&mut views.clone()), stored: places(&mut views.filter(|view| view.is_stored_to)) }
    }
}

/// What is known of it.
pub(super) struct Member {
    pub(super) marks: PageMarks,
    /// In the order of their places.
    views: Vec<View>,
    /// Where those are that others have as well, and by which [`Family::turn`](super::family::Family) that was found out.
    common: Places,
    sorted_at: u64,
    /// Where all are.
    all: Places,
    /// Where its other shared mappings are.
    pub(super) other_places: Vec<Range<u64>>,
    /// Whether it has no other memory that others may write.
    pub(super) is_all: bool,
    /// All other objects that it has mapped.
    pub(super) others: BTreeSet<String>,
    rests: Cell<Rests>,
    /// Whether it is on its way out, and all that it has stored was taken.
    pub(super) is_done: bool,
    /// Whether others may have stored something unseen.
    pub(super) is_unsure: bool,
    /// What others have stored to.
    pub(super) news: BTreeSet<Page>,
}

impl Member {
    /// Nothing is known of what it has mapped.
    pub(super) fn new(marks: PageMarks) -> Self {
        Self {
            marks,
            views: Vec::new(),
            common: Places::default(),
            sorted_at: 0,
            all: Places::default(),
            is_all: false,
            others: BTreeSet::new(),
            other_places: Vec::new(),
            rests: Cell::new(Rests::No),
            is_done: false,
            is_unsure: false,
            news: BTreeSet::new(),
        }
    }

    /// What it has in common with others.
    pub(super) fn views(&self) -> &[View] {
        &self.views
    }

    /// To be set again.
    pub(super) fn take_views(&mut self) -> Vec<View> {
        std::mem::take(&mut self.views)
    }

    pub(super) fn set_views(&mut self, views: Vec<View>) {
        self.all = Places::of(views.iter());
        self.views = views;
    }

    /// Whether it is known which views others have as well.
    pub(super) fn is_sorted_out(&self, turn: u64) -> bool {
        self.sorted_at == turn
    }

    /// Tells it.
    pub(super) fn sort_out(&mut self, turn: u64, is_others: impl Fn(&View) -> bool) {
        self.sorted_at = turn;
        self.views.iter_mut().for_each(|view| view.is_common = is_others(view));
        self.common = Places::of(self.views.iter().filter(|view| view.is_common));
    }

    /// Objects that it has mapped.
    pub(super) fn objects(&self) -> impl Iterator<Item = &str> {
        self.views.iter().map(View::object).chain(self.others.iter().map(String::as_str))
    }

    /// Takes the pages that it has stored to since the last time.
    ///
    /// # Errors
    /// If something else lies there meanwhile, or the process is gone.
    pub(super) fn take_written(&self, which: Which) -> io::Result<Vec<Page>> {
        let mut stored = Vec::new();
        if which == Which::Common && self.rests.get() == Rests::Taken(self.sorted_at) {
            return Ok(stored);
        }
        let places = if which == Which::Common { &self.common } else { &self.all };
        let whole = if let Which::Within([start, end]) = which { start..end } else { 0..u64::MAX };
        for place in &places.stored {
            let place = place.start.max(whole.start)..place.end.min(whole.end);
            self.marks.take_written(&place, |piece| {
                for view in &self.views[self.views_in(&piece)] {
                    let [start, end] = [piece.start.max(view.place.start), piece.end.min(view.place.end)];
                    stored.extend(view.pages(start..end));
                }
            })?;
        }
        if which == Which::Common && self.rests.get() != Rests::No {
            self.rests.set(Rests::Taken(self.sorted_at));
        }
        Ok(stored)
    }

    /// Takes what it has stored where what was known before is a part of another mapping by now, but not in `anew`.
    ///
    /// # Errors
    /// If nothing was marked there.
    pub(super) fn take_parts(&self, now: &View, anew: &Range<u64>, stored: &mut Vec<Page>) -> io::Result<()> {
        for before in &self.views[self.views_in(&now.place)] {
            let both = before.place.start.max(now.place.start)..before.place.end.min(now.place.end);
            if !before.is_stored_to || !before.pages(both.clone()).eq(now.pages(both.clone())) {
                continue;
            }
            for part in [both.start..both.end.min(anew.start), both.start.max(anew.end)..both.end] {
                if !part.is_empty() {
                    self.marks.take_written(&part, |piece| stored.extend(before.pages(piece)))?;
                }
            }
        }
        Ok(())
    }

    /// It begins a call that stores nothing in its shared memory, or ends one.
    pub(super) fn rests(&self, rests: bool) {
        self.rests.set(if rests { Rests::Untaken } else { Rests::No });
    }

    /// Which pages of what others have as well it has touched since they were last unmapped, or never were.
    ///
    /// # Errors
    /// As above.
    pub(super) fn touched(&self) -> io::Result<Vec<Range<u64>>> {
        let mut touched = Vec::new();
        for place in &self.common.shown {
            self.marks.present(place, |piece| touched.push(piece))?;
        }
        Ok(touched)
    }

    /// Places of views of which it has touched anything, and that can be unmapped: those next to each other as one.
    pub(super) fn places_to_unmap(&self) -> Vec<Range<u64>> {
        let can_be = |view: &&View| view.is_common && !view.is_locked.get();
        let mut numbers = BTreeSet::new();
        for place in Places::of(self.views.iter().filter(can_be)).shown {
            if self.marks.present(&place, |piece| numbers.extend(self.views_in(&piece))).is_err() {
                numbers.extend(self.views_in(&place));
            }
        }
        let views = numbers.into_iter().map(|number| &self.views[number]).filter(can_be);
        joined(views.map(|view| view.place.clone()).collect())
    }

    /// The views in a range.
    pub(super) fn views_of(&self, range: &Range<u64>) -> &[View] {
        &self.views[self.views_in(range)]
    }

    fn views_in(&self, range: &Range<u64>) -> Range<usize> {
        let first = self.views.partition_point(|view| view.place.end <= range.start);
        first..self.views.partition_point(|view| view.place.start < range.end).max(first)
    }

    /// Whether any of its shared mappings lies in this range.
    pub(super) fn has_shared_in(&self, range: &Range<u64>) -> bool {
        let mut shared = self.views.iter().map(|view| &view.place).chain(&self.other_places);
        shared.any(|place| place.start < range.end && range.start < place.end)
    }

    pub(super) fn segments(&self) -> impl Iterator<Item = i32> {
        self.views.iter().filter_map(|view| view.segment)
    }

    /// Whether it has an object mapped where it is seen what it stores.
    pub(super) fn shows(&self, object: &str) -> bool {
        self.views.iter().any(|view| view.is_of(object))
    }
}
