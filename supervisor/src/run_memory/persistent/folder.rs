//! The folder in which translations are kept. What lies there is executed, so it must be nobody else's.

use std::fs::{DirBuilder, File, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::base::Failure;

/// Bytes that all files together may have: the ones that weren't used for longest go.
const MOST_BYTES: u64 = 2 << 30;
const SUFFIX: &str = "code";

/// An open folder.
pub struct Folder(PathBuf);

impl Folder {
    /// Opens it, or makes it.
    ///
    /// # Errors
    /// If it can't be made, or isn't this user's alone to write to.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let failed = |why: String| Failure::Unsupported(format!("-persist {}: {why}", path.display()));
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|error| failed(error.to_string()))?;
        let path = path.canonicalize().map_err(|error| failed(error.to_string()))?;
        let metadata = path.metadata().map_err(|error| failed(error.to_string()))?;
        if !is_ours(&metadata) {
            return Err(failed(
                "others may write there, and what lies there is executed: choose a folder of your own (chmod go-w)"
                    .into(),
            ));
        }
        let folder = Self(path);
        match folder.nameless() {
            Ok(_) => Ok(folder),
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Err(failed(
                "its file system has no files without a name (O_TMPFILE): choose a folder on another".into(),
            )),
            Err(error) => Err(failed(format!("cannot write there: {error}"))),
        }
    }

    /// A file that disappears with this process unless it gets a name.
    fn nameless(&self) -> io::Result<File> {
        File::options().write(true).mode(0o600).custom_flags(libc::O_TMPFILE).open(&self.0)
    }

    /// The file for a program with this name and key.
    pub fn file(&self, name: &str, key: &str) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        self.0.join(format!("{name}-{:016x}.{SUFFIX}", hasher.finish()))
    }

    /// Makes a file, or replaces it, by what `write` writes. It has its name when it is complete: whatever happens, nothing half made
    /// stays behind.
    ///
    /// # Errors
    /// If the file system refuses something.
    pub fn replace(&self, path: &Path, write: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
        let file = self.nameless()?;
        write(&file)?;
        let _ = std::fs::remove_file(path);
        let nameless = format!("/proc/self/fd/{}", file.as_raw_fd());
        let linked = nix::unistd::linkat(
            nix::fcntl::AT_FDCWD,
            nameless.as_str(),
            nix::fcntl::AT_FDCWD,
            path,
            nix::fcntl::AtFlags::AT_SYMLINK_FOLLOW,
        );
        match linked {
            // Another run was quicker: its file is as good.
            Ok(()) | Err(nix::Error::EEXIST) => {}
            Err(error) => return Err(error.into()),
        }
        self.trim(path);
        Ok(())
    }

    /// Removes what wasn't used for longest while there is too much. `new` stays.
    fn trim(&self, new: &Path) {
        let entries = std::fs::read_dir(&self.0).into_iter().flatten().flatten();
        let of_ours = entries.filter(|entry| entry.path().extension().is_some_and(|suffix| suffix == SUFFIX));
        let mut files: Vec<(SystemTime, u64, PathBuf)> = of_ours
            .filter_map(|entry| {
                let metadata = entry.metadata().ok()?;
                Some((metadata.modified().ok()?, metadata.len(), entry.path()))
            })
            .collect();
        files.sort();
        let mut bytes = files.iter().map(|(_, len, _)| len).sum::<u64>();
        for (_, len, path) in files {
            if bytes > MOST_BYTES && path != new && std::fs::remove_file(&path).is_ok() {
                bytes -= len;
            }
        }
    }
}

/// Whether nobody but this user, and root, may have written there.
pub fn is_ours(metadata: &Metadata) -> bool {
    // SAFETY: no preconditions.
    let me = unsafe { libc::geteuid() };
    const OTHERS_WRITE: u32 = 0o022;
    [me, 0].contains(&metadata.uid()) && metadata.mode() & OTHERS_WRITE == 0
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_others_can_write_to_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("a/b");
        assert!(Folder::open(&path).is_ok() && path.metadata().unwrap().mode() & 0o777 == 0o700);
        std::fs::set_permissions(&path, Permissions::from_mode(0o770)).unwrap();
        assert!(Folder::open(&path).is_err_and(|error| error.to_string().contains("others may write")));
        std::fs::write(scratch.path().join("file"), "").unwrap();
        assert!(Folder::open(&scratch.path().join("file")).is_err());
    }

    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = Folder::open(scratch.path()).unwrap();
        let path = folder.file("cc1", "key");
        assert_ne!(path, folder.file("cc1", "other key"));
        folder.replace(&path, |mut file| file.write_all(b"one")).unwrap();
        let failed = folder.replace(&path, |mut file| {
            file.write_all(b"tw")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert!(failed.is_err() && std::fs::read(&path).unwrap() == b"one");
        folder.replace(&path, |mut file| file.write_all(b"two")).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 1);
    }
}
