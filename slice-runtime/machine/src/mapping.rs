//! Asks the kernel for single mappings of a process, by the `PROCMAP_QUERY` of /proc/PID/maps (Linux 6.11): to read the whole list takes as long as it
//! is, and a program that makes and changes mappings of code all the time has that done each time.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

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
        let text = std::fs::read_to_string("/proc/self/maps").unwrap();
        let maps = File::open("/proc/self/maps").unwrap();
        let here = a_mapping_is_told_as_in_the_list as *const () as u64;
        let Answer::Is(mapping) = at(&maps, here) else {
            // An older kernel.
            assert_eq!(at(&maps, here), Answer::Unknown);
            return;
        };
        let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
        let in_line = |line: &&str| {
            let (start, end) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
            (number(start)..number(end)).contains(&here)
        };
        let fields: Vec<&str> = text.lines().find(in_line).unwrap().split_ascii_whitespace().collect();
        let Mapping { start, end, offset, device, inode, .. } = mapping;
        assert_eq!(fields[0], format!("{start:x}-{end:x}"));
        assert_eq!(fields[1], "r-xp");
        assert!(mapping.read && !mapping.write && mapping.execute && !mapping.shared);
        let device = format!("{:02x}:{:02x}", device >> 32, device as u32);
        assert_eq!(&fields[2..], [format!("{offset:08x}"), device, inode.to_string(), mapping.name.clone()]);
        assert_eq!((at(&maps, end - 1), at_or_after(&maps, start)), (Answer::Is(mapping.clone()), Answer::Is(mapping)));
        assert_eq!(at(&maps, 8), Answer::Nothing);
        assert!(matches!(at_or_after(&maps, 8), Answer::Is(first) if first.start > 8));
    }
}
