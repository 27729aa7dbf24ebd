//! The mappings of a process, and which of them others may change.

use std::fs::File;
use std::os::fd::FromRawFd;
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;

use bubble::map::BUBBLE;
use machine::mapping;

/// One mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
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
    /// Where the file is or was found, as /proc/PID/maps has it.
    pub name: String,
    /// The System V segment that it shows.
    pub segment: Option<i32>,
}

impl From<mapping::Mapping> for Mapping {
    fn from(told: mapping::Mapping) -> Self {
        let mapping::Mapping { start, end, offset, device, inode, shared, .. } = told;
        let (major, minor) = (device >> 32, device as u32);
        // A file may have such a name, too.
        let is_segment = told.name.starts_with("/SYSV") && memory_device() == Some((major as u32, minor));
        // Segments and other memory are counted each by itself.
        let kind = if is_segment { " segment" } else { "" };
        Self {
            start,
            end,
            protection: told.protection(),
            offset,
            object: format!("{major:02x}:{minor:02x} {inode}{kind}"),
            is_shared: shared,
            is_memory: !told.name.starts_with('/') || told.name.ends_with("(deleted)"),
            is_anonymous: told.name == "/dev/zero (deleted)",
            name: told.name,
            segment: is_segment.then_some(inode as i32),
        }
    }
}

/// Where the kernel keeps memory that no file system shows, as long as its pages aren't huge ones.
fn memory_device() -> Option<(u32, u32)> {
    static DEVICE: OnceLock<Option<(u32, u32)>> = OnceLock::new();
    let of_new_memory = || {
        // SAFETY: the name is a literal; the kernel keeps nothing of it.
        let fd = unsafe { libc::memfd_create(c"".as_ptr(), libc::MFD_CLOEXEC) };
        // SAFETY: a new descriptor, which nobody else owns.
        let memory = (fd >= 0).then(|| unsafe { File::from_raw_fd(fd) })?;
        let device = memory.metadata().ok()?.dev();
        Some((libc::major(device), libc::minor(device)))
    };
    *DEVICE.get_or_init(of_new_memory)
}

impl Mapping {
    pub fn len(&self) -> u64 {
        self.end - self.start
    }

    /// A mapping like this one of the first `len` bytes of the object, at `start`.
    pub fn moved_to(&self, start: u64, len: u64) -> Self {
        Self { start, end: start + len, offset: 0, ..self.clone() }
    }

    /// Whether it shows a file, or what was one.
    pub fn is_file(&self) -> bool {
        self.name.starts_with('/') && !self.is_anonymous && self.segment.is_none()
    }

    /// Whether stores to it are the file's.
    pub fn is_shared_for_writing(&self) -> bool {
        self.is_shared && self.protection & libc::PROT_WRITE != 0
    }

    /// Whether it may show the file with this inode: the device has another number here than there on some file systems.
    pub fn is_of(&self, inode: u64) -> bool {
        is_inode(&self.object, inode)
    }
}

/// Whether device and inode, as /proc/PID/maps has them, may be those of a file with this inode.
pub(super) fn is_inode(object: &str, inode: u64) -> bool {
    object.split_once(' ').is_some_and(|(_, number)| number.parse() == Ok(inode))
}

/// The mappings of a process; none if it is gone.
/// The app's: what lies in the bubble isn't.
pub(crate) fn mappings(pid: i32) -> Vec<Mapping> {
    let all = mapping::all(pid).unwrap_or_default();
    all.into_iter().filter(|map| !BUBBLE.contains(map.start)).map(Mapping::from).collect()
}

/// Whether the app can change what these mappings of one object show.
pub(crate) fn can_change(maps: &[Mapping]) -> bool {
    maps.iter().any(|map| map.is_memory || map.protection & libc::PROT_WRITE != 0)
}

/// Whether a process has memory that its children share.
pub fn is_shared_with_children(pid: i32) -> bool {
    mappings(pid).into_iter().filter(|map| map.is_shared).any(|map| can_change(&[map]))
}

/// Where a process has memory that others may write: its children, or whoever has the same file or segment. `is_written`: of a mapping, whether the file
/// behind it is written without a boundary each time.
pub(crate) fn written_by_others(
    pid: i32,
    has_other_writers: bool,
    is_written: impl Fn(&Mapping) -> bool,
) -> Vec<[u64; 2]> {
    let is_meant = |map: &Mapping| {
        let is_others = has_other_writers || !map.is_anonymous;
        let changes = can_change(std::slice::from_ref(map)) || is_written(map);
        map.is_shared && is_others && map.protection & libc::PROT_READ != 0 && changes
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_no_other_memory() {
        // SAFETY: a new segment of this test's own, which goes with its last attachment.
        let (segment, address) = unsafe {
            let segment = libc::shmget(libc::IPC_PRIVATE, 4096, 0o600);
            let address = libc::shmat(segment, std::ptr::null(), 0) as u64;
            libc::shmctl(segment, libc::IPC_RMID, std::ptr::null_mut());
            (segment, address)
        };
        let me = std::process::id() as i32;
        let map = mappings(me).into_iter().find(|map| map.start == address).unwrap();
        assert_eq!((map.segment, map.is_anonymous), (Some(segment), false));
        assert!(map.object.ends_with(" segment") && !map.is_of(segment as u64));
        let other =
            mapping::Mapping::parse("7ffff7fb6000-7ffff7fb7000 rw-s 00000000 fe:00 99   /SYSV00000000 (deleted)");
        assert_eq!(Mapping::from(other.unwrap()).segment, None);
    }

    #[test]
    fn attachments_are_counted() {
        let list = "       key      shmid perms                  size  cpid  lpid nattch   uid\n\
                             0          7   600                    56   100   100      3     0\n";
        assert_eq!((attachments(list, 7), attachments(list, 8)), (Some(3), None));
    }
}
