//! Which processes have a file: open, or mapped so that what they store there shows elsewhere.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

use super::mapped_files::Key;

/// CPU time to look for: on a machine with very many processes a boundary now and then is cheaper.
const PATIENCE: Duration = Duration::from_millis(50);
/// Two addresses and permissions, as text.
const MOST_PLACE: usize = 2 * 16 + 6;

/// Whether a process other than this one and `ours` may have a file by which it can be written. True where that can't be found out. `object`: device and inode, as in
/// /proc/PID/maps; `opened`: the file itself, open for reading: by its name, or who had it first, it may not be found any more.
pub fn others_have(file: Key, object: &str, opened: &File, ours: impl Fn(i32) -> bool) -> bool {
    let (since, me) = (used(), std::process::id() as i32);
    let Ok(processes) = fs::read_dir("/proc") else { return true };
    let numbers = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let mut is_hidden = false;
    for other in numbers.filter(|other| *other != me && !ours(*other)) {
        match has(other, file, object) {
            Some(false) => {}
            Some(true) => return true,
            None => is_hidden = true,
        }
        if used().saturating_sub(since) > PATIENCE {
            return true;
        }
    }
    // Of another user's processes nothing is known but what they may do. The superuser may do anything; what it writes by calls is noticed.
    is_hidden && !is_closed_to_others(opened)
}

/// CPU time of this thread.
fn used() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// Whether a process has it. `None` if this one isn't told.
fn has(process: i32, file: Key, object: &str) -> Option<bool> {
    let known = |kind: ErrorKind| (kind != ErrorKind::PermissionDenied).then_some(false);
    let descriptors = match fs::read_dir(format!("/proc/{process}/fd")) {
        Ok(descriptors) => descriptors,
        // It has ended.
        Err(error) => return known(error.kind()),
    };
    for descriptor in descriptors.flatten() {
        if status(&descriptor.path()) == Some(file) {
            return Some(true);
        }
    }
    let maps = match fs::read(format!("/proc/{process}/maps")) {
        Ok(maps) => String::from_utf8_lossy(&maps).into_owned(),
        Err(error) => return known(error.kind()),
    };
    let is_meant = |line: &str| {
        let (place, shown) = line.split_once("s ")?;
        let (_, shown) = shown.split_once(' ')?;
        Some(place.len() < MOST_PLACE && shown.strip_prefix(object)?.starts_with(' '))
    };
    Some(maps.lines().any(|line| is_meant(line).unwrap_or(false)))
}

/// Device and inode, as far as they are known without asking another machine.
fn status(path: &Path) -> Option<Key> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(path.as_os_str().as_bytes()).ok()?;
    let flags = libc::AT_STATX_DONT_SYNC | libc::AT_NO_AUTOMOUNT;
    // SAFETY: the path is a C string; the structure is plain data, which the call fills in.
    let (result, told) = unsafe {
        let mut told: libc::statx = std::mem::zeroed();
        (libc::statx(libc::AT_FDCWD, path.as_ptr(), flags, libc::STATX_INO, &raw mut told), told)
    };
    (result == 0).then(|| (libc::makedev(told.stx_dev_major, told.stx_dev_minor), told.stx_ino))
}

/// Whether a file is this user's, and nobody else but the superuser may write it.
fn is_closed_to_others(opened: &File) -> bool {
    const OTHERS_WRITE: u32 = 0o022;
    // SAFETY: the call has no preconditions.
    let me = unsafe { libc::geteuid() };
    opened.metadata().is_ok_and(|file| file.uid() == me && file.mode() & OTHERS_WRITE == 0)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn who_has_a_file_is_found() {
        let path = std::env::temp_dir().join(format!("superpin-holders-{}", std::process::id()));
        let file = File::create(&path).unwrap();
        let status = file.metadata().unwrap();
        let key = (status.dev(), status.ino());
        let has = |process: i32| has(process, key, "0:0 0");
        assert_eq!(has(std::process::id() as i32), Some(true));
        assert_eq!(has(i32::MAX), Some(false));
        let mut reader = Command::new("sleep").arg("60").stdin(Stdio::from(file.try_clone().unwrap())).spawn().unwrap();
        assert_eq!(has(reader.id() as i32), Some(true));
        assert!(others_have(key, "0:0 0", &file, |_| false));
        reader.kill().unwrap();
        reader.wait().unwrap();
        assert_eq!(has(reader.id() as i32), Some(false));
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn who_has_mapped_it_is_found() {
        let me = std::process::id() as i32;
        // SAFETY: new mappings of this test's own.
        let [shared, private] = [libc::MAP_SHARED, libc::MAP_PRIVATE].map(|kind| unsafe {
            let fd = libc::memfd_create(c"mapped".as_ptr(), 0);
            let mapped = libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_NONE, kind, fd, 0);
            libc::close(fd);
            mapped as u64
        });
        let maps = crate::app::mappings(me);
        let object = |address: u64| &maps.iter().find(|map| map.start == address).unwrap().object;
        assert_eq!([object(shared), object(private)].map(|object| has(me, (0, 0), object)), [Some(true), Some(false)]);
    }
}
