//! What the app's own run had in memory at a point: on each page that it has written since the slice's start.
//!
//! At a point no next slice starts whose first memory could be compared. In its place the control process tells what those pages held. All others are as they were at
//! the slice's start, there as here: so where these agree, all of memory does.

use std::collections::BTreeMap;

use machine::{Memory, PAGE};
use sigmatch::Images;

use super::verify::Difference;

const WORDS: usize = PAGE as usize / 8;

type Page = [u64; WORDS];

/// What isn't compared.
#[derive(Debug, Default)]
pub struct Unseen {
    /// On the pages with these addresses what lies below them is dead.
    pub live_from: Vec<u64>,
    /// First addresses, and the first behind, of what the kernel writes for calls in which other threads are.
    pub written: Vec<[u64; 2]>,
}

impl Unseen {
    fn dead_words(&self, page: u64) -> usize {
        let dead =
            self.live_from.iter().filter(|live| *live & !(PAGE - 1) == page).map(|live| (live - page) as usize / 8);
        dead.min().unwrap_or(0)
    }

    fn is_written(&self, address: u64) -> bool {
        self.written.iter().any(|[from, to]| (*from..*to).contains(&address))
    }
}

/// Those pages.
#[derive(Default)]
pub struct ExpectedMemory {
    pages: BTreeMap<u64, Box<Page>>,
}

impl ExpectedMemory {
    /// The control process tells of changes since the last point: whole pages, pieces of pages that are known, pages that don't count any more. False if they make no sense.
    pub fn changes<'a>(&mut self, changes: impl Iterator<Item = (u64, &'a [u8])>) -> bool {
        for (address, bytes) in changes {
            let (page, at) = (address & !(PAGE - 1), (address % PAGE) as usize / 8);
            if bytes.is_empty() {
                self.pages.remove(&page);
                continue;
            }
            let is_whole = at == 0 && bytes.len() == PAGE as usize;
            let known = self.pages.contains_key(&page) || is_whole;
            let words =
                self.pages.entry(page).or_insert_with(|| Box::new([0; WORDS])).get_mut(at..at + bytes.len() / 8);
            let Some(words) = words.filter(|_| known) else { return false };
            for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
                *word = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
            }
        }
        true
    }

    /// The first word in which `memory` isn't what it was then. What can't be read counts as zero: a stack grows when it is touched.
    pub fn difference(&self, memory: &dyn Memory, apart: &Unseen, images: &Images) -> Option<Difference> {
        let mut bytes = [0; PAGE as usize];
        self.pages.iter().find_map(|(&page, expected)| {
            if memory.read(page, &mut bytes).is_err() {
                bytes.fill(0);
            }
            let words = bytes.chunks_exact(8).zip(expected.iter()).enumerate().skip(apart.dead_words(page));
            words.into_iter().find_map(|(n, (got, &expected))| {
                let got = u64::from_le_bytes(got.try_into().expect("eight bytes"));
                let address = page + n as u64 * 8;
                let differs =
                    got != expected && !images.leave_open(address, got, expected) && !apart.is_written(address);
                differs.then_some(Difference { address, expected })
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{Here, MemoryError};

    /// One page at 0x5000.
    struct Only(Vec<u8>);

    impl Memory for Only {
        fn read(&self, address: u64, buf: &mut [u8]) -> Result<(), MemoryError> {
            if address != 0x5000 {
                return Err(MemoryError { address, len: buf.len() });
            }
            buf.copy_from_slice(&self.0);
            Ok(())
        }

        fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
            Err(MemoryError { address, len: bytes.len() })
        }
    }

    fn changed(memory: &mut ExpectedMemory, address: u64, bytes: &[u8]) -> bool {
        memory.changes([(address, bytes)].into_iter())
    }

    fn differs(expected: &ExpectedMemory, memory: &Only, live_from: u64) -> Option<Difference> {
        let unseen = Unseen { live_from: vec![live_from], written: Vec::new() };
        expected.difference(memory, &unseen, &Images::new())
    }

    #[test]
    fn what_the_kernel_writes_meanwhile_is_not_compared() {
        let mut expected = ExpectedMemory::default();
        assert!(changed(&mut expected, 0x5000, &[1; PAGE as usize]));
        let memory = Only([vec![1; 0x20], vec![0; 0x10], vec![1; PAGE as usize - 0x30]].concat());
        let written = |range| Unseen { live_from: vec![0x7010, 0x5008], written: vec![range] };
        let differs = |range| expected.difference(&memory, &written(range), &Images::new()).map(|found| found.address);
        assert_eq!(differs([0x5020, 0x5030]), None);
        assert_eq!(differs([0x5020, 0x5028]), Some(0x5028));
        assert_eq!(differs([0x5028, 0x6000]), Some(0x5020));
    }

    #[test]
    fn pages_are_told_as_a_whole_and_then_in_pieces() {
        let images = Images::new();
        let mut expected = ExpectedMemory::default();
        let mut memory = Only(vec![0; PAGE as usize]);
        assert_eq!(expected.difference(&Here::new(), &Unseen::default(), &images), None);
        assert!(!changed(&mut expected, 0x5008, &[1; 8]), "of that page nothing is known");
        let mut expected = ExpectedMemory::default();
        assert!(changed(&mut expected, 0x5000, &[0; PAGE as usize]));
        assert_eq!(differs(&expected, &memory, 0), None);
        assert!(changed(&mut expected, 0x5010, &[1; 16]) && !changed(&mut expected, 0x5ff8, &[1; 16]));
        let one = u64::from_le_bytes([1; 8]);
        assert_eq!(differs(&expected, &memory, 0), Some(Difference { address: 0x5010, expected: one }));
        assert_eq!(differs(&expected, &memory, 0x5018).unwrap().address, 0x5018);
        assert_eq!(differs(&expected, &memory, 0x5020), None);
        assert!(differs(&expected, &memory, 0x6020).is_some());
        memory.0[0x10..0x20].fill(1);
        assert_eq!(differs(&expected, &memory, 0), None);
        assert!(changed(&mut expected, 0x9000, &[0; PAGE as usize]));
        assert_eq!(differs(&expected, &memory, 0), None, "what isn't there yet is zero");
        assert!(changed(&mut expected, 0x9000, &[1; 8]) && differs(&expected, &memory, 0).is_some());
        assert!(changed(&mut expected, 0x9000, &[]));
        assert_eq!(differs(&expected, &memory, 0), None);
    }
}
