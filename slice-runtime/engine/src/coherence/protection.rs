//! App pages that hold translated code and can be written: noticing when that code changes.
//!
//! A writable page from which code was translated is write-protected. The first write faults; the page's translations are
//! dropped, the page is writable again until code is translated from it anew. A page where that happens often isn't
//! protected any more: its translations are compared with the code each time they are entered. If they have been the same for long, it is
//! protected again: a compiler fills a page with many pieces of code, one after the other, and then it may be executed for hours.
//!
//! Where code can change without a write to its page, protecting it is no use: its translations compare it themselves (`translator/src/emit/checks/self_check.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use machine::PAGE;

/// Faults after which a page's code is compared instead of protected.
const OFTEN: u32 = 64;
/// Comparisons without a difference after which it is protected again. They take as long as some hundred faults.
const LONG: u32 = 4096;
/// Faults after which such a page is compared again.
const NEXT_TIME: u32 = 16;

#[derive(Default)]
struct CodePage {
    protected: bool,
    faults: u32,
    /// Comparisons since the last difference.
    same: u32,
    /// It can change without a write to it.
    changes_elsewhere: bool,
}

/// The pages.
#[derive(Default)]
pub struct CodePages {
    pages: BTreeMap<u64, CodePage>,
    /// Those whose translations are compared.
    compared: BTreeSet<u64>,
    /// Where system calls of other threads may write at any moment, start and end.
    in_calls: Vec<(u64, u64)>,
}

impl CodePages {
    /// Code in `start .. end`, in writable memory, is about to be translated. Whether a page could be written up to now, and can't any more.
    pub fn watch(&mut self, start: u64, end: u64) -> bool {
        let mut is_new = false;
        for number in numbers(start, end) {
            if self.is_in_call(number) {
                // A call can't write what is protected, and may not be made again.
                self.compared.insert(number);
            }
            let page = self.pages.entry(number).or_default();
            if !page.protected && !self.compared.contains(&number) {
                page.protected = protect(number, libc::PROT_READ | libc::PROT_EXEC);
                is_new |= page.protected;
                if !page.protected {
                    self.compared.insert(number);
                }
            }
        }
        is_new
    }

    /// Code in `start .. end` can change without a write to these pages.
    pub fn mark_as_changing(&mut self, start: u64, end: u64) {
        for number in numbers(start, end) {
            self.pages.entry(number).or_default().changes_elsewhere = true;
            self.compared.insert(number);
        }
    }

    /// Translations of code in `start .. end` were compared with it. Whether a page of it is trusted from now on; its translations are
    /// to be made anew.
    pub fn were_compared(&mut self, start: u64, end: u64, same: bool) -> bool {
        let mut is_trusted = false;
        for number in numbers(start, end) {
            let page = self.pages.entry(number).or_default();
            page.same = if same { page.same + 1 } else { 0 };
            if page.same >= LONG && !page.changes_elsewhere && self.compared.remove(&number) {
                page.faults = OFTEN - NEXT_TIME;
                page.same = 0;
                is_trusted = true;
            }
        }
        is_trusted
    }

    /// A call that goes on while others run may write `start .. end`.
    pub fn call_begins(&mut self, start: u64, end: u64) {
        self.in_calls.push((start, end));
    }

    /// Such a call is over.
    pub fn call_ends(&mut self, start: u64, end: u64) {
        if let Some(n) = self.in_calls.iter().position(|range| *range == (start, end)) {
            self.in_calls.swap_remove(n);
        }
    }

    /// Whether the page of `address` is write-protected by us.
    pub fn is_protected(&self, address: u64) -> bool {
        self.pages.get(&(address / PAGE)).is_some_and(|p| p.protected)
    }

    /// Whether translations of code in `start .. end` must be compared with it when they are entered.
    pub fn are_compared(&self, start: u64, end: u64) -> bool {
        let are_listed = !self.compared.is_empty() && self.compared.range(numbers(start, end)).next().is_some();
        are_listed || !self.in_calls.is_empty() && numbers(start, end).any(|number| self.is_in_call(number))
    }

    /// Whether some of the code in `start .. end` can change without a write to these pages.
    pub fn change_elsewhere(&self, start: u64, end: u64) -> bool {
        self.pages.range(numbers(start, end)).any(|(_, page)| page.changes_elsewhere)
    }

    fn is_in_call(&self, number: u64) -> bool {
        self.in_calls.iter().any(|(start, end)| *start < (number + 1) * PAGE && number * PAGE < *end)
    }

    /// Makes the page of `address` writable again because it is about to be written.
    pub fn release(&mut self, address: u64) {
        let number = address / PAGE;
        if let Some(page) = self.pages.get_mut(&number).filter(|p| p.protected) {
            page.protected = false;
            page.faults += 1;
            if page.faults >= OFTEN {
                self.compared.insert(number);
            }
            protect(number, libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC);
        }
    }

    /// Protected pages in `start .. end`, by address.
    pub fn protected_in(&self, start: u64, end: u64) -> Vec<u64> {
        let inside = self.pages.range(numbers(start, end));
        inside.filter(|(_, page)| page.protected).map(|(number, _)| number * PAGE).collect()
    }

    /// Whether there are any.
    pub fn any_protected_in(&self, start: u64, end: u64) -> bool {
        self.pages.range(numbers(start, end)).any(|(_, page)| page.protected)
    }

    /// The app mapped or re-protected `start .. end` itself: what we knew of these pages is void, but for how often they were written. Who makes
    /// code writable before each write writes often, too.
    pub fn forget(&mut self, start: u64, end: u64) {
        let inside: Vec<u64> = self.pages.range(numbers(start, end)).map(|(number, _)| *number).collect();
        for number in inside {
            self.compared.remove(&number);
            if let Some(page) = self.pages.remove(&number).filter(|page| page.faults > 0) {
                self.pages.insert(number, CodePage { faults: page.faults, ..CodePage::default() });
            }
        }
    }

    /// Code at `address`, in writable memory, is about to be looked at. It is compared if its page was written often before the app mapped or
    /// re-protected it.
    pub fn remember(&mut self, address: u64) {
        let number = address / PAGE;
        if self.pages.get(&number).is_some_and(|page| page.faults >= OFTEN && !page.protected) {
            self.compared.insert(number);
        }
    }
}

/// The pages of `start .. end`, that of `start` at least.
fn numbers(start: u64, end: u64) -> RangeInclusive<u64> {
    start / PAGE..=(end.max(start + 1) - 1) / PAGE
}

fn protect(number: u64, protection: i32) -> bool {
    // SAFETY: the page is the app's; its protection is virtual for the app, which is told of a fault only if its own
    // protection forbids the access.
    unsafe { libc::mprotect((number * PAGE) as *mut _, PAGE as usize, protection) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of code, written so often that it isn't protected any more.
    fn written_often(pages: &mut CodePages) -> u64 {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let all = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        // SAFETY: new memory.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), PAGE as usize, all, flags, -1, 0) } as u64;
        for _ in 0..OFTEN {
            assert!(!pages.are_compared(start, start + 1));
            pages.watch(start, start + 1);
            pages.release(start);
        }
        assert!(pages.are_compared(start, start + 1) && pages.are_compared(start - 5, start + 1));
        start
    }

    #[test]
    fn what_stays_the_same_is_trusted_again() {
        let mut pages = CodePages::default();
        let start = written_often(&mut pages);
        assert!((1..LONG).all(|_| !pages.were_compared(start, start + 9, true)));
        assert!(!pages.were_compared(start, start + 9, false));
        assert!((1..LONG).all(|_| !pages.were_compared(start, start + 9, true)));
        assert!(pages.were_compared(start, start + 9, true) && !pages.are_compared(start, start + 9));
        for _ in 0..NEXT_TIME {
            assert!(!pages.are_compared(start, start + 9));
            pages.watch(start, start + 9);
            pages.release(start);
        }
        assert!(pages.are_compared(start, start + 9));
    }

    #[test]
    fn how_often_a_page_is_written_is_known_after_it_was_protected_by_the_app() {
        let mut pages = CodePages::default();
        let start = written_often(&mut pages);
        pages.forget(start, start + PAGE);
        assert!(!pages.are_compared(start, start + 1), "the app may have made it unwritable");
        pages.remember(start);
        assert!(pages.are_compared(start, start + 1));
        let mut seldom = CodePages::default();
        seldom.watch(start, start + 1);
        seldom.forget(start, start + PAGE);
        seldom.remember(start);
        assert!(!seldom.are_compared(start, start + 1));
    }

    #[test]
    fn what_changes_elsewhere_is_never_trusted() {
        let mut pages = CodePages::default();
        let start = written_often(&mut pages);
        pages.mark_as_changing(start, start + PAGE);
        assert!(pages.change_elsewhere(start - 5, start + 1) && !pages.change_elsewhere(start - 5, start));
        assert!((0..2 * LONG).all(|_| !pages.were_compared(start, start + 9, true)));
        assert!(pages.are_compared(start, start + 9));
    }
}
