//! The memory with which the next slice starts, from wherever it is known.
//!
//! While the app runs that is a process, which keeps it ([`CheckpointProcess`]). A page that is the same physical page in both, or an unchanged page of the same file, isn't
//! read. Memory that the app shares with others is in objects that slices have for themselves, or share as long as nothing has changed there: where the
//! two have mapped different ones, it is read as a whole.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use machine::{Here, Memory, proc};

/// Bytes of a page.
pub const PAGE: u64 = 4096;

/// A source of the pages with which the next slice starts.
pub trait FirstMemory {
    /// A mapping of this process, a line of its /proc/PID/maps, in pieces: which pages of each are to be looked at, where it would be `pages` by this process alone.
    ///
    /// # Errors
    /// If the source can't be looked at.
    fn pieces(&mut self, line: &str, range: (u64, u64), pages: Pages) -> io::Result<Vec<((u64, u64), Pages)>>;

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
    here: File,
    there: File,
    /// Its mappings, once they were needed.
    maps: Option<String>,
    entries: [Vec<u8>; 2],
}

impl CheckpointProcess {
    /// Process `pid`, a fork of the app.
    ///
    /// # Errors
    /// If it can't be looked at.
    pub fn new(pid: libc::pid_t) -> io::Result<Self> {
        let (here, there) = (proc::open("self/pagemap")?, proc::open(format!("{pid}/pagemap"))?);
        Ok(Self { pid, memory: Here::of(pid), here, there, maps: None, entries: Default::default() })
    }
}

impl FirstMemory for CheckpointProcess {
    fn pieces(&mut self, line: &str, range: (u64, u64), pages: Pages) -> io::Result<Vec<((u64, u64), Pages)>> {
        let Some(mine) = Lent::parse(line) else { return Ok(Vec::from([(range, pages)])) };
        if self.maps.is_none() {
            self.maps = Some(proc::read_to_string(format!("{}/maps", self.pid))?);
        }
        Ok(mine.pieces(self.maps.iter().flat_map(|maps| maps.lines()).filter_map(Lent::parse)))
    }

    fn suspects(&mut self, page: u64, count: u64, suspects: &mut Vec<bool>) -> io::Result<()> {
        let [mine, theirs] = &mut self.entries;
        read_entries(&self.here, page, count, mine)?;
        read_entries(&self.there, page, count, theirs)?;
        let entry = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        let pairs = mine.chunks_exact(8).zip(theirs.chunks_exact(8));
        suspects.extend(pairs.map(|(mine, theirs)| may_differ(entry(mine), entry(theirs))));
        Ok(())
    }

    fn equals(&mut self, start: u64, mine: &[u8], theirs: &mut [u8]) -> io::Result<bool> {
        self.memory.read(start, theirs).map_err(|error| io::Error::other(format!("{error}")))?;
        Ok(mine == theirs)
    }
}

/// A private mapping of memory that was copied for slices.
struct Lent<'a> {
    range: (u64, u64),
    /// Offset of address 0, if it were mapped as well.
    bias: u64,
    object: (&'a str, &'a str),
}

impl<'a> Lent<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut fields = line.split_ascii_whitespace();
        let (start, end) = fields.next()?.split_once('-')?;
        let hex = |text| u64::from_str_radix(text, 16).ok();
        let (start, end) = (hex(start)?, hex(end)?);
        let is_private = fields.next()?.ends_with('p');
        let offset = hex(fields.next()?)?;
        let object = (fields.next()?, fields.next()?);
        let is_memory = fields.next().is_some_and(|name| name.starts_with("/memfd:"));
        (is_private && is_memory).then_some(Self { range: (start, end), bias: offset.wrapping_sub(start), object })
    }

    /// What of it is the same piece of the same object in another process, which has these mappings in order, and what isn't.
    fn pieces<'b>(&self, theirs: impl Iterator<Item = Lent<'b>>) -> Vec<((u64, u64), Pages)> {
        let (mut at, end) = self.range;
        let mut pieces = Vec::new();
        for same in theirs.filter(|other| other.object == self.object && other.bias == self.bias) {
            let (from, to) = (same.range.0.max(at), same.range.1.min(end));
            if from < to {
                pieces.extend([((at, from), Pages::All), ((from, to), Pages::Suspect)]);
                at = to;
            }
        }
        pieces.push(((at, end), Pages::All));
        pieces.retain(|((from, to), _)| from < to);
        pieces
    }
}

fn read_entries(file: &File, page: u64, count: u64, entries: &mut Vec<u8>) -> io::Result<()> {
    entries.resize(count as usize * 8, 0);
    file.read_exact_at(entries, page * 8)
}

/// Whether a page can differ, by both processes' page map entries: not if it is absent in both, a file's own page in both, or
/// the same physical page (whose number only a privileged process is told).
fn may_differ(a: u64, b: u64) -> bool {
    const FRAME: u64 = (1 << 55) - 1;
    const FILE_PAGE: u64 = 1 << 61;
    const THERE: u64 = 3 << 62;
    let anonymous = |entry: u64| entry & THERE != 0 && entry & FILE_PAGE == 0;
    let same_frame = a & THERE == b & THERE && a & FRAME == b & FRAME && a & FRAME != 0;
    (anonymous(a) || anonymous(b)) && !same_frame
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
        let pieces = Lent::parse(&mine).unwrap().pieces(theirs.iter().filter_map(|line| Lent::parse(line)));
        let expected = [
            ((0x40_0000, 0x40_2000), Pages::Suspect),
            ((0x40_2000, 0x40_5000), Pages::All),
            ((0x40_5000, 0x40_6000), Pages::Suspect),
            ((0x40_6000, 0x40_9000), Pages::All),
        ];
        assert_eq!(pieces, expected);
        assert!(Lent::parse("400000-401000 rw-p 00000000 fe:00 1 /bin/x").is_none());
    }
}
