//! `superpin detach PID`: a process that superpin follows goes on natively, for good.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use machine::Status;

use super::image;
use crate::base::Failure;
use crate::events::ask_to_detach;

const USAGE: &str = "superpin detach PID: a process that superpin follows goes on natively, without superpin; its result is what was until then. \
                     PID is its number, or superpin's, which means the app";

/// How often it is looked whether it has been let go.
const LOOK: Duration = Duration::from_millis(5);

/// Reads what is behind the word, asks for it, and waits until it is done.
///
/// # Errors
/// If there is no such process, or superpin doesn't follow it.
pub fn detach(args: &[OsString]) -> Result<(), Failure> {
    let pid = match args {
        [pid] => pid.to_str().and_then(|pid| pid.parse::<i32>().ok()).filter(|pid| *pid > 0),
        _ => None,
    };
    let pid = pid.ok_or_else(|| Failure::Unsupported(USAGE.into()))?;
    let gone = || Failure::Unsupported(format!("there is no process {pid}"));
    let status = Status::of(pid).map_err(|_| gone())?;
    let tracer = status.number::<i32>("TracerPid").filter(|tracer| *tracer != 0);
    let parent = status.number::<i32>("PPid").filter(|parent| *parent != 0);
    let (superpin, pid) = match (tracer, parent) {
        (Some(tracer), _) if is_superpin(tracer) => (tracer, pid),
        _ if is_superpin(pid) => (pid, pid),
        // One of the slices, which look like the app.
        (_, Some(parent)) if is_superpin(parent) => (parent, parent),
        _ => return Err(Failure::Unsupported(format!("superpin doesn't follow process {pid}"))),
    };
    ask_to_detach(superpin, pid).map_err(|source| Failure::System { action: "ask superpin to let it go", source })?;
    while tracer.is_some() && Status::of(pid).is_ok_and(|status| status.number("TracerPid") == tracer) {
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// Whether a process runs superpin, or a tool image.
fn is_superpin(pid: i32) -> bool {
    image::is_image(Path::new(&format!("/proc/{pid}/exe")))
}
