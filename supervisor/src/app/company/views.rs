//! Pages of objects, and where a process shows them.

use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

use machine::PAGE;

use crate::app::mappings::Mapping;

/// A page of an object.
pub type Page = (Rc<str>, u64);

/// A mapping of a part of an object.
pub struct View {
    /// Where it is in the process.
    pub place: Range<u64>,
    object: Rc<str>,
    offset: u64,
    /// The System V segment that it shows.
    pub segment: Option<i32>,
    /// Whether it can be such that the process may only read it.
    pub is_guarded: bool,
    /// Whether the process can store there, now or after `mprotect`.
    pub is_stored_to: bool,
    /// Whether others may have it, too.
    pub is_common: bool,
    /// Whether the process has locked it, so that it can't be unmapped page by page.
    pub is_locked: Cell<bool>,
}

impl View {
    /// Of a mapping.
    pub fn of(map: &Mapping) -> Self {
        let Mapping { start, end, offset, segment, .. } = *map;
        let is_guarded = !map.is_anonymous;
        let object = map.object.as_str().into();
        let is_locked = Cell::new(false);
        Self { place: start..end, object, offset, segment, is_guarded, is_stored_to: true, is_common: true, is_locked }
    }

    /// The object.
    pub fn object(&self) -> &str {
        &self.object
    }

    /// Whether it shows some of this object.
    pub fn is_of(&self, object: &str) -> bool {
        *self.object == *object
    }

    /// Whether it shows the same there.
    pub fn is_like(&self, other: &Self) -> bool {
        (&self.place, &self.object, self.offset) == (&other.place, &other.object, other.offset)
    }

    /// The pages that it shows there.
    pub fn pages(&self, place: Range<u64>) -> impl Iterator<Item = Page> {
        let first = (place.start - self.place.start + self.offset) / PAGE;
        let count = (place.end - place.start) / PAGE;
        (first..first + count).map(|page| (Rc::clone(&self.object), page))
    }

    /// Where it shows a page.
    pub fn shows(&self, (object, page): &Page) -> Option<Range<u64>> {
        let at = (page * PAGE).checked_sub(self.offset)? + self.place.start;
        (*object == self.object && self.place.contains(&at)).then_some(at..at + PAGE)
    }
}

/// In order, and those that touch as one.
pub fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
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
