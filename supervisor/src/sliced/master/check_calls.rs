//! Whether the kernel writes only what the table of system calls names (`-check-calls 1`).
//!
//! All private memory that the app may write is read before a recorded call and compared after it. A changed byte that the
//! table doesn't name would be missing in each slice's replay. Anonymous pages that aren't there aren't read, as that would
//! make them: `mincore` tells the app which are there.

use bubble::map::BUBBLE;
use machine::mapping::{self, Mapping};
use machine::pagemap::Pagemap;
use machine::{Memory, PAGE};
use syscall_replay::effects::Range;
use syscall_replay::{PendingCall, table};
use tracee::Stopped;

use crate::base::Failure;

/// A mapping that is larger isn't looked at: programs reserve much that they don't use.
const LARGEST: u64 = 256 << 20;

/// What writable memory held before a call.
pub struct Before(Vec<Area>);

/// What a mapping held. Pages that weren't there are zeroes.
struct Area {
    start: u64,
    is_of_file: bool,
    bytes: Vec<u8>,
}

impl Before {
    /// Reads it.
    pub fn read(process: &Stopped) -> Self {
        let map = Pagemap::open(process.pid()).ok();
        let all = mapping::all(process.pid()).unwrap_or_default();
        let areas = all.into_iter().filter(is_compared).map(|mapping| {
            let bytes = vec![0; mapping.size() as usize];
            let mut area = Area { start: mapping.start, is_of_file: mapping.inode != 0, bytes };
            area.bytes = area.now(process, map.as_ref(), &[]);
            area
        });
        Self(areas.collect())
    }

    /// Compares it with what is there after the call. `is_known`: whether an address is one of those that it has written besides.
    ///
    /// # Errors
    /// If the call has written what the table doesn't name.
    pub fn compare(
        &self,
        process: &Stopped,
        pending: &PendingCall,
        result: u64,
        is_known: impl Fn(u64) -> bool,
    ) -> Result<(), Failure> {
        let named = pending.written(result, process);
        let map = Pagemap::open(process.pid()).ok();
        for area in &self.0 {
            let after = area.now(process, map.as_ref(), &named);
            let changed = (0..after.len()).filter(|&at| area.bytes[at] != after[at]).map(|at| area.start + at as u64);
            if let Some(address) = changed.into_iter().find(|&address| !is_named(&named, address) && !is_known(address))
            {
                return Err(wrong_table(pending, result, address));
            }
        }
        Ok(())
    }
}

impl Area {
    /// What it holds now; what can't be read, or is named and not there, as it was.
    fn now(&self, process: &Stopped, map: Option<&Pagemap>, named: &[Range]) -> Vec<u8> {
        let mut now = self.bytes.clone();
        for pages in self.looked_at(map, named).chunk_by(|a, b| a + 1 == *b) {
            let first = pages[0] * PAGE as usize;
            process.read_prefix(self.start + first as u64, &mut now[first..][..pages.len() * PAGE as usize]);
        }
        now
    }

    /// Which of its pages are read, by number: one that isn't there only if it held something, unless it is named.
    fn looked_at(&self, map: Option<&Pagemap>, named: &[Range]) -> Vec<usize> {
        let end = self.start + self.bytes.len() as u64;
        let there = map.filter(|_| !self.is_of_file).and_then(|map| map.range(self.start, end).ok());
        let pages = self.bytes.chunks_exact(PAGE as usize).enumerate();
        let is_looked_at = |n: usize, held: &[u8]| {
            let is_there = there.as_ref().is_none_or(|there| there.get(n as u64).is_there());
            is_there || held.iter().any(|&byte| byte != 0) && !is_page_named(named, self.start + n as u64 * PAGE)
        };
        pages.filter(|&(n, held)| is_looked_at(n, held)).map(|(n, _)| n).collect()
    }
}

fn is_page_named(named: &[Range], page: u64) -> bool {
    named.iter().any(|range| range.address <= page && page + PAGE <= range.address.saturating_add(range.len))
}

fn is_named(named: &[Range], address: u64) -> bool {
    named.iter().any(|range| address.wrapping_sub(range.address) < range.len)
}

fn wrong_table(pending: &PendingCall, result: u64, address: u64) -> Failure {
    let name = table::name(pending.number);
    let args: Vec<String> = pending.args.iter().map(|arg| format!("{arg:#x}")).collect();
    let args = args.join(", ");
    Failure::Unsupported(format!(
        "the table of system calls is wrong: {name}({args}) = {result:#x} has written to {address:#x}, which its row doesn't name"
    ))
}

/// Whether it is a private mapping that the app can write.
fn is_compared(mapping: &Mapping) -> bool {
    let is_meant = mapping.read && mapping.write && !mapping.shared && mapping.size() <= LARGEST;
    is_meant && !BUBBLE.overlaps(mapping.start, mapping.size())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_apps_own_writable_memory_is_compared() {
        let is_compared = |line: &str| is_compared(&Mapping::parse(line).unwrap());
        assert!(is_compared("400000-401000 rw-p 00000000 fe:00 1 /bin/x"));
        assert!(!is_compared("400000-401000 r--p 00000000 fe:00 1 /bin/x"));
        assert!(!is_compared("400000-401000 rw-s 00000000 fe:00 1 /bin/x"));
        let bubble = format!("{:x}-{:x} rw-p 00000000 00:00 0", BUBBLE.start, BUBBLE.start + 4096);
        assert!(!is_compared(&bubble));
    }

    #[test]
    fn bytes_belong_to_the_ranges_that_hold_them() {
        let named = [Range { address: 0x1000, len: 8 }];
        assert!(is_named(&named, 0x1000) && is_named(&named, 0x1007));
        assert!(!is_named(&named, 0x0fff) && !is_named(&named, 0x1008));
    }

    #[test]
    fn pages_that_are_not_there_are_not_looked_at() {
        // SAFETY: nobody has memory there.
        let start = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(std::ptr::null_mut(), 4 * PAGE as usize, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
        } as u64;
        // SAFETY: it is ours.
        unsafe { ((start + PAGE) as *mut u8).write(1) };
        let mut area = Area { start, is_of_file: false, bytes: vec![0; 4 * PAGE as usize] };
        let map = Pagemap::open("self").unwrap();
        assert_eq!(area.looked_at(Some(&map), &[]), [1]);
        area.bytes[3 * PAGE as usize] = 1;
        assert_eq!(area.looked_at(Some(&map), &[]), [1, 3], "what it held may have been taken from it");
        assert_eq!(area.looked_at(Some(&map), &[Range { address: start + 2 * PAGE, len: 2 * PAGE }]), [1]);
        assert_eq!(area.looked_at(None, &[]), [0, 1, 2, 3]);
        area.is_of_file = true;
        assert_eq!(area.looked_at(Some(&map), &[]), [0, 1, 2, 3]);
        // SAFETY: it is ours.
        unsafe { libc::munmap(start as *mut _, 4 * PAGE as usize) };
    }
}
