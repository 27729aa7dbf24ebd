//! Mappings that show what was written to the file behind them. The slice has copies in their place, which nothing but a record of the writing changes, and of
//! which the app itself may have no more than the reading.

use std::fs::File;

use machine::mapping::{self, Answer, Mapping};
use machine::{Here, Memory, MemoryError, PAGE, proc};

/// Writes to memory that the app can't write at the moment, and leaves its protection as it is.
///
/// # Errors
/// If there is nothing, or what isn't the slice's alone.
pub fn write_protected(memory: &mut Here, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
    let failed = MemoryError { address, len: bytes.len() };
    let maps = proc::open("thread-self/maps").map_err(|_| failed)?;
    let (mut at, mut rest) = (address, bytes);
    while !rest.is_empty() {
        let own = own_at(&maps, at).ok_or(failed)?;
        let protection = own.protection();
        let (part, behind) = rest.split_at(rest.len().min((own.end - at) as usize));
        let first = at / PAGE * PAGE;
        let pages = (first, (at + part.len() as u64).next_multiple_of(PAGE) - first);
        protect(pages, protection | libc::PROT_READ | libc::PROT_WRITE).ok_or(failed)?;
        let written = memory.write(at, part).or_else(|_| {
            if !own.shared {
                fill(memory, pages);
            }
            memory.write(at, part)
        });
        protect(pages, protection).ok_or(failed)?;
        written?;
        (at, rest) = (at + part.len() as u64, behind);
    }
    Ok(())
}

/// Where there is nothing, because the file ended before, there are pages of zeroes now.
fn fill(memory: &Here, (start, len): (u64, u64)) {
    let (protection, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED);
    for page in (start..start + len).step_by(PAGE as usize) {
        if memory.read(page, &mut [0]).is_err() {
            // SAFETY: a page of the app's that nobody could read until now. If it can't be mapped, the caller can't write it.
            unsafe { libc::mmap(page as *mut libc::c_void, PAGE as usize, protection, flags, -1, 0) };
        }
    }
}

fn protect((start, len): (u64, u64), protection: i32) -> Option<()> {
    // SAFETY: app memory, which the caller has looked up; the runtime's own is never meant.
    (unsafe { libc::mprotect(start as *mut libc::c_void, len as usize, protection) } == 0).then_some(())
}

/// The mapping of the slice's own that contains the address.
fn own_at(maps: &File, address: u64) -> Option<Mapping> {
    let mapping = match mapping::at(maps, address) {
        Answer::Is(mapping) => Some(mapping),
        Answer::Nothing => None,
        Answer::Unknown => containing(mapping::all("thread-self").ok()?, address),
    };
    mapping.filter(is_own)
}

fn containing(all: Vec<Mapping>, address: u64) -> Option<Mapping> {
    all.into_iter().find(|map| (map.start..map.end).contains(&address))
}

/// A shared mapping of anything but memory that was made for this slice might show elsewhere what is written to it.
fn is_own(mapping: &Mapping) -> bool {
    !mapping.shared || mapping.name.starts_with("/memfd:")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two pages of memory of their own, the first of which can be read only, the other one not even that.
    fn pages(kind: i32, fd: i32) -> u64 {
        // SAFETY: a new mapping of this test's own.
        unsafe {
            let start = libc::mmap(std::ptr::null_mut(), 8192, libc::PROT_READ, kind, fd, 0) as u64;
            assert!(protect((start + PAGE, PAGE), libc::PROT_NONE).is_some());
            start
        }
    }

    #[test]
    fn what_the_app_cannot_write_is_written_and_stays_so() {
        // SAFETY: the name is a C string.
        let fd = unsafe { libc::memfd_create(c"".as_ptr(), 0) };
        // SAFETY: a plain system call on a descriptor of this test's own.
        assert_eq!(unsafe { libc::ftruncate(fd, 8192) }, 0);
        let mut here = Here::new();
        for (kind, fd) in [(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1), (libc::MAP_SHARED, fd)] {
            let start = pages(kind, fd);
            write_protected(&mut here, start + PAGE - 2, b"both").unwrap();
            assert!(here.write(start, b"x").is_err() && here.read_u64(start + PAGE).is_err());
            assert!(protect((start + PAGE, PAGE), libc::PROT_READ).is_some());
            let mut shown = [0; 4];
            here.read(start + PAGE - 2, &mut shown).unwrap();
            assert_eq!(&shown, b"both");
        }
        assert!(write_protected(&mut here, 8, b"x").is_err());
    }

    #[test]
    fn what_was_behind_the_end_is_there_once_it_is_written() {
        // SAFETY: the name is a C string.
        let fd = unsafe { libc::memfd_create(c"".as_ptr(), 0) };
        // SAFETY: a new mapping of this test's own.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), 12288, libc::PROT_READ, libc::MAP_PRIVATE, fd, 0) } as u64;
        let mut here = Here::new();
        assert!(here.read_u64(start).is_err() && here.read_u64(start + PAGE).is_err());
        write_protected(&mut here, start + PAGE + 8, b"contents").unwrap();
        assert_eq!(here.read_u64(start + PAGE).unwrap(), 0);
        assert_eq!(here.read_u64(start + PAGE + 8).unwrap().to_le_bytes(), *b"contents");
        assert!(here.read_u64(start).is_err() && here.read_u64(start + 2 * PAGE).is_err());
        assert!(here.write(start + PAGE, b"x").is_err(), "the protection stays");
    }

    #[test]
    fn what_others_would_see_is_not_written() {
        let mut here = Here::new();
        let start = pages(libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1);
        assert!(write_protected(&mut here, start, b"x").is_err());
        let line = |kind: &str, name: &str| format!("400000-401000 r-x{kind} 00000000 00:01 7 {name}");
        let at = |address| containing(Mapping::parse(&line("p", "/x")).into_iter().collect(), address).is_some();
        assert_eq!([0x3f_ffff, 0x40_0000, 0x40_0fff, 0x40_1000].map(at), [false, true, true, false]);
        let is_own = |line: &str| is_own(&Mapping::parse(line).unwrap());
        assert!(is_own(&line("p", "/x")) && is_own(&line("s", "/memfd: (deleted)")));
        assert!(!is_own(&line("s", "/x")));
    }
}
