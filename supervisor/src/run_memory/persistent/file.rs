//! The file that holds a program's translations.
//!
//! ```text
//!   MAGIC   length and checksum of the head   Head   the extents' bytes, one after the other   checksum of these
//! ```
//! What lies there is executed, so that a bit that has changed on the disk could make a wrong total: a file with one is of no use.
//!
//! It is on the disk before it gets its name, so what has a name is complete, even after the machine has lost its power.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use bubble::code_files::OF_ONE_RUN;
use bubble::map::file::{CACHE_AT, TABLES_AT};
use bubble::map::{CACHE_SHARED, TABLES};
use crc32fast::Hasher;
use nix::sys::stat::futimens;
use nix::sys::time::TimeSpec;
use serde::{Deserialize, Serialize};

use super::folder::{Folder, is_ours};
use super::origins::CodeOrigin;
use crate::run_memory::memory::RunMemory;

/// Parts of the run memory, offset and length, that are kept.
pub(super) const KEPT: [[u64; 2]; 2] =
    [[TABLES_AT + OF_ONE_RUN, TABLES.size - OF_ONE_RUN], [CACHE_AT, CACHE_SHARED.size]];

const MAGIC: [u8; 8] = *b"SPCODE02";
/// A head is much shorter.
const MOST_HEAD: u32 = 1 << 20;
/// Bytes copied at a time: they are in the core's cache still when their checksum is taken.
const PIECE: usize = 128 << 10;

#[derive(Serialize, Deserialize)]
struct Head {
    key: String,
    origins: Vec<CodeOrigin>,
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
    origins: Vec<CodeOrigin>,
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
        let sum = for_each_piece(&head.extents, |at, piece| {
            memory.file().read_exact_at(piece, at)?;
            file.write_all(piece)
        })?;
        file.write_all(&sum.to_le_bytes())?;
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
    if head.key != key || !head.extents.iter().all(inside) || !head.origins.iter().all(CodeOrigin::is_unchanged) {
        return Ok(0);
    }
    let sum = for_each_piece(&head.extents, |at, piece| {
        file.read_exact(piece)?;
        memory.file().write_all_at(piece, at)
    })?;
    file.read_exact(&mut word)?;
    if sum != u32::from_le_bytes(word) {
        return Ok(0);
    }
    Ok(head.extents.iter().map(|[_, len]| len).sum())
}

/// Has each piece of the extents moved through a buffer, given its offset in the run memory, and gives the checksum of all.
fn for_each_piece(extents: &[[u64; 2]], mut move_it: impl FnMut(u64, &mut [u8]) -> io::Result<()>) -> io::Result<u32> {
    let (mut buffer, mut hasher) = (vec![0; PIECE], Hasher::new());
    for &[start, len] in extents {
        for at in (start..start + len).step_by(PIECE) {
            let piece = &mut buffer[..PIECE.min((start + len - at) as usize)];
            move_it(at, piece)?;
            hasher.update(piece);
        }
    }
    Ok(hasher.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_memory::memory::tests::settings;

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
    }

    #[test]
    fn a_damaged_file_is_of_no_use() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = Folder::open(scratch.path()).unwrap();
        let path = folder.file("program", "key");
        let memory = RunMemory::new(&settings(), None).unwrap();
        let place = KEPT[0][0] + 4096;
        memory.file().write_all_at(&[7; 3 * PIECE], place).unwrap();
        save(&folder, &path, "key", Vec::new(), vec![[place, 3 * PIECE as u64]], &memory).unwrap();
        assert_eq!(load(&path, "key", &memory), 3 * PIECE as u64);
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let len = file.metadata().unwrap().len();
        for at in [0, 9, 13, 20, len / 2, len - 1] {
            let mut byte = [0];
            file.read_exact_at(&mut byte, at).unwrap();
            file.write_all_at(&[byte[0] ^ 4], at).unwrap();
            assert_eq!(load(&path, "key", &memory), 0, "byte {at}");
            file.write_all_at(&byte, at).unwrap();
        }
        assert_eq!(load(&path, "key", &memory), 3 * PIECE as u64);
        file.set_len(len - 1).unwrap();
        assert_eq!(load(&path, "key", &memory), 0);
    }
}
