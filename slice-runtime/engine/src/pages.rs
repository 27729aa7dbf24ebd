//! App pages that hold translated code and can be written: noticing when that code changes (P9, M22).
//!
//! A writable page from which code was translated is write-protected. The first write faults; the page's translations are
//! dropped, the page is writable again until code is translated from it anew. A page where that happens often isn't
//! protected any more: its translations are compared with the code each time they are entered.

use std::collections::BTreeMap;

/// Bytes of a page.
pub const PAGE: u64 = 4096;
/// Faults after which a page's code is compared instead of protected.
const OFTEN: u32 = 64;

#[derive(Default)]
struct CodePage {
    protected: bool,
    faults: u32,
}

/// The pages.
#[derive(Default)]
pub struct CodePages {
    pages: BTreeMap<u64, CodePage>,
}

impl CodePages {
    /// Code in `start .. end`, in writable memory, is about to be translated. Returns false if the translation must be
    /// compared with the code each time because the page is written too often.
    pub fn watch(&mut self, start: u64, end: u64) -> bool {
        let mut trusted = true;
        for number in start / PAGE..=(end - 1) / PAGE {
            let page = self.pages.entry(number).or_default();
            if page.faults >= OFTEN {
                trusted = false;
            } else if !page.protected {
                page.protected = protect(number, libc::PROT_READ | libc::PROT_EXEC);
                trusted &= page.protected;
            }
        }
        trusted
    }

    /// Code in `start .. end` can change without a write to these pages.
    pub fn distrust(&mut self, start: u64, end: u64) {
        for number in start / PAGE..=(end - 1) / PAGE {
            self.pages.entry(number).or_default().faults = OFTEN;
        }
    }

    /// Whether the page of `address` is write-protected by us.
    pub fn is_protected(&self, address: u64) -> bool {
        self.pages.get(&(address / PAGE)).is_some_and(|p| p.protected)
    }

    /// Whether translations of code at `address` must be compared with the code when they are entered.
    pub fn is_compared(&self, address: u64) -> bool {
        self.pages.get(&(address / PAGE)).is_some_and(|p| p.faults >= OFTEN)
    }

    /// Makes the page of `address` writable again because it is about to be written.
    pub fn release(&mut self, address: u64) {
        let number = address / PAGE;
        if let Some(page) = self.pages.get_mut(&number).filter(|p| p.protected) {
            page.protected = false;
            page.faults += 1;
            protect(number, libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC);
        }
    }

    /// Protected pages in `start .. end`, by address.
    pub fn protected_in(&self, start: u64, end: u64) -> Vec<u64> {
        let inside = self.pages.range(start / PAGE..=(end - 1) / PAGE);
        inside.filter(|(_, page)| page.protected).map(|(number, _)| number * PAGE).collect()
    }

    /// The app mapped or re-protected `start .. end` itself: what we knew of these pages is void.
    pub fn forget(&mut self, start: u64, end: u64) {
        let inside: Vec<u64> = self.pages.range(start / PAGE..=(end - 1) / PAGE).map(|(number, _)| *number).collect();
        for number in inside {
            self.pages.remove(&number);
        }
    }
}

fn protect(number: u64, protection: i32) -> bool {
    // SAFETY: the page is the app's; its protection is virtual for the app, which is told of a fault only if its own
    // protection forbids the access.
    unsafe { libc::mprotect((number * PAGE) as *mut _, PAGE as usize, protection) == 0 }
}
