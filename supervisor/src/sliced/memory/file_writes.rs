//! Calls that write a file that the app itself has mapped, as databases do: recorded with what its mappings show afterwards, which slices then show as well.
//!
//! Slices see a file as it was at their start. A boundary at each such call has them see what others have written, too. So a call is recorded only
//! where that would be nothing: nobody else had the file when it was first watched, nobody has opened it since, and the kernel tells of no writing between the last copies and the
//! call. Else the call is a boundary, as it is for the first few times: to find out who has the file costs as much as some of these.
//!
//! What remains are stores by mappings of processes that nobody here is shown (the superuser's, those outside of a container); a digest at the
//! slice's end finds them, see [`crate::app::written_by_others`].

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::rc::Rc;

use machine::{Memory, PAGE};
use nix::sys::statfs::{BTRFS_SUPER_MAGIC, EXT4_SUPER_MAGIC, FsType, TMPFS_MAGIC, XFS_SUPER_MAGIC, fstatfs};
use syscall_replay::effects::View;
use syscall_replay::is_error;

use super::file_views::{are_one, can_be_told, views};
use crate::app::{Key, Mapping, MutableFiles, Notice, Notices, Watch, mappings, others_have};

/// Calls that write a file before it is watched.
const FIRST: u32 = 4;
/// After that many a file that is opened again and again isn't watched any more.
const MOST: u32 = 256;
/// File systems of this machine alone, on which a file's mappings show at once what is written to it.
const LOCAL: [FsType; 4] = [TMPFS_MAGIC, EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC];

/// How a file's calls are taken.
enum State {
    /// As boundaries; after `wanted` of them it is looked who has the file.
    Boundaries { calls: u32, wanted: u32 },
    /// They are recorded.
    Alone { watch: Watch, file: Rc<File>, since: Notice, wanted: u32 },
    /// Others write it, or may do so unseen.
    Others,
}

/// Files that the app has mapped and written.
#[derive(Default)]
pub struct FileWrites {
    notices: Option<Notices>,
    files: BTreeMap<Key, State>,
    /// The app's mappings, until one changes.
    mappings: Option<Vec<Mapping>>,
}

/// A call that writes such a file, at its entry.
pub struct FileWrite {
    file: Key,
    descriptor: i32,
    /// Where it begins; `None`: at the file's position.
    offset: Option<u64>,
    /// The file's position, if that counts.
    position: u64,
    size: u64,
}

impl FileWrites {
    /// The app is about to make a call, perhaps one that changes its mappings.
    pub fn mappings_change(&mut self) {
        self.mappings = None;
    }

    /// Another program was loaded, or another process has the app's files.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Process `pid` is about to make a call that writes an unstable file. `None`: it is to be a boundary.
    pub fn begin(&mut self, pid: i32, number: u64, args: &[u64; 6]) -> Option<FileWrite> {
        let offset = match number as i64 {
            libc::SYS_write | libc::SYS_writev => None,
            // The high half is for machines of 32 bits.
            libc::SYS_pwrite64 | libc::SYS_pwritev => Some(args[3]),
            _ => return None,
        };
        let descriptor = args[0] as i32;
        let metadata = std::fs::metadata(path_of(pid, descriptor)).ok()?;
        let file = (metadata.dev(), metadata.ino());
        self.look();
        let mappings = self.mappings.get_or_insert_with(|| mappings(pid));
        if !can_be_told(mappings, file.1) || !self.is_alone(file, pid, descriptor) {
            return None;
        }
        // Where it writes if it appends is known by nothing but its size. Where an offset was given, that tells of it afterwards.
        let (position, flags) = if offset.is_some() { (0, 0) } else { position_of(pid, descriptor)? };
        let appends = flags & libc::O_APPEND != 0;
        (!appends).then_some(FileWrite { file, descriptor, offset, position, size: metadata.size() })
    }

    /// Whether nobody else has written the file since the last copies.
    fn is_alone(&mut self, file: Key, pid: i32, descriptor: i32) -> bool {
        let state = self.files.entry(file).or_insert(State::Boundaries { calls: 0, wanted: FIRST });
        let next = match state {
            State::Others => return false,
            State::Boundaries { calls, wanted } if *calls < *wanted => {
                *calls += 1;
                return false;
            }
            State::Boundaries { wanted, .. } => watch(&mut self.notices, file, pid, descriptor, *wanted),
            State::Alone { since: Notice { opened: false, modified: false }, .. } => return true,
            State::Alone { since, wanted, watch, .. } => {
                if let Some(notices) = &self.notices {
                    notices.forget(*watch);
                }
                if since.modified { State::Others } else { later(*wanted) }
            }
        };
        *state = next;
        // Even if it is watched from now on: something may have been written before.
        false
    }

    /// Takes what the kernel has told.
    fn look(&mut self) {
        let Some(notices) = &mut self.notices else { return };
        let files = &mut self.files;
        notices.take(|which, notice| {
            for state in files.values_mut() {
                if let State::Alone { watch, since, .. } = state
                    && which.is_none_or(|which| which == *watch)
                {
                    since.opened |= notice.opened;
                    since.modified |= notice.modified;
                }
            }
        });
    }

    /// Copies for the next slice are about to be made: they have whatever was written until now.
    pub fn before_copies(&mut self) {
        self.look();
        for state in self.files.values_mut() {
            if let State::Alone { since, .. } = state {
                since.modified = false;
            }
        }
    }

    /// The call is over: what the app's mappings show of what it has written. `None` if that can't be told; the call is a boundary then.
    pub fn end(
        &mut self,
        call: &FileWrite,
        result: u64,
        master: &(impl Memory + ?Sized),
        pid: i32,
        mutable_files: &MutableFiles,
    ) -> Option<Vec<View>> {
        self.look();
        let state = self.files.get_mut(&call.file)?;
        let State::Alone { since, .. } = state else { return None };
        let (is_told, is_opened) = (std::mem::take(&mut since.modified), since.opened);
        if !is_told && !is_error(result) && result > 0 {
            // Nobody is told of writing by such an open file (a memfd's): neither would others' be noticed.
            *state = State::Others;
            return None;
        }
        if is_opened || is_error(result) {
            return None;
        }
        let start = match call.offset {
            Some(offset) => offset,
            // Whoever else has that open file has moved it.
            None => position_of(pid, call.descriptor).filter(|now| now.0 == call.position + result)?.0 - result,
        };
        let end = start.checked_add(result)?;
        let metadata = std::fs::metadata(path_of(pid, call.descriptor)).ok()?;
        let is_known = (metadata.dev(), metadata.ino()) == call.file && metadata.size() == end.max(call.size);
        if !is_known {
            return None;
        }
        let mut piece = [start, end];
        let mappings = self.mappings.get_or_insert_with(|| mappings(pid));
        if end > call.size && result > 0 {
            // What was behind its end, on the last page, is gone; pages behind it can be read now, also in a hole; and what is behind it now is nobody's.
            let (first, last) = (start / PAGE * PAGE, call.size / PAGE * PAGE);
            piece = [first.min(last), end.next_multiple_of(PAGE)];
            if piece[1] > call.size.next_multiple_of(PAGE) && are_one(mappings, call.file.1) {
                return None;
            }
        }
        views(mappings, call.file.1, piece, master, mutable_files)
    }

    /// A file behind a mapping, open for reading: to open it again would seem to be somebody else's.
    pub fn opened(&self, map: &Mapping) -> Option<&Rc<File>> {
        self.files.iter().find_map(|((_, inode), state)| match state {
            State::Alone { file, .. } if map.is_of(*inode) => Some(file),
            _ => None,
        })
    }
}

/// To be looked at again, after twice as many calls.
fn later(wanted: u32) -> State {
    if wanted < MOST { State::Boundaries { calls: 0, wanted: wanted * 2 } } else { State::Others }
}

/// Watches the file of a descriptor, unless somebody else has it.
fn watch(notices: &mut Option<Notices>, key: Key, pid: i32, descriptor: i32, wanted: u32) -> State {
    let path = path_of(pid, descriptor);
    if notices.is_none() {
        *notices = Notices::new().ok();
    }
    let (Some(notices), Ok(file)) = (notices, File::open(&path)) else { return State::Others };
    let is_local = fstatfs(&file).is_ok_and(|system| LOCAL.contains(&system.filesystem_type()));
    let Ok(watch) = notices.watch(&path) else { return State::Others };
    let maps = mappings(pid);
    let object = maps.iter().find(|map| map.is_of(key.1)).map(|map| map.object.as_str());
    if !is_local || object.is_none_or(|object| others_have(key, object, &file, |other| other == pid)) {
        notices.forget(watch);
        return if is_local { later(wanted) } else { State::Others };
    }
    State::Alone { watch, file: Rc::new(file), since: Notice::default(), wanted }
}

fn path_of(pid: i32, descriptor: i32) -> PathBuf {
    format!("/proc/{pid}/fd/{descriptor}").into()
}

/// Position and flags of an open file.
fn position_of(pid: i32, descriptor: i32) -> Option<(u64, i32)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/fdinfo/{descriptor}")).ok()?;
    let field = |name: &str| text.lines().find_map(|line| Some(line.strip_prefix(name)?.trim()));
    let flags = i32::from_str_radix(field("flags:")?, 8).ok()?;
    Some((field("pos:")?.parse().ok()?, flags))
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsRawFd, FromRawFd};
    use std::os::unix::fs::FileExt;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use machine::Here;

    use super::*;

    /// A file of two pages and some bytes that this process has mapped, three pages of it.
    struct Written {
        file: File,
        shown: u64,
        mutable_files: MutableFiles,
        writes: FileWrites,
    }

    impl Written {
        /// By an open file for which the kernel tells of writing, or one for which it doesn't.
        fn new(tells: bool) -> Self {
            static NUMBER: AtomicU32 = AtomicU32::new(0);
            let number = NUMBER.fetch_add(1, Relaxed);
            let path = std::env::temp_dir().join(format!("superpin-file-writes-{}-{number}", std::process::id()));
            let file = if tells {
                File::options().read(true).write(true).create_new(true).open(&path).unwrap()
            } else {
                // SAFETY: the name is a C string; the descriptor is new and nobody else owns it.
                unsafe { File::from_raw_fd(libc::memfd_create(c"written".as_ptr(), libc::MFD_CLOEXEC)) }
            };
            // What is deleted is written as well.
            let _ = std::fs::remove_file(path);
            file.set_len(2 * PAGE + 100).unwrap();
            let (len, fd) = (3 * PAGE as usize, file.as_raw_fd());
            // SAFETY: a new mapping of this test's own.
            let shown =
                unsafe { libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ, libc::MAP_SHARED, fd, 0) } as u64;
            let mut mutable_files = MutableFiles::default();
            mutable_files.add(std::process::id() as i32, shown);
            Self { file, shown, mutable_files, writes: FileWrites::default() }
        }

        /// What is recorded of a call.
        fn put(&mut self, bytes: &[u8], offset: u64) -> Option<Vec<View>> {
            let me = std::process::id() as i32;
            let args = [self.file.as_raw_fd() as u64, 0, 0, offset, 0, 0];
            let call = self.writes.begin(me, libc::SYS_pwrite64 as u64, &args);
            self.file.write_all_at(bytes, offset).unwrap();
            match call {
                Some(call) => self.writes.end(&call, bytes.len() as u64, &Here::new(), me, &self.mutable_files),
                None => {
                    self.writes.before_copies();
                    None
                }
            }
        }

        /// Somebody opens it.
        fn is_opened(&self) {
            File::open(path_of(std::process::id() as i32, self.file.as_raw_fd())).unwrap();
        }

        /// One that is recorded soon: another test's new process may have it for a moment, and then it never is. `None` if folders for such files are on
        /// another machine, perhaps.
        fn recorded() -> Option<Self> {
            let is_local = |file: &File| fstatfs(file).is_ok_and(|system| LOCAL.contains(&system.filesystem_type()));
            let mut all = (0..100).map(|_| Self::new(true));
            all.find_map(|mut written| match written.boundaries() {
                1000 => (!is_local(&written.file)).then_some(None),
                boundaries => {
                    assert_eq!(boundaries, FIRST as usize + 1);
                    Some(Some(written))
                }
            })
            .expect("the file isn't watched")
        }

        /// How many calls it takes until one is recorded.
        fn boundaries(&mut self) -> usize {
            (0..1000).take_while(|_| self.put(b"x", 0).is_none()).count()
        }
    }

    #[test]
    fn what_mappings_show_is_told_where_nobody_else_writes() {
        let Some(mut written) = Written::recorded() else { return };
        let at = written.shown;
        assert_eq!(written.put(b"ab", 7).unwrap(), [View { address: at + 7, bytes: b"ab".into() }]);
        // It grows: whole pages are told, the one at its end before among them. The rest isn't mapped.
        let grown = written.put(b"cd", 3 * PAGE - 1).unwrap();
        assert_eq!((grown.len(), grown[0].address, grown[0].bytes.len()), (1, at + 2 * PAGE, PAGE as usize));
        assert!(grown[0].bytes.ends_with(b"\0c"));
        assert_eq!(written.put(b"ef", 8 * PAGE).unwrap(), []);
    }

    #[test]
    fn what_is_appended_is_not_taken_for_what_is_written_elsewhere() {
        let Some(mut written) = Written::recorded() else { return };
        assert!(written.put(b"x", 0).is_some());
        // SAFETY: flags of this test's own file.
        assert_eq!(unsafe { libc::fcntl(written.file.as_raw_fd(), libc::F_SETFL, libc::O_APPEND) }, 0);
        let size = |written: &Written| written.file.metadata().unwrap().size();
        let before = size(&written);
        assert!(written.put(b"y", 0).is_none());
        assert_eq!(size(&written), before + 1, "the kernel appends");
    }

    #[test]
    fn what_others_do_makes_boundaries_of_all_calls() {
        let Some(mut written) = Written::recorded() else { return };
        written.is_opened();
        assert!(written.put(b"x", 0).is_none());
        assert!(written.boundaries() > FIRST as usize);
        let Some(mut written) = Written::recorded() else { return };
        written.file.write_all_at(b"y", 1).unwrap();
        assert_eq!(written.boundaries(), 1000);
    }

    #[test]
    fn what_is_not_told_of_is_not_recorded() {
        assert_eq!(Written::new(false).boundaries(), 1000);
    }

    #[test]
    fn a_change_before_the_last_copies_is_in_them() {
        let Some(mut written) = Written::recorded() else { return };
        written.file.write_all_at(b"y", 1).unwrap();
        written.writes.before_copies();
        assert!(written.put(b"x", 0).is_some());
    }
}
