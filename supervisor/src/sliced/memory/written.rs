//! Files that a call is about to make writable, by their paths.

use std::fs::Metadata;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use machine::Memory;

use crate::app::Key;

/// Longest path that is looked at, as the kernel has it.
const MOST_PATH: usize = 4096;
/// Both together: the call makes a new file or none.
const NEW: i32 = libc::O_CREAT | libc::O_EXCL;

/// The file, if it exists, that a call of process `pid` is about to open for writing or to cut off.
pub fn by_path(memory: &impl Memory, pid: i32, number: u64, args: &[u64; 6]) -> Option<Key> {
    const HERE: u64 = libc::AT_FDCWD as u64;
    const CREATES: i32 = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC;
    let (folder, path, flags) = match number as i64 {
        libc::SYS_open => (HERE, args[0], args[1] as i32),
        libc::SYS_openat => (args[0], args[1], args[2] as i32),
        libc::SYS_openat2 => (args[0], args[1], memory.read_u64(args[2]).ok()? as i32),
        libc::SYS_creat => (HERE, args[0], CREATES),
        libc::SYS_truncate => (HERE, args[0], libc::O_WRONLY),
        _ => return None,
    };
    let writes = flags & (libc::O_ACCMODE | libc::O_TRUNC) != 0 && flags & NEW != NEW;
    let metadata = writes.then(|| look_up(memory, pid, folder as i32, path)).flatten()?;
    metadata.is_file().then(|| (metadata.dev(), metadata.ino()))
}

/// What a path means to a process. Links that name the reader of /proc itself aren't followed beyond their first place.
fn look_up(memory: &impl Memory, pid: i32, folder: i32, path: u64) -> Option<Metadata> {
    let path = PathBuf::from(std::ffi::OsString::from_vec(memory.read_c_string(path, MOST_PATH).ok()?));
    let process = PathBuf::from(format!("/proc/{pid}"));
    let whole = if let Ok(own) = path.strip_prefix("/proc/self").or_else(|_| path.strip_prefix("/proc/thread-self")) {
        process.join(own)
    } else if let Ok(fd) = path.strip_prefix("/dev/fd") {
        process.join("fd").join(fd)
    } else if let Ok(absolute) = path.strip_prefix("/") {
        process.join("root").join(absolute)
    } else if folder == libc::AT_FDCWD {
        process.join("cwd").join(path)
    } else {
        process.join("fd").join(folder.to_string()).join(path)
    };
    std::fs::metadata(whole).ok()
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::fs::File;
    use std::os::fd::AsRawFd;

    use machine::Here;

    use super::*;

    #[test]
    fn paths_are_those_of_the_process() {
        let path = std::env::temp_dir().join(format!("superpin-written-{}", std::process::id()));
        let file = File::create(&path).unwrap();
        let status = file.metadata().unwrap();
        let key = Some((status.dev(), status.ino()));
        let folder = File::open(path.parent().unwrap()).unwrap();
        let named = |folder: i32, name: &str, flags: i32| {
            let name = CString::new(name).unwrap();
            let args = [folder as u64, name.as_ptr() as u64, flags as u64, 0, 0, 0];
            by_path(&Here::new(), std::process::id() as i32, libc::SYS_openat as u64, &args)
        };
        let (whole, name) = (path.to_str().unwrap(), path.file_name().unwrap().to_str().unwrap());
        let open = format!("/proc/self/fd/{}", file.as_raw_fd());
        for flags in [libc::O_WRONLY, libc::O_RDWR | libc::O_CREAT, libc::O_TRUNC] {
            let found = [named(-1, whole, flags), named(folder.as_raw_fd(), name, flags), named(-1, &open, flags)];
            assert_eq!(found, [key; 3]);
        }
        assert_eq!([named(-1, whole, libc::O_RDONLY), named(-1, whole, libc::O_RDWR | NEW)], [None; 2]);
        assert_eq!([named(-1, "/", libc::O_RDWR), named(libc::AT_FDCWD, name, libc::O_RDWR)], [None; 2]);
        std::fs::remove_file(&path).unwrap();
    }
}
