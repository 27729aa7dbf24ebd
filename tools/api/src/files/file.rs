//! A file's bytes.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use object::Endianness;
use object::read::elf::ElfFile64;

/// A file, as an ELF file.
pub type Elf<'a> = ElfFile64<'a, Endianness>;

/// All bytes of a file, mapped for as long as this process lives: what is read of a file now and its lines, which are wanted later, are of the same file, whatever
/// becomes of its name.
pub fn map(file: &File) -> io::Result<&'static [u8]> {
    let len = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
    if len == 0 {
        return Ok(&[]);
    }
    // SAFETY: a new mapping at an address of the kernel's choice.
    let start =
        unsafe { libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ, libc::MAP_PRIVATE, file.as_raw_fd(), 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: mapped above, and never unmapped.
    Ok(unsafe { std::slice::from_raw_parts(start.cast(), len) })
}

/// The same of a path, if there is a file.
pub fn at(path: &Path) -> Option<&'static [u8]> {
    map(&File::open(path).ok()?).ok()
}
