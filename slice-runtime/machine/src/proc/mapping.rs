//! Mappings of a process, by its list /proc/PID/maps.
//!
//! Single ones can be asked for, by the `PROCMAP_QUERY` of that file (Linux 6.11): to read the whole list takes as long as it
//! is, and a program that makes and changes mappings of code all the time has that done each time.

use std::fmt::Display;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use super::files;

/// A mapping, as a line of /proc/PID/maps tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// First address after it.
    pub end: u64,
    /// Offset in the file.
    pub offset: u64,
    /// Device: major number in the upper half, minor in the lower.
    pub device: u64,
    /// Inode; 0 if it is of no file.
    pub inode: u64,
    /// Whether it can be read.
    pub read: bool,
    /// Whether it can be written.
    pub write: bool,
    /// Whether code can be fetched from it.
    pub execute: bool,
    /// Whether it is shared.
    pub shared: bool,
    /// The last column.
    pub name: String,
}

impl Mapping {
    /// From a line of the list.
    pub fn parse(line: &str) -> Option<Self> {
        let hex = |digits| u64::from_str_radix(digits, 16).ok();
        let mut fields = line.splitn(6, ' ');
        let (start, end) = fields.next()?.split_once('-')?;
        let &[read, write, execute, shared] = fields.next()?.as_bytes() else { return None };
        let offset = hex(fields.next()?)?;
        let (major, minor) = fields.next()?.split_once(':')?;
        let inode = fields.next()?.parse().ok()?;
        Some(Self {
            start: hex(start)?,
            end: hex(end)?,
            offset,
            device: hex(major)? << 32 | hex(minor)?,
            inode,
            read: read == b'r',
            write: write == b'w',
            execute: execute == b'x',
            shared: shared == b's',
            name: fields.next().unwrap_or_default().trim_start().to_owned(),
        })
    }

    /// Its bytes.
    pub fn size(&self) -> u64 {
        self.end - self.start
    }

    /// Its bits of `mprotect`.
    pub fn protection(&self) -> i32 {
        let bits = [(self.read, libc::PROT_READ), (self.write, libc::PROT_WRITE), (self.execute, libc::PROT_EXEC)];
        bits.into_iter().filter(|(is, _)| *is).map(|(_, bit)| bit).sum()
    }
}

/// The mappings of a process, in the order of their addresses. `process`: its number, `self`, or `thread-self`, which is right even if the process's first
/// thread has ended.
///
/// # Errors
/// If the process is gone, or somebody else's.
pub fn all(process: impl Display) -> io::Result<Vec<Mapping>> {
    let list = files::read_to_string(format!("{process}/maps"))?;
    Ok(list.lines().filter_map(Mapping::parse).collect())
}

/// What the kernel says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is this one.
    Is(Mapping),
    /// There is none.
    Nothing,
    /// It doesn't know the question, or the list has to be read for another reason.
    Unknown,
}

/// Which mapping of the process whose `maps` these are contains `address`.
pub fn at(maps: &File, address: u64) -> Answer {
    ask(maps, address, 0)
}

/// The same, or if there is none the next one.
pub fn at_or_after(maps: &File, address: u64) -> Answer {
    const OR_NEXT: u64 = 0x10;
    ask(maps, address, OR_NEXT)
}

const READABLE: u64 = 1;
const WRITABLE: u64 = 2;
const EXECUTABLE: u64 = 4;
const SHARED: u64 = 8;

/// The kernel's `struct procmap_query`.
#[repr(C)]
#[derive(Default)]
struct Query {
    size: u64,
    query_flags: u64,
    query_addr: u64,
    start: u64,
    end: u64,
    flags: u64,
    page_size: u64,
    offset: u64,
    inode: u64,
    major: u32,
    minor: u32,
    name_size: u32,
    build_id_size: u32,
    name_addr: u64,
    build_id_addr: u64,
}

/// `_IOWR('f', 17, struct procmap_query)`.
const PROCMAP_QUERY: libc::c_ulong = 3 << 30 | (size_of::<Query>() as u64) << 16 | (b'f' as u64) << 8 | 17;

fn ask(maps: &File, address: u64, flags: u64) -> Answer {
    let mut name = [0_u8; libc::PATH_MAX as usize];
    let mut query = Query {
        size: size_of::<Query>() as u64,
        query_flags: flags,
        query_addr: address,
        name_size: name.len() as u32,
        name_addr: name.as_mut_ptr() as u64,
        ..Query::default()
    };
    // SAFETY: the structure is the kernel's, and the name has as much room as it says.
    if unsafe { libc::ioctl(maps.as_raw_fd(), PROCMAP_QUERY, &raw mut query) } != 0 {
        let is_none = io::Error::last_os_error().raw_os_error() == Some(libc::ENOENT);
        return if is_none { Answer::Nothing } else { Answer::Unknown };
    }
    // The size counts the byte that ends it.
    let len = (query.name_size as usize).saturating_sub(1).min(name.len());
    let Ok(name) = std::str::from_utf8(&name[..len]) else { return Answer::Unknown };
    // The list has other characters in place of some.
    if name.contains(['\n', '\\']) {
        return Answer::Unknown;
    }
    Answer::Is(Mapping {
        start: query.start,
        end: query.end,
        offset: query.offset,
        device: u64::from(query.major) << 32 | u64::from(query.minor),
        inode: query.inode,
        read: query.flags & READABLE != 0,
        write: query.flags & WRITABLE != 0,
        execute: query.flags & EXECUTABLE != 0,
        shared: query.flags & SHARED != 0,
        name: name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_is_told_as_in_the_list() {
        let maps = File::open("/proc/self/maps").unwrap();
        let here = a_mapping_is_told_as_in_the_list as *const () as u64;
        if at(&maps, here) == Answer::Unknown {
            // An older kernel.
            return;
        }
        let mapping =
            all("self").unwrap().into_iter().find(|mapping| (mapping.start..mapping.end).contains(&here)).unwrap();
        assert_eq!(at(&maps, here), Answer::Is(mapping.clone()));
        assert!(mapping.read && !mapping.write && mapping.execute && !mapping.shared);
        let (start, end) = (mapping.start, mapping.end);
        assert_eq!((at(&maps, end - 1), at_or_after(&maps, start)), (Answer::Is(mapping.clone()), Answer::Is(mapping)));
        assert_eq!(at(&maps, 8), Answer::Nothing);
        assert!(matches!(at_or_after(&maps, 8), Answer::Is(first) if first.start > 8));
    }

    #[test]
    fn lines_are_understood() {
        let line = "7f0000000000-7f0000001000 r-xp 00001000 fe:01 1234   /usr/lib/libc.so.6";
        let mapping = Mapping::parse(line).unwrap();
        let expected = Mapping {
            start: 0x7f00_0000_0000,
            end: 0x7f00_0000_1000,
            offset: 0x1000,
            device: 0xfe_0000_0001,
            inode: 1234,
            read: true,
            write: false,
            execute: true,
            shared: false,
            name: "/usr/lib/libc.so.6".into(),
        };
        assert_eq!(mapping, expected);
        assert_eq!((mapping.size(), mapping.protection()), (0x1000, libc::PROT_READ | libc::PROT_EXEC));
        let with_blank = Mapping::parse("1000-2000 rw-s 00000000 08:01 7                  /a b (deleted)").unwrap();
        assert_eq!((with_blank.shared, with_blank.write, &*with_blank.name), (true, true, "/a b (deleted)"));
        let without = Mapping::parse("1000-2000 rw-p 00000000 00:00 0 ").unwrap();
        assert_eq!((without.inode, &*without.name), (0, ""));
        assert_eq!(Mapping::parse("Rss:                4 kB"), None);
    }
}
