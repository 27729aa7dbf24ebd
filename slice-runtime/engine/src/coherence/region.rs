//! Mappings, as the app made them.

use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

use bubble::code_files::{FileRegion, FileVersion};
use machine::mapping::{self, Answer, Mapping};
use machine::pagemap::{Entry, Pagemap};
use machine::{Here, Memory, PAGE, proc};

/// One mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppMapping {
    /// Place and identity of the file (zero inode for anonymous memory).
    pub file: FileRegion,
    /// Whether it can be read.
    pub read: bool,
    /// Whether it can be written.
    pub write: bool,
    /// Whether code can be fetched from it.
    pub execute: bool,
    /// Whether it is private.
    pub private: bool,
    /// The file's path, as the kernel tells it.
    pub(super) path: Option<Rc<str>>,
    /// Whether its code is shared, once that was decided.
    pub(super) shared: Option<bool>,
}

/// What /proc calls the file of shared anonymous memory.
pub(super) const ANONYMOUS: &str = "/dev/zero (deleted)";

/// What it calls the objects with the copies that a slice has of shared memory; no other process has them, nor a descriptor for them.
pub(super) const COPY: &str = "/memfd: (deleted)";

/// What is mapped at an address, without a list of all mappings.
pub fn mapping_at(address: u64) -> Answer {
    // Not by `/proc/self`, where nothing is left when the process's first thread has ended.
    proc::open("thread-self/maps").map_or(Answer::Unknown, |maps| mapping::at(&maps, address))
}

impl AppMapping {
    /// What the kernel has told of it.
    pub(super) fn told(mapping: &Mapping) -> Self {
        let &Mapping { start, end, offset, device, inode, read, write, execute, shared, .. } = mapping;
        let path = Some(mapping.name.as_str()).filter(|name| name.starts_with('/')).map(Rc::from);
        let file = FileRegion { start, end, offset, device, inode };
        Self { file, read, write, execute, private: !shared, path, shared: None }
    }

    /// The file and the place in it that an address shows, as `FILE+0x1234`.
    pub fn place(&self, address: u64) -> Option<String> {
        let offset = self.file.offset + (address - self.file.start);
        self.path.as_ref().map(|path| format!("{path}+{offset:#x}"))
    }

    /// A part of it.
    pub(super) fn part(&self, start: u64, end: u64) -> Self {
        let offset = if self.file.inode == 0 { 0 } else { self.file.offset + (start - self.file.start) };
        Self { file: FileRegion { start, end, offset, ..self.file }, ..self.clone() }
    }

    /// Whether a mapping that can be written to and executed follows another as one would.
    pub(super) fn goes_on_from(&self, last: &Self) -> bool {
        let (file, before) = (&self.file, &last.file);
        let goes_on = file.inode == 0 || file.offset == before.offset + (before.end - before.start);
        let is_next = before.end == file.start && goes_on && (file.device, file.inode) == (before.device, before.inode);
        let are_code = [self, last].iter().all(|region| region.write && region.execute);
        is_next && are_code && (self.read, self.private) == (last.read, last.private)
    }

    /// What the file is now, if any further change of it will show.
    pub(super) fn settled_version(&self) -> Option<FileVersion> {
        let metadata = std::fs::metadata(self.path.as_deref()?).ok()?;
        if !self.file.is_of(&metadata) {
            return None;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_nanos();
        Some(FileVersion::of(&metadata)).filter(|version| version.is_settled(i64::try_from(now).unwrap_or(0)))
    }
}

/// Whether every page that is present is still the file's own page.
pub(super) fn is_unchanged(region: &FileRegion) -> bool {
    let pages = Pagemap::open("thread-self").and_then(|pagemap| pagemap.range(region.start, region.end));
    pages.is_ok_and(|pages| !pages.iter().any(Entry::is_own))
}

/// Appends what isn't empty. What can be written to and executed is one with what it goes on from: protected pages have cut it.
pub(super) fn append(list: &mut Vec<AppMapping>, region: AppMapping) {
    if region.file.start == region.file.end {
        return;
    }
    match list.last_mut() {
        Some(last) if region.goes_on_from(last) => last.file.end = region.file.end,
        _ => list.push(region),
    }
}

/// The page at `address`, where nobody tells what it is: the app sees no /proc, or has no descriptor left. If it can be read
/// it is taken for code; what isn't faults when it is executed natively, but not here.
pub(super) fn guess(address: u64) -> Vec<AppMapping> {
    let start = address & !(PAGE - 1);
    let read = Here::new().read(start, &mut [0]).is_ok();
    let file = FileRegion { start, end: start + PAGE, offset: 0, device: 0, inode: 0 };
    // Not private: translations are compared with the code each time, since it may be writable.
    let region =
        AppMapping { file, read, write: false, execute: true, private: false, path: None, shared: Some(false) };
    if read { vec![region] } else { Vec::new() }
}
