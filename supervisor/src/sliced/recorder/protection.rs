//! Memory whose protection the app changes again and again, as those do who rewrite code, and shared memory of which it maps other pages: the recorder makes such calls, too, and
//! slices make them again.
//!
//! Nobody but the log needs to know of them where the app has such memory for itself, nothing of ours lies there, and there is nothing to be searched for when
//! it becomes executable.

use std::ops::Range;

use bubble::map::BUBBLE;
use machine::PAGE;

/// Calls for the same memory, one after the other, before the recorder takes them.
const ENOUGH: u32 = 4;

/// What the recorder may do to the protection of which memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes {
    /// Whole pages.
    pub range: Range<u64>,
    /// Bits of the protection that it leaves to the control process.
    pub forbidden: u64,
}

impl Changes {
    /// Neither writing nor reading needs to be known of.
    pub const DATA: u64 = !(libc::PROT_READ | libc::PROT_WRITE) as u32 as u64 | u64::MAX << 32;
    /// Nor executing.
    pub const CODE: u64 = Self::DATA & !(libc::PROT_EXEC as u64);

    /// Whether any of these pages is meant.
    pub fn overlap(&self, pages: &[u64]) -> bool {
        pages.iter().any(|page| *page < self.range.end && self.range.start < page + PAGE)
    }
}

/// Where the recorder may map other pages of an object in the place of some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shows {
    /// Whole pages, all of this object.
    pub range: Range<u64>,
    /// Bytes of the object, from its start on, that may be mapped.
    pub most: u64,
}

/// What the recorder may do.
#[derive(Default)]
pub struct Terms {
    /// Where it changes the protection of memory.
    pub changes: Option<Changes>,
    /// Where it maps other pages.
    pub shows: Option<Shows>,
    /// It does nothing else.
    pub is_bare: bool,
    /// It changes the memory of other processes that the app traces: none is the app's as well.
    pub may_poke: bool,
    /// Other threads may want to go on: it makes no call that may wait,
    pub has_threads: bool,
    /// but those in which it passes the turn on to them.
    pub passes_turns: bool,
}

/// What the app was seen to do, and what the recorder does of that.
#[derive(Default)]
pub struct Protection {
    last: Range<u64>,
    times: u32,
    /// Where other pages were mapped last, and how often that was done.
    shown: u64,
    shows: u32,
    terms: Terms,
}

impl Protection {
    /// The app has changed the protection of as many bytes at an address. Whether it has done so often lately.
    pub fn changed(&mut self, address: u64, len: u64) -> bool {
        let range = whole_pages(address, len);
        if range == self.last {
            self.times += 1;
        } else {
            (self.last, self.times) = (range, 1);
        }
        self.often().is_some()
    }

    /// Where it has done so often.
    pub fn often(&self) -> Option<Range<u64>> {
        let range = &self.last;
        let is_apps = !range.is_empty() && !BUBBLE.overlaps(range.start, range.end - range.start);
        (self.times >= ENOUGH && is_apps).then(|| range.clone())
    }

    /// The app has mapped other pages of an object at an address. Whether it does so often.
    pub fn shown(&mut self, address: u64) -> bool {
        self.shown = address;
        self.shows = self.shows.saturating_add(1);
        self.often_shown().is_some()
    }

    /// Where it has done so last, if often.
    pub fn often_shown(&self) -> Option<u64> {
        (self.shows >= ENOUGH).then_some(self.shown)
    }

    /// What the recorder may do next time.
    pub fn set(&mut self, terms: Terms) {
        self.terms = terms;
    }

    /// What it may do.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Whether it may do nothing else than to change the protection of memory.
    pub fn is_bare(&self) -> bool {
        self.terms.is_bare
    }

    /// Bytes of ours lie in these pages. Whether the recorder may do anything.
    pub fn begin(&mut self, pages: &[u64]) -> bool {
        self.terms.changes.take_if(|changes| changes.overlap(pages));
        !self.terms.is_bare || self.terms.changes.is_some()
    }

    /// The master is taken back: where the protection of memory may have changed.
    pub fn end(&mut self) -> Option<Range<u64>> {
        self.terms.changes.take().map(|changes| changes.range)
    }
}

/// All pages of which a call changes the protection.
fn whole_pages(address: u64, len: u64) -> Range<u64> {
    let end = address.saturating_add(len).checked_next_multiple_of(PAGE).unwrap_or(address);
    address..end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_told_that_is_changed_again_and_again() {
        let mut protection = Protection::default();
        assert!((1..ENOUGH).all(|_| !protection.changed(0x40_0000, 5)) && protection.often().is_none());
        assert!(protection.changed(0x40_0000, PAGE));
        assert_eq!(protection.often(), Some(0x40_0000..0x40_1000));
        assert!(!protection.changed(0x40_1000, PAGE) && protection.often().is_none());
        let often = |address, len| (0..ENOUGH).fold(None, |_, _| protection.changed(address, len).then_some(()));
        let mut often = often;
        assert!(often(0x40_1000, PAGE + 1).is_some());
        assert!(
            often(BUBBLE.start, PAGE).is_none() && often(0x40_0000, 0).is_none() && often(0x1000, u64::MAX).is_none()
        );
    }

    #[test]
    fn pages_of_objects_are_mapped_often_wherever_that_is() {
        let mut protection = Protection::default();
        assert!((1..ENOUGH.into()).all(|n| !protection.shown(n * PAGE)));
        assert!(protection.shown(0x40_0000));
        assert_eq!(protection.often_shown(), Some(0x40_0000));
    }

    #[test]
    fn nothing_is_done_where_bytes_of_ours_lie() {
        let mut protection = Protection::default();
        let terms = |is_bare| {
            let changes = Some(Changes { range: 0x5000..0x7000, forbidden: Changes::CODE });
            Terms { changes, is_bare, ..Terms::default() }
        };
        protection.set(terms(true));
        assert!(protection.begin(&[0x7000]) && protection.is_bare());
        assert_eq!((protection.end(), protection.end()), (Some(0x5000..0x7000), None));
        protection.set(terms(true));
        assert!(!protection.begin(&[0x6000]));
        protection.set(terms(false));
        assert!(protection.begin(&[0x6000]) && protection.terms().changes.is_none());
    }

    #[test]
    fn pages_and_bits_are_told_apart() {
        let changes = Changes { range: 0x5000..0x7000, forbidden: Changes::CODE };
        assert!(changes.overlap(&[0x1000, 0x6000]) && !changes.overlap(&[0x4000, 0x7000]));
        let all = (libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC) as u64;
        assert_eq!((Changes::CODE & all, Changes::DATA & all), (0, libc::PROT_EXEC as u64));
        assert_eq!(Changes::CODE, !all);
        assert_ne!(Changes::DATA & libc::PROT_GROWSDOWN as u64, 0);
    }
}
