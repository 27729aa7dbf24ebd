//! Mappings that show what was written to the file behind them. The slice has copies in their place, which nothing but a record of the writing changes, and of
//! which the app itself may have no more than the reading.

use std::fs::File;

use machine::mapping::{self, Answer};
use machine::{Here, Memory, MemoryError, proc};

const PAGE: u64 = 4096;

/// A mapping of the slice's own, from an address on.
struct Own {
    end: u64,
    protection: i32,
}

/// Writes to memory that the app can't write at the moment, and leaves its protection as it is.
///
/// # Errors
/// If there is nothing, or what isn't the slice's alone.
pub fn write_protected(memory: &mut Here, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
    let failed = MemoryError { address, len: bytes.len() };
    let maps = proc::open("thread-self/maps").map_err(|_| failed)?;
    let (mut at, mut rest) = (address, bytes);
    while !rest.is_empty() {
        let Own { end, protection } = own_at(&maps, at).ok_or(failed)?;
        let (part, behind) = rest.split_at(rest.len().min((end - at) as usize));
        let first = at / PAGE * PAGE;
        let pages = (first, (at + part.len() as u64).next_multiple_of(PAGE) - first);
        protect(pages, protection | libc::PROT_READ | libc::PROT_WRITE).ok_or(failed)?;
        let written = memory.write(at, part);
        protect(pages, protection).ok_or(failed)?;
        written?;
        (at, rest) = (at + part.len() as u64, behind);
    }
    Ok(())
}

fn protect((start, len): (u64, u64), protection: i32) -> Option<()> {
    // SAFETY: app memory, which the caller has looked up; the runtime's own is never meant.
    (unsafe { libc::mprotect(start as *mut libc::c_void, len as usize, protection) } == 0).then_some(())
}

fn own_at(maps: &File, address: u64) -> Option<Own> {
    match mapping::at(maps, address) {
        Answer::Is(map) => {
            let bits = [(map.read, libc::PROT_READ), (map.write, libc::PROT_WRITE), (map.execute, libc::PROT_EXEC)];
            let protection = bits.iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum();
            is_own(map.shared, &map.name).then_some(Own { end: map.end, protection })
        }
        Answer::Nothing => None,
        Answer::Unknown => proc::read_to_string("thread-self/maps").ok()?.lines().find_map(|line| parse(line, address)),
    }
}

/// A shared mapping of anything but memory that was made for this slice might show elsewhere what is written to it.
fn is_own(shared: bool, name: &str) -> bool {
    !shared || name.starts_with("/memfd:")
}

/// What a line of /proc/PID/maps tells of a mapping that contains the address.
fn parse(line: &str, address: u64) -> Option<Own> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let hex = |text| u64::from_str_radix(text, 16).ok();
    let (start, end, permissions) = (hex(start)?, hex(end)?, fields.next()?);
    let bits = [('r', libc::PROT_READ), ('w', libc::PROT_WRITE), ('x', libc::PROT_EXEC)];
    let protection = bits.iter().filter(|(c, _)| permissions.contains(*c)).map(|(_, bit)| bit).sum();
    let name = fields.nth(3).unwrap_or("");
    ((start..end).contains(&address) && is_own(permissions.ends_with('s'), name)).then_some(Own { end, protection })
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
    fn what_others_would_see_is_not_written() {
        let mut here = Here::new();
        let start = pages(libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1);
        assert!(write_protected(&mut here, start, b"x").is_err());
        let line = |kind: &str, name: &str| format!("400000-401000 r-x{kind} 00000000 00:01 7 {name}");
        let known = |line: &str, at: u64| parse(line, at).map(|own| (own.end, own.protection));
        let own = Some((0x40_1000, libc::PROT_READ | libc::PROT_EXEC));
        assert_eq!([known(&line("p", "/x"), 0x40_0fff), known(&line("s", "/memfd: (deleted)"), 0x40_0000)], [own; 2]);
        assert_eq!([known(&line("s", "/x"), 0x40_0000), known(&line("p", "/x"), 0x40_1000)], [None; 2]);
    }
}
