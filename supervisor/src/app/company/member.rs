//! A process that has memory in common with others.

use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::time::Duration;

use super::page_marks::PageMarks;
use super::views::{Page, View, joined};
use crate::base::{cpu_clock, reading};

/// What is known of it.
pub(super) struct Member {
    pub(super) marks: PageMarks,
    /// How much CPU time it had used when what it has stored was last taken: without more it has stored nothing since.
    ran: Option<Duration>,
    /// In the order of their places.
    views: Vec<View>,
    /// All their places, and those where the process can store: those next to each other as one, since each costs a call of the kernel.
    places: Vec<Range<u64>>,
    stored_places: Vec<Range<u64>>,
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
            ran: None,
            views: Vec::new(),
            places: Vec::new(),
            stored_places: Vec::new(),
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
        let places = |views: &mut dyn Iterator<Item = &View>| joined(views.map(|view| view.place.clone()).collect());
        self.places = places(&mut views.iter());
        self.stored_places = places(&mut views.iter().filter(|view| view.is_stored_to));
        self.views = views;
    }

    /// Takes the pages that it has stored to since the last time.
    ///
    /// # Errors
    /// If something else lies there meanwhile, or the process is gone.
    pub(super) fn take_written(&mut self, pid: i32) -> io::Result<Vec<Page>> {
        let mut stored = Vec::new();
        let ran = cpu_clock(pid).ok().and_then(reading);
        if ran.is_some() && ran == self.ran {
            return Ok(stored);
        }
        self.ran = None;
        for place in &self.stored_places {
            self.marks.take_written(place, |piece| {
                for view in &self.views[self.views_in(&piece)] {
                    let [start, end] = [piece.start.max(view.place.start), piece.end.min(view.place.end)];
                    stored.extend(view.pages(start..end));
                }
            })?;
        }
        self.ran = ran;
        Ok(stored)
    }

    /// Which of its pages it has touched since they were last unmapped, or never were.
    ///
    /// # Errors
    /// As above.
    pub(super) fn touched(&self) -> io::Result<Vec<Range<u64>>> {
        let mut touched = Vec::new();
        for place in &self.places {
            self.marks.present(place, |piece| touched.push(piece))?;
        }
        Ok(touched)
    }

    /// Places of views of which it has touched anything, and that can be unmapped: those next to each other as one.
    pub(super) fn places_to_unmap(&self) -> Vec<Range<u64>> {
        let touched = self.touched().unwrap_or_else(|_| self.places.clone());
        let numbers: BTreeSet<usize> = touched.iter().flat_map(|piece| self.views_in(piece)).collect();
        let views = numbers.into_iter().map(|number| &self.views[number]).filter(|view| !view.is_locked.get());
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
