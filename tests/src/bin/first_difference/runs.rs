//! Runs under superpin.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::options::{Options, Run};

/// Superpin's own failure, or a result that isn't exact.
const FAILED: i32 = 125;

/// How a run ended.
pub struct Ended {
    /// Its exit status, as a shell tells it.
    pub status: i32,
    /// What was on standard error.
    pub told: String,
}

/// A run that writes its path to that place, with one half of the registers or none.
///
/// # Errors
/// If there is none.
pub fn path(options: &Options, run: &Run, to: &Path, half: Option<usize>) -> Result<Ended, String> {
    let ended = start(options, run, &[], to, half).map_err(|error| error.to_string())?;
    if to.exists() {
        return Ok(ended);
    }
    Err(format!("it has left no path, its status is {}; {}", ended.status, ended.told.trim_end()))
}

/// What `-dump-trace` writes in such a run for code with the instruction at `pc`.
pub fn dump(options: &Options, run: &Run, pc: u64) -> String {
    let more = ["-dump-trace".to_owned(), format!("{pc:#x}")];
    // Without it nothing is shown but addresses.
    start(options, run, &more, Path::new("/dev/null"), None).map(|ended| ended.told).unwrap_or_default()
}

fn start(options: &Options, run: &Run, more: &[String], to: &Path, half: Option<usize>) -> io::Result<Ended> {
    let folder = tempfile::tempdir()?;
    let err = folder.path().join("err");
    let mut command = Command::new(&options.image);
    command.args(&run.options).args(more).args(["-t", "path", "-o"]).arg(folder.path().join("total"));
    command.arg("--to").arg(to);
    if let Some(half) = half {
        command.args(["--registers".to_owned(), half.to_string()]);
    }
    command.arg("--").args(&options.app).envs(run.variables.iter().cloned());
    command.stdin(File::open(&options.stdin)?).stdout(Stdio::null()).stderr(File::create(&err)?);
    let status = suites::run::as_shell(command.status()?);
    Ok(Ended { status, told: String::from_utf8_lossy(&fs::read(&err)?).into_owned() })
}

impl Ended {
    /// Superpin's message, if it is superpin that failed.
    pub fn failure(&self) -> Option<&str> {
        (self.status == FAILED).then(|| self.told.trim_end())
    }
}
