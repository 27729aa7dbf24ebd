//! Files that the app has mapped and may write: what changes them changes what its mappings, and slices' copies of them, show.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;

use super::mappings::{Mapping, is_inode, mappings};

/// Files that the app has mapped and may write, by device and inode as /proc/PID/maps has them; and those that it has locked by
/// their open files: a lock is gone when the last mapping is, so slices mustn't have any.
#[derive(Clone, Default)]
pub struct MutableFiles {
    objects: BTreeSet<String>,
    /// Inodes of files that were locked, mapped or not.
    locked: BTreeSet<u64>,
}

impl MutableFiles {
    /// The app has mapped such a file at `address`.
    pub fn add(&mut self, pid: i32, address: u64) {
        let at = |map: &Mapping| (map.start..map.end).contains(&address);
        self.objects.extend(mappings(pid).into_iter().find(at).map(|map| map.object));
    }

    /// The app may write this one.
    pub fn insert(&mut self, object: &str) {
        self.objects.insert(object.to_owned());
    }

    /// The app is about to write a file. Whether it has that mapped.
    pub fn add_file(&mut self, pid: i32, inode: u64) -> bool {
        let known = self.objects.len();
        let maps = mappings(pid).into_iter().map(|map| map.object);
        self.objects.extend(maps.filter(|object| is_inode(object, inode)));
        self.objects.len() > known
    }

    /// Another program was loaded: nothing of the former one's is mapped any more, but open files may still be locked.
    pub fn unmapped(&mut self) {
        self.objects.clear();
    }

    /// The app is about to lock the file of its descriptor `fd`, if the call does that. Whether it has mapped that file already, as
    /// nothing tells of: then there are slices with its mapping.
    pub fn lock(&mut self, pid: i32, number: u64, args: &[u64; 6]) -> bool {
        let Some(inode) = locks(number, args).then(|| inode_of(pid, args[0])).flatten() else { return false };
        self.locked.insert(inode);
        self.add_file(pid, inode)
    }

    /// Whether the file of its descriptor `fd` was locked.
    pub fn is_locked(&self, pid: i32, fd: u64) -> bool {
        !self.locked.is_empty() && inode_of(pid, fd).is_some_and(|inode| self.locked.contains(&inode))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Device and inode of each.
    pub fn objects(&self) -> impl Iterator<Item = &str> {
        self.objects.iter().map(String::as_str)
    }

    /// Whether a call that process `pid` makes may write such a file.
    pub fn is_written(&self, pid: i32, number: u64, args: &[u64; 6]) -> bool {
        if self.objects.is_empty() {
            return false;
        }
        let descriptor = match number as i64 {
            libc::SYS_write | libc::SYS_pwrite64 | libc::SYS_writev | libc::SYS_pwritev | libc::SYS_pwritev2 => args[0],
            libc::SYS_ftruncate | libc::SYS_fallocate | libc::SYS_sendfile => args[0],
            libc::SYS_copy_file_range | libc::SYS_splice => args[2],
            // The file is named by a path.
            libc::SYS_truncate | libc::SYS_creat | libc::SYS_openat2 => return true,
            libc::SYS_open => return args[1] as i32 & libc::O_TRUNC != 0,
            libc::SYS_openat => return args[2] as i32 & libc::O_TRUNC != 0,
            _ => return false,
        };
        inode_of(pid, descriptor).is_some_and(|inode| self.objects.iter().any(|object| is_inode(object, inode)))
    }

    pub(crate) fn has(&self, map: &Mapping) -> bool {
        self.objects.contains(&map.object)
    }
}

/// Inode of the file of a descriptor.
fn inode_of(pid: i32, fd: u64) -> Option<u64> {
    let metadata = std::fs::metadata(format!("/proc/{pid}/fd/{}", fd as i32)).ok()?;
    metadata.is_file().then(|| metadata.ino())
}

/// Whether a call locks an open file, in whatever way.
fn locks(number: u64, args: &[u64; 6]) -> bool {
    match number as i64 {
        libc::SYS_flock => args[1] as i32 & libc::LOCK_UN == 0,
        libc::SYS_fcntl => [libc::F_OFD_SETLK, libc::F_OFD_SETLKW, libc::F_SETLEASE].contains(&(args[1] as i32)),
        _ => false,
    }
}

/// Whether a call changes memory of which slices have copies: what it does there it doesn't do to a copy. `MADV_DONTNEED` leaves shared
/// memory as it is and makes a private mapping show the file again, `mremap` can make a second mapping of shared memory.
pub fn is_reshaped(pid: i32, number: u64, args: &[u64; 6], mutable_files: &MutableFiles) -> bool {
    let [address, len, new_len, ..] = *args;
    let len = match number as i64 {
        libc::SYS_madvise => len,
        libc::SYS_mremap => len.max(new_len).max(1),
        _ => return false,
    };
    let is_meant = |map: &Mapping| map.start < address.saturating_add(len) && address < map.end;
    mappings(pid).iter().any(|map| (map.is_shared || mutable_files.has(map)) && is_meant(map))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::mappings::can_change;

    fn parse(line: &str) -> Option<Mapping> {
        machine::mapping::Mapping::parse(line).map(Mapping::from)
    }

    #[test]
    fn what_is_shared_and_can_change_is_found() {
        let anonymous = "7ffff7fb6000-7ffff7fb7000 rw-s 00001000 00:01 1026     /dev/zero (deleted)";
        let map = parse(anonymous).unwrap();
        assert_eq!((map.start, map.len(), map.offset), (0x7fff_f7fb_6000, 4096, 0x1000));
        assert_eq!(map.protection, libc::PROT_READ | libc::PROT_WRITE);
        assert_eq!(map.object, "00:01 1026");
        let writable = parse("7ffff7fb6000-7ffff7fb7000 rw-s 00000000 fe:00 99   /tmp/a file").unwrap();
        let readable = parse("7ffff7fb8000-7ffff7fb9000 r--s 00000000 fe:00 99   /tmp/a file").unwrap();
        assert!(can_change(&[map]) && !can_change(std::slice::from_ref(&readable)));
        assert!(can_change(&[readable, writable]));
        let private = parse("7ffff7fb6000-7ffff7fb7000 rw-p 00000000 fe:00 99   /tmp/a file").unwrap();
        let mut mutable_files = MutableFiles::default();
        assert!(!private.is_shared && !mutable_files.has(&private));
        mutable_files.objects.insert("fe:00 99".into());
        assert!(is_inode("fe:00 99", 99) && !is_inode("fe:00 199", 99));
        assert!(mutable_files.has(&private) && !mutable_files.has(&parse(anonymous).unwrap()));
        let truncating =
            |flags: i32| mutable_files.is_written(1, libc::SYS_openat as u64, &[0, 0, flags as u64, 0, 0, 0]);
        assert!(truncating(libc::O_RDWR | libc::O_TRUNC) && !truncating(libc::O_RDWR));
    }
}
