//! Mapping things into the recorder's part of the bubble.

use std::fs::File;
use std::os::fd::AsRawFd;

use bubble::map::Region;
use machine::Memory;
use tracee::Remote;

use crate::base::Failure;
use crate::sliced::recorder::code::{CODE_END, in_master};

/// Maps a part of a file of the control process. False if that can't be done. There must be code of the recorder's already.
pub(super) fn map_shared(remote: &mut Remote<'_>, to: Region, file: &File, offset: u64) -> Result<bool, Failure> {
    let path = format!("/proc/{}/fd/{}\0", std::process::id(), file.as_raw_fd());
    let path_at = in_master(CODE_END);
    if remote.memory().write(path_at, path.as_bytes()).is_err() {
        return Ok(false);
    }
    let flags = (libc::O_RDWR | libc::O_CLOEXEC) as u64;
    let fd = remote.call(libc::SYS_openat, [libc::AT_FDCWD as u64, path_at, flags, 0, 0, 0])?;
    if fd < 0 {
        return Ok(false);
    }
    let fixed = (libc::MAP_SHARED | libc::MAP_FIXED) as u64;
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as u64;
    let mapped = remote.call(libc::SYS_mmap, [to.start, to.size, protection, fixed, fd as u64, offset])?;
    remote.call(libc::SYS_close, [fd as u64, 0, 0, 0, 0, 0])?;
    Ok(mapped == to.start as i64 && advise(remote, to)?)
}

/// Forks and core files are to be without it.
pub(super) fn advise(remote: &mut Remote<'_>, region: Region) -> Result<bool, Failure> {
    for advice in [libc::MADV_DONTFORK, libc::MADV_DONTDUMP] {
        if remote.call(libc::SYS_madvise, [region.start, region.size, advice as u64, 0, 0, 0])? != 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Makes it a part of the reservation again: one mapping with the rest, so that nobody sees that it ever was another.
pub(super) fn reserve(remote: &mut Remote<'_>, region: Region) -> Result<(), Failure> {
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED) as u64;
    remote.call(libc::SYS_mmap, [region.start, region.size, 0, flags, u64::MAX, 0])?;
    remote.call(libc::SYS_madvise, [region.start, region.size, libc::MADV_DONTDUMP as u64, 0, 0, 0])?;
    Ok(())
}
