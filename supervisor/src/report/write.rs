//! Writing what is told of a run to where it was asked for.

use std::io::Write;
use std::path::Path;
use std::thread::available_parallelism;

use serde_json::{Map, Value};

use super::output::Output;
use super::statistics::Statistics;
use super::summary::Summary;
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

/// Writes the report and the page, if they were asked for, of a run that has failed if that is said, and of a process that the app has started if that
/// is.
///
/// # Errors
/// If they can't be written. The report is on standard error then.
pub fn report(
    settings: &Settings,
    statistics: &Statistics,
    failure: Option<&Failure>,
    process: Option<i32>,
) -> Result<(), Failure> {
    let failure = failure.map(ToString::to_string);
    let of = named(settings, process);
    let processors = available_parallelism().map_or(1, usize::from);
    let summary = Summary { statistics, settings, of: &of, processors, failure: failure.as_deref() };
    let drawn = draw(&summary, process);
    let Some(target) = &settings.report else { return drawn };
    match target {
        ReportTarget::Stderr => std::io::stderr().write_all(text(&summary).as_bytes()).doing("write the report")?,
        ReportTarget::File(path) => {
            let is_json = path.extension().is_some_and(|extension| extension == "json");
            let text = if is_json { json(&summary) } else { text(&summary) };
            if let Err(source) = write(path, process, text.as_bytes()) {
                tell!("{}", text.trim_end());
                return Err(Failure::Report { path: path.clone(), source });
            }
        }
    }
    drawn
}

/// For people: the summary, and behind it all that is known, a name and a value on a line.
fn text(summary: &Summary<'_>) -> String {
    let advice = summary.advice().into_iter().map(|advice| format!("To try: {advice}"));
    let told = summary.told().into_iter().chain(advice).map(|line| format!("# {}\n", line.replace('\n', " ")));
    let lines = summary.statistics.lines(summary.failure);
    let lines = lines.iter().map(|(name, value)| format!("{name}: {value}\n"));
    told.chain(["\n".to_owned()]).chain(lines).collect()
}

/// For programs: an object of the same names and values, with what to try as `advice`.
fn json(summary: &Summary<'_>) -> String {
    let lines = summary.statistics.lines(summary.failure).into_iter().map(|(name, value)| (name, json_value(value)));
    let known = [("tool", summary.settings.tool_names()), ("of", summary.of.to_owned())];
    let known = known.map(|(name, value)| (name.to_owned(), Value::from(value)));
    let advice = ("advice".to_owned(), Value::from(summary.advice()));
    let object: Map<String, Value> = known.into_iter().chain(lines).chain([advice]).collect();
    format!("{}\n", Value::Object(object))
}

/// A number if it is one.
fn json_value(text: String) -> Value {
    match (text.parse::<u64>(), text.parse::<f64>()) {
        (Ok(number), _) => number.into(),
        (_, Ok(number)) if number.is_finite() => number.into(),
        _ => text.into(),
    }
}

/// Writes the page.
fn draw(summary: &Summary<'_>, process: Option<i32>) -> Result<(), Failure> {
    let Summary { statistics, settings, .. } = summary;
    let (Some(path), Some((timeline, wall, app))) = (&settings.timeline, statistics.drawn()) else { return Ok(()) };
    let text = page(&Shown {
        command: summary.of,
        tool: &settings.tool_names(),
        limit: settings.max_running,
        length: settings.slice_length.to_string(),
        processors: summary.processors,
        result: summary.failure.map_or_else(|| statistics.worth().to_string(), |why| format!("none: {why}")),
        app: app.as_micros() as u64,
        wall: wall.as_micros() as u64,
        timeline,
    });
    write(path, process, text.as_bytes()).map_err(|source| Failure::Timeline { path: path.clone(), source })
}

/// What was run, for people.
fn named(settings: &Settings, process: Option<i32>) -> String {
    let words: Vec<_> = settings.app.iter().map(|word| word.to_string_lossy()).collect();
    match (process, settings.attach) {
        (Some(pid), None) => format!("process {pid} of {}", words.join(" ")),
        (Some(pid), Some(of)) => format!("process {pid} of process {of}"),
        (None, Some(pid)) => format!("process {pid}"),
        (None, None) => words.join(" "),
    }
}

fn write(path: &Path, process: Option<i32>, text: &[u8]) -> std::io::Result<()> {
    Output::open(path, process.unwrap_or(0) as u32)?.write(text)
}
