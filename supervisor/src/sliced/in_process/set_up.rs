//! How the recorder comes into a program image, and which files it may know.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use bubble::map::{LOGS, RECORDER, Region};
use machine::Memory;
use nix::sys::statfs::{BTRFS_SUPER_MAGIC, EXT4_SUPER_MAGIC, FsType, OVERLAYFS_SUPER_MAGIC, TMPFS_MAGIC, statfs};
use tracee::{Remote, Stopped};

use super::InProcess;
use super::layout::{CODE_AT, CODE_END, DATA_AT, MAX_FILES, SELECTOR, SHARED_BYTES, in_master};
use super::logs::Logs;
use super::memory::Shared;
use super::places;
use crate::error::Failure;

/// `prctl`: system calls from elsewhere than a range of addresses raise SIGSYS.
const PR_SET_SYSCALL_USER_DISPATCH: u64 = 59;
const PR_SYS_DISPATCH_OFF: u64 = 0;
const PR_SYS_DISPATCH_ON: u64 = 1;
const XFS_SUPER_MAGIC: FsType = FsType(0x5846_5342);

impl InProcess {
    /// Brings the recorder into the program image. False if the kernel or the app's limits don't allow it: then all is as before.
    ///
    /// # Errors
    /// If the master was killed.
    pub(super) fn set_up(&mut self, stopped: &mut Stopped, gate: u64) -> Result<bool, Failure> {
        if self.shared.is_none() {
            self.shared = Shared::new().ok();
        }
        let Some(shared) = &self.shared else { return Ok(false) };
        shared.set_blocking(false);
        shared.set_stop(false);
        self.is_set_up = map(stopped, gate, shared)?;
        if !self.is_set_up {
            remove(stopped, gate)?;
            return Ok(false);
        }
        self.sites.write_stubs().map_err(|source| Failure::System { action: "write the app's memory", source })?;
        Ok(true)
    }

    /// The app, which isn't armed, is about to look at its mappings: the recorder leaves no trace in them.
    ///
    /// # Errors
    /// If the master was killed.
    pub(super) fn tear_down(&mut self, stopped: &mut Stopped, gate: u64) -> Result<(), Failure> {
        self.is_set_up = false;
        self.logs = Logs::default();
        remove(stopped, gate)
    }
}

fn map(stopped: &mut Stopped, gate: u64, shared: &Shared) -> Result<bool, Failure> {
    let mut remote = Remote::new(stopped, gate)?;
    let fixed = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED) as u64;
    let protection = (libc::PROT_READ | libc::PROT_EXEC) as u64;
    let code = in_master(CODE_AT);
    if remote.call(libc::SYS_mmap, [code, DATA_AT, protection, fixed, u64::MAX, 0])? != code as i64 {
        return Ok(false);
    }
    if remote.memory().write(code, places::code()).is_err() {
        return Ok(false);
    }
    let data = Region { start: in_master(DATA_AT), size: SHARED_BYTES };
    let dispatch = [PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, code, DATA_AT, in_master(SELECTOR), 0];
    Ok(map_shared(&mut remote, data, shared.file(), 0)?
        && advise(&mut remote, Region { start: code, size: DATA_AT })?
        && remote.call(libc::SYS_prctl, dispatch)? == 0)
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

/// Makes the recorder's places a part of the reservation again.
fn remove(stopped: &mut Stopped, gate: u64) -> Result<(), Failure> {
    let mut remote = Remote::new(stopped, gate)?;
    remote.call(libc::SYS_prctl, [PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0, 0])?;
    reserve(&mut remote, RECORDER)?;
    reserve(&mut remote, LOGS)
}

/// Makes it a part of the reservation again.
pub(super) fn reserve(remote: &mut Remote<'_>, region: Region) -> Result<(), Failure> {
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED) as u64;
    remote.call(libc::SYS_mmap, [region.start, region.size, 0, flags, u64::MAX, 0])?;
    Ok(())
}

/// Devices as `fstat` names them: `/dev/null` and `/dev/zero`.
pub(super) const NULL_DEVICE: u64 = libc::makedev(1, 3);
pub(super) const ZERO_DEVICE: u64 = libc::makedev(1, 5);
/// What the majors of pseudo-terminals, 136 to 143, have in common, where no more than their low bits are looked at.
pub(super) const TERMINALS: u64 = libc::makedev(136, 0);
pub(super) const TERMINALS_MASK: u64 = libc::makedev(0xff8, 0);

/// A descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Descriptor {
    /// A file or directory of a local file system, on that device: reading and writing never wait for anybody.
    Local(u64),
    /// Reading and writing never wait: one of two devices, or a file of a device that is known.
    AtOnce,
    /// Reading and writing are made again by the kernel if something breaks them off before anything was done: a pipe, a terminal.
    Restarts,
    /// Reading and writing may wait: it is asked first whether they do.
    Socket,
    /// Nothing is known.
    Other,
}

/// What a process's descriptor is.
pub(super) fn look_at(pid: i32, fd: u64) -> Descriptor {
    if fd >= MAX_FILES {
        return Descriptor::Other;
    }
    let path = format!("/proc/{pid}/fd/{fd}");
    let Ok(metadata) = std::fs::metadata(&path) else { return Descriptor::Other };
    let kind = metadata.file_type();
    if kind.is_char_device() {
        return match metadata.rdev() {
            NULL_DEVICE | ZERO_DEVICE => Descriptor::AtOnce,
            device if device & TERMINALS_MASK == TERMINALS => Descriptor::Restarts,
            _ => Descriptor::Other,
        };
    }
    let local = [EXT4_SUPER_MAGIC, BTRFS_SUPER_MAGIC, XFS_SUPER_MAGIC, TMPFS_MAGIC, OVERLAYFS_SUPER_MAGIC];
    let is_local = || statfs(path.as_str()).is_ok_and(|system| local.contains(&system.filesystem_type()));
    match kind.is_file() || kind.is_dir() {
        true if is_local() => Descriptor::Local(metadata.dev()),
        false if kind.is_fifo() => Descriptor::Restarts,
        false if kind.is_socket() => Descriptor::Socket,
        _ => Descriptor::Other,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::OwnedFd;

    use super::*;

    #[test]
    fn what_may_wait_is_told_from_what_may_not() {
        let me = std::process::id() as i32;
        let at = |file: &File| look_at(me, file.as_raw_fd() as u64);
        let open = |path: &str| File::open(path).unwrap();
        assert_eq!([at(&open("/dev/null")), at(&open("/dev/zero"))], [Descriptor::AtOnce; 2]);
        assert_eq!([at(&open("/proc/self/status")), at(&open("/proc"))], [Descriptor::Other; 2]);
        let (reader, _writer) = std::io::pipe().unwrap();
        assert_eq!(at(&File::from(OwnedFd::from(reader))), Descriptor::Restarts);
        let (socket, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        assert_eq!(at(&File::from(OwnedFd::from(socket))), Descriptor::Socket);
        let folder = open(env!("CARGO_MANIFEST_DIR"));
        assert_eq!(at(&folder), Descriptor::Local(folder.metadata().unwrap().dev()));
        assert_eq!([look_at(me, MAX_FILES), look_at(-1, 0)], [Descriptor::Other; 2]);
    }
}
