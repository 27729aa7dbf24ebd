//! What the kernel tells of single pages, in /proc/PID/pagemap: a word for each.

use std::fmt::Display;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::files;
use crate::PAGE;

/// The word of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry(pub u64);

const FRAME: u64 = (1 << 55) - 1;
const ALONE: u64 = 1 << 56;
const OF_FILE: u64 = 1 << 61;
const SWAPPED: u64 = 1 << 62;
const PRESENT: u64 = 1 << 63;

impl Entry {
    /// Whether the process has touched it, and it is in memory or in swap space.
    pub fn is_there(self) -> bool {
        self.0 & (PRESENT | SWAPPED) != 0
    }

    /// Whether it belongs to a file (or to shared memory).
    pub fn is_of_file(self) -> bool {
        self.0 & OF_FILE != 0
    }

    /// Whether it is anonymous memory, as the copy is that a write to a private mapping of a file makes.
    pub fn is_own(self) -> bool {
        self.is_there() && !self.is_of_file()
    }

    /// Whether no other process has the page, or that isn't known.
    pub fn is_alone(self) -> bool {
        self.0 & (ALONE | SWAPPED) != 0
    }

    /// Whether another process's is the same physical page. False where that can't be told: only a privileged process learns which it is.
    pub fn is_same_page(self, other: Self) -> bool {
        let place = self.0 & (PRESENT | SWAPPED | FRAME);
        place == other.0 & (PRESENT | SWAPPED | FRAME) && place & FRAME != 0
    }
}

/// The list of a process.
pub struct Pagemap(File);

impl Pagemap {
    /// Of a process by its number, or of `self` or `thread-self`.
    ///
    /// # Errors
    /// If the process is gone, or somebody else's.
    pub fn open(process: impl Display) -> io::Result<Self> {
        files::open(format!("{process}/pagemap")).map(Self)
    }

    /// The page at `address`.
    ///
    /// # Errors
    /// If the process is gone.
    pub fn at(&self, address: u64) -> io::Result<Entry> {
        let mut bytes = [0; 8];
        self.0.read_exact_at(&mut bytes, address / PAGE * 8)?;
        Ok(Entry(u64::from_le_bytes(bytes)))
    }

    /// `count` pages from the one at `address` on, in place of what `entries` held.
    ///
    /// # Errors
    /// If the process is gone.
    pub fn read(&self, address: u64, count: u64, entries: &mut Entries) -> io::Result<()> {
        entries.0.resize(count as usize * 8, 0);
        self.0.read_exact_at(&mut entries.0, address / PAGE * 8)
    }

    /// All pages from the one at `start` to `end`.
    ///
    /// # Errors
    /// If the process is gone.
    pub fn range(&self, start: u64, end: u64) -> io::Result<Entries> {
        let mut entries = Entries::default();
        self.read(start, (end - start) / PAGE, &mut entries)?;
        Ok(entries)
    }
}

/// Words of consecutive pages.
#[derive(Default)]
pub struct Entries(Vec<u8>);

impl Entries {
    /// That of the page with this number among them.
    pub fn get(&self, n: u64) -> Entry {
        Entry(u64::from_le_bytes(self.0[n as usize * 8..][..8].try_into().expect("eight bytes")))
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Entry> {
        (0..self.0.len() as u64 / 8).map(|n| self.get(n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_code_are_the_files_and_written_ones_are_own() {
        let map = Pagemap::open("self").unwrap();
        let code = map.at(pages_of_code_are_the_files_and_written_ones_are_own as *const () as u64).unwrap();
        assert!(code.is_there() && code.is_of_file() && !code.is_own());
        let written = vec![1_u8; 3 * PAGE as usize];
        let start = (written.as_ptr() as u64).next_multiple_of(PAGE);
        let pages: Vec<Entry> = map.range(start, start + 2 * PAGE).unwrap().iter().collect();
        assert_eq!(pages.len(), 2);
        assert!(pages.iter().all(|page| page.is_own()));
        assert!(!map.at(0).unwrap().is_there());
    }
}
