//! The file of debug information that belongs to another one, as distributions hand it out: found by the build id, or by the name that the file has for it.

use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::Object;

use super::file::{self, Elf};

/// Where distributions put them.
const FOLDER: &str = "/usr/lib/debug";

/// The debug file of a file.
pub struct DebugFile {
    /// Its path.
    pub path: PathBuf,
    /// What is in it.
    pub bytes: &'static [u8],
}

/// The one that belongs to `elf`, which was found at `path`.
pub fn find(elf: &Elf<'static>, path: &Path) -> Option<DebugFile> {
    by_build_id(elf).or_else(|| by_name(elf, path))
}

fn by_build_id(elf: &Elf<'static>) -> Option<DebugFile> {
    let id = elf.build_id().ok()??;
    let (first, rest) = id.split_first()?;
    let mut path = format!("{FOLDER}/.build-id/{first:02x}/");
    rest.iter().for_each(|byte| write!(path, "{byte:02x}").expect("a string takes all"));
    let path = PathBuf::from(path + ".debug");
    let bytes = file::at(&path)?;
    has_id(bytes, id).then_some(DebugFile { path, bytes })
}

fn by_name(elf: &Elf<'static>, path: &Path) -> Option<DebugFile> {
    let (name, checksum) = elf.gnu_debuglink().ok()??;
    let name = OsStr::from_bytes(name);
    let folder = path.parent()?;
    let below = folder.strip_prefix("/").unwrap_or(folder);
    let id = elf.build_id().ok().flatten();
    [folder.join(name), folder.join(".debug").join(name), Path::new(FOLDER).join(below).join(name)]
        .into_iter()
        .find_map(|candidate| {
            let bytes = (candidate != path).then(|| file::at(&candidate)).flatten()?;
            let belongs = match id {
                Some(id) => has_id(bytes, id),
                None => crc32fast::hash(bytes) == checksum,
            };
            belongs.then_some(DebugFile { path: candidate, bytes })
        })
}

fn has_id(bytes: &'static [u8], id: &[u8]) -> bool {
    Elf::parse(bytes).ok().and_then(|elf| elf.build_id().ok().flatten().map(|other| other == id)) == Some(true)
}
