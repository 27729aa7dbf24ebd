//! Patched instructions, `syscall` and those that read the time stamp counter: where they are, what leads from them to the recorder
//! ([`super::plan`]), and what was there before.
//!
//! Only unchanged, private, unwritable mappings of files are patched. The sites themselves are patched only while the master runs
//! in the recorder's care; what leads from them to it stays, where nobody executes it.

use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use machine::mapping::{self, Mapping};
use machine::pagemap::Pagemap;
use machine::{Memory, PAGE};
use tracee::Stopped;

use super::padding::Text;
use super::plan::{Follows, MidPatch, Patch, PatchedBytes, plan, plan_behind};
use crate::sliced::recorder::code::{CODE_END, MAX_SITES, PatchedKind, STUB_BYTES, STUBS_AT, entries};

/// Larger mappings aren't searched for places.
const LARGEST: u64 = 64 << 20;
/// Calls from a site before it is looked at.
const SEEN: u32 = 4;

/// Where such an instruction is.
#[derive(Default)]
struct PatchSite {
    instruction: PatchedKind,
    calls: u32,
    /// Whether it can be patched, once that was looked at.
    patch: Option<Option<Patch>>,
}

/// All sites of the master's program image.
#[derive(Default)]
pub struct Sites {
    /// By the address after the instruction.
    sites: HashMap<u64, PatchSite>,
    stubs: usize,
    /// Pages of files that differ from their files by our bytes alone.
    pages: Vec<u64>,
    /// Code that was looked at.
    texts: Vec<Text>,
    /// The master's memory, to be written.
    memory: Option<File>,
}

impl Sites {
    /// The instruction that ends at `after` has done what the recorder could have done. Whether it could be patched, as far as that is known.
    pub fn called(&mut self, instruction: PatchedKind, after: u64) -> bool {
        let site = self.sites.entry(after).or_default();
        if site.instruction != instruction && !matches!(site.patch, Some(Some(_))) {
            // Other code lies there now.
            *site = PatchSite { instruction, ..PatchSite::default() };
        }
        site.calls += 1;
        !matches!(site.patch, Some(None))
    }

    /// Where the instruction of the site begins that ends at `after`.
    pub fn start_of(&self, after: u64) -> u64 {
        let instruction = self.sites.get(&after).map_or(PatchedKind::Syscall, |site| site.instruction);
        after - instruction.len()
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

    /// The instruction at `address`, if it begins in the midst of a patched site's jump.
    pub fn mid_patch(&self, address: u64) -> Option<MidPatch> {
        let patches = self.sites.values().filter_map(|site| site.patch.as_ref()?.as_ref());
        let mut mid_patch = patches.filter_map(|patch| patch.mid_patch);
        mid_patch.find(|mid_patch| match mid_patch {
            MidPatch::Reading(at) | MidPatch::Follows(Follows { at, .. }) => *at == address,
        })
    }

    /// Where the app is if the master stands in a stub, before or behind what follows a reading.
    pub fn behind_reading(&self, address: u64) -> Option<u64> {
        let patches = self.sites.values().filter_map(|site| site.patch.as_ref()?.as_ref());
        patches.filter_map(|patch| patch.mid_patch).find_map(|mid_patch| match mid_patch {
            MidPatch::Follows(Follows { at, len, in_stub }) => {
                [0, len].into_iter().find(|done| in_stub + done == address).map(|done| at + done)
            }
            MidPatch::Reading(_) => None,
        })
    }

    /// Whether `address` lies on the way from a site to the recorder.
    pub fn is_on_the_way(&self, address: u64) -> bool {
        let patches = self.sites.values().filter_map(|site| site.patch.as_ref()?.as_ref());
        patches.flat_map(|patch| &patch.route).any(|written| written.range().contains(&address))
    }

    /// Whether any site that can be patched reads the time stamp counter.
    pub fn any_reading(&self) -> bool {
        self.sites.values().any(|site| site.instruction != PatchedKind::Syscall && matches!(site.patch, Some(Some(_))))
    }

    /// Looks at sites that have made some calls and weren't looked at yet. Whether any site can be patched.
    pub fn prepare(&mut self, process: &mut Stopped) -> bool {
        let is_new = |site: &PatchSite| site.patch.is_none() && site.calls >= SEEN;
        let mut new: Vec<(u64, PatchedKind)> = self
            .sites
            .iter()
            .filter(|(_, site)| is_new(site))
            .map(|(after, site)| (*after, site.instruction))
            .collect();
        new.sort_unstable_by_key(|(after, _)| *after);
        if !new.is_empty() {
            let mut search = Search::new(process, std::mem::take(&mut self.texts));
            for (after, instruction) in new {
                let patch = self.patch(instruction, after, &mut search, process);
                self.sites.entry(after).or_default().patch = Some(patch);
            }
            self.texts = search.texts;
        }
        self.sites.values().any(|site| matches!(site.patch, Some(Some(_))))
    }

    fn patch(
        &mut self,
        instruction: PatchedKind,
        after: u64,
        search: &mut Search,
        process: &mut Stopped,
    ) -> Option<Patch> {
        if self.stubs == MAX_SITES {
            return None;
        }
        let used: Vec<Range<u64>> = {
            let patches = self.sites.values().filter_map(|site| site.patch.as_ref()?.as_ref());
            patches.flat_map(|patch| patch.route.iter().chain([&patch.jump]).map(PatchedBytes::range)).collect()
        };
        let stub = STUBS_AT + self.stubs as u64 * STUB_BYTES;
        let text = search.text(after, process)?;
        let before = self.follows_up_to(after - instruction.len());
        let (patch, is_led_to) = match (plan(text, instruction, after, stub, &used), before) {
            (Some(patch), _) => (patch, None),
            (None, Some(before)) => (plan_behind(text, instruction, after, stub)?, Some(before)),
            (None, None) => return None,
        };
        let all = || patch.route.iter().chain([&patch.jump]);
        if !all().flat_map(pages).all(|page| self.pages.contains(&page) || search.is_unchanged(page)) {
            return None;
        }
        // The code may have been looked at some time ago.
        let holds = |written: &PatchedBytes| {
            let mut bytes = vec![0; written.old.len()];
            process.read(written.at, &mut bytes).is_ok_and(|()| bytes == written.old)
        };
        if !all().all(holds) {
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
        if let Some(before) = is_led_to {
            let (at, bytes) = &mut self.sites.get_mut(&before)?.patch.as_mut()?.as_mut()?.stub;
            entries::lead_on(bytes, patch.stub.0);
            memory.write_all_at(bytes, *at).ok()?;
        }
        for written in &patch.route {
            memory.write_all_at(&written.new, written.at).ok()?;
        }
        self.stubs += 1;
        let pages: Vec<u64> = all().flat_map(pages).filter(|page| !self.pages.contains(page)).collect();
        self.pages.extend(pages);
        Some(patch)
    }

    /// The site before `at`, by the address after it, if its stub has what lies between.
    fn follows_up_to(&self, at: u64) -> Option<u64> {
        let ends_there = |site: &PatchSite| match &site.patch {
            Some(Some(Patch { mid_patch: Some(MidPatch::Follows(follows)), .. })) => follows.at + follows.len == at,
            _ => false,
        };
        self.sites.iter().find(|(_, site)| ends_there(site)).map(|(after, _)| *after)
    }

    /// Patches all sites that can be, or takes the patches back.
    ///
    /// # Errors
    /// If the master's memory can't be written: it was killed.
    pub fn set_patched(&self, patched: bool) -> std::io::Result<()> {
        let Some(memory) = &self.memory else { return Ok(()) };
        let patches = self.sites.values().filter_map(|site| site.patch.as_ref()?.as_ref());
        for PatchedBytes { at, new, old } in patches.map(|patch| &patch.jump) {
            memory.write_all_at(if patched { new } else { old }, *at)?;
        }
        Ok(())
    }

    /// The app is about to change its mappings in `start .. end`: if any of our bytes lie there, all are taken back, and nothing is
    /// known of any site any more. To be called while no site is patched.
    pub fn forget(&mut self, start: u64, end: u64) {
        self.texts.retain(|text| text.end() <= start || end <= text.start);
        if !self.pages.iter().any(|page| *page < end && start < page + PAGE) {
            return;
        }
        if let Some(memory) = &self.memory {
            let patches = self.sites.values().filter_map(|site| site.patch.as_ref()?.as_ref());
            for written in patches.flat_map(|patch| &patch.route) {
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
    pagemap: Option<Pagemap>,
    texts: Vec<Text>,
}

impl Search {
    fn new(process: &Stopped, mut texts: Vec<Text>) -> Self {
        let all = mapping::all(process.pid()).unwrap_or_default();
        let pagemap = Pagemap::open(process.pid()).ok();
        let mappings: Vec<_> = all.iter().filter_map(code_mapping).collect();
        texts.retain(|text| mappings.contains(&(text.start..text.end())));
        Self { mappings, pagemap, texts }
    }

    /// The code around `address`.
    fn text(&mut self, address: u64, process: &Stopped) -> Option<&Text> {
        if let Some(known) = self.texts.iter().position(|text| (text.start..text.end()).contains(&address)) {
            return self.texts.get(known);
        }
        let mapping = self.mappings.iter().find(|mapping| mapping.contains(&address))?;
        let mut bytes = vec![0; (mapping.end - mapping.start) as usize];
        process.read(mapping.start, &mut bytes).ok()?;
        self.texts.push(Text::new(mapping.start, bytes));
        self.texts.last()
    }

    /// Whether a page of a private file mapping is still the file's.
    fn is_unchanged(&self, page: u64) -> bool {
        self.pagemap.as_ref().and_then(|pagemap| pagemap.at(page).ok()).is_some_and(|page| !page.is_own())
    }
}

/// The pages that hold any of these bytes.
fn pages(written: &PatchedBytes) -> impl Iterator<Item = u64> + use<> {
    let range = written.range();
    (range.start / PAGE..=(range.end - 1) / PAGE).map(|page| page * PAGE)
}

/// A private mapping of a file that can be executed and not be written.
fn code_mapping(mapping: &Mapping) -> Option<Range<u64>> {
    let is_code = mapping.read && !mapping.write && mapping.execute && !mapping.shared && mapping.inode != 0;
    (is_code && mapping.size() <= LARGEST).then_some(mapping.start..mapping.end)
}

const _: () = assert!(STUBS_AT + STUB_BYTES * MAX_SITES as u64 <= CODE_END);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unwritable_private_code_of_files_is_patched() {
        let code_mapping = |line| code_mapping(&Mapping::parse(line).unwrap());
        assert_eq!(code_mapping("400000-401000 r-xp 00000000 fe:00 12 /bin/x"), Some(0x40_0000..0x40_1000));
        assert_eq!(code_mapping("400000-401000 r-xs 00000000 fe:00 12 /bin/x"), None);
        assert_eq!(code_mapping("400000-401000 rwxp 00000000 fe:00 12 /bin/x"), None);
        assert_eq!(code_mapping("400000-401000 r-xp 00000000 00:00 0"), None);
    }
}
