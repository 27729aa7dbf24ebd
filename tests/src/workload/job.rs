//! A program and how to make its job.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::inputs::Inputs;
use crate::run::Job;
use crate::superpin::artifacts;

/// Arguments of different types in one list.
macro_rules! job {
    ($program:expr $(, $argument:expr)*) => {
        Job::new([AsRef::<std::ffi::OsStr>::as_ref($program) $(, AsRef::<std::ffi::OsStr>::as_ref($argument))*])
    };
}

pub(super) use job;

/// A program and how to make its job.
pub struct Workload {
    /// Short name.
    pub name: &'static str,
    /// Whether any two runs execute the same number of instructions. A shell with children doesn't: where it is
    /// interrupted by their ends is up to the scheduler, and the same processor load makes the same number again and again,
    /// until it changes. Of such a program only the output is compared, and each slice's memory where a run is verified.
    pub repeats: bool,
    pub(super) program: &'static str,
    pub(super) job: fn(&Path, &Inputs) -> Job,
}

impl Workload {
    /// The program's path, if it is installed.
    pub fn program(&self) -> Option<PathBuf> {
        match self.program {
            name @ ("cc1" | "cc1plus") => compiler_proper(name),
            "guest" => Some(PathBuf::new()),
            name => ["/usr/bin", "/bin"].iter().map(|dir| Path::new(dir).join(name)).find(|path| path.exists()),
        }
    }

    /// The job with inputs of about `megabytes` (or as much other work as one takes).
    ///
    /// # Panics
    /// If the program isn't installed or the inputs can't be made.
    pub fn job(&self, megabytes: usize) -> Job {
        let program =
            self.program().unwrap_or_else(|| panic!("{} isn't installed: scripts/install-deps.sh", self.program));
        (self.job)(&program, &Inputs::new(&artifacts().join("inputs").join(megabytes.to_string()), megabytes))
    }
}

fn compiler_proper(name: &str) -> Option<PathBuf> {
    let output = Command::new("gcc").arg(format!("-print-prog-name={name}")).output().ok()?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    fs::canonicalize(path).ok()
}

pub(super) const fn program(name: &'static str, program: &'static str, job: fn(&Path, &Inputs) -> Job) -> Workload {
    Workload { name, repeats: true, program, job }
}

pub(super) fn reading(mut job: Job, file: PathBuf) -> Job {
    job.stdin = Some(file);
    job
}
