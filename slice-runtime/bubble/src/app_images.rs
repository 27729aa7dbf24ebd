//! Where the app's *images* (ELF files: programs, libraries) were mapped in a run, and what they have in them.
//!
//! ```text
//!   control process, serial runtime ── add ──► AppImages ◄── ask, wait ── slice, serial runtime: a tool wants a name
//!                                                │  bell
//!                                                ▼
//!                                  collector: reads the file, once ── publish ──► MODULES: see crate::modules
//! ```
//!
//! A place is added whenever code of a file is mapped; that costs next to nothing. Files are read only for tools that ask. Who asks waits on a futex for the collector,
//! which reads in a thread of its own: neither the control process nor the app that runs natively is held up.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::code_files::FileRegion;
use crate::map::{APP_IMAGES, CONTROL};

/// Places at most. Further ones have no names.
pub const MAX_PLACES: usize = 4096;
/// Bytes of a path that is kept.
const PATH_BYTES: usize = 4000;

/// Offset of the table in CONTROL, and in the run memory.
pub const APP_IMAGES_AT: usize = (APP_IMAGES.start - CONTROL.start) as usize;

const _: () = assert!(size_of::<AppImages>() <= APP_IMAGES.size as usize);

/// Values of [`Place::module`]; any other is a module's number and [`module::FIRST`].
pub mod module {
    /// The collector hasn't looked.
    pub const UNKNOWN: u32 = 0;
    /// It has: the file is no ELF file, or can't be read.
    pub const NONE: u32 = 1;
    /// That of module 0.
    pub const FIRST: u32 = 2;
}

/// A mapping of code of a file.
#[repr(C)]
pub struct Place {
    /// Where, and of which file. The device isn't filled in: on some file systems it has another number in a list of mappings than elsewhere.
    pub region: FileRegion,
    /// A process that has the file open, and as which descriptor; -1 if none.
    holder: [i32; 2],
    /// 1 if it is of the program itself.
    is_main: u32,
    /// The program that has it there.
    program: u32,
    asked: AtomicU32,
    module: AtomicU32,
    path_len: u32,
    path: [u8; PATH_BYTES],
}

impl Place {
    /// The file's path, as the kernel told it to who added the place; empty if it is too long.
    pub fn path(&self) -> &'static Path {
        let bytes = &self.path[..(self.path_len as usize).min(PATH_BYTES)];
        // SAFETY: places are never changed, and lie in CONTROL, which its users have mapped for as long as they live.
        let bytes = unsafe { std::slice::from_raw_parts(bytes.as_ptr(), bytes.len()) };
        Path::new(OsStr::from_bytes(bytes))
    }

    /// Another name of the file, through who has it open. It may be closed by now.
    pub fn open_file(&self) -> Option<String> {
        let [pid, descriptor] = self.holder;
        (descriptor >= 0).then(|| format!("/proc/{pid}/fd/{descriptor}"))
    }

    /// Whether it is of the program itself, rather than of its interpreter or a library.
    pub fn is_main(&self) -> bool {
        self.is_main != 0
    }

    /// Whether it is of this one of the programs that the app was, one after the other.
    pub fn is_of(&self, program: u32) -> bool {
        self.program == program
    }

    fn is_at(&self, region: &FileRegion, path: &Path) -> bool {
        self.region == *region && self.path().as_os_str().as_bytes() == known(path)
    }

    /// Whether a mapping is all or a part of it.
    pub fn has(&self, region: &FileRegion) -> bool {
        let own = &self.region;
        let lies_in = own.start <= region.start && region.end <= own.end && own.inode == region.inode;
        lies_in && region.offset.wrapping_sub(own.offset) == region.start - own.start
    }

    /// Whether the collector is to look at the file.
    pub fn is_wanted(&self) -> bool {
        self.asked.load(Ordering::Acquire) != 0 && self.module() == module::UNKNOWN
    }

    /// One of [`module`].
    pub fn module(&self) -> u32 {
        self.module.load(Ordering::Acquire)
    }

    /// The futex of who waits for [`Self::module`].
    pub fn module_word(&self) -> &AtomicU32 {
        &self.module
    }
}

/// As much of a path as is kept.
fn known(path: &Path) -> &[u8] {
    let path = path.as_os_str().as_bytes();
    if path.len() <= PATH_BYTES { path } else { &[] }
}

/// The table. All zeros is an empty one. Only one process adds: the control process, or that of a serial run.
#[repr(C, align(4096))]
pub struct AppImages {
    count: AtomicU32,
    /// Raised whenever something was asked: the futex on which the collector's thread waits.
    bell: AtomicU32,
    /// Whether a tool has asked for names.
    names_wanted: AtomicU32,
    /// The number of the program that the app is.
    program: AtomicU32,
    /// Whether the collector is gone, and answers no more.
    closed: AtomicU32,
    places: [Place; MAX_PLACES],
}

impl AppImages {
    /// The table in a mapping of its region.
    ///
    /// # Safety
    /// [`APP_IMAGES`] is mapped at `start` for as long as this is used.
    pub unsafe fn at<'a>(start: *const u8) -> &'a Self {
        // SAFETY: the table is aligned, and zero bytes are one. What isn't atomic is written before the count says that it is there.
        unsafe { &*start.cast::<Self>() }
    }

    /// The places that were added so far, in the order in which each was first mapped.
    pub fn places(&self) -> &[Place] {
        &self.places[..(self.count.load(Ordering::Acquire) as usize).min(MAX_PLACES)]
    }

    /// Which of the programs that the app is one after the other, by `exec`, is the latest one.
    pub fn program(&self) -> u32 {
        self.program.load(Ordering::Acquire)
    }

    /// Another program begins, with this code of its file: what is added from now on is of that. One that was there before has the number that it had.
    pub fn begins_program(&self, code: Option<(&FileRegion, &Path)>) {
        let is_it = |place: &&Place| code.is_some_and(|(region, path)| place.is_main() && place.is_at(region, path));
        let known = self.places().iter().find(is_it).map(|place| place.program);
        self.program.store(known.unwrap_or(self.places().len() as u32 + 1), Ordering::Release);
    }

    /// Adds a place, unless it is there. `holder`: a process that has the file open, and as which descriptor. Gives its number.
    ///
    /// # Safety
    /// The region is mapped for writing, and nobody else adds one meanwhile.
    pub unsafe fn add(&self, region: FileRegion, path: &Path, holder: [i32; 2], is_main: bool) -> Option<usize> {
        let known = known(path);
        let (places, program) = (self.places(), self.program());
        if let Some(number) = places.iter().position(|place| place.is_of(program) && place.is_at(&region, path)) {
            return Some(number);
        }
        let number = places.len();
        if number >= MAX_PLACES {
            return None;
        }
        // SAFETY: nobody reads places from the count on, and nobody else writes them.
        unsafe {
            let place = (&raw const self.places[number]).cast_mut();
            (*place).region = region;
            (*place).holder = holder;
            (*place).is_main = is_main.into();
            (*place).program = program;
            (*place).path_len = known.len() as u32;
            (&raw mut (*place).path).cast::<u8>().copy_from_nonoverlapping(known.as_ptr(), known.len());
        }
        self.count.store(number as u32 + 1, Ordering::Release);
        Some(number)
    }

    /// Where this mapping is of: the last place that has it.
    pub fn find(&self, region: &FileRegion) -> Option<&Place> {
        self.places().iter().rev().find(|place| place.has(region))
    }

    /// The collector is to look at a place. The bell is to be rung if this says so.
    pub fn ask(&self, place: &Place) -> bool {
        if place.module() != module::UNKNOWN || place.asked.swap(1, Ordering::AcqRel) != 0 {
            return false;
        }
        self.bell.fetch_add(1, Ordering::Release);
        true
    }

    /// The futex on which the collector waits for questions.
    pub fn bell(&self) -> &AtomicU32 {
        &self.bell
    }

    /// The collector has looked at a place: what it found is one of [`module`].
    pub fn answer(place: &Place, found: u32) {
        place.module.store(found, Ordering::Release);
    }

    /// A tool asks for names.
    pub fn want_names(&self) {
        self.names_wanted.store(1, Ordering::Relaxed);
    }

    /// Whether a tool has asked for names while it instrumented, or to be told of images.
    pub fn names_wanted(&self) -> bool {
        self.names_wanted.load(Ordering::Relaxed) != 0
    }

    /// Nobody will answer any more: the run has failed.
    pub fn close(&self) {
        self.closed.store(1, Ordering::Release);
    }

    /// Whether that is so.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_once_and_found_by_parts() {
        let memory = vec![0_u64; size_of::<AppImages>() / 8 + 512];
        // SAFETY: as long as the table, which is aligned by hand.
        let table = unsafe { AppImages::at(memory.as_ptr().cast::<u8>().map_addr(|a| a.next_multiple_of(4096))) };
        let region = |start, offset| FileRegion { start, end: start + 0x3000, offset, device: 0, inode: 7 };
        // SAFETY: nobody else adds any.
        let add =
            |start, offset, path: &str| unsafe { table.add(region(start, offset), Path::new(path), [0, -1], false) };
        assert_eq!(add(0x1000, 0x4000, "/lib/a"), Some(0));
        assert_eq!((add(0x8000, 0, "/lib/b"), add(0x1000, 0x4000, "/lib/a")), (Some(1), Some(0)));
        let part = FileRegion { start: 0x2000, end: 0x3000, offset: 0x5000, device: 9, inode: 7 };
        assert_eq!(table.find(&part).map(Place::path), Some(Path::new("/lib/a")));
        assert!(table.find(&FileRegion { offset: 0x6000, ..part }).is_none());
        assert!(table.find(&FileRegion { inode: 8, ..part }).is_none());
        let place = &table.places()[0];
        assert!(!place.is_wanted() && !table.names_wanted());
        table.want_names();
        assert!(table.ask(place) && !table.ask(place) && place.is_wanted());
        AppImages::answer(place, module::FIRST);
        assert!(!place.is_wanted() && place.module() == module::FIRST && table.names_wanted());
    }

    #[test]
    fn each_program_has_its_own_places_and_one_that_comes_again_has_them_again() {
        let memory = vec![0_u64; size_of::<AppImages>() / 8 + 512];
        // SAFETY: as long as the table, which is aligned by hand.
        let table = unsafe { AppImages::at(memory.as_ptr().cast::<u8>().map_addr(|a| a.next_multiple_of(4096))) };
        let region = |inode| FileRegion { start: 0x1000, end: 0x3000, offset: 0, device: 0, inode };
        let library = FileRegion { start: 0x8000, end: 0x9000, offset: 0, device: 0, inode: 5 };
        let begin = |inode, path: &str| {
            table.begins_program(Some((&region(inode), Path::new(path))));
            // SAFETY: nobody else adds any.
            let main = unsafe { table.add(region(inode), Path::new(path), [0, -1], true) };
            // SAFETY: as above.
            (main, unsafe { table.add(library, Path::new("/lib/c"), [0, -1], false) }, table.program())
        };
        let (shell, other) = (begin(7, "/bin/sh"), begin(8, "/bin/ls"));
        assert_eq!([shell.0, shell.1, other.0, other.1], [Some(0), Some(1), Some(2), Some(3)]);
        assert_eq!(begin(7, "/bin/sh"), shell);
        let is_of = |number: usize, program| table.places()[number].is_of(program);
        assert!(is_of(1, shell.2) && !is_of(1, other.2) && is_of(3, other.2) && !is_of(3, shell.2));
    }
}
