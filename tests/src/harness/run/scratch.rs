//! Where a run runs.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::TempDir;

/// An empty current directory for a run, removed with its contents afterwards.
pub struct Scratch(TempDir);

impl Scratch {
    /// A new one. The paths of all have the same length and differ in digits alone: a shell, for one, looks at each
    /// character of its current directory's path, and executes more instructions for some than for others.
    pub fn new() -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let folder = loop {
            let name = format!("suite-{:09}{:07}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            match tempfile::Builder::new().prefix(&name).rand_bytes(0).tempdir() {
                // Left behind by a process with our number that was killed.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => break made?,
            }
        };
        fs::create_dir(folder.path().join("cwd"))?;
        Ok(Self(folder))
    }

    /// The directory to run in.
    pub fn cwd(&self) -> PathBuf {
        self.0.path().join("cwd")
    }

    /// A place that the run doesn't see.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}
