//! The memory with which the next slice starts, from wherever it is known.
//!
//! While the app runs that is a process, which keeps it ([`CheckpointProcess`]). A page that is the same physical page in both, or an unchanged page of the same file, isn't
//! read. Memory that the app shares with others is in objects that slices have for themselves, or share as long as nothing has changed there: where the
//! two have mapped different ones, it is read as a whole.

use std::io;

use machine::mapping::{self, Mapping};
use machine::pagemap::{Entries, Entry, Pagemap};
use machine::{Here, Memory, PAGE};

/// A source of the pages with which the next slice starts.
pub trait FirstMemory {
    /// A mapping of this process in pieces: which pages of each are to be looked at, where it would be `pages` by this process alone.
    ///
    /// # Errors
    /// If the source can't be looked at.
    fn pieces(&mut self, mapping: &Mapping, pages: Pages) -> io::Result<Vec<((u64, u64), Pages)>>;

    /// Appends, for each of `count` pages from number `page` on, whether it may differ from this process's.
    ///
    /// # Errors
    /// As above.
    fn suspects(&mut self, page: u64, count: u64, suspects: &mut Vec<bool>) -> io::Result<()>;

    /// Whether these bytes are there at `start`. If not, `theirs`, which is as long, is what is there.
    ///
    /// # Errors
    /// As above.
    fn equals(&mut self, start: u64, mine: &[u8], theirs: &mut [u8]) -> io::Result<bool>;
}

/// Which pages of a mapping are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// Those that may differ by their page map entries.
    Suspect,
    /// All: the two processes have different objects there.
    All,
}

/// A process that keeps it.
pub struct CheckpointProcess {
    pid: libc::pid_t,
    memory: Here,
    here: Pagemap,
    there: Pagemap,
    /// Its mappings, once they were needed.
    maps: Option<Vec<Mapping>>,
    entries: [Entries; 2],
}

impl CheckpointProcess {
    /// Process `pid`, a fork of the app.
    ///
    /// # Errors
    /// If it can't be looked at.
    pub fn new(pid: libc::pid_t) -> io::Result<Self> {
        let (here, there) = (Pagemap::open("self")?, Pagemap::open(pid)?);
        Ok(Self { pid, memory: Here::of(pid), here, there, maps: None, entries: Default::default() })
    }
}

impl FirstMemory for CheckpointProcess {
    fn pieces(&mut self, mapping: &Mapping, pages: Pages) -> io::Result<Vec<((u64, u64), Pages)>> {
        if !is_lent(mapping) {
            return Ok(Vec::from([((mapping.start, mapping.end), pages)]));
        }
        if self.maps.is_none() {
            self.maps = Some(mapping::all(self.pid)?);
        }
        Ok(pieces_of_lent(mapping, self.maps.iter().flatten()))
    }

    fn suspects(&mut self, page: u64, count: u64, suspects: &mut Vec<bool>) -> io::Result<()> {
        let [mine, theirs] = &mut self.entries;
        self.here.read(page * PAGE, count, mine)?;
        self.there.read(page * PAGE, count, theirs)?;
        suspects.extend(mine.iter().zip(theirs.iter()).map(|(mine, theirs)| may_differ(mine, theirs)));
        Ok(())
    }

    fn equals(&mut self, start: u64, mine: &[u8], theirs: &mut [u8]) -> io::Result<bool> {
        self.memory.read(start, theirs).map_err(|error| io::Error::other(format!("{error}")))?;
        Ok(mine == theirs)
    }
}

/// Whether it is a private mapping of memory that was copied for slices.
fn is_lent(mapping: &Mapping) -> bool {
    !mapping.shared && mapping.name.starts_with("/memfd:")
}

/// What of such a mapping is the same piece of the same object in another process, which has `theirs` in order, and what isn't.
fn pieces_of_lent<'a>(mine: &Mapping, theirs: impl Iterator<Item = &'a Mapping>) -> Vec<((u64, u64), Pages)> {
    // The object, and the offset of address 0 in it, if that were mapped as well.
    let shown = |map: &Mapping| (map.device, map.inode, map.offset.wrapping_sub(map.start));
    let (mut at, end) = (mine.start, mine.end);
    let mut pieces = Vec::new();
    for same in theirs.filter(|other| is_lent(other) && shown(other) == shown(mine)) {
        let (from, to) = (same.start.max(at), same.end.min(end));
        if from < to {
            pieces.extend([((at, from), Pages::All), ((from, to), Pages::Suspect)]);
            at = to;
        }
    }
    pieces.push(((at, end), Pages::All));
    pieces.retain(|((from, to), _)| from < to);
    pieces
}

/// Whether a page can differ, by both processes' page map entries: not if it is absent in both, a file's own page in both, or
/// the same physical page.
fn may_differ(a: Entry, b: Entry) -> bool {
    (a.is_own() || b.is_own()) && !a.is_same_page(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_both_were_lent_is_known_to_be_the_same() {
        let line = |place: &str, inode: u64| format!("{place} 00:01 {inode} /memfd: (deleted)");
        let mine = line("400000-409000 rw-p 00010000", 7);
        let theirs = [
            line("3ff000-402000 rw-p 0000f000", 7),
            line("402000-403000 rw-p 00012000", 8),
            line("404000-405000 rw-p 00010000", 7),
            line("405000-406000 rw-p 00015000", 7),
            line("406000-407000 rw-s 00016000", 7),
        ];
        let theirs = theirs.map(|line| Mapping::parse(&line).unwrap());
        let pieces = pieces_of_lent(&Mapping::parse(&mine).unwrap(), theirs.iter());
        let expected = [
            ((0x40_0000, 0x40_2000), Pages::Suspect),
            ((0x40_2000, 0x40_5000), Pages::All),
            ((0x40_5000, 0x40_6000), Pages::Suspect),
            ((0x40_6000, 0x40_9000), Pages::All),
        ];
        assert_eq!(pieces, expected);
        assert!(!is_lent(&Mapping::parse("400000-401000 rw-p 00000000 fe:00 1 /bin/x").unwrap()));
    }
}
