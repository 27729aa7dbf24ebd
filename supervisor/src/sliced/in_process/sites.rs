//! Patched `syscall` instructions: where they are, what leads from them to the recorder, and what was there before.
//!
//! ```text
//!   site  mov eax, number; syscall  becomes  jmp stub; syscall, or jmp far; syscall
//!         syscall  becomes  jmp hole     (two bytes for two: no instruction around it changes)
//!   hole  jmp stub                       (sometimes by way of smaller holes), or, where that is too far away, jmp far
//!   far   jmp [stub's address]           at the end of the mapping's last page
//! ```
//! Only unchanged, private, unwritable mappings of files are patched. The sites themselves are patched only while the master runs
//! in the recorder's care; what leads from them to it stays, where nobody executes it.

use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use machine::Memory;
use tracee::Stopped;

use super::holes::{NEAR_JUMP, SHORT_JUMP, Text};
use super::layout::{CODE_END, MAX_SITES, STUB_BYTES, STUBS_AT, in_master};
use super::stub;

/// The `syscall` instruction.
const SYSCALL: [u8; 2] = [0x0f, 0x05];
/// Larger mappings aren't searched for places.
const LARGEST: u64 = 64 << 20;
/// Calls from a site before it is looked at.
const SEEN: u32 = 4;
const PAGE: u64 = 4096;

/// Bytes that were put where others were.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Written {
    at: u64,
    new: Vec<u8>,
    old: Vec<u8>,
}

impl Written {
    fn range(&self) -> Range<u64> {
        self.at..self.at + self.new.len() as u64
    }

    fn pages(&self) -> impl Iterator<Item = u64> + use<> {
        (self.at / PAGE..=(self.at + self.new.len() as u64 - 1) / PAGE).map(|page| page * PAGE)
    }
}

/// A site that can be patched.
struct Patch {
    jump: Written,
    /// What leads from it to the stub.
    way: Vec<Written>,
    /// The stub.
    stub: (u64, Vec<u8>),
}

/// One `syscall` instruction.
#[derive(Default)]
struct Site {
    calls: u32,
    /// Whether it can be patched, once that was looked at.
    patch: Option<Option<Patch>>,
}

/// All sites of the master's program image.
#[derive(Default)]
pub struct Sites {
    /// By the address after the instruction.
    sites: HashMap<u64, Site>,
    stubs: usize,
    /// Pages of files that differ from their files by our bytes alone.
    pages: Vec<u64>,
    /// The master's memory, to be written.
    memory: Option<File>,
}

impl Sites {
    /// The instruction that ends at `after` has made a call that the recorder could have made. Whether it could be patched, as far
    /// as that is known.
    pub fn called(&mut self, after: u64) -> bool {
        let site = self.sites.entry(after).or_default();
        site.calls += 1;
        !matches!(site.patch, Some(None))
    }

    /// Pages of files that hold bytes of ours.
    pub fn pages(&self) -> &[u64] {
        &self.pages
    }

    /// These pages hold bytes that others have left there.
    pub fn inherit(&mut self, pages: Vec<u64>) {
        self.pages = pages;
    }

    /// Writes the stubs of all patches to where they were before the recorder was taken away.
    ///
    /// # Errors
    /// If the master's memory can't be written: it was killed.
    pub fn write_stubs(&self) -> std::io::Result<()> {
        let Some(memory) = &self.memory else { return Ok(()) };
        let patches = self.sites.values().filter_map(|site| site.patch.as_ref()?.as_ref());
        patches.map(|patch| &patch.stub).try_for_each(|(at, bytes)| memory.write_all_at(bytes, *at))
    }

    /// Whether `address` lies on the way from a site to the recorder.
    pub fn is_on_the_way(&self, address: u64) -> bool {
        let patches = self.sites.values().filter_map(|site| site.patch.as_ref()?.as_ref());
        patches.flat_map(|patch| &patch.way).any(|written| written.range().contains(&address))
    }

    /// Looks at sites that have made some calls and weren't looked at yet. Whether any site can be patched.
    pub fn prepare(&mut self, process: &mut Stopped) -> bool {
        let is_new = |site: &Site| site.patch.is_none() && site.calls >= SEEN;
        let new: Vec<u64> = self.sites.iter().filter(|(_, site)| is_new(site)).map(|(after, _)| *after).collect();
        if !new.is_empty() {
            let mut search = Search::new(process);
            for after in new {
                let patch = self.patch(after, &mut search, process);
                self.sites.entry(after).or_default().patch = Some(patch);
            }
        }
        self.sites.values().any(|site| matches!(site.patch, Some(Some(_))))
    }

    fn patch(&mut self, after: u64, search: &mut Search, process: &mut Stopped) -> Option<Patch> {
        if self.stubs == MAX_SITES {
            return None;
        }
        let used: Vec<Range<u64>> = {
            let patches = self.sites.values().filter_map(|site| site.patch.as_ref()?.as_ref());
            patches.flat_map(|patch| patch.way.iter().map(Written::range)).collect()
        };
        let stub = STUBS_AT + self.stubs as u64 * STUB_BYTES;
        let patch = search.text(after, process)?.plan(after, stub, &used)?;
        let all = || patch.way.iter().chain([&patch.jump]);
        if !all().flat_map(Written::pages).all(|page| self.pages.contains(&page) || search.is_unchanged(page)) {
            return None;
        }
        let memory = match &self.memory {
            Some(memory) => memory,
            None => {
                let file = File::options().write(true).open(format!("/proc/{}/mem", process.pid())).ok()?;
                self.memory.insert(file)
            }
        };
        memory.write_all_at(&patch.stub.1, patch.stub.0).ok()?;
        for written in &patch.way {
            memory.write_all_at(&written.new, written.at).ok()?;
        }
        self.stubs += 1;
        let pages: Vec<u64> = all().flat_map(Written::pages).filter(|page| !self.pages.contains(page)).collect();
        self.pages.extend(pages);
        Some(patch)
    }

    /// Patches all sites that can be, or takes the patches back.
    ///
    /// # Errors
    /// If the master's memory can't be written: it was killed.
    pub fn set_patched(&self, patched: bool) -> std::io::Result<()> {
        let Some(memory) = &self.memory else { return Ok(()) };
        let patches = self.sites.values().filter_map(|site| site.patch.as_ref()?.as_ref());
        for Written { at, new, old } in patches.map(|patch| &patch.jump) {
            memory.write_all_at(if patched { new } else { old }, *at)?;
        }
        Ok(())
    }

    /// The app is about to change its mappings in `start .. end`: if any of our bytes lie there, all are taken back, and nothing is
    /// known of any site any more. To be called while no site is patched.
    pub fn forget(&mut self, start: u64, end: u64) {
        if !self.pages.iter().any(|page| *page < end && start < page + PAGE) {
            return;
        }
        if let Some(memory) = &self.memory {
            let patches = self.sites.values().filter_map(|site| site.patch.as_ref()?.as_ref());
            for written in patches.flat_map(|patch| &patch.way) {
                // It fails only if the master was killed.
                let _ = memory.write_all_at(&written.old, written.at);
            }
        }
        let memory = self.memory.take();
        *self = Self { memory, ..Self::default() };
    }
}

/// What is known of the master's mappings while sites are looked at.
struct Search {
    mappings: Vec<Range<u64>>,
    pagemap: Option<File>,
    texts: Vec<Text>,
}

impl Search {
    fn new(process: &Stopped) -> Self {
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", process.pid())).unwrap_or_default();
        let pagemap = File::open(format!("/proc/{}/pagemap", process.pid())).ok();
        Self { mappings: maps.lines().filter_map(code_mapping).collect(), pagemap, texts: Vec::new() }
    }

    /// The code around `address`.
    fn text(&mut self, address: u64, process: &Stopped) -> Option<&Text> {
        if let Some(known) = self.texts.iter().position(|text| (text.start..text.end()).contains(&address)) {
            return self.texts.get(known);
        }
        let mapping = self.mappings.iter().find(|mapping| mapping.contains(&address))?;
        let mut bytes = vec![0; (mapping.end - mapping.start) as usize];
        process.read(mapping.start, &mut bytes).ok()?;
        self.texts.push(Text { start: mapping.start, bytes });
        self.texts.last()
    }

    /// Whether a page of a private file mapping is still the file's.
    fn is_unchanged(&self, page: u64) -> bool {
        const PRESENT: u64 = 1 << 63;
        const SWAPPED: u64 = 1 << 62;
        const OF_FILE: u64 = 1 << 61;
        let mut entry = [0; 8];
        let read = self.pagemap.as_ref().map(|file| file.read_exact_at(&mut entry, page / PAGE * 8));
        let entry = u64::from_le_bytes(entry);
        matches!(read, Some(Ok(()))) && entry & SWAPPED == 0 && (entry & PRESENT == 0 || entry & OF_FILE != 0)
    }
}

/// A private mapping of a file that can be executed and not be written.
fn code_mapping(line: &str) -> Option<Range<u64>> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let permissions = fields.next()?;
    let inode = fields.nth(2)?;
    let hex = |text| u64::from_str_radix(text, 16).ok();
    let (start, end) = (hex(start)?, hex(end)?);
    (permissions == "r-xp" && inode != "0" && end - start <= LARGEST).then_some(start..end)
}

impl Text {
    /// What to write so that the instruction that ends at `after` leads to a stub, which is to lie at the offset `stub`.
    fn plan(&self, after: u64, stub: u64, used: &[Range<u64>]) -> Option<Patch> {
        let site = after - SYSCALL.len() as u64;
        if self.read(site..after)? != SYSCALL {
            return None;
        }
        let near = |from: u64, to: u64| {
            let distance = i32::try_from(to.wrapping_sub(from + NEAR_JUMP) as i64).ok()?;
            self.written(from, [&[0xe9][..], &distance.to_le_bytes()].concat())
        };
        let target = in_master(stub);
        let far = |used: &[Range<u64>]| {
            let bytes = [&[0xff, 0x25, 0, 0, 0, 0][..], &target.to_le_bytes()].concat();
            self.written(self.far(site, used)?, bytes)
        };
        if let Some((load, number)) = self.load_before(after) {
            let stub = (target, stub::stub(stub, after, Some(number)));
            if let Some(jump) = near(load, target) {
                return Some(Patch { jump, way: Vec::new(), stub });
            }
            let far = far(used)?;
            return Some(Patch { jump: near(load, far.at)?, way: vec![far], stub });
        }
        let stub = (target, stub::stub(stub, after, None));
        let places = self.near(after, used)?;
        let hole = *places.last()?;
        let mut jumps = std::iter::once(&site).chain(&places).zip(&places).map(|(&at, &to)| {
            let distance = to.wrapping_sub(at + SHORT_JUMP) as i8;
            self.written(at, vec![0xeb, distance as u8])
        });
        let jump = jumps.next()??;
        let mut way = jumps.collect::<Option<Vec<_>>>()?;
        if let Some(direct) = near(hole, target) {
            way.push(direct);
            return Some(Patch { jump, way, stub });
        }
        let own = places.iter().map(|&place| place..place + NEAR_JUMP);
        let far = far(&[used, &own.collect::<Vec<_>>()].concat())?;
        let to_far = near(hole, far.at)?;
        way.extend([far, to_far]);
        Some(Patch { jump, way, stub })
    }

    fn read(&self, range: Range<u64>) -> Option<&[u8]> {
        let at = |address: u64| address.checked_sub(self.start).map(|at| at as usize);
        self.bytes.get(at(range.start)?..at(range.end)?)
    }

    fn written(&self, at: u64, new: Vec<u8>) -> Option<Written> {
        let old = self.read(at..at + new.len() as u64)?.to_vec();
        Some(Written { at, new, old })
    }
}

const _: () = assert!(STUBS_AT + STUB_BYTES * MAX_SITES as u64 <= CODE_END);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unwritable_private_code_of_files_is_patched() {
        assert_eq!(code_mapping("400000-401000 r-xp 00000000 fe:00 12 /bin/x"), Some(0x40_0000..0x40_1000));
        assert_eq!(code_mapping("400000-401000 r-xs 00000000 fe:00 12 /bin/x"), None);
        assert_eq!(code_mapping("400000-401000 rwxp 00000000 fe:00 12 /bin/x"), None);
        assert_eq!(code_mapping("400000-401000 r-xp 00000000 00:00 0"), None);
    }

    #[test]
    fn a_patch_leads_to_the_stub() {
        let text = |function: &[u8]| {
            let mut bytes = vec![0x90; 0x1000];
            bytes[0x40..0x40 + function.len()].copy_from_slice(function);
            bytes[0xf00..].fill(0);
            bytes
        };
        let nop = [0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0];
        let bytes = text(&[&[0x31, 0xc0, 0x90, 0x90, 0x90, 0x0f, 5, 0xc3][..], &nop].concat());
        let stub = in_master(STUBS_AT);
        let near_start = stub - 0x10_0000;
        let near = Text { start: near_start, bytes: bytes.clone() }.plan(near_start + 0x47, STUBS_AT, &[]).unwrap();
        assert_eq!(
            (near.jump.at, &near.jump.new[..], &near.jump.old[..]),
            (near_start + 0x45, &[0xeb, 1][..], &SYSCALL[..])
        );
        assert_eq!(near.way.len(), 1);
        assert_eq!(near.way[0].new[1..], (0x10_0000_i32 - 0x4d).to_le_bytes());
        let text_far = Text { start: 0x40_0000, bytes };
        let far = text_far.plan(0x40_0047, STUBS_AT, &[]).unwrap();
        assert_eq!((far.way[0].at, far.way[0].new.len()), (0x40_0ff0, 14));
        assert_eq!(far.way[1].new[1..], (0xff0_i32 - 0x4d).to_le_bytes());
        assert!(text_far.plan(0x40_0048, STUBS_AT, &[]).is_none());
        // One hole is large enough for either jump, not for both.
        let mut bytes = vec![0x90; 0x4000];
        let padding = [0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0x0f, 0x1f, 0x40, 0];
        bytes[0x3f..0x50].copy_from_slice(&[&[0x0f, 5, 0xc3][..], &padding].concat());
        let one = Text { start: 0x40_0000, bytes };
        assert_eq!(one.far(0x40_003f, &[]), Some(0x40_0042));
        assert!(one.near(0x40_0041, &[]).is_some() && one.plan(0x40_0041, STUBS_AT, &[]).is_none());
        // The instruction that loads the number has room for a jump.
        let bytes = text(&[0xb8, 110, 0, 0, 0, 0x0f, 5, 0xc3, 0x90]);
        let load = Text { start: 0x40_0000, bytes }.plan(0x40_0047, STUBS_AT, &[]).unwrap();
        assert_eq!((load.jump.at, &load.jump.old[..], load.way.len()), (0x40_0040, &[0xb8, 110, 0, 0, 0][..], 1));
        assert_eq!(load.jump.new[1..], (0xff0_i32 - 0x45).to_le_bytes());
        assert_eq!(load.stub.1[..5], load.jump.old);
    }
}
