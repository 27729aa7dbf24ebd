//! What lies where in this process's address space, as far as fetching code is concerned, and which code is shared.
//!
//! Translations may be shared between slices only if the code is provably the same in all of them. A slice's own
//! observation decides, so it doesn't matter which slice runs first: code is shared when it lies in a private,
//! executable, unwritable mapping of a file of which no page was ever changed (`/proc/self/pagemap` tells anonymous
//! pages from file pages), and when the mapping as a whole is the one that was first registered for these addresses. If
//! translations outlive the run, its file must moreover be what it was then.
//! Named invariant *closed regions*: shared code links only inside one registered mapping, so a slice in which
//! the mapping is another one never comes across its code. It leaves one mapping for another through words of each process's own: the tables of
//! indirect branches, and link words ([`crate::link`]).

use std::collections::HashSet;
use std::io;

use bubble::code_files::FileVersion;
use bubble::switches::{Off, Optimisation};
use machine::mapping::{self, Answer};
use machine::{AppPc, PAGE, flags};
use translator::liveness::{FlagLookahead, LivenessCache};

use super::code_bytes::code_at;
use super::constants::ConstantPointers;
use super::protection::CodePages;
use super::region::{ANONYMOUS, AppMapping, COPY, append, guess, is_unchanged, mapping_at};
use crate::cache::{RegionSet, Tables};

/// The mappings as the app made them, read when first asked for and again after [`AppCode::forget`].
#[derive(Default)]
pub struct AppCode {
    /// Pages that the engine protects although the app can write to them.
    pages: CodePages,
    list: Vec<AppMapping>,
    /// Some are missing, see [`AppCode::forget_in`].
    is_partial: bool,
    /// Where code was looked at that isn't part of the trace for which it was done.
    looked_at: Vec<(u64, u64)>,
    /// What was found there.
    liveness: LivenessCache,
    /// Words that indirect branches go through.
    pointers: ConstantPointers,
    /// Whether translations are shared with other runs, in which files may have changed.
    outlives_run: bool,
    /// Whether this process has copies of what was shared memory.
    has_copies: bool,
    /// Inodes of files that may be written.
    changing: HashSet<u64>,
}

impl AppCode {
    /// `outlives_run`: translations are shared with other runs, in which files may have changed. `has_copies`: this process has copies of what
    /// was shared memory.
    pub fn new(outlives_run: bool, has_copies: bool) -> Self {
        Self { outlives_run, has_copies, ..Self::default() }
    }

    /// Readable code from `pc` on: empty if none can be fetched there.
    pub fn bytes(&mut self, pc: AppPc) -> &'static [u8] {
        // An instruction may run across the border of two mappings: pages that we protect are mappings of their own.
        let len = self.code_end(pc.0, pc.0.saturating_add(PAGE)) - pc.0;
        code_at(pc, len)
    }

    /// Arithmetic flags that may be read after the app comes to `at`, as far as code of the mapping of `from` tells.
    pub fn live_flags_at(&mut self, at: AppPc, from: AppPc, exact_faults: bool, off: Off) -> u64 {
        if !off.leaves(Optimisation::FlagLookahead) {
            return flags::ARITHMETIC;
        }
        if !self.same(at.0, from.0) {
            return flags::ARITHMETIC;
        }
        let remembers = off.leaves(Optimisation::Remember);
        if let Some(found) = self.liveness.get(at).filter(|_| remembers) {
            return found;
        }
        let found = FlagLookahead::new(|pc: AppPc| self.constant_code(pc.0, from.0), exact_faults).live_flags(at);
        if remembers {
            self.liveness.put(at, found);
        }
        found
    }

    /// Flags that were found to be dead may be seen from now on.
    pub fn forget_flags(&mut self) {
        self.liveness.forget();
    }

    /// Code in `start .. end` is about to be translated. If it can be written, its pages are watched. Whether one of them could be written up to now, and can't any more.
    pub fn watch(&mut self, start: u64, end: u64) -> bool {
        self.any_writable(start, end) && self.pages.watch(start, end)
    }

    /// Whether the app may write there, and isn't kept from it: a fault that it met there comes from what isn't so any more.
    pub fn may_be_written(&mut self, address: u64) -> bool {
        !self.is_protected(address) && self.find(address).is_some_and(|region| region.write)
    }

    /// Code at `address`, in writable memory, is about to be looked at.
    pub fn remember_writes(&mut self, address: u64) {
        self.pages.remember(address);
    }

    /// The pages behind `start` can change without a write to them.
    pub fn expect_changes(&mut self, start: u64, end: u64) {
        self.pages.mark_as_changing(start, end);
    }

    /// Whether translations of code in `start .. end` must be compared with it when they are entered.
    pub fn are_compared(&self, start: u64, end: u64) -> bool {
        self.pages.are_compared(start, end)
    }

    /// Translations of code in `start .. end` were compared with it. Whether a page of it is trusted from now on; its translations are
    /// to be made anew.
    pub fn were_compared(&mut self, start: u64, end: u64, same: bool) -> bool {
        self.pages.were_compared(start, end, same)
    }

    /// Whether some of the code in `start .. end` can change without a write to its pages.
    pub fn change_elsewhere(&self, start: u64, end: u64) -> bool {
        self.pages.change_elsewhere(start, end)
    }

    /// Whether the page of `address` is write-protected by us.
    pub fn is_protected(&self, address: u64) -> bool {
        self.pages.is_protected(address)
    }

    /// Pages in `start .. end` that are, by address.
    pub fn protected_in(&self, start: u64, end: u64) -> Vec<u64> {
        self.pages.protected_in(start, end)
    }

    /// Makes the page of `address` writable again because it is about to be written.
    pub fn release(&mut self, address: u64) {
        self.pages.release(address);
    }

    /// The app mapped or re-protected `start .. end` itself: what we knew of these pages is void.
    pub fn forget_pages(&mut self, start: u64, end: u64) {
        self.pages.forget(start, end);
    }

    /// A call that goes on while others run may write `start .. end`.
    pub fn call_begins(&mut self, start: u64, end: u64) {
        self.pages.call_begins(start, end);
    }

    /// Such a call is over.
    pub fn call_ends(&mut self, start: u64, end: u64) {
        self.pages.call_ends(start, end);
    }

    /// The mapping that contains `address`.
    pub fn find(&mut self, address: u64) -> Option<&AppMapping> {
        self.position(address).map(|n| &self.list[n])
    }

    /// Whether code at `address` is shared between slices. Takes the tables' lock.
    pub fn shared(&mut self, address: u64, tables: &Tables) -> bool {
        let Some(region) = self.position(address).map(|n| &mut self.list[n]) else {
            return false;
        };
        if region.shared.is_none() {
            let changes = self.changing.contains(&region.file.inode);
            let candidate = region.private && region.execute && !region.write && region.file.inode != 0 && !changes;
            let version = if self.outlives_run { region.settled_version() } else { Some(FileVersion::default()) };
            let path = region.path.as_deref().unwrap_or_default().as_bytes();
            let register = |version| tables.lock().register_region(&region.file, version, path);
            let shared = candidate && is_unchanged(&region.file) && version.is_some_and(register);
            region.shared = Some(shared);
        }
        region.shared == Some(true)
    }

    /// Those of the registered mappings that are the same here. Takes the tables' lock.
    pub fn registered(&mut self, tables: &Tables) -> RegionSet {
        let mut set = RegionSet::default();
        self.complete();
        for (number, registered) in tables.registered().iter().enumerate() {
            let is_here = self.list.iter().any(|region| region.file == *registered);
            if is_here && self.shared(registered.start, tables) {
                set.insert(number);
            }
        }
        set
    }

    /// From now on code of this file may change at any time. Gives the mappings from which it can be executed, start and end, if that is new.
    pub fn mark_as_changing(&mut self, inode: u64) -> Vec<(u64, u64)> {
        if !self.changing.insert(inode) {
            return Vec::new();
        }
        self.complete();
        let of_file = self.list.iter().filter(|region| region.execute && region.file.inode == inode);
        of_file.map(|region| (region.file.start, region.file.end)).collect()
    }

    /// Whether code in a mapping can change though nobody writes to that mapping.
    pub fn may_change_elsewhere(&self, region: &AppMapping) -> bool {
        !region.private && !self.is_unshared(region) || self.changing.contains(&region.file.inode)
    }

    /// Whether a shared mapping is of anonymous memory, no part of which is mapped twice. Then nobody else has it, but for what was there when a child was
    /// forked: that is marked as changing ([`Self::mark_as_changing`]). JIT compilers whose processes could share what they make have their code there.
    fn is_unshared(&self, region: &AppMapping) -> bool {
        let object = |of: &AppMapping| (of.file.device, of.file.inode);
        let part = |of: &AppMapping| (of.file.offset, of.file.offset + (of.file.end - of.file.start));
        let overlaps = |other: &&AppMapping| part(other).0 < part(region).1 && part(region).0 < part(other).1;
        let same = self.list.iter().filter(|other| object(other) == object(region));
        self.is_memory(region) && same.filter(overlaps).count() == 1
    }

    /// Whether a mapping shows memory that would be shared with children, and with nobody else.
    fn is_memory(&self, region: &AppMapping) -> bool {
        let name = if self.has_copies { COPY } else { ANONYMOUS };
        !region.private && region.path.as_deref() == Some(name)
    }

    /// Inodes of all shared mappings of anonymous memory.
    pub fn shared_memory(&mut self) -> HashSet<u64> {
        self.complete();
        let shared = self.list.iter().filter(|region| self.is_memory(region));
        shared.map(|region| region.file.inode).collect()
    }

    /// Whether two addresses lie in the same mapping.
    pub fn same(&mut self, a: u64, b: u64) -> bool {
        self.find(a).is_some_and(|r| (r.file.start..r.file.end).contains(&b))
    }

    /// Where readable, executable memory that contains `address` and goes on without a gap ends, at most at `limit`.
    pub fn code_end(&mut self, address: u64, limit: u64) -> u64 {
        let mut end = address;
        while end < limit
            && let Some(region) = self.find(end).filter(|r| r.read && r.execute)
        {
            end = region.file.end;
        }
        end.min(limit)
    }

    /// Whether a mapping in `start .. end` can be written.
    pub fn any_writable(&mut self, start: u64, end: u64) -> bool {
        [start, end - 1].into_iter().any(|at| self.find(at).is_some_and(|r| r.write))
    }

    /// Code from `pc` on, if nothing can change it but a system call of the app's and it lies in the same mapping as `near`;
    /// else nothing.
    pub fn constant_code(&mut self, pc: u64, near: u64) -> &'static [u8] {
        let Some(region) = self.position(near).map(|n| &self.list[n]) else { return &[] };
        let is_code = region.execute && region.read && !region.write && region.file.inode != 0;
        let constant = is_code && !self.may_change_elsewhere(region);
        let (start, end) = (region.file.start, region.file.end);
        if !constant || !(start..end).contains(&pc) {
            return &[];
        }
        if !self.looked_at.contains(&(start, end)) {
            self.looked_at.push((start, end));
        }
        code_at(AppPc(pc), end - pc)
    }

    /// Where a branch through the word at `pointer` goes, if nothing can change that but a system call of the app's.
    pub fn constant_target(&mut self, pointer: u64) -> Option<AppPc> {
        let at = self.position(pointer)?;
        if !self.pointers.rely_on(pointer, &self.list[at]) {
            return None;
        }
        // SAFETY: the whole word lies in a mapping that can be read.
        let target = unsafe { (pointer as *const u64).read() };
        let target = self.find(target).filter(|region| region.execute).map(|_| AppPc(target))?;
        self.pointers.remember(pointer, target);
        Some(target)
    }

    /// Whether all words that [`AppCode::constant_target`] gave out still lead where they did. Forgets them otherwise.
    pub fn slots_hold(&mut self) -> bool {
        let pointers = self.pointers.take_all();
        if pointers.is_empty() {
            return true;
        }
        self.forget();
        let hold = pointers.into_iter().all(|(pointer, target)| self.constant_target(pointer) == Some(target));
        if !hold {
            self.pointers.take_all();
        }
        hold
    }

    /// Whether [`AppCode::constant_code`] gave out code of a mapping that `start .. end` overlaps, or [`AppCode::constant_target`] a word. Forgets it.
    pub fn take_looked_at(&mut self, start: u64, end: u64) -> bool {
        let before = self.looked_at.len();
        self.looked_at.retain(|&(s, e)| end <= s || e <= start);
        self.pointers.take(start, end) || self.looked_at.len() != before
    }

    /// What is mapped in `start .. end` changed; nothing was found by the code there ([`AppCode::take_looked_at`]).
    ///
    /// All else stays known: to read the mappings again takes a millisecond where there are a thousand, and an allocator that makes its memory writable
    /// page by page changes some as often.
    pub fn forget_in(&mut self, start: u64, end: u64) {
        // Whether shared memory is mapped twice is known from all mappings together.
        if self.list.iter().any(|region| region.execute && self.is_memory(region)) {
            return self.forget();
        }
        self.list.retain(|region| region.file.end <= start || region.file.start >= end);
        self.is_partial = true;
    }

    /// Mappings changed.
    pub fn forget(&mut self) {
        self.liveness.forget();
        self.list.clear();
    }

    /// For what is asked of all of them.
    fn complete(&mut self) {
        if self.list.is_empty() || self.is_partial {
            self.read().unwrap_or_default();
        }
    }

    fn read(&mut self) -> io::Result<()> {
        self.is_partial = false;
        self.list.clear();
        // Not by `/proc/self`, where nothing is left when the process's first thread has ended.
        self.list.extend(mapping::all("thread-self")?.iter().map(AppMapping::told));
        self.undo_protection();
        Ok(())
    }

    /// Makes the list tell what the app can write to, although pages of that are protected.
    fn undo_protection(&mut self) {
        let mut whole: Vec<AppMapping> = Vec::with_capacity(self.list.len());
        for region in self.list.drain(..) {
            let (start, end) = (region.file.start, region.file.end);
            let mut at = start;
            if region.execute && !region.write {
                for page in self.pages.protected_in(start, end) {
                    append(&mut whole, region.part(at, page));
                    append(&mut whole, AppMapping { write: true, ..region.part(page, page + PAGE) });
                    at = page + PAGE;
                }
            }
            append(&mut whole, region.part(at, end));
        }
        self.list = whole;
    }

    fn position(&mut self, address: u64) -> Option<usize> {
        let look = |list: &[AppMapping]| {
            let n = list.partition_point(|r| r.file.end <= address);
            (n < list.len() && list[n].file.start <= address).then_some(n)
        };
        look(&self.list).or_else(|| {
            if !self.read_one(address) && self.read().is_err() {
                self.list = guess(address);
            }
            look(&self.list)
        })
    }

    /// Adds the mapping that contains `address`, if there is one, to a list in which it is missing. False if all have to be read: whether shared memory is
    /// mapped twice is known from all mappings, and where pages are protected one of the app's is several.
    fn read_one(&mut self, address: u64) -> bool {
        if self.list.is_empty() {
            return false;
        }
        let region = match mapping_at(address) {
            Answer::Is(mapping) if !mapping.shared => AppMapping::told(&mapping),
            Answer::Nothing => return true,
            Answer::Is(_) | Answer::Unknown => return false,
        };
        let (start, end) = (region.file.start, region.file.end);
        if region.execute && self.pages.any_protected_in(start.saturating_sub(1), end + 1) {
            return false;
        }
        // What the kernel has made one with it since is a part of it now.
        self.list.retain(|other| other.file.end <= start || other.file.start >= end);
        let at = self.list.partition_point(|other| other.file.end <= start);
        self.list.insert(at, region);
        true
    }
}

#[cfg(test)]
mod tests;
