//! What is behind a descriptor: whether reading and writing it may wait.

use std::os::unix::fs::{FileTypeExt, MetadataExt};

use nix::sys::statfs::{BTRFS_SUPER_MAGIC, EXT4_SUPER_MAGIC, FsType, OVERLAYFS_SUPER_MAGIC, TMPFS_MAGIC, statfs};

use crate::sliced::recorder::code::{MAX_FILES, NULL_DEVICE, TERMINALS, TERMINALS_MASK, ZERO_DEVICE};

const XFS_SUPER_MAGIC: FsType = FsType(0x5846_5342);

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

impl Descriptor {
    /// Whether reading and writing may wait for others.
    pub(super) fn may_wait(self) -> bool {
        matches!(self, Self::Restarts | Self::Socket)
    }
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
    use std::os::fd::AsRawFd;
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
