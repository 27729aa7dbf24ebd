//! Writable shared mappings of the master, and other mappings that show what is written to a file that the app may write: what they are, and what
//! changes them. [`super::shared_copies`] gives slices copies.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;

use bubble::map::BUBBLE;

/// One mapping, from a line of /proc/PID/maps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mapping {
    pub start: u64,
    pub end: u64,
    pub protection: i32,
    pub offset: u64,
    /// Device and inode.
    pub object: String,
    pub is_shared: bool,
    /// Whether it can change although nobody maps it for writing: it is no file on disk.
    is_memory: bool,
    /// Whether only the app and its children can have it.
    pub is_anonymous: bool,
}

impl Mapping {
    pub fn len(&self) -> u64 {
        self.end - self.start
    }
}

fn parse(line: &str) -> Option<Mapping> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let permissions = fields.next()?;
    let bits = [('r', libc::PROT_READ), ('w', libc::PROT_WRITE), ('x', libc::PROT_EXEC)];
    let protection = bits.iter().filter(|(c, _)| permissions.contains(*c)).map(|(_, bit)| bit).sum();
    let offset = u64::from_str_radix(fields.next()?, 16).ok()?;
    let (device, inode) = (fields.next()?, fields.next()?);
    let name = fields.collect::<Vec<_>>().join(" ");
    let on_disk = name.starts_with('/') && !name.ends_with("(deleted)");
    let hex = |text| u64::from_str_radix(text, 16).ok();
    let object = format!("{device} {inode}");
    let is_shared = permissions.ends_with('s');
    let is_anonymous = name == "/dev/zero (deleted)";
    let (start, end, is_memory) = (hex(start)?, hex(end)?, !on_disk);
    Some(Mapping { start, end, protection, offset, object, is_shared, is_memory, is_anonymous })
}

/// The mappings of a process; none if it is gone.
/// The app's: what lies in the bubble isn't.
pub(super) fn mappings(pid: i32) -> Vec<Mapping> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    maps.lines().filter_map(parse).filter(|map| !BUBBLE.contains(map.start)).collect()
}

/// Files that the app has mapped and may write, by device and inode as /proc/PID/maps has them; and those that it has locked by
/// their open files: a lock is gone when the last mapping is, so slices mustn't have any.
#[derive(Clone, Default)]
pub struct Unstable {
    objects: BTreeSet<String>,
    /// Inodes of files that were locked, mapped or not.
    locked: BTreeSet<u64>,
}

impl Unstable {
    /// The app has mapped such a file at `address`.
    pub fn add(&mut self, pid: i32, address: u64) {
        let at = |map: &Mapping| (map.start..map.end).contains(&address);
        self.objects.extend(mappings(pid).into_iter().find(at).map(|map| map.object));
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

    pub(super) fn has(&self, map: &Mapping) -> bool {
        self.objects.contains(&map.object)
    }
}

/// Inode of the file of a descriptor.
fn inode_of(pid: i32, fd: u64) -> Option<u64> {
    let metadata = std::fs::metadata(format!("/proc/{pid}/fd/{}", fd as i32)).ok()?;
    metadata.is_file().then(|| metadata.ino())
}

/// Whether an object of /proc/PID/maps may have this inode: the device has another number here than there on some file systems.
fn is_inode(object: &str, inode: u64) -> bool {
    object.split_once(' ').is_some_and(|(_, number)| number == inode.to_string())
}

/// Whether a call locks an open file, in whatever way.
fn locks(number: u64, args: &[u64; 6]) -> bool {
    match number as i64 {
        libc::SYS_flock => args[1] as i32 & libc::LOCK_UN == 0,
        libc::SYS_fcntl => [libc::F_OFD_SETLK, libc::F_OFD_SETLKW, libc::F_SETLEASE].contains(&(args[1] as i32)),
        _ => false,
    }
}

/// Whether the app can change what these mappings of one object show.
pub(super) fn can_change(maps: &[Mapping]) -> bool {
    maps.iter().any(|map| map.is_memory || map.protection & libc::PROT_WRITE != 0)
}

/// Whether a process has memory that its children share.
pub fn is_shared_with_children(pid: i32) -> bool {
    mappings(pid).into_iter().filter(|map| map.is_shared).any(|map| can_change(&[map]))
}

/// Where a process has memory that others may write: its children, or whoever has the same file or segment.
pub fn written_by_others(pid: i32, has_company: bool) -> Vec<[u64; 2]> {
    let is_meant = |map: &Mapping| {
        let changes = has_company || !map.is_anonymous;
        map.is_shared && changes && map.protection & libc::PROT_READ != 0 && can_change(std::slice::from_ref(map))
    };
    mappings(pid).iter().filter(|map| is_meant(map)).map(|map| [map.start, map.end]).collect()
}

/// Whether other processes have attached a System V segment as well; true where that can't be found out.
pub fn others_attach(segment: u64) -> bool {
    let list = std::fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    attachments(&list, segment as i32) != Some(1)
}

/// How often a segment is attached, by the text of /proc/sysvipc/shm.
fn attachments(list: &str, segment: i32) -> Option<u64> {
    const SEGMENT: usize = 1;
    const ATTACHMENTS: usize = 6;
    let fields = |line: &str| line.split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let line =
        list.lines().map(fields).find(|fields| fields.get(SEGMENT).is_some_and(|id| *id == segment.to_string()))?;
    line.get(ATTACHMENTS)?.parse().ok()
}

/// Whether a call changes memory of which slices have copies: what it does there it doesn't do to a copy. `MADV_DONTNEED` leaves shared
/// memory as it is and makes a private mapping show the file again, `mremap` can make a second mapping of shared memory.
pub fn is_reshaped(pid: i32, number: u64, args: &[u64; 6], unstable: &Unstable) -> bool {
    let [address, len, new_len, ..] = *args;
    let len = match number as i64 {
        libc::SYS_madvise => len,
        libc::SYS_mremap => len.max(new_len).max(1),
        _ => return false,
    };
    let is_meant = |map: &Mapping| map.start < address.saturating_add(len) && address < map.end;
    mappings(pid).iter().any(|map| (map.is_shared || unstable.has(map)) && is_meant(map))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attachments_are_counted() {
        let list = "       key      shmid perms                  size  cpid  lpid nattch   uid\n\
                             0          7   600                    56   100   100      3     0\n";
        assert_eq!((attachments(list, 7), attachments(list, 8)), (Some(3), None));
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
        let mut unstable = Unstable::default();
        assert!(!private.is_shared && !unstable.has(&private));
        unstable.objects.insert("fe:00 99".into());
        assert!(is_inode("fe:00 99", 99) && !is_inode("fe:00 199", 99));
        assert!(unstable.has(&private) && !unstable.has(&parse(anonymous).unwrap()));
        let truncating = |flags: i32| unstable.is_written(1, libc::SYS_openat as u64, &[0, 0, flags as u64, 0, 0, 0]);
        assert!(truncating(libc::O_RDWR | libc::O_TRUNC) && !truncating(libc::O_RDWR));
    }
}
