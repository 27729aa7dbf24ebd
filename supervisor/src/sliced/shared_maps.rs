//! Writable shared mappings of the master: in a fork they are still the master's, so each slice gets copies. So it does of
//! other mappings of files that the app may write: they show what is written to the file (of a private one, the pages
//! that it hasn't touched).
//!
//! All mappings of one object are replaced together by mappings of one memfd that only the slice has. If there are several they
//! are shared ones, so that what is written through one is seen through the other; the slice's own forks then share
//! them too, see `slice_runtime::slice::aliases`. Done while the master stands still. Files on disk that are mapped for
//! reading only stay: copying large files for each slice would cost more than it is worth.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};

use bubble::map::BUBBLE;
use machine::Memory;
use nix::errno::Errno;
use nix::sys::statfs::{TMPFS_MAGIC, fstatfs};
use nix::unistd::{Whence, lseek64};
use tracee::{Remote, Stopped};

use crate::error::{Doing, Failure};

const PAGE: usize = 4096;
const CHUNK: usize = 1 << 20;

/// One mapping, from a line of /proc/PID/maps.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mapping {
    start: u64,
    end: u64,
    protection: i32,
    offset: u64,
    /// Device and inode.
    object: String,
    is_shared: bool,
    /// Whether it can change although nobody maps it for writing: it is no file on disk.
    is_memory: bool,
    /// Whether only the app and its children can have it.
    is_anonymous: bool,
}

impl Mapping {
    fn len(&self) -> u64 {
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
fn mappings(pid: i32) -> Vec<Mapping> {
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

    fn has(&self, map: &Mapping) -> bool {
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

/// Gives `copy`, a fork of the master, objects of its own in place of those that it shares with the master.
///
/// # Errors
/// If the copy was killed or has no memory for them.
pub fn make_private(copy: &mut Stopped, gate: u64, unstable: &Unstable) -> Result<(), Failure> {
    let (shared, private): (Vec<_>, Vec<_>) = mappings(copy.pid()).into_iter().partition(|map| map.is_shared);
    let mut objects: BTreeMap<String, Vec<Mapping>> = BTreeMap::new();
    for map in shared {
        objects.entry(map.object.clone()).or_default().push(map);
    }
    let changes = |maps: &&Vec<Mapping>| can_change(maps) || maps.iter().any(|map| unstable.has(map));
    objects.values().filter(changes).try_for_each(|maps| replace(copy, gate, maps))?;
    private.iter().filter(|map| unstable.has(map)).try_for_each(|map| replace(copy, gate, std::slice::from_ref(map)))
}

/// Whether the app can change what these mappings of one object show.
fn can_change(maps: &[Mapping]) -> bool {
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

fn replace(copy: &mut Stopped, gate: u64, maps: &[Mapping]) -> Result<(), Failure> {
    let pid = copy.pid();
    let fd = {
        // Any address of a C string will do for the name: an empty one is at hand in no program, so the call is
        // given the stack's top word's address after the word was read; see `with_empty_name`.
        with_empty_name(copy, gate)?
    };
    let object = OpenOptions::new().write(true).open(format!("/proc/{pid}/fd/{fd}")).doing("open a slice's memory")?;
    let size = maps.iter().map(|map| map.offset + map.len()).max().unwrap_or(0);
    object.set_len(size).doing("size a slice's memory")?;
    for map in maps {
        copy_contents(copy, map, &object)?;
    }
    let kind = if maps.len() == 1 { libc::MAP_PRIVATE } else { libc::MAP_SHARED };
    let flags = (kind | libc::MAP_FIXED) as u64;
    let mut remote = Remote::new(copy, gate)?;
    for map in maps {
        let args = [map.start, map.len(), map.protection as u64, flags, fd, map.offset];
        remote.expect("map a slice's own shared memory", libc::SYS_mmap, args)?;
    }
    remote.expect("close a slice's file", libc::SYS_close, [fd, 0, 0, 0, 0, 0])?;
    Ok(())
}

/// memfd_create(2) in the copy. Its name must be a string in the copy's memory: a zero byte below the red zone.
fn with_empty_name(copy: &mut Stopped, gate: u64) -> Result<u64, Failure> {
    const BELOW_RED_ZONE: u64 = 128 + 8;
    let at = copy.registers()?.app().rsp() - BELOW_RED_ZONE;
    let pid = copy.pid();
    let failed = |source| tracee::TraceError::Memory { pid, source };
    let before = copy.read_u64(at).map_err(failed)?;
    copy.write(at, &[0; 8]).map_err(failed)?;
    let flags = u64::from(libc::MFD_CLOEXEC);
    let made =
        Remote::new(copy, gate)?.expect("make a slice's memory", libc::SYS_memfd_create, [at, flags, 0, 0, 0, 0]);
    copy.write(at, &before.to_le_bytes()).map_err(failed)?;
    Ok(made?)
}

/// Copies what can be read; what can't (behind the end of the file) can't be read in the slice either. Pages of
/// zeroes are left as holes.
fn copy_contents(copy: &Stopped, map: &Mapping, object: &File) -> Result<(), Failure> {
    if map.protection & libc::PROT_READ == 0 {
        return Ok(());
    }
    let mut chunk = vec![0; CHUNK];
    written_parts(copy.pid(), map).into_iter().try_for_each(|part| copy_part(copy, map, part, object, &mut chunk))
}

/// Parts of a mapping in which something may have been written. Large shared memory is mostly a hole, and to read a hole would fill
/// it with pages.
fn written_parts(pid: i32, map: &Mapping) -> Vec<Range<u64>> {
    let whole = map.start..map.end;
    // Only the privileged may open it by that name.
    let name = format!("/proc/{pid}/map_files/{:x}-{:x}", map.start, map.end);
    let Ok(object) = File::open(name) else { return Vec::from([whole]) };
    match fstatfs(&object) {
        Ok(system) if system.filesystem_type() == TMPFS_MAGIC => {}
        _ => return Vec::from([whole]),
    }
    let (mut parts, mut at, end) = (Vec::new(), map.offset, map.offset + map.len());
    while at < end {
        let from = match lseek64(&object, at as i64, Whence::SeekData) {
            Ok(from) => from as u64,
            // Nothing follows.
            Err(Errno::ENXIO) => break,
            Err(_) => return Vec::from([whole]),
        };
        let Ok(to) = lseek64(&object, from as i64, Whence::SeekHole) else { return Vec::from([whole]) };
        at = (to as u64).next_multiple_of(PAGE as u64);
        let part = (from.min(end) & !(PAGE as u64 - 1))..at.min(end);
        if !part.is_empty() {
            parts.push(part.start - map.offset + map.start..part.end - map.offset + map.start);
        }
    }
    parts
}

/// Whether a page holds nothing but zeroes. As a comparison of blocks: byte by byte it would take longer than to read the page from the process.
fn is_zero(page: &[u8]) -> bool {
    const ZEROES: [u8; PAGE] = [0; PAGE];
    *page == ZEROES[..page.len()]
}

fn copy_part(copy: &Stopped, map: &Mapping, part: Range<u64>, object: &File, chunk: &mut [u8]) -> Result<(), Failure> {
    let mut at = part.start;
    while at < part.end {
        let wanted = (CHUNK as u64).min(part.end - at) as usize;
        let len = copy.read_prefix(at, &mut chunk[..wanted]);
        for (i, page) in chunk[..len].chunks(PAGE).enumerate().filter(|(_, page)| !is_zero(page)) {
            let offset = map.offset + (at - map.start) + (i * PAGE) as u64;
            object.write_all_at(page, offset).doing("copy shared memory for a slice")?;
        }
        if len < wanted {
            break;
        }
        at += wanted as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_zeroes_are_told_from_others() {
        let mut page = [0; PAGE];
        assert!(is_zero(&page) && is_zero(&page[..100]));
        page[PAGE - 1] = 1;
        assert!(!is_zero(&page) && is_zero(&page[..PAGE - 1]));
    }

    #[test]
    fn attachments_are_counted() {
        let list = "       key      shmid perms                  size  cpid  lpid nattch   uid\n\
                             0          7   600                    56   100   100      3     0\n";
        assert_eq!((attachments(list, 7), attachments(list, 8)), (Some(3), None));
    }

    #[test]
    fn holes_of_shared_memory_are_left_out() {
        const PAGES: usize = 64;
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping of this test's own.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), PAGES * PAGE, 3, flags, -1, 0) } as u64;
        for page in [3, 4, 9] {
            // SAFETY: the mapping is writable and that long.
            unsafe { *((start + page * PAGE as u64) as *mut u8) = 1 };
        }
        let me = std::process::id() as i32;
        let map = mappings(me).into_iter().find(|map| map.start == start).unwrap();
        let parts = written_parts(me, &map);
        let page = |n: u64| start + n * PAGE as u64;
        if File::open(format!("/proc/self/map_files/{start:x}-{:x}", map.end)).is_err() {
            assert_eq!(parts, vec![start..map.end; 1]);
            return;
        }
        assert_eq!(parts, [page(3)..page(5), page(9)..page(10)]);
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
