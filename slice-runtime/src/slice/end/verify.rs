//! Proof that a slice has reached its end: its memory must be the next slice's first memory.
//!
//! Registers and the top of the stack can recur: a loop that changes memory only has the same signature each time round.
//! So a process that the next slice left behind before it ran ([`bubble::shared::Slot::checkpoint`]) keeps the state in which the
//! master stood at the boundary, and a match of the signature is compared with it, page by page. Which pages needn't be read its checkpoint process
//! knows ([`FirstMemory`]). The first word that differs becomes
//! part of what the engine compares inline, so that the same false match isn't looked at again.
//!
//! Not compared: the bubble, what the kernel provides (vdso), what lies below the stack pointer's red zone, the frame of a
//! signal that was delivered at the boundary, what the processor
//! alone decides of images that the app made of its vector registers ([`sigmatch::Images`]), and the return address of a call that
//! the processor refused when it had stored that.

use std::io;

use bubble::map::BUBBLE;
use machine::mapping::{self, Mapping};
use machine::{Here, Memory, PAGE};
use sigmatch::Images;

use super::first_memory::{FirstMemory, Pages};

/// Pages whose state is read at a time.
const BATCH: u64 = 4096;
/// Pages that are compared at a time. Buffers of this size are new memory in each slice, which the kernel has to clear.
const TOGETHER: usize = 16;
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

/// Where the two may differ.
pub struct Apart<'a> {
    /// The stack pointer of both: what lies below its red zone is dead.
    pub rsp: u64,
    /// First addresses, and the first behind, of what isn't compared.
    pub left_out: Vec<[u64; 2]>,
    /// Images of registers, which leave some bits open.
    pub images: &'a Images,
    /// A store that the other may have executed.
    pub pushed: Option<Difference>,
}

/// Compares this process's app memory with that with which the next slice starts. `None`: equal.
///
/// # Errors
/// If that can't be looked at.
pub fn compare(next: &mut dyn FirstMemory, apart: &Apart<'_>) -> io::Result<Option<Difference>> {
    let maps = mapping::all("self")?;
    let mut comparison = Comparison { next, apart, suspects: Vec::new(), contents: Default::default() };
    for mapping in &maps {
        let Some(pages) = comparable(mapping) else { continue };
        for (range, pages) in comparison.next.pieces(mapping, pages)? {
            for (start, end) in live_parts(range, apart) {
                if let Some(difference) = comparison.compare(start, end, pages)? {
                    return Ok(Some(difference));
                }
            }
        }
    }
    Ok(None)
}

/// What of the range is compared.
fn live_parts(range: (u64, u64), apart: &Apart<'_>) -> Vec<(u64, u64)> {
    let mut parts = vec![range];
    for left_out in &apart.left_out {
        parts = parts.into_iter().flat_map(|part| without(part, *left_out)).collect();
    }
    parts.into_iter().map(|part| without_dead_stack(part, apart.rsp)).collect()
}

/// Which pages are looked at, if it is a readable mapping of the app's.
fn comparable(mapping: &Mapping) -> Option<Pages> {
    let pages = if mapping.name.starts_with("/memfd:") { Pages::All } else { Pages::Suspect };
    let own = !mapping.shared || pages == Pages::All;
    let app = mapping.read && own && !mapping.name.starts_with("[v");
    (app && !BUBBLE.overlaps(mapping.start, mapping.size())).then_some(pages)
}

/// The range without what lies below the red zone of a stack pointer in it, in whole pages (the page of the red zone is
/// compared from the red zone on).
fn without_dead_stack((start, end): (u64, u64), rsp: u64) -> (u64, u64) {
    let live = rsp.saturating_sub(RED_ZONE) & !7;
    if (start..end).contains(&live) { (live, end) } else { (start, end) }
}

/// The range without another.
fn without((start, end): (u64, u64), [from, to]: [u64; 2]) -> Vec<(u64, u64)> {
    if from >= to || to <= start || end <= from {
        return vec![(start, end)];
    }
    [(start, from), (to, end)].into_iter().filter(|(start, end)| start < end).collect()
}

struct Comparison<'a> {
    next: &'a mut dyn FirstMemory,
    apart: &'a Apart<'a>,
    suspects: Vec<bool>,
    contents: [Vec<u8>; 2],
}

impl Comparison<'_> {
    fn compare(&mut self, start: u64, end: u64, pages: Pages) -> io::Result<Option<Difference>> {
        let mut page = start / PAGE;
        let last = end.div_ceil(PAGE);
        while page < last {
            let count = (last - page).min(BATCH);
            self.suspects.clear();
            match pages {
                Pages::All => self.suspects.resize(count as usize, true),
                Pages::Suspect => self.next.suspects(page, count, &mut self.suspects)?,
            }
            let mut n = 0;
            while n < count {
                let run = self.suspects[n as usize..].iter().take(TOGETHER).take_while(|is_suspect| **is_suspect);
                let together = run.count() as u64;
                if together > 0 {
                    let from = ((page + n) * PAGE).max(start);
                    let to = ((page + n + together) * PAGE).min(end);
                    if let Some(difference) = self.compare_bytes(from, (to - from) as usize)? {
                        return Ok(Some(difference));
                    }
                }
                n += together.max(1);
            }
            page += count;
        }
        Ok(None)
    }

    fn compare_bytes(&mut self, start: u64, len: usize) -> io::Result<Option<Difference>> {
        self.contents.iter_mut().for_each(|buffer| buffer.resize(buffer.len().max(len), 0));
        let [mine, theirs] = self.contents.each_mut().map(|buffer| &mut buffer[..len]);
        if Here::new().read(start, mine).is_err() {
            // Beyond the end of a mapped file: neither has anything there.
            return Ok(None);
        }
        if self.next.equals(start, mine, theirs)? {
            return Ok(None);
        }
        let word = |bytes: &[u8], at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        };
        let Apart { images, pushed, .. } = self.apart;
        Ok((0..len / 8).map(|n| n * 8).find_map(|at| {
            let (address, got, expected) = (start + at as u64, word(mine, at), word(theirs, at));
            let differs = got != expected && !images.leave_open(address, got, expected);
            let difference = Difference { address, expected };
            (differs && *pushed != Some(difference)).then_some(difference)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::first_memory::CheckpointProcess;
    use super::*;

    fn apart(images: &Images, pushed: Option<Difference>) -> Apart<'_> {
        Apart { rsp: 0, left_out: Vec::new(), images, pushed }
    }

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
            let end = start + 4 * PAGE;
            let compare = |pages, pushed| {
                let mut checkpoint = CheckpointProcess::new(pid).unwrap();
                let apart = apart(&images, pushed);
                let mut comparison = Comparison {
                    next: &mut checkpoint,
                    apart: &apart,
                    suspects: Vec::new(),
                    contents: Default::default(),
                };
                comparison.compare(start, end, pages).unwrap()
            };
            assert_eq!(compare(Pages::Suspect, None), None);
            memory[1000] = 7;
            let expected = Difference { address: start + 8000, expected: 1 };
            assert_eq!(compare(Pages::Suspect, None), Some(expected));
            assert_eq!(compare(Pages::All, None), Some(expected));
            assert_eq!(compare(Pages::Suspect, Some(expected)), None);
            memory[1001] = 7;
            let next = Difference { address: start + 8008, expected: 1 };
            assert_eq!(compare(Pages::Suspect, Some(expected)), Some(next));
        });
    }

    /// Bytes that no process has, of which some pages are known to be the same.
    struct Table {
        start: u64,
        bytes: Vec<u8>,
        same: u64,
    }

    impl FirstMemory for Table {
        fn pieces(&mut self, mapping: &Mapping, pages: Pages) -> io::Result<Vec<((u64, u64), Pages)>> {
            Ok(vec![((mapping.start, mapping.end), pages)])
        }

        fn suspects(&mut self, page: u64, count: u64, suspects: &mut Vec<bool>) -> io::Result<()> {
            suspects.extend((page..page + count).map(|page| page != self.same));
            Ok(())
        }

        fn equals(&mut self, start: u64, mine: &[u8], theirs: &mut [u8]) -> io::Result<bool> {
            let at = (start - self.start) as usize;
            theirs.copy_from_slice(&self.bytes[at..at + theirs.len()]);
            Ok(mine == theirs)
        }
    }

    #[test]
    fn a_table_does_as_well_as_a_process() {
        let page = PAGE as usize;
        let memory = vec![1_u8; 4 * page];
        let start = (memory.as_ptr() as u64).next_multiple_of(PAGE);
        let mut table = Table { start, bytes: vec![1; 3 * page], same: start / PAGE + 1 };
        table.bytes[page + 8] = 2;
        let images = Images::new();
        let apart = apart(&images, None);
        let compare = |table: &mut Table| {
            let mut comparison =
                Comparison { next: table, apart: &apart, suspects: Vec::new(), contents: Default::default() };
            comparison.compare(start, start + 3 * PAGE, Pages::Suspect).unwrap()
        };
        assert_eq!(compare(&mut table), None, "that page isn't looked at");
        table.bytes[2 * page + 8] = 2;
        let expected = 0x0101_0101_0101_0102;
        assert_eq!(compare(&mut table), Some(Difference { address: start + 2 * PAGE + 8, expected }));
    }

    #[test]
    fn only_the_slices_own_memory_is_compared() {
        let comparable = |line: &str| comparable(&Mapping::parse(line).unwrap());
        assert_eq!(comparable("400000-401000 r-xp 00000000 fe:00 1 /bin/x"), Some(Pages::Suspect));
        assert_eq!(comparable("400000-401000 rw-s 00000000 00:01 1 /memfd: (deleted)"), Some(Pages::All));
        assert!(comparable("400000-401000 rw-s 00000000 fe:00 1 /bin/x").is_none());
        assert!(comparable("7ffff7fc1000-7ffff7fc5000 r--p 00000000 00:00 0 [vvar]").is_none());
        let bubble = format!("{:x}-{:x} rw-p 00000000 00:00 0", BUBBLE.start, BUBBLE.start + PAGE);
        assert!(comparable(&bubble).is_none());
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
        assert_eq!(without_dead_stack((0x1000, 0x9000), 0x5000), (0x5000 - 128, 0x9000));
        assert_eq!(without_dead_stack((0x1000, 0x9000), 0x50000), (0x1000, 0x9000));
    }
}
