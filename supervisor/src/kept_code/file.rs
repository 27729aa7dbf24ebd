//! The file that holds a program's translations.
//!
//! ```text
//!   MAGIC   length and checksum of the head   Head   the extents' bytes, one after the other
//! ```
//! It is on the disk before it gets its name, so what has a name is complete, even after the machine has lost its power.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use nix::sys::sendfile::sendfile;
use nix::sys::stat::futimens;
use nix::sys::time::TimeSpec;
use nix::unistd::{Whence, lseek};
use serde::{Deserialize, Serialize};

use super::KEPT;
use super::folder::{Folder, is_ours};
use super::origins::Origin;
use crate::run_memory::RunMemory;

const MAGIC: [u8; 8] = *b"SPCODE01";
/// A head is much shorter.
const MOST_HEAD: u32 = 1 << 20;

#[derive(Serialize, Deserialize)]
struct Head {
    key: String,
    origins: Vec<Origin>,
    /// Offsets in the run memory, and lengths.
    extents: Vec<[u64; 2]>,
}

/// Writes the extents of the run memory to a file.
///
/// # Errors
/// If the file system refuses something.
pub fn save(
    folder: &Folder,
    path: &Path,
    key: &str,
    origins: Vec<Origin>,
    extents: Vec<[u64; 2]>,
    memory: &RunMemory,
) -> io::Result<()> {
    let head = Head { key: key.to_owned(), origins, extents };
    let encoded = postcard::to_stdvec(&head).map_err(io::Error::other)?;
    folder.replace(path, |mut file| {
        file.write_all(&MAGIC)?;
        file.write_all(&(encoded.len() as u32).to_le_bytes())?;
        file.write_all(&crc32fast::hash(&encoded).to_le_bytes())?;
        file.write_all(&encoded)?;
        head.extents.iter().try_for_each(|&[start, len]| copy(memory.file(), start, file, len))?;
        file.sync_data()
    })
}

/// Reads a file into the run memory, where nothing is yet, if it is for this key and what it was made from is what it was. Gives the bytes: 0 if there is
/// no such file, or none that is of use; something may have been written all the same.
pub fn load(path: &Path, key: &str, memory: &RunMemory) -> u64 {
    let Ok(file) = File::open(path) else { return 0 };
    if !file.metadata().is_ok_and(|metadata| metadata.is_file() && is_ours(&metadata)) {
        return 0;
    }
    let loaded = read(&file, key, memory).unwrap_or(0);
    if loaded > 0 {
        // What was used last is removed last.
        let _ = futimens(&file, &TimeSpec::UTIME_NOW, &TimeSpec::UTIME_NOW);
    }
    loaded
}

fn read(mut file: &File, key: &str, memory: &RunMemory) -> io::Result<u64> {
    let (mut magic, mut word) = ([0; 8], [0; 4]);
    file.read_exact(&mut magic)?;
    file.read_exact(&mut word)?;
    let len = u32::from_le_bytes(word);
    file.read_exact(&mut word)?;
    if magic != MAGIC || len > MOST_HEAD {
        return Ok(0);
    }
    let mut encoded = vec![0; len as usize];
    file.read_exact(&mut encoded)?;
    if crc32fast::hash(&encoded) != u32::from_le_bytes(word) {
        return Ok(0);
    }
    let Ok(head) = postcard::from_bytes::<Head>(&encoded) else { return Ok(0) };
    let inside = |[at, len]: &[u64; 2]| {
        KEPT.iter().any(|&[start, size]| *at >= start && at.checked_add(*len).is_some_and(|end| end <= start + size))
    };
    if head.key != key || !head.extents.iter().all(inside) || !head.origins.iter().all(Origin::is_unchanged) {
        return Ok(0);
    }
    for &[start, len] in &head.extents {
        lseek(memory.file(), start as i64, Whence::SeekSet)?;
        let from = lseek(file, 0, Whence::SeekCur)? as u64;
        copy(file, from, memory.file(), len)?;
        lseek(file, (from + len) as i64, Whence::SeekSet)?;
    }
    Ok(head.extents.iter().map(|[_, len]| len).sum())
}

/// Copies `len` bytes from `start` on to where the other file stands.
fn copy(from: &File, start: u64, to: &File, len: u64) -> io::Result<()> {
    let (mut at, end) = (start as i64, (start + len) as i64);
    while at < end {
        let left = (end - at) as usize;
        if sendfile(to, from, Some(&mut at), left)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::run_memory::tests::settings;

    #[test]
    fn what_is_saved_is_loaded_where_it_was() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = Folder::open(scratch.path()).unwrap();
        let path = folder.file("program", "key");
        let (one, other) = (RunMemory::new(&settings(), None).unwrap(), RunMemory::new(&settings(), None).unwrap());
        let places = [KEPT[0][0] + 5000, KEPT[0][0] + (1 << 20), KEPT[1][0], KEPT[1][0] + KEPT[1][1] - 100];
        for (n, place) in (1..).zip(places) {
            one.file().write_all_at(&[n; 100], place).unwrap();
        }
        let extents = one.extents(&KEPT).unwrap();
        assert_eq!(extents.len(), 4);
        save(&folder, &path, "key", Vec::new(), extents, &one).unwrap();
        assert_eq!((load(&path, "another key", &other), load(&path, "key", &other)), (0, 4 * 4096));
        let mut bytes = [0; 101];
        for (n, place) in (1..).zip(places) {
            other.file().read_exact_at(&mut bytes[..100], place).unwrap();
            assert_eq!(bytes[..100], [n; 100]);
        }
        other.forget(&KEPT);
        assert!(other.extents(&KEPT).unwrap().is_empty());
        let len = path.metadata().unwrap().len();
        File::options().write(true).open(&path).unwrap().set_len(len - 1).unwrap();
        assert_eq!(load(&path, "key", &other), 0);
    }
}
