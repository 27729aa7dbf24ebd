//! Runs a program and keeps all that can be seen of the run.
//!
//! Each run has its own empty current directory and the same small environment: instruction counts depend on the
//! environment's size, and files that a program leaves are part of what must be equal.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use std::{fmt, io};

use tempfile::TempDir;

use crate::deadline::{wait_at_most, wait_for};
use crate::libraries;

/// The environment of every run. Seeds are fixed: with random ones an interpreter executes a different number of
/// instructions in each run. Beside these there is LD_LIBRARY_PATH, see [`libraries`].
pub const ENVIRONMENT: [(&str, &str); 6] = [
    ("PATH", "/usr/local/bin:/usr/bin:/bin"),
    ("HOME", "/nonexistent"),
    ("LC_ALL", "C"),
    ("TZ", "UTC"),
    ("PYTHONHASHSEED", "0"),
    ("PERL_HASH_SEED", "0"),
];

/// A program with its arguments and standard input.
#[derive(Clone, Debug)]
pub struct Job {
    /// Program (absolute path, so that no search differs) and arguments.
    pub argv: Vec<OsString>,
    /// File that standard input reads; `/dev/null` if none.
    pub stdin: Option<PathBuf>,
}

impl Job {
    /// A program and its arguments, with nothing to read.
    pub fn new<S: AsRef<OsStr>>(argv: impl IntoIterator<Item = S>) -> Self {
        Self { argv: argv.into_iter().map(|a| a.as_ref().to_owned()).collect(), stdin: None }
    }

    /// The same job with one more argument.
    pub fn with(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.argv.push(argument.as_ref().to_owned());
        self
    }

    /// The same job, started by `prefix`: superpin with its options.
    pub fn under(&self, prefix: impl IntoIterator<Item = OsString>) -> Self {
        Self { argv: prefix.into_iter().chain(self.argv.iter().cloned()).collect(), stdin: self.stdin.clone() }
    }

    /// The command in the current directory `cwd`, its environment and what signals do to it set, its standard streams not yet.
    pub fn command(&self, cwd: &Path) -> io::Result<Command> {
        let mut command = Command::new(&self.argv[0]);
        command.args(&self.argv[1..]).current_dir(cwd).env_clear().envs(ENVIRONMENT);
        command.env("LD_LIBRARY_PATH", libraries::path());
        command.stdin(match &self.stdin {
            Some(file) => Stdio::from(File::open(file)?),
            None => Stdio::null(),
        });
        // Whoever runs the tests in the background may ignore Ctrl-C or a hang-up, which the program would inherit.
        // SAFETY: `signal` is async-signal-safe and changes nothing but the new process.
        unsafe {
            command.pre_exec(|| {
                for signal in 1..=64 {
                    libc::signal(signal, libc::SIG_DFL);
                }
                Ok(())
            });
        }
        Ok(command)
    }
}

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
