//! Whether anybody else may write a file in memory (tmpfs, `memfd_create`) that members have mapped.
//!
//! Whoever writes it must have it open or mapped. The kernel tells when it is opened or written by a call (inotify); after that, and whenever a member hands on what it has open, it is looked
//! through all processes who has it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use nix::sys::statfs::{TMPFS_MAGIC, statfs};

use crate::app::holders::others_have;
use crate::app::mapped_files::Key;
use crate::app::mappings::Mapping;
use crate::app::mutable_files::MutableFiles;
use crate::app::notices::{Notice, Notices, Watch};

/// How often all processes are looked through in vain.
const MOST: u32 = 16;

/// A file.
struct Guard {
    watch: Watch,
    /// To open it again would seem to be somebody else's.
    file: Rc<File>,
    key: Key,
    /// Whether nobody else has had it since it was looked for.
    is_closed: bool,
    /// Lookings in vain.
    tries: u32,
}

/// Files by objects.
#[derive(Default)]
pub struct Files {
    notices: Option<Notices>,
    guards: BTreeMap<String, Guard>,
    all: MutableFiles,
}

impl Files {
    /// Whether it is told who opens the file that process `pid` has mapped there.
    pub fn watches(&mut self, pid: i32, map: &Mapping) -> bool {
        if self.guards.contains_key(&map.object) {
            return true;
        }
        let guard = self.guard(pid, map);
        let is_watched = guard.is_some();
        if let Some(guard) = guard {
            self.guards.insert(map.object.clone(), guard);
            self.all.insert(&map.object);
        }
        is_watched
    }

    fn guard(&mut self, pid: i32, map: &Mapping) -> Option<Guard> {
        let named = find(pid, map)?;
        let metadata = fs::metadata(&named).ok()?;
        // Stores to others can't be seen.
        statfs(&named).ok().filter(|system| system.filesystem_type() == TMPFS_MAGIC)?;
        if self.notices.is_none() {
            self.notices = Notices::new().ok();
        }
        let notices = self.notices.as_mut()?;
        let watch = notices.watch(&named).ok()?;
        // Of some files nothing is told.
        notices.take(|_, _| {});
        let mut is_told = false;
        let file = Rc::new(File::open(&named).ok()?);
        notices.take(|which, notice| is_told |= which == Some(watch) && notice.opened);
        // What was taken may have been about another one.
        self.suspect();
        is_told.then_some(Guard { watch, file, key: (metadata.dev(), metadata.ino()), is_closed: false, tries: 0 })
    }

    /// Whether a call of process `pid` may write one.
    pub fn are_written(&self, pid: i32, number: u64, args: &[u64; 6]) -> bool {
        self.all.is_written(pid, number, args)
    }

    /// Somebody else may have any of them.
    pub fn suspect(&mut self) {
        self.guards.values_mut().for_each(|guard| guard.is_closed = false);
    }

    /// Whether a member has it mapped, or has had.
    pub fn knows(&self, object: &str) -> bool {
        self.guards.contains_key(object)
    }

    /// The file, open for reading.
    pub fn opened(&self, object: &str) -> Option<Rc<File>> {
        self.guards.get(object).map(|guard| Rc::clone(&guard.file))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.guards.is_empty()
    }

    /// Whether nobody else can have written one since [`Files::look_for_others`].
    pub fn are_closed(&mut self) -> bool {
        let Some(notices) = &mut self.notices else { return true };
        let guards = &mut self.guards;
        notices.take(|which, Notice { .. }| {
            let is_meant = |guard: &&mut Guard| which.is_none_or(|which| which == guard.watch);
            guards.values_mut().filter(is_meant).for_each(|guard| guard.is_closed = false);
        });
        self.guards.values().all(|guard| guard.is_closed)
    }

    /// Looks through all processes who has files that somebody else may have. `is_ours`: of a process, whether it may.
    pub fn look_for_others(&mut self, is_ours: impl Fn(i32) -> bool) {
        for (object, guard) in &mut self.guards {
            if guard.is_closed || guard.tries >= MOST {
                continue;
            }
            guard.is_closed = !others_have(guard.key, object, &guard.file, &is_ours);
            guard.tries += u32::from(!guard.is_closed);
        }
    }
}

/// A name by which this process finds a file that another has mapped.
fn find(pid: i32, map: &Mapping) -> Option<PathBuf> {
    let is_it = |path: &Path| fs::metadata(path).is_ok_and(|file| file.is_file() && map.is_of(file.ino()));
    let by_name = map.name.starts_with('/').then(|| PathBuf::from(format!("/proc/{pid}/root{}", map.name)));
    let by_mapping = PathBuf::from(format!("/proc/{pid}/map_files/{:x}-{:x}", map.start, map.end));
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten().map(|entry| entry.path());
    open.chain(by_name).chain([by_mapping]).find(|path| is_it(path))
}
