//! What is run, with which environment.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::libraries;

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
