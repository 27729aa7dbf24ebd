//! Memory that the app sees through several shared mappings at once: copied for this process.
//!
//! The control process has given the slice objects of its own in place of those that it shared with the master, and mapped them
//! privately where one mapping is all there is. Where there are several they must see each other's writes, so they are shared
//! mappings, which a fork shares as well: with the process that keeps the slice's first state, and with another attempt at
//! the slice. So each process that runs the slice moves what is in them to new objects before it starts.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;

use bubble::map::BUBBLE;
use machine::mapping::{self, Mapping};
use machine::pagemap::{Entry, Pagemap};
use machine::{Here, Memory, PAGE};

/// As far from its start an object is copied where it isn't mapped: as far as the control process has copied it, which takes less.
const MOST_UNMAPPED: u64 = 64 << 20;

/// Whether this process has looked at any page from `start` to `end` since [`make_own`], or at one near it: a page of its copies
/// is mapped when it is touched. True if that can't be found out.
pub fn is_touched((start, end): (u64, u64)) -> bool {
    let pages = Pagemap::open("self").and_then(|pagemap| pagemap.range(start, end));
    pages.map_or(true, |pages| pages.iter().any(Entry::is_there))
}

/// Gives this process its own objects.
///
/// # Errors
/// If there is no memory for them.
pub fn make_own() -> io::Result<()> {
    let mut objects: BTreeMap<_, Vec<Mapping>> = BTreeMap::new();
    for mapping in mapping::all("self")?.into_iter().filter(is_meant) {
        objects.entry((mapping.device, mapping.inode)).or_default().push(mapping);
    }
    objects.values().try_for_each(|mappings| replace(mappings))
}

/// Whether it is a shared mapping of memory that was made for this slice.
fn is_meant(mapping: &Mapping) -> bool {
    mapping.shared && mapping.name.starts_with("/memfd:") && !BUBBLE.overlaps(mapping.start, mapping.size())
}

fn replace(mappings: &[Mapping]) -> io::Result<()> {
    // SAFETY: the name is a C string; the descriptor is new and nobody else owns it.
    let object =
        unsafe { File::from_raw_fd(checked(libc::memfd_create(c"".as_ptr(), libc::MFD_CLOEXEC).into())? as i32) };
    let len = mappings.iter().map(|map| map.offset + map.size()).max().unwrap_or(0);
    object.set_len(len.max(MOST_UNMAPPED))?;
    copy_unmapped(mappings, &object)?;
    for map in mappings.iter().filter(|map| map.read) {
        // SAFETY: the mapping is readable to its end: the object behind it was made that long.
        let bytes = unsafe { std::slice::from_raw_parts(map.start as *const u8, map.size() as usize) };
        object.write_all_at(bytes, map.offset)?;
    }
    for map in mappings {
        let flags = libc::MAP_SHARED | libc::MAP_FIXED;
        let len = map.size() as usize;
        // SAFETY: the app's mapping is replaced by one with the same contents; nothing of the runtime's lies there.
        let mapped = unsafe {
            let (start, offset) = (map.start as *mut libc::c_void, map.offset as i64);
            libc::mmap(start, len, map.protection(), flags, object.as_raw_fd(), offset)
        };
        checked(mapped as i64)?;
    }
    Ok(())
}

/// What the object holds where nothing of it is mapped: the app may map it again.
fn copy_unmapped(mappings: &[Mapping], object: &File) -> io::Result<()> {
    let readable = || mappings.iter().filter(|map| map.read);
    let Some(map) = readable().next() else { return Ok(()) };
    let len = MOST_UNMAPPED as usize;
    let mut there = vec![0_u8; len / PAGE as usize];
    // SAFETY: a second mapping of the object, at an address of the kernel's choice, which shows it from its start on; it is unmapped below. The list has a byte for
    // each page. Nothing is kept of the structure, which is plain data.
    let (start, is_swapping) = unsafe {
        let start = checked(libc::mremap(map.start as *mut libc::c_void, 0, len, libc::MREMAP_MAYMOVE) as i64)?;
        checked(libc::syscall(libc::SYS_remap_file_pages, start, len, 0, 0, libc::MAP_NONBLOCK))?;
        checked(libc::mincore(start as *mut libc::c_void, len, there.as_mut_ptr()).into())?;
        let mut told: libc::sysinfo = std::mem::zeroed();
        (start as u64, libc::sysinfo(&raw mut told) != 0 || told.totalswap != told.freeswap)
    };
    let is_copied = |offset: u64| readable().any(|map| offset.wrapping_sub(map.offset) < map.size());
    let mut page = [0; PAGE as usize];
    for (number, there) in there.iter().enumerate() {
        let offset = number as u64 * PAGE;
        // What is in swap space doesn't seem to be there. Behind the object's end nothing can be read.
        let is_needed = (is_swapping || there & 1 != 0) && !is_copied(offset);
        if is_needed && Here::new().read(start + offset, &mut page).is_ok() {
            object.write_all_at(&page, offset)?;
        }
    }
    // SAFETY: the mapping is this function's own.
    checked(unsafe { libc::munmap(start as *mut libc::c_void, len) }.into()).map(drop)
}

fn checked(result: i64) -> io::Result<i64> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_apps_shared_memory_is_meant() {
        let line = "7ffff7fb6000-7ffff7fb7000 rw-s 00001000 00:01 1026     /memfd: (deleted)";
        let is_meant = |line: &str| is_meant(&Mapping::parse(line).unwrap());
        assert!(is_meant(line));
        assert!(!is_meant(&line.replace("rw-s", "rw-p")));
        assert!(!is_meant(&line.replace("/memfd:", "/tmp/x")));
        let run_memory = format!("{:x}-{:x} rw-s 0 00:01 7 /memfd:superpin-run", BUBBLE.start, BUBBLE.start + PAGE);
        assert!(!is_meant(&run_memory));
    }
}
