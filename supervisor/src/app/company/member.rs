//! A process that has memory in common with others.

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
        let places = if which == Which::All { &self.all } else { &self.common };
        for place in &places.stored {
            self.marks.take_written(place, |piece| {
                for view in &self.views[self.views_in(&piece)] {
                    let [start, end] = [piece.start.max(view.place.start), piece.end.min(view.place.end)];
                    stored.extend(view.pages(start..end));
                }
            })?;
        }
        Ok(stored)
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
        let touched = self.touched().unwrap_or_else(|_| self.common.shown.clone());
        let numbers: BTreeSet<usize> = touched.iter().flat_map(|piece| self.views_in(piece)).collect();
        let views = numbers
            .into_iter()
            .map(|number| &self.views[number])
            .filter(|view| view.is_common && !view.is_locked.get());
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
