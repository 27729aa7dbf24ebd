//! What slices' copies of objects lack of what members have stored.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

use super::layers::LayersOfObjects;
use super::views::Page;

/// Copies of objects that members have in common.
#[derive(Default)]
pub(super) struct Copies {
    /// The copies themselves.
    pub(super) layers: LayersOfObjects,
    /// Objects of which it is known what the copies lack.
    known: BTreeMap<Rc<str>, Lacking>,
}

/// A part of an object that was copied, and which of its pages were stored to since then.
struct Lacking {
    part: Range<u64>,
    pages: BTreeSet<u64>,
}

impl Copies {
    /// A member has stored to a page.
    pub(super) fn lack(&mut self, (object, page): &Page) {
        if let Some(lacking) = self.known.get_mut(object) {
            lacking.pages.insert(*page);
        }
    }

    /// Somebody may have stored something unseen.
    pub(super) fn are_unsure(&mut self) {
        self.known.clear();
    }

    /// The copy of an object isn't what it should be.
    pub(super) fn is_lost(&mut self, object: &str) {
        self.known.remove(object);
    }

    /// Other objects than these aren't mapped any more. Their names may be those of others later.
    pub(super) fn keep(&mut self, is_mapped: impl Fn(&str) -> bool) {
        self.known.retain(|object, _| is_mapped(object));
        self.layers.borrow_mut().retain(|object, _| is_mapped(object));
    }

    /// A part of an object is about to be copied: what its copy lacks, if that is known.
    pub(super) fn begin(&mut self, object: &str, part: &Range<u64>) -> Option<BTreeSet<u64>> {
        let before = self.known.insert(object.into(), Lacking { part: part.clone(), pages: BTreeSet::new() });
        before.filter(|before| before.part == *part).map(|before| before.pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_copies_lack_is_known_for_the_part_that_was_copied() {
        let mut copies = Copies::default();
        let page = |page: u64| -> Page { ("a".into(), page) };
        copies.lack(&page(1));
        assert_eq!(copies.begin("a", &(0..9)), None);
        copies.lack(&page(2));
        copies.lack(&("b".into(), 3));
        assert_eq!(copies.begin("a", &(0..9)), Some([2].into()));
        copies.lack(&page(4));
        assert_eq!(copies.begin("a", &(0..5)), None);
        assert_eq!(copies.begin("a", &(0..5)), Some([].into()));
        copies.keep(|object| object == "a");
        assert_eq!(copies.begin("a", &(0..5)), Some([].into()));
        copies.keep(|object| object == "b");
        assert_eq!(copies.begin("a", &(0..5)), None);
        copies.is_lost("a");
        assert_eq!(copies.begin("a", &(0..5)), None);
        copies.are_unsure();
        assert_eq!((copies.begin("a", &(0..5)), copies.begin("b", &(0..5))), (None, None));
    }
}
