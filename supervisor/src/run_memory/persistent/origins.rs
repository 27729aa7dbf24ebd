//! Whether a file is what it was when its code was translated.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use bubble::code_files::{CodeFiles, FileRegion, FileVersion, device_of};
use nix::sys::statfs::{
    BTRFS_SUPER_MAGIC, EXT4_SUPER_MAGIC, FsType, OVERLAYFS_SUPER_MAGIC, TMPFS_MAGIC, XFS_SUPER_MAGIC, statfs,
};
use serde::{Deserialize, Serialize};

/// File systems whose times of change are this machine's.
const LOCAL: [FsType; 5] = [EXT4_SUPER_MAGIC, BTRFS_SUPER_MAGIC, XFS_SUPER_MAGIC, TMPFS_MAGIC, OVERLAYFS_SUPER_MAGIC];

/// Which file it is, and its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    modified: i64,
    changed: i64,
}

impl Identity {
    /// As the kernel tells it.
    pub fn of(metadata: &Metadata) -> Self {
        Self::new(device_of(metadata), metadata.ino(), FileVersion::of(metadata))
    }

    fn new(device: u64, inode: u64, version: FileVersion) -> Self {
        let FileVersion { size, modified, changed } = version;
        Self { device, inode, size, modified, changed }
    }
}

/// A file that code was translated from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeOrigin {
    path: PathBuf,
    identity: Identity,
}

impl CodeOrigin {
    /// Whether it is still what it was.
    pub fn is_unchanged(&self) -> bool {
        std::fs::metadata(&self.path).is_ok_and(|now| Identity::of(&now) == self.identity)
    }
}

/// The files that code was translated from.
///
/// # Errors
/// If changes of one of them can't be told. Says why.
pub fn of(files: &CodeFiles) -> Result<Vec<CodeOrigin>, String> {
    if files.regions().is_empty() {
        return Err("of no mapped file could it be told whether it stays what it is".into());
    }
    let mut origins = Vec::<CodeOrigin>::new();
    for (number, (region, version)) in files.regions().iter().zip(files.versions()).enumerate() {
        let path = files.path(number).ok_or("a mapped file's path isn't known")?;
        if !is_local(&path) {
            return Err(format!("{}: on its file system, times of change may be another machine's", path.display()));
        }
        let FileRegion { device, inode, .. } = *region;
        let origin = CodeOrigin { path, identity: Identity::new(device, inode, *version) };
        if !origins.contains(&origin) {
            origins.push(origin);
        }
    }
    Ok(origins)
}

fn is_local(path: &Path) -> bool {
    statfs(path).is_ok_and(|system| LOCAL.contains(&system.filesystem_type()))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_change_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lib.so");
        std::fs::write(&path, "a").unwrap();
        let origin = || CodeOrigin { identity: Identity::of(&path.metadata().unwrap()), path: path.clone() };
        let old = origin();
        assert!(old.is_unchanged());
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(!old.is_unchanged());
        let old = origin();
        file.set_permissions(Permissions::from_mode(0o700)).unwrap();
        assert!(!old.is_unchanged(), "the time of change tells");
        let old = origin();
        std::fs::rename(&path, folder.path().join("other")).unwrap();
        assert!(!old.is_unchanged());
        std::fs::write(&path, "a").unwrap();
        assert!(!old.is_unchanged());
        assert!(!is_local(Path::new("/proc")));
    }
}
