//! Mappings, as the app made them.

use std::os::unix::fs::FileExt;
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

use bubble::code_files::{FileRegion, FileVersion};
use machine::mapping::Mapping;
use machine::{Here, Memory, proc};

use super::protection::PAGE;

/// One mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
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

impl Region {
    /// What the kernel has told of a private one.
    pub(super) fn private(mapping: &Mapping) -> Self {
        let &Mapping { start, end, offset, device, inode, read, write, execute, .. } = mapping;
        let path = Some(mapping.name.as_str()).filter(|name| name.starts_with('/')).map(Rc::from);
        let file = FileRegion { start, end, offset, device, inode };
        Self { file, read, write, execute, private: true, path, shared: None }
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
    const FILE_PAGE: u64 = 1 << 61;
    const SWAPPED: u64 = 1 << 62;
    const PRESENT: u64 = 1 << 63;
    let pages = ((region.end - region.start) / 4096) as usize;
    let mut entries = vec![0; pages * 8];
    let read =
        proc::open("thread-self/pagemap").and_then(|file| file.read_exact_at(&mut entries, region.start / PAGE * 8));
    read.is_ok()
        && entries.chunks_exact(8).all(|entry| {
            let entry = u64::from_le_bytes(entry.try_into().expect("eight bytes"));
            entry & (PRESENT | SWAPPED) == 0 || entry & FILE_PAGE != 0
        })
}

/// Appends what isn't empty. What can be written to and executed is one with what it goes on from: protected pages have cut it.
pub(super) fn append(list: &mut Vec<Region>, region: Region) {
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
pub(super) fn guess(address: u64) -> Vec<Region> {
    let start = address & !(PAGE - 1);
    let read = Here::new().read(start, &mut [0]).is_ok();
    let file = FileRegion { start, end: start + PAGE, offset: 0, device: 0, inode: 0 };
    // Not private: translations are compared with the code each time, since it may be writable.
    let region = Region { file, read, write: false, execute: true, private: false, path: None, shared: Some(false) };
    if read { vec![region] } else { Vec::new() }
}

pub(super) fn parse_line(line: &str) -> Option<Region> {
    let mut fields = line.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    let permissions = fields.next()?.as_bytes();
    let hex = |digits| u64::from_str_radix(digits, 16).ok();
    let offset = hex(fields.next()?)?;
    let (major, minor) = fields.next()?.split_once(':')?;
    let inode = fields.next()?.parse().ok()?;
    let path = fields.next().map(str::trim_start).filter(|path| path.starts_with('/')).map(Rc::from);
    let device = hex(major)? << 32 | hex(minor)?;
    Some(Region {
        file: FileRegion { start: hex(start)?, end: hex(end)?, offset, device, inode },
        read: permissions[0] == b'r',
        write: permissions[1] == b'w',
        execute: permissions[2] == b'x',
        private: permissions[3] == b'p',
        path,
        shared: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_proc_maps_are_understood() {
        let line = "7f0000000000-7f0000001000 r-xp 00001000 fe:01 1234   /usr/lib/libc.so.6";
        let region = parse_line(line).unwrap();
        let file = FileRegion {
            start: 0x7f00_0000_0000,
            end: 0x7f00_0000_1000,
            offset: 0x1000,
            device: 0xfe_0000_0001,
            inode: 1234,
        };
        assert_eq!(region.file, file);
        assert!(region.read && !region.write && region.execute && region.private);
        assert_eq!(region.path.as_deref(), Some("/usr/lib/libc.so.6"));
        let with_blank = parse_line("1000-2000 r--p 00000000 08:01 7                  /a b (deleted)").unwrap();
        assert_eq!((with_blank.file.inode, with_blank.path.as_deref()), (7, Some("/a b (deleted)")));
        let without = parse_line("1000-2000 rw-p 00000000 00:00 0 ").unwrap();
        assert_eq!((without.file.inode, without.path), (0, None));
        assert!(parse_line("1000-2000 rw-p 00000000 00:00 0                          [heap]").unwrap().path.is_none());
    }
}
