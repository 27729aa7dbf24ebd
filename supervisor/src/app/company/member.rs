//! A process that has memory in common with others.

use std::collections::BTreeSet;
use std::ops::Range;

use super::page_marks::PageMarks;
use super::views::{Page, View};

/// What is known of it.
pub(super) struct Member {
    pub(super) marks: PageMarks,
    pub(super) views: Vec<View>,
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
            is_all: false,
            others: BTreeSet::new(),
            other_places: Vec::new(),
            is_done: false,
            is_unsure: false,
            news: BTreeSet::new(),
        }
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
