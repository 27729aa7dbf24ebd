//! Constant pointers: words of memory that indirect branches go through and that only a system call of the app's can change.
//!
//! Programs whose references are bound at their start (`BIND_NOW`) have the dynamic loader write the addresses of other files' functions into a table and then make that
//! unwritable (RELRO). A call of such a function is a jump through a word of the table, which goes to the same place each time. It is
//! translated as one to that place, as long as the mapping of the word stays what it is.
//!
//! A page of a file that was never written shows what the file has, which others may change. So the word must be in a page that is this process's own, as those are that the loader has
//! written to. Protection keys aren't looked at: a word that is read natively faults if the app has forbidden itself to read what others' addresses are in.

use std::collections::HashMap;

use machine::pagemap::{Entry, Pagemap};
use machine::{AppPc, PAGE};

use super::region::AppMapping;

/// Changes of mappings with constant pointers after which no more branches rely on them: each empties the cache.
const MOST_CHANGES: u32 = 16;

/// What is known about constant pointers.
#[derive(Default)]
pub struct ConstantPointers {
    /// Mappings with constant pointers that code was translated for.
    mappings: Vec<(u64, u64)>,
    /// These constant pointers, and where they lead.
    known: HashMap<u64, AppPc>,
    /// Pages there, by number, that are this process's own.
    pages: Vec<u64>,
    /// How often such a mapping has changed.
    changes: u32,
}

impl ConstantPointers {
    /// Whether the word at `address`, in `region`, stays what it is until [`Self::take`] is asked about its mapping.
    pub fn rely_on(&mut self, address: u64, region: &AppMapping) -> bool {
        let (start, end) = (region.file.start, region.file.end);
        let whole = address.is_multiple_of(8) && (start..end).contains(&address);
        let constant = region.private && region.read && !region.write && region.file.inode != 0;
        if !whole || !constant || self.changes >= MOST_CHANGES {
            return false;
        }
        let page = address / PAGE;
        if !self.pages.contains(&page) {
            if !is_own(page) {
                return false;
            }
            self.pages.push(page);
        }
        if !self.mappings.contains(&(start, end)) {
            self.mappings.push((start, end));
        }
        true
    }

    /// Remembers where a constant pointer leads that is relied on.
    pub fn remember(&mut self, pointer: u64, target: AppPc) {
        self.known.insert(pointer, target);
    }

    /// Whether anything in `start .. end` was relied on. Forgets it.
    pub fn take(&mut self, start: u64, end: u64) -> bool {
        let before = self.mappings.len();
        self.mappings.retain(|&(s, e)| end <= s || e <= start);
        let touched = self.mappings.len() != before;
        if touched {
            self.known.retain(|&pointer, _| pointer < start || end <= pointer);
            self.pages.clear();
            self.changes += 1;
        }
        touched
    }

    /// Forgets all that was relied on, and says which constant pointers these were.
    pub fn take_all(&mut self) -> HashMap<u64, AppPc> {
        self.mappings.clear();
        self.pages.clear();
        std::mem::take(&mut self.known)
    }
}

/// Whether the page with this number is anonymous memory, in swap space perhaps.
fn is_own(page: u64) -> bool {
    Pagemap::open("thread-self").and_then(|pagemap| pagemap.at(page * PAGE)).is_ok_and(Entry::is_own)
}

#[cfg(test)]
mod tests {
    use std::ptr::null_mut;

    use super::super::app_code::AppCode;
    use super::*;

    /// A page of a new file, mapped privately.
    fn file_page() -> u64 {
        // SAFETY: a new file and a new mapping of it, kept for ever.
        unsafe {
            let fd = libc::memfd_create(c"slots".as_ptr(), 0);
            assert_eq!(libc::ftruncate(fd, PAGE as i64), 0);
            let both = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(null_mut(), PAGE as usize, both, libc::MAP_PRIVATE, fd, 0) as u64
        }
    }

    fn protect(page: u64, protection: i32) {
        // SAFETY: the page is the test's own.
        assert_eq!(unsafe { libc::mprotect(page as *mut _, PAGE as usize, protection) }, 0);
    }

    fn write(at: u64, value: u64) {
        // SAFETY: the same, and it can be written.
        unsafe { (at as *mut u64).write_volatile(value) }
    }

    const BOTH: i32 = libc::PROT_READ | libc::PROT_WRITE;

    #[test]
    fn only_what_was_written_and_cannot_be_any_more_is_constant() {
        let target = file_page as *const () as u64;
        let page = file_page();
        let asked = |at: u64| AppCode::default().constant_target(at);
        protect(page, libc::PROT_READ);
        assert_eq!(asked(page + 8), None, "the page is the file's");
        protect(page, BOTH);
        write(page + 8, target);
        write(page + 16, page);
        assert_eq!(asked(page + 8), None, "it can be written");
        protect(page, libc::PROT_READ);
        assert_eq!(asked(page + 8), Some(AppPc(target)));
        assert_eq!(asked(page + 4), None, "it isn't one word");
        assert_eq!([asked(page + 16), asked(page + 24)], [None; 2], "no code is there");
    }

    #[test]
    fn what_changes_is_forgotten() {
        let (one, other) = (file_page as *const () as u64, protect as *const () as u64);
        let page = file_page();
        write(page, one);
        protect(page, libc::PROT_READ);
        let mut regions = AppCode::default();
        assert!(!regions.take_looked_at(page, page + PAGE), "nobody has asked");
        assert_eq!(regions.constant_target(page), Some(AppPc(one)));
        assert!(regions.slots_hold() && !regions.take_looked_at(page + PAGE, page + 2 * PAGE));
        protect(page, BOTH);
        write(page, other);
        protect(page, libc::PROT_READ);
        assert!(!regions.slots_hold(), "it leads elsewhere");
        assert!(regions.slots_hold(), "nobody has asked since");
        assert_eq!(regions.constant_target(page), Some(AppPc(other)));
        protect(page, BOTH);
        assert!(!regions.slots_hold(), "it can be written");
        protect(page, libc::PROT_READ);
        regions.forget();
        assert_eq!(regions.constant_target(page), Some(AppPc(other)));
        assert!(regions.take_looked_at(page, page + 1) && !regions.take_looked_at(page, page + 1));
    }

    #[test]
    fn where_words_change_often_nothing_relies_on_them() {
        let page = file_page();
        write(page, file_page as *const () as u64);
        protect(page, libc::PROT_READ);
        let mut regions = AppCode::default();
        for _ in 0..MOST_CHANGES {
            assert!(regions.constant_target(page).is_some() && regions.take_looked_at(page, page + PAGE));
        }
        assert_eq!(regions.constant_target(page), None);
    }
}
