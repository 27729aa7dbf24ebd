//! A run, and what it leaves.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::time::Duration;
use std::{fmt, io};

use super::job::Job;
use super::scratch::Scratch;
use crate::deadline::{wait_at_most, wait_for};

/// What a run left behind.
#[derive(Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Exit status as a shell reports it: 128 + N for an end by signal N.
    pub status: i32,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
    /// Files in its current directory: permissions and contents (or a link's target) by path.
    pub files: BTreeMap<PathBuf, (u32, Vec<u8>)>,
}

impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bytes: &[u8]| {
            let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(1500)]).into_owned();
            format!("({} bytes) {shown}", bytes.len())
        };
        writeln!(f, "exit status {}", self.status)?;
        writeln!(f, "stdout {}", text(&self.stdout))?;
        writeln!(f, "stderr {}", text(&self.stderr))?;
        for (path, (mode, contents)) in &self.files {
            writeln!(f, "file {} {mode:o} {} bytes", path.display(), contents.len())?;
        }
        Ok(())
    }
}

/// Runs a job to its end.
pub fn run(job: &Job) -> io::Result<Outcome> {
    run_until(job, |child| wait_for(child).map(Some)).map(|outcome| outcome.expect("it has ended"))
}

/// The same, if it ends within that time.
pub fn run_at_most(job: &Job, limit: Duration) -> io::Result<Option<Outcome>> {
    run_until(job, |child| wait_at_most(child, limit))
}

fn run_until(
    job: &Job,
    wait: impl FnOnce(&mut Child) -> io::Result<Option<ExitStatus>>,
) -> io::Result<Option<Outcome>> {
    let scratch = Scratch::new()?;
    let (cwd, out, err) = (scratch.cwd(), scratch.beside("out"), scratch.beside("err"));
    let mut command = job.command(&cwd)?;
    command.stdout(File::create(&out)?).stderr(File::create(&err)?).process_group(0);
    let mut child = command.spawn()?;
    let status = wait(&mut child).map_err(|error| {
        let told = fs::read(&err).unwrap_or_default();
        let tail = String::from_utf8_lossy(&told[told.len().saturating_sub(2000)..]).into_owned();
        io::Error::new(error.kind(), format!("{error}  its standard error so far: {tail}"))
    })?;
    let Some(status) = status else { return Ok(None) };
    let mut files = BTreeMap::new();
    list(&cwd, Path::new(""), &mut files)?;
    Ok(Some(Outcome { status: as_shell(status), stdout: fs::read(out)?, stderr: fs::read(err)?, files }))
}

/// Exit status as a shell reports it.
pub fn as_shell(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

fn list(root: &Path, below: &Path, files: &mut BTreeMap<PathBuf, (u32, Vec<u8>)>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(below))? {
        let entry = entry?;
        let (path, metadata) = (below.join(entry.file_name()), entry.path().symlink_metadata()?);
        let contents = if metadata.is_symlink() {
            fs::read_link(entry.path())?.into_os_string().into_encoded_bytes()
        } else if metadata.is_file() {
            fs::read(entry.path())?
        } else {
            Vec::new()
        };
        if metadata.is_dir() {
            list(root, &path, files)?;
        }
        files.insert(path, (metadata.permissions().mode(), contents));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_a_run_leaves_is_seen() {
        let outcome = run(&Job::new(["/bin/sh", "-c", "echo a; echo b >&2; mkdir d; echo c > d/f; exit 7"])).unwrap();
        assert_eq!(
            (outcome.status, outcome.stdout.as_slice(), outcome.stderr.as_slice()),
            (7, &b"a\n"[..], &b"b\n"[..])
        );
        assert_eq!(outcome.files[Path::new("d/f")].1, b"c\n");
    }

    #[test]
    fn an_end_by_a_signal_is_reported_as_a_shell_does() {
        assert_eq!(run(&Job::new(["/bin/sh", "-c", "kill -TERM $$"])).unwrap().status, 128 + libc::SIGTERM);
    }
}
