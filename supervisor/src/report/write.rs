//! Writing the report to where it was asked for.

use std::io::Write;

use super::output::Output;
use super::statistics::Statistics;
use crate::base::{Doing, Failure};
use crate::command::{ReportTarget, Settings};

/// Whether the report can be written where it is to go.
pub fn check_report(settings: &Settings) -> Result<(), Failure> {
    match &settings.report {
        Some(ReportTarget::File(path)) => {
            Output::check(path).map_err(|source| Failure::Report { path: path.clone(), source })
        }
        Some(ReportTarget::Stderr) | None => Ok(()),
    }
}

/// Writes the statistics, if they were asked for, of a run that has failed if that is said, and of a process that the app has started if that
/// is.
///
/// # Errors
/// If they can't be written. They are on standard error then.
pub fn report(
    settings: &Settings,
    statistics: &Statistics,
    failure: Option<&Failure>,
    process: Option<i32>,
) -> Result<(), Failure> {
    let Some(target) = &settings.report else { return Ok(()) };
    let text = statistics.text(failure.map(ToString::to_string).as_deref());
    match target {
        ReportTarget::Stderr => std::io::stderr().write_all(text.as_bytes()).doing("write the report")?,
        ReportTarget::File(path) => {
            let written =
                Output::open(path, process.unwrap_or(0) as u32).and_then(|mut file| file.write(text.as_bytes()));
            if let Err(source) = written {
                tell!("{}", text.trim_end());
                return Err(Failure::Report { path: path.clone(), source });
            }
        }
    }
    Ok(())
}
