//! `superpin detach PID`: a process that superpin follows goes on natively, for good.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use machine::Status;

use super::image;
use crate::base::Failure;
use crate::events::ask_to_detach;

const USAGE: &str = "usage: superpin detach PID
A process that superpin follows goes on natively, without superpin; its result is what was until then. PID is its number, or superpin's, which means the app.
";

/// How often it is looked whether it has been let go.
const LOOK: Duration = Duration::from_millis(5);
/// How often at most whether a superpin follows the process by now.
const MOST_LOOKS: u32 = 400;
/// How often at least.
const FEW_LOOKS: u32 = 10;

/// Reads what is behind the word, asks for it, and waits until it is done.
///
/// # Errors
/// If there is no such process, or superpin doesn't follow it.
pub fn detach(args: &[OsString]) -> Result<(), Failure> {
    if args.iter().any(|argument| ["-h", "-help", "--help"].contains(&&*argument.to_string_lossy())) {
        // A closed standard output is the reader's choice.
        let _ = std::io::stdout().write_all(USAGE.as_bytes());
        return Ok(());
    }
    let pid = match args {
        [pid] => pid.to_str().and_then(|pid| pid.parse::<i32>().ok()).filter(|pid| *pid > 0),
        _ => None,
    };
    let pid = pid.ok_or_else(|| Failure::Unsupported(format!("detach: {}", USAGE.trim_end())))?;
    let mut looks = 0;
    let (superpin, process) = loop {
        if let Some(found) = who_follows(pid)? {
            break found;
        }
        // One that has been told to attach does soon, unless it has let the process go already. One that has just been started hasn't its arguments yet.
        if looks == MOST_LOOKS || looks >= FEW_LOOKS && !is_attaching_to(pid) {
            return Err(Failure::Unsupported(format!("superpin doesn't follow process {pid}")));
        }
        std::thread::sleep(LOOK);
        looks += 1;
    };
    ask_to_detach(superpin, process)
        .map_err(|source| Failure::System { action: "ask superpin to let it go", source })?;
    while Status::of(pid).is_ok_and(|status| tracer_in(&status) == Some(superpin)) {
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// The superpin that follows a process, and the number by which it is to be asked. `None` if none does.
///
/// # Errors
/// If there is no such process.
fn who_follows(pid: i32) -> Result<Option<(i32, i32)>, Failure> {
    let gone = |_| Failure::Unsupported(format!("there is no process {pid}"));
    let status = Status::of(pid).map_err(gone)?;
    let parent = status.number::<i32>("PPid").filter(|parent| *parent != 0);
    Ok(match (tracer_in(&status), parent) {
        (Some(tracer), _) if is_superpin(tracer) => Some((tracer, pid)),
        _ if is_superpin(pid) => Some((pid, pid)),
        // One of the slices, which look like the app.
        (_, Some(parent)) if is_superpin(parent) => Some((parent, parent)),
        _ => None,
    })
}

fn tracer_in(status: &Status) -> Option<i32> {
    status.number("TracerPid").filter(|tracer| *tracer != 0)
}

/// Whether a superpin has been started with `-pid` and this process.
fn is_attaching_to(pid: i32) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else { return false };
    let numbers = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let asks = |superpin: &i32| {
        let words = std::fs::read(format!("/proc/{superpin}/cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = words.split(|byte| *byte == 0).collect();
        words.windows(2).any(|pair| pair == [b"-pid", pid.to_string().as_bytes()])
    };
    numbers.filter(asks).any(is_superpin)
}

/// Whether a process runs superpin, or a tool image.
fn is_superpin(pid: i32) -> bool {
    image::is_image(Path::new(&format!("/proc/{pid}/exe")))
}
