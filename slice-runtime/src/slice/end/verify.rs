//! Proof that a slice has reached its end: its memory must be the next slice's first memory.
//!
//! Registers and the top of the stack can recur: a loop that changes memory only has the same signature each time round.
//! So a process that the next slice left behind before it ran ([`bubble::shared::Slot::first_state`]) keeps the state in which the
//! master stood at the boundary, and a match of the signature is compared with it, page by page. A page that is the
//! same physical page in both, or an unchanged page of the same file, isn't read. Memory that the app shares with others is in
//! objects that slices have for themselves, or share as long as nothing has changed there: where the two have mapped different ones,
//! it is read as a whole. The first word that differs becomes
//! part of what the engine compares inline, so that the same false match isn't looked at again.
//!
//! Not compared: the bubble, what the kernel provides (vdso), what lies below the stack pointer's red zone, the frame of a
//! signal that was delivered at the boundary, what the processor
//! alone decides of images that the app made of its vector registers ([`sigmatch::Images`]), and the return address of a call that
//! the processor refused when it had stored that.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use bubble::map::BUBBLE;
use machine::{Here, Memory, proc};
use sigmatch::Images;

const PAGE: u64 = 4096;
/// Pages whose state is read at a time.
const BATCH: u64 = 4096;
/// Pages that are compared at a time. Buffers of this size are new memory in each slice, which the kernel has to clear.
const TOGETHER: u64 = 16;
/// Bytes below the stack pointer that belong to the app.
const RED_ZONE: u64 = 128;

/// A 64-bit word in which the two states differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Where.
    pub address: u64,
    /// What the next slice's first state has there.
    pub expected: u64,
}

/// Compares this process's app memory with that of process `other`, whose stack pointer is `rsp` as well, leaving out
/// the range `frame`, and what storing `images` left open. The other process may have executed the store of `pushed`. `None`: equal.
///
/// # Errors
/// If the other process can't be looked at.
pub fn compare(
    other: libc::pid_t,
    rsp: u64,
    frame: [u64; 2],
    images: &Images,
    pushed: Option<Difference>,
) -> io::Result<Option<Difference>> {
    let maps = proc::read_to_string("self/maps")?;
    let mut pagemaps = Pagemaps {
        here: proc::open("self/pagemap")?,
        there: proc::open(format!("{other}/pagemap"))?,
        other: Here::of(other),
        images,
        pushed,
        buffers: Default::default(),
    };
    let mut theirs = None;
    for line in maps.lines() {
        let Some((range, pages)) = comparable(line) else { continue };
        let pieces = match Lent::parse(line) {
            None => Vec::from([(range, pages)]),
            Some(mine) => {
                if theirs.is_none() {
                    theirs = Some(proc::read_to_string(format!("{other}/maps"))?);
                }
                mine.pieces(theirs.iter().flat_map(|maps| maps.lines()).filter_map(Lent::parse))
            }
        };
        for (range, pages) in pieces {
            let parts = without(range, frame).into_iter().flat_map(|part| without_dead_stack(part, rsp));
            for (start, end) in parts {
                if let Some(difference) = pagemaps.compare(start, end, pages)? {
                    return Ok(Some(difference));
                }
            }
        }
    }
    Ok(None)
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

/// Which pages of a mapping are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pages {
    /// Those that may differ by their page map entries.
    Suspect,
    /// All: the two processes have different objects there.
    All,
}

/// Start and end of a readable mapping of the app's.
fn comparable(line: &str) -> Option<((u64, u64), Pages)> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let permissions = fields.next()?.as_bytes();
    let name = fields.nth(3).unwrap_or("");
    let (start, end) = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
    let pages = if name.starts_with("/memfd:") { Pages::All } else { Pages::Suspect };
    let own = permissions[3] == b'p' || pages == Pages::All;
    let app = permissions[0] == b'r' && own && !name.starts_with("[v");
    (app && !BUBBLE.overlaps(start, end - start)).then_some(((start, end), pages))
}

/// The range without what lies below the red zone of a stack pointer in it, in whole pages (the page of the red zone is
/// compared from the red zone on).
fn without_dead_stack((start, end): (u64, u64), rsp: u64) -> Vec<(u64, u64)> {
    let live = rsp.saturating_sub(RED_ZONE) & !7;
    if (start..end).contains(&live) { vec![(live, end)] } else { vec![(start, end)] }
}

/// The range without another.
fn without((start, end): (u64, u64), [from, to]: [u64; 2]) -> Vec<(u64, u64)> {
    if from >= to || to <= start || end <= from {
        return vec![(start, end)];
    }
    [(start, from), (to, end)].into_iter().filter(|(start, end)| start < end).collect()
}

struct Pagemaps<'a> {
    here: File,
    there: File,
    other: Here,
    images: &'a Images,
    pushed: Option<Difference>,
    buffers: Buffers,
}

/// Memory that is used for each mapping and each run of pages.
#[derive(Default)]
struct Buffers {
    entries: [Vec<u8>; 2],
    contents: [Vec<u8>; 2],
}

impl Pagemaps<'_> {
    fn compare(&mut self, start: u64, end: u64, pages: Pages) -> io::Result<Option<Difference>> {
        let mut page = start / PAGE;
        let last = end.div_ceil(PAGE);
        let [mut a, mut b] = std::mem::take(&mut self.buffers.entries);
        while page < last {
            let count = (last - page).min(BATCH);
            read_entries(&self.here, page, count, &mut a)?;
            read_entries(&self.there, page, count, &mut b)?;
            let entry = |bytes: &[u8], n: u64| {
                u64::from_le_bytes(bytes[n as usize * 8..][..8].try_into().expect("eight bytes"))
            };
            let differs = |n: u64| pages == Pages::All || may_differ(entry(&a, n), entry(&b, n));
            let mut n = 0;
            while n < count {
                if !differs(n) {
                    n += 1;
                    continue;
                }
                let first = n;
                while n < count && differs(n) && n - first < TOGETHER {
                    n += 1;
                }
                let from = ((page + first) * PAGE).max(start);
                let to = ((page + n) * PAGE).min(end);
                if let Some(difference) = self.compare_bytes(from, (to - from) as usize)? {
                    return Ok(Some(difference));
                }
            }
            page += count;
        }
        self.buffers.entries = [a, b];
        Ok(None)
    }

    fn compare_bytes(&mut self, start: u64, len: usize) -> io::Result<Option<Difference>> {
        self.buffers.contents.iter_mut().for_each(|buffer| buffer.resize(buffer.len().max(len), 0));
        let [mine, theirs] = self.buffers.contents.each_mut().map(|buffer| &mut buffer[..len]);
        let unreadable = |error| io::Error::other(format!("{error}"));
        if Here::new().read(start, mine).is_err() {
            // Beyond the end of a mapped file: neither has anything there.
            return Ok(None);
        }
        self.other.read(start, theirs).map_err(unreadable)?;
        if mine == theirs {
            return Ok(None);
        }
        let word = |bytes: &[u8], at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        };
        Ok((0..len / 8).map(|n| n * 8).find_map(|at| {
            let (address, got, expected) = (start + at as u64, word(mine, at), word(theirs, at));
            let differs = got != expected && !self.images.leave_open(address, got, expected);
            let difference = Difference { address, expected };
            (differs && self.pushed != Some(difference)).then_some(difference)
        }))
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

    /// Forks a process that waits, runs `test` with its id, and ends it.
    fn with_copy(test: impl FnOnce(libc::pid_t)) {
        // SAFETY: the child only pauses.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            loop {
                // SAFETY: pause has no preconditions.
                unsafe { libc::pause() };
            }
        }
        test(pid);
        // SAFETY: `pid` is our unreaped child.
        unsafe {
            libc::kill(pid, libc::SIGKILL);
            libc::waitpid(pid, std::ptr::null_mut(), 0);
        }
    }

    #[test]
    fn a_changed_word_is_found() {
        let mut memory = vec![1_u64; 4 * PAGE as usize / 8];
        let start = memory.as_ptr() as u64;
        with_copy(|pid| {
            let images = Images::new();
            let mut pagemaps = Pagemaps {
                here: File::open("/proc/self/pagemap").unwrap(),
                there: File::open(format!("/proc/{pid}/pagemap")).unwrap(),
                other: Here::of(pid),
                images: &images,
                pushed: None,
                buffers: Buffers::default(),
            };
            let end = start + 4 * PAGE;
            assert_eq!(pagemaps.compare(start, end, Pages::Suspect).unwrap(), None);
            memory[1000] = 7;
            let expected = Difference { address: start + 8000, expected: 1 };
            assert_eq!(pagemaps.compare(start, end, Pages::Suspect).unwrap(), Some(expected));
            assert_eq!(pagemaps.compare(start, end, Pages::All).unwrap(), Some(expected));
            pagemaps.pushed = Some(expected);
            assert_eq!(pagemaps.compare(start, end, Pages::Suspect).unwrap(), None);
            memory[1001] = 7;
            let next = Difference { address: start + 8008, expected: 1 };
            assert_eq!(pagemaps.compare(start, end, Pages::Suspect).unwrap(), Some(next));
        });
    }

    #[test]
    fn only_the_slices_own_memory_is_compared() {
        let suspect = Some(((0x40_0000, 0x40_1000), Pages::Suspect));
        assert_eq!(comparable("400000-401000 r-xp 00000000 fe:00 1 /bin/x"), suspect);
        let all = Some(((0x40_0000, 0x40_1000), Pages::All));
        assert_eq!(comparable("400000-401000 rw-s 00000000 00:01 1 /memfd: (deleted)"), all);
        assert!(comparable("400000-401000 rw-s 00000000 fe:00 1 /bin/x").is_none());
        assert!(comparable("7ffff7fc1000-7ffff7fc5000 r--p 00000000 00:00 0 [vvar]").is_none());
        let bubble = format!("{:x}-{:x} rw-p 00000000 00:00 0", BUBBLE.start, BUBBLE.start + PAGE);
        assert!(comparable(&bubble).is_none());
    }

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

    #[test]
    fn a_signal_frame_is_left_out() {
        assert_eq!(without((0x1000, 0x9000), [0x5000, 0x6000]), [(0x1000, 0x5000), (0x6000, 0x9000)]);
        assert_eq!(without((0x1000, 0x9000), [0x5000, 0x9000]), [(0x1000, 0x5000)]);
        assert_eq!(without((0x1000, 0x9000), [0, 0]), [(0x1000, 0x9000)]);
        assert_eq!(without((0x1000, 0x9000), [0x9000, 0xa000]), [(0x1000, 0x9000)]);
    }

    #[test]
    fn dead_stack_is_left_out() {
        assert_eq!(without_dead_stack((0x1000, 0x9000), 0x5000), [(0x5000 - 128, 0x9000)]);
        assert_eq!(without_dead_stack((0x1000, 0x9000), 0x50000), [(0x1000, 0x9000)]);
    }
}
