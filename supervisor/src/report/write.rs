//! Writing what is told of a run to where it was asked for.

use std::io::Write;
use std::path::Path;
use std::thread::available_parallelism;

use super::output::Output;
use super::statistics::Statistics;
use super::timeline::{Shown, page};
use crate::base::{Doing, Failure};
use crate::command::{ReportTarget, Settings};

/// Whether report and page can be written where they are to go.
pub fn check_report(settings: &Settings) -> Result<(), Failure> {
    if let Some(ReportTarget::File(path)) = &settings.report {
        Output::check(path).map_err(|source| Failure::Report { path: path.clone(), source })?;
    }
    match &settings.timeline {
        Some(path) => Output::check(path).map_err(|source| Failure::Timeline { path: path.clone(), source }),
        None => Ok(()),
    }
}

/// Writes the statistics and the page, if they were asked for, of a run that has failed if that is said, and of a process that the app has started if that
/// is.
///
/// # Errors
/// If they can't be written. The statistics are on standard error then.
pub fn report(
    settings: &Settings,
    statistics: &Statistics,
    failure: Option<&Failure>,
    process: Option<i32>,
) -> Result<(), Failure> {
    let failure = failure.map(ToString::to_string);
    let drawn = draw(settings, statistics, failure.as_deref(), process);
    let Some(target) = &settings.report else { return drawn };
    let text = statistics.text(failure.as_deref());
    match target {
        ReportTarget::Stderr => std::io::stderr().write_all(text.as_bytes()).doing("write the report")?,
        ReportTarget::File(path) => {
            if let Err(source) = write(path, process, text.as_bytes()) {
                tell!("{}", text.trim_end());
                return Err(Failure::Report { path: path.clone(), source });
            }
        }
    }
    drawn
}

/// Writes the page.
fn draw(
    settings: &Settings,
    statistics: &Statistics,
    failure: Option<&str>,
    process: Option<i32>,
) -> Result<(), Failure> {
    let (Some(path), Some((timeline, wall, app))) = (&settings.timeline, statistics.drawn()) else { return Ok(()) };
    let words: Vec<_> = settings.app.iter().map(|word| word.to_string_lossy()).collect();
    let attached = settings.attach.map(|pid| format!("process {pid}"));
    let of_process = process.map(|pid| format!("process {pid} of {}", words.join(" ")));
    let text = page(&Shown {
        command: &of_process.or(attached).unwrap_or_else(|| words.join(" ")),
        tool: &settings.tool,
        limit: settings.max_running,
        length: settings.slice_ms,
        processors: available_parallelism().map_or(1, usize::from),
        result: failure.map_or_else(|| statistics.worth().to_string(), |why| format!("none: {why}")),
        app: app.as_micros() as u64,
        wall: wall.as_micros() as u64,
        timeline,
    });
    write(path, process, text.as_bytes()).map_err(|source| Failure::Timeline { path: path.clone(), source })
}

fn write(path: &Path, process: Option<i32>, text: &[u8]) -> std::io::Result<()> {
    Output::open(path, process.unwrap_or(0) as u32)?.write(text)
}
