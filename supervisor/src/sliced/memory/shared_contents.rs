//! Reads what shared mappings hold, for copies of it.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use bubble::map::ENTRY;
use machine::Memory;
use nix::errno::Errno;
use nix::sys::statfs::{EXT4_SUPER_MAGIC, FsType, TMPFS_MAGIC, XFS_SUPER_MAGIC, fstatfs};
use nix::unistd::{Whence, lseek64};
use tracee::{Remote, Stopped, TraceError};

use crate::app::{Mapping, is_swapping};
use crate::base::Failure;

const PAGE: usize = machine::PAGE as usize;
/// Bytes of a mapping that are copied although the app can't read them at the moment, and it can't be found out which were written:
/// it may only have reserved the space.
const MOST_UNREADABLE: u64 = 64 << 20;
/// File systems that take note of a page before it can be written to through a mapping, so that what they call a hole is one: the others might tell of
/// what has been written back only.
const TELL_HOLES: [FsType; 3] = [TMPFS_MAGIC, EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC];
/// Less is read sooner than asked about.
const WORTH_ASKING: u64 = 1 << 20;

/// Fills `buf` from address `at` of a mapping of `process`. What can't be read becomes zeroes: it can't be read in a slice either, see [`super::behind_end`].
pub fn read(process: &Stopped, map: &Mapping, at: u64, buf: &mut [u8]) {
    let len = read_prefix(process, map, at, buf);
    buf[len..].fill(0);
}

/// Reads as much as there is from address `at` of a mapping on, whether the app can read it at the moment or not: how much.
pub fn read_prefix(process: &Stopped, map: &Mapping, at: u64, buf: &mut [u8]) -> usize {
    if map.protection & libc::PROT_READ != 0 {
        process.read_prefix(at, buf)
    } else {
        read_as_debugger(process.pid(), at, buf)
    }
}

/// Reads what the app itself can't at the moment, but when it has changed the protection.
fn read_as_debugger(pid: i32, at: u64, buf: &mut [u8]) -> usize {
    let Ok(memory) = File::open(format!("/proc/{pid}/mem")) else { return 0 };
    let mut done = 0;
    while done < buf.len() {
        match memory.read_at(&mut buf[done..], at + done as u64) {
            Ok(0) | Err(_) => break,
            Ok(n) => done += n,
        }
    }
    done
}

/// Parts of a mapping of the master's in which something may have been written, by the mapping or, in a fork, by what the kernel tells about its pages. Large shared
/// memory is mostly a hole, and to read a hole would fill it with pages. `opened`: the file behind it, if it is open here.
///
/// # Errors
/// If the fork was killed.
pub fn written_parts_of(
    master: &Stopped,
    copy: &mut Stopped,
    gadget: u64,
    map: &Mapping,
    opened: Option<&File>,
) -> Result<Vec<Range<u64>>, Failure> {
    let parts = written_parts(master.pid(), map, opened);
    let whole = map.start..map.end;
    let is_told = parts.as_slice() != std::slice::from_ref(&whole) || map.len() < WORTH_ASKING || !map.is_anonymous;
    if is_told {
        return Ok(parts);
    }
    Ok(resident_parts(copy, gadget, map)?.unwrap_or(parts))
}

/// Where there are pages at all, of an anonymous mapping: where there are none, nothing was written. Asked by `mincore` in
/// the fork, which gets a place for the answer where it will be set up as a slice. `None` if that can't be told: as long as any pages are in swap space.
///
/// # Errors
/// If the fork was killed.
pub fn resident_parts(copy: &mut Stopped, gadget: u64, map: &Mapping) -> Result<Option<Vec<Range<u64>>>, Failure> {
    if is_swapping() {
        return Ok(None);
    }
    let (pid, page) = (copy.pid(), PAGE as u64);
    let mut remote = Remote::new(copy, gadget)?;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let place = [ENTRY.start, ENTRY.size, protection as u64, kind as u64, u64::MAX, 0];
    remote.expect("map memory in it", libc::SYS_mmap, place)?;
    let mut parts: Vec<Range<u64>> = Vec::new();
    for start in (map.start..map.end).step_by((ENTRY.size * page) as usize) {
        let len = (map.end - start).min(ENTRY.size * page);
        if remote.call(libc::SYS_mincore, [start, len, ENTRY.start, 0, 0, 0])? != 0 {
            return Ok(None);
        }
        let mut told = vec![0; len.div_ceil(page) as usize];
        remote.memory().read(ENTRY.start, &mut told).map_err(|source| TraceError::Memory { pid, source })?;
        for (n, _) in told.iter().enumerate().filter(|(_, told)| **told & 1 != 0) {
            let at = start + n as u64 * page;
            match parts.last_mut() {
                Some(part) if part.end == at => part.end += page,
                _ => parts.push(at..at + page),
            }
        }
    }
    // A page that went to swap space meanwhile would seem to be none.
    Ok((!is_swapping()).then_some(parts))
}

/// Parts of a mapping in which something may have been written, as far as that can be found out by looking at it.
pub fn written_parts(pid: i32, map: &Mapping, opened: Option<&File>) -> Vec<Range<u64>> {
    let is_copied = map.protection & libc::PROT_READ != 0 || map.len() <= MOST_UNREADABLE;
    let whole = Vec::from_iter(is_copied.then_some(map.start..map.end));
    // Pages of a private mapping hold what the app has written to them, whatever the file has there.
    if !map.is_shared {
        return whole;
    }
    let by_name;
    let object = match opened {
        Some(file) => file,
        None => {
            // Only the privileged may open it by that name.
            let name = format!("/proc/{pid}/map_files/{:x}-{:x}", map.start, map.end);
            let Ok(file) = File::open(name) else { return whole };
            by_name = file;
            &by_name
        }
    };
    match fstatfs(object) {
        Ok(system) if TELL_HOLES.contains(&system.filesystem_type()) => {}
        _ => return whole,
    }
    let (mut parts, mut at, end) = (Vec::new(), map.offset, map.offset + map.len());
    while at < end {
        let from = match lseek64(object, at as i64, Whence::SeekData) {
            Ok(from) => from as u64,
            // Nothing follows.
            Err(Errno::ENXIO) => break,
            Err(_) => return whole,
        };
        let Ok(to) = lseek64(object, from as i64, Whence::SeekHole) else { return whole };
        at = (to as u64).next_multiple_of(PAGE as u64);
        let part = (from.min(end) & !(PAGE as u64 - 1))..at.min(end);
        if !part.is_empty() {
            parts.push(part.start - map.offset + map.start..part.end - map.offset + map.start);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::path::Path;

    use super::*;
    use crate::app::mappings;

    const PAGES: usize = 64;

    /// Pages of a new shared mapping that are found to have been written, in pieces, where that can be found out. Three were.
    fn found(flags: i32, fd: i32) -> Option<Vec<Range<usize>>> {
        // SAFETY: a new mapping of this test's own.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), PAGES * PAGE, 3, flags, fd, 0) } as u64;
        for page in [3, 4, 9] {
            // SAFETY: the mapping is writable and that long.
            unsafe { *((start + page * PAGE as u64) as *mut u8) = 1 };
        }
        let me = std::process::id() as i32;
        let map = mappings(me).into_iter().find(|map| map.start == start).unwrap();
        let parts = written_parts(me, &map, None);
        if File::open(format!("/proc/self/map_files/{start:x}-{:x}", map.end)).is_err() {
            assert_eq!(parts, vec![start..map.end; 1]);
            return None;
        }
        let page = |address: u64| (address - start) as usize / PAGE;
        Some(parts.into_iter().map(|part| page(part.start)..page(part.end)).collect())
    }

    #[test]
    fn holes_of_shared_memory_are_left_out() {
        let parts = found(libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1);
        assert!(parts.is_none_or(|parts| parts == [3..5, 9..10]));
    }

    /// However lately pages were written, and whether a place on the disk was set aside for them before.
    #[test]
    fn holes_of_files_are_left_out_where_the_file_system_tells() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("holes-{}", std::process::id()));
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        file.set_len((PAGES * PAGE) as u64).unwrap();
        let tells = TELL_HOLES.contains(&fstatfs(&file).unwrap().filesystem_type());
        let parts = found(libc::MAP_SHARED, file.as_raw_fd());
        let expected = if tells { vec![3..5, 9..10] } else { Vec::from_iter(Some(0..PAGES)) };
        assert!(parts.is_none_or(|parts| parts == expected));
        // SAFETY: a plain system call on a descriptor of this test's own.
        let reserved = unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, (PAGES * PAGE) as i64) } == 0;
        let covers =
            |parts: Vec<Range<usize>>| [3, 4, 9].iter().all(|page| parts.iter().any(|part| part.contains(page)));
        assert!(!reserved || found(libc::MAP_SHARED, file.as_raw_fd()).is_none_or(covers));
    }
}
