//! The files that were read.

use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use bubble::app_images::{AppImages, Place, module};
use bubble::modules::{Full, Writer};

use super::debug::{self, DebugFile};
use super::elf::write;
use super::file::{self, Elf};

/// A file that was read.
pub struct Read {
    path: PathBuf,
    inode: u64,
    /// One of [`module`].
    pub found: u32,
    /// Its bytes, for lines.
    pub bytes: &'static [u8],
    /// The debug file.
    pub debug: Option<DebugFile>,
}

/// All files of a run that were read.
pub struct Library {
    writer: Writer,
    files: Vec<Read>,
    /// Why the run has no right result, if so.
    failure: Option<String>,
}

impl Library {
    /// Nothing was read yet.
    pub fn new(writer: Writer) -> Self {
        Self { writer, files: Vec::new(), failure: None }
    }

    /// Why there can't be a right result.
    pub fn failure(&self) -> Option<String> {
        self.failure.clone()
    }

    /// The file of a place, if that was read.
    pub fn file(&self, place: &Place) -> Option<&Read> {
        self.files.iter().find(|read| read.path == place.path() && read.inode == place.region.inode)
    }

    /// Reads a place's file, unless it was read, and tells who waits for it.
    pub fn read(&mut self, place: &Place) -> u32 {
        if place.module() != module::UNKNOWN {
            return place.module();
        }
        let found = match self.file(place) {
            Some(read) => read.found,
            None => self.read_file(place),
        };
        AppImages::answer(place, found);
        found
    }

    fn read_file(&mut self, place: &Place) -> u32 {
        let path = place.path();
        let bytes = open(place).and_then(|file| file::map(&file).ok()).unwrap_or_default();
        let mut read =
            Read { path: path.to_owned(), inode: place.region.inode, found: module::NONE, bytes, debug: None };
        if let Ok(elf) = Elf::parse(bytes) {
            read.debug = debug::find(&elf, path);
            match self.write(&elf, read.debug.as_ref()) {
                Ok(number) => read.found = module::FIRST + number,
                Err(Full) => {
                    let why =
                        format!("there is no room for the symbols of {} beside those of all others", path.display());
                    self.failure.get_or_insert(why);
                }
            }
        }
        let found = read.found;
        self.files.push(read);
        found
    }

    fn write(&mut self, elf: &Elf<'static>, debug: Option<&DebugFile>) -> Result<u32, Full> {
        let path = debug.map(|debug| debug.path.as_os_str().as_bytes()).unwrap_or_default();
        let debug = debug.and_then(|debug| Elf::parse(debug.bytes).ok());
        let module = write(elf, debug.as_ref(), path, &mut self.writer)?;
        self.writer.publish(module)
    }
}

/// The file that is mapped there: the one of that name if it still is that, else by who has it open.
fn open(place: &Place) -> Option<File> {
    let names = [Some(place.path().to_owned()), place.open_file().map(PathBuf::from)];
    names.into_iter().flatten().find_map(|name| {
        let is_it = |metadata: &fs::Metadata| metadata.is_file() && metadata.ino() == place.region.inode;
        // Looked at before it is opened: to open a device or a pipe may have effects.
        fs::metadata(&name).ok().filter(is_it)?;
        let file = File::open(&name).ok()?;
        file.metadata().is_ok_and(|metadata| is_it(&metadata)).then_some(file)
    })
}
