//! How the recorder comes into a program image, and how things are mapped into its part of the bubble.

use std::fs::File;
use std::os::fd::AsRawFd;

use bubble::map::{LOGS, RECORDER, Region};
use machine::Memory;
use tracee::{Remote, Stopped};

use super::shared::Shared;
use crate::base::Failure;
use crate::sliced::recorder::code::{CODE_AT, CODE_END, DATA_AT, SELECTOR, SHARED_BYTES, in_master, labels};

/// `prctl`: system calls from elsewhere than a range of addresses raise SIGSYS.
const PR_SET_SYSCALL_USER_DISPATCH: u64 = 59;
const PR_SYS_DISPATCH_OFF: u64 = 0;
const PR_SYS_DISPATCH_ON: u64 = 1;

pub(super) fn map(stopped: &mut Stopped, gadget: u64, shared: &Shared) -> Result<bool, Failure> {
    let mut remote = Remote::new(stopped, gadget)?;
    let fixed = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED) as u64;
    let protection = (libc::PROT_READ | libc::PROT_EXEC) as u64;
    let code = in_master(CODE_AT);
    if remote.call(libc::SYS_mmap, [code, DATA_AT, protection, fixed, u64::MAX, 0])? != code as i64 {
        return Ok(false);
    }
    if remote.memory().write(code, labels::code()).is_err() {
        return Ok(false);
    }
    let data = Region { start: in_master(DATA_AT), size: SHARED_BYTES };
    Ok(map_shared(&mut remote, data, shared.file(), 0)? && advise(&mut remote, Region { start: code, size: DATA_AT })?)
}

/// Has a thread's system calls elsewhere raise SIGSYS, as long as the selector says so. False if the kernel doesn't know of that.
pub(super) fn dispatch(stopped: &mut Stopped, gadget: u64) -> Result<bool, Failure> {
    let (code, selector) = (in_master(CODE_AT), in_master(SELECTOR));
    let args = [PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, code, DATA_AT, selector, 0];
    Ok(Remote::new(stopped, gadget)?.call(libc::SYS_prctl, args)? == 0)
}

/// The kernel doesn't look at the selector for the thread any more.
pub(super) fn undispatch(stopped: &mut Stopped, gadget: u64) -> Result<(), Failure> {
    Remote::new(stopped, gadget)?
        .call(libc::SYS_prctl, [PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0, 0])?;
    Ok(())
}

/// Makes the recorder's places a part of the reservation again.
pub(super) fn remove(stopped: &mut Stopped, gadget: u64) -> Result<(), Failure> {
    undispatch(stopped, gadget)?;
    let mut remote = Remote::new(stopped, gadget)?;
    reserve(&mut remote, RECORDER)?;
    reserve(&mut remote, LOGS)
}

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
fn advise(remote: &mut Remote<'_>, region: Region) -> Result<bool, Failure> {
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
