//! What the master has in memory at a point, as far as a slice can't know: the pages that it has written since the slice's start.
//!
//! A slice starts as a copy of the master, and until the slice's end is known the copy stands still. So a private page that nobody but the master has in memory is one that it has
//! written since then, or got: the kernel tells of each page whether another process has it too. All others are what they were at the slice's start, in the slice as here.
//!
//! The first time that a page is one of those the log gets all of it, then what has changed.

use std::collections::BTreeMap;

use bubble::map::BUBBLE;
use machine::mapping::{self, Mapping};
use machine::pagemap::{Entries, Pagemap};
use machine::{Memory, PAGE};
use syscall_replay::log::note_change;

/// The most pages that are looked through for those.
const MOST_MAPPED: u64 = 1 << 16;
/// The most pages that are told of: with more a boundary costs no more.
const MOST_PAGES: usize = 1024;
/// The most bytes of changes for one point.
const MOST_BYTES: usize = 2 << 20;
/// Bytes below the stack pointer that belong to the app.
const RED_ZONE: u64 = 128;
/// Words that are the same between two changes are told as well if they are no more than these: each change has two words before it.
const GAP: usize = 2;

type Page = [u8; PAGE as usize];

/// Where the first thread is, whose stack the kernel has made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FirstThread {
    /// It has the turn.
    #[default]
    HasTurn,
    /// Another one has. Its stack pointer is this.
    Waits(u64),
    /// It has ended.
    Gone,
}

/// What slices have been told of the master's pages.
#[derive(Default)]
pub struct ChangedPages {
    /// Where the first thread is.
    pub first_thread: FirstThread,
    /// The slice that was told.
    slice: Option<u64>,
    /// The pages, and what they held; `None`: who was told may not know it.
    told: BTreeMap<u64, Option<Box<Page>>>,
}

/// What is to be told at a point.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// As [`note_change`] writes it.
    pub noted: Vec<u8>,
    /// Where live stack begins on its page.
    pub live_from: u64,
}

impl ChangedPages {
    /// What slice number `slice` is to be told where process `pid`, whose memory this is, stands still with this stack pointer. `None`: that can't be told, or there is too much of it.
    pub fn since_start(&mut self, slice: u64, pid: i32, memory: &dyn Memory, rsp: u64) -> Option<Changes> {
        if self.slice != Some(slice) {
            (self.slice, self.told) = (Some(slice), BTreeMap::new());
        }
        let live = live_from(rsp);
        let pages = written(pid, live, self.first_thread)?;
        let changes = self.changes(&pages, memory);
        if changes.is_none() {
            self.forget();
        }
        changes.map(|noted| Changes { noted, live_from: live })
    }

    /// What was told last has not come into the log.
    pub fn forget(&mut self) {
        self.told.values_mut().for_each(|contents| *contents = None);
    }

    fn changes(&mut self, pages: &[u64], memory: &dyn Memory) -> Option<Vec<u8>> {
        let mut noted = Vec::new();
        let gone: Vec<u64> = self.told.keys().filter(|page| pages.binary_search(page).is_err()).copied().collect();
        for page in gone {
            self.told.remove(&page);
            note_change(&mut noted, page, &[]);
        }
        let mut contents = Vec::new();
        for run in pages.chunk_by(|a, b| a + PAGE == *b) {
            contents.resize(run.len() * PAGE as usize, 0);
            memory.read(run[0], &mut contents).ok()?;
            for (&page, now) in run.iter().zip(contents.chunks_exact(PAGE as usize)) {
                let now: &Page = now.try_into().expect("a page");
                match self.told.entry(page).or_default() {
                    Some(before) if before[..] == now[..] => {}
                    Some(before) => {
                        note_words(&mut noted, page, before, now);
                        **before = *now;
                    }
                    unknown => {
                        note_change(&mut noted, page, now);
                        *unknown = Some(Box::new(*now));
                    }
                }
            }
            if noted.len() > MOST_BYTES {
                return None;
            }
        }
        Some(noted)
    }
}

/// Where live stack begins.
fn live_from(rsp: u64) -> u64 {
    rsp.saturating_sub(RED_ZONE) & !7
}

/// Notes the words of a page that have changed.
fn note_words(noted: &mut Vec<u8>, page: u64, before: &Page, now: &Page) {
    let words = |bytes: &Page, n: usize| bytes[n * 8..][..8] == now[n * 8..][..8];
    let changed: Vec<usize> = (0..PAGE as usize / 8).filter(|&n| !words(before, n)).collect();
    for run in changed.chunk_by(|a, b| b - a <= GAP + 1) {
        let (first, last) = (run[0] * 8, run[run.len() - 1] * 8);
        note_change(noted, page + first as u64, &now[first..last + 8]);
    }
}

/// What is looked through of a mapping. An error: what is in it can't be told.
fn looked_through(mapping: &Mapping) -> Result<bool, ()> {
    if !mapping.write || BUBBLE.overlaps(mapping.start, mapping.size()) || mapping.name.starts_with("[v") {
        return Ok(false);
    }
    if mapping.shared || !mapping.read { Err(()) } else { Ok(true) }
}

/// Where pages of a mapping are looked at first: nothing looks at what lies below, which is dead stack. `live`: where that of the thread that has the turn begins.
fn looked_at_from(mapping: &Mapping, live: u64, first_thread: FirstThread) -> u64 {
    if mapping.name != "[stack]" {
        return mapping.start;
    }
    let of_first = match first_thread {
        FirstThread::HasTurn => live,
        FirstThread::Waits(rsp) => live_from(rsp),
        FirstThread::Gone => mapping.end,
    };
    let lowest = [live, of_first].into_iter().filter(|live| (mapping.start..=mapping.end).contains(live)).min();
    lowest.map_or(mapping.start, |live| live & !(PAGE - 1))
}

/// Pages of private memory that nobody but process `pid` has, in order, without those of dead stack.
fn written(pid: i32, live: u64, first_thread: FirstThread) -> Option<Vec<u64>> {
    let maps = mapping::all(pid).ok()?;
    let map = Pagemap::open(pid).ok()?;
    let (mut pages, mut entries, mut mapped) = (Vec::new(), Entries::default(), 0);
    for mapping in &maps {
        if !looked_through(mapping).ok()? {
            continue;
        }
        let start = looked_at_from(mapping, live, first_thread);
        let count = (mapping.end - start) / PAGE;
        mapped += count;
        if mapped > MOST_MAPPED {
            return None;
        }
        map.read(start, count, &mut entries).ok()?;
        let own = entries.iter().enumerate().filter(|(_, entry)| entry.is_own() && entry.is_alone());
        pages.extend(own.map(|(n, _)| start + n as u64 * PAGE));
        if pages.len() > MOST_PAGES {
            return None;
        }
    }
    Some(pages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Here;

    fn told(changes: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let word = |at: usize| u64::from_le_bytes(changes[at..at + 8].try_into().unwrap());
        let (mut at, mut told) = (0, Vec::new());
        while at < changes.len() {
            let len = word(at + 8) as usize;
            told.push((word(at), changes[at + 16..at + 16 + len].to_vec()));
            at += 16 + len.next_multiple_of(8);
        }
        told
    }

    #[test]
    fn a_page_is_told_once_and_then_what_has_changed() {
        let mut memory = vec![1_u64; 4 * PAGE as usize / 8];
        let start = (memory.as_ptr() as u64).next_multiple_of(PAGE);
        let first = (start as usize - memory.as_ptr() as usize) / 8;
        let pages = [start, start + PAGE];
        let mut changed = ChangedPages::default();
        let tell = |changed: &mut ChangedPages, pages: &[u64]| told(&changed.changes(pages, &Here::new()).unwrap());
        let whole = tell(&mut changed, &pages);
        assert_eq!(
            whole.iter().map(|(address, bytes)| (*address, bytes.len())).collect::<Vec<_>>(),
            pages.map(|p| (p, 4096))
        );
        assert_eq!(tell(&mut changed, &pages), []);
        (memory[first + 3], memory[first + 6], memory[first + 511]) = (2, 3, 4);
        let bytes = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        assert_eq!(tell(&mut changed, &pages), [(start + 24, bytes(&[2, 1, 1, 3])), (start + 511 * 8, bytes(&[4]))]);
        assert_eq!(tell(&mut changed, &pages[..1]), [(start + PAGE, vec![])]);
        changed.forget();
        assert_eq!(tell(&mut changed, &pages).len(), 2, "both as a whole");
    }

    #[test]
    fn only_what_can_be_written_and_is_private_is_told() {
        let looked = |line: &str| looked_through(&Mapping::parse(line).unwrap());
        assert_eq!(looked("400000-401000 rw-p 00000000 fe:00 1 /bin/x"), Ok(true));
        assert_eq!(looked("400000-401000 r-xp 00000000 fe:00 1 /bin/x"), Ok(false));
        assert_eq!(looked("400000-401000 rw-s 00000000 00:01 1 /memfd: (deleted)"), Err(()));
        assert_eq!(looked("400000-401000 -w-p 00000000 00:00 0"), Err(()));
        let bubble = format!("{:x}-{:x} rw-s 00000000 00:00 0", BUBBLE.start, BUBBLE.start + PAGE);
        assert_eq!(looked(&bubble), Ok(false));
    }

    #[test]
    fn dead_stack_is_not_looked_at() {
        let stack = Mapping::parse("7ffff0000000-7ffff0021000 rw-p 00000000 00:00 0 [stack]").unwrap();
        let other = Mapping { name: String::new(), ..stack.clone() };
        let (first, elsewhere) = (0x7fff_f001_f230, 0x7fff_e000_0000);
        let from = |live, first_thread| looked_at_from(&stack, live, first_thread);
        assert_eq!(from(first, FirstThread::HasTurn), 0x7fff_f001_f000);
        assert_eq!(from(elsewhere, FirstThread::Waits(first)), 0x7fff_f001_f000);
        assert_eq!(from(stack.start + 8, FirstThread::Waits(first)), stack.start, "both are there");
        assert_eq!(from(elsewhere, FirstThread::Gone), stack.end);
        assert_eq!(from(elsewhere, FirstThread::HasTurn), stack.start, "it is on a stack of its own");
        assert_eq!(looked_at_from(&other, first, FirstThread::HasTurn), stack.start);
    }

    #[test]
    fn a_page_that_a_copy_has_too_is_not_written() {
        let memory = vec![1_u64; 3 * PAGE as usize / 8];
        let start = (memory.as_ptr() as u64).next_multiple_of(PAGE);
        // SAFETY: the child only pauses.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            loop {
                // SAFETY: pause has no preconditions.
                unsafe { libc::pause() };
            }
        }
        let map = Pagemap::open("self").unwrap();
        let alone =
            || [start, start + PAGE].map(|page| map.at(page).unwrap()).map(|page| page.is_own() && page.is_alone());
        let before = alone();
        // SAFETY: the memory is ours; nobody else looks at it.
        unsafe { (start as *mut u64).write_volatile(2) };
        let after = alone();
        // SAFETY: `pid` is our unreaped child.
        unsafe {
            libc::kill(pid, libc::SIGKILL);
            libc::waitpid(pid, std::ptr::null_mut(), 0);
        }
        assert_eq!((before, after), ([false; 2], [true, false]));
        drop(memory);
    }
}
