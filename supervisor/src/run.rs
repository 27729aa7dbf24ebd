//! One run from settings to exit status.

use std::ffi::{CString, OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use tracee::{Births, Exit, Program, Stopped};

use crate::collector::Collector;
use crate::error::{Doing, Failure};
use crate::events::Events;
use crate::family::Family;
use crate::image::Image;
use crate::inherited::{Inherited, names_stdout};
use crate::kept_code::KeptCode;
use crate::output::Output;
use crate::own_limits;
use crate::program;
use crate::report::Statistics;
use crate::run_memory::RunMemory;
use crate::settings::{ReportTarget, Settings, ToolInfo};
use crate::surroundings;

/// What one process's run works with.
pub struct Parts<'a> {
    /// The run memory.
    pub memory: RunMemory,
    /// Translations from and for other runs.
    pub kept: KeptCode,
    /// The tool image.
    pub image: &'a Image,
    /// The collector.
    pub collector: Collector,
    /// What is counted.
    pub statistics: Statistics,
    /// What the process executes, for people.
    pub name: String,
}

impl<'a> Parts<'a> {
    /// Of the app, or of a process that it has started.
    ///
    /// # Errors
    /// If the kernel has no memory or processes for them.
    pub fn new(settings: &Settings, image: &'a Image, process: Option<i32>) -> Result<Self, Failure> {
        let memory = RunMemory::new(settings, process)?;
        let kept = KeptCode::new(settings, image, &memory)?;
        let collector = Collector::start(&memory, names_stdout(&settings.tool_options))?;
        let statistics = Statistics::new(settings.verify_calls);
        Ok(Self { memory, kept, image, collector, statistics, name: String::new() })
    }
}

/// What became of the app, and why there is no result, if so.
pub struct Outcome {
    /// The app's end; `None` if it could not be followed to it.
    pub exit: Option<Exit>,
    /// The first failure.
    pub failure: Option<Failure>,
}

/// Runs the app under the tool and returns the exit status for this process.
///
/// # Errors
/// If there is no result. What the app did it has done all the same.
pub fn run(settings: &Settings, tools: &[ToolInfo]) -> Result<i32, Failure> {
    check_tool(settings, tools)?;
    check_report(settings)?;
    let mut has_begun = false;
    run_app(settings, &mut has_begun).or_else(|failure| {
        // What has begun has a report of its own.
        let told = if has_begun { Ok(()) } else { report(settings, &Statistics::new(false), Some(&failure), None) };
        told.and(Err(failure))
    })
}

fn run_app(settings: &Settings, has_begun: &mut bool) -> Result<i32, Failure> {
    let path = program::find(&settings.app[0])?;
    program::check(&path)?;
    surroundings::check()?;
    own_limits::check()?;
    let limits = own_limits::raise();
    let inherited = Inherited::take(settings)?;
    let image = Image::own()?;
    let events = Events::new()?;
    let family = Family::new(settings, &image);
    let parts = Parts::new(settings, &image, None)?;
    let process = launch(settings, path, &events, limits, &inherited)?;
    inherited.give_up()?;
    *has_begun = true;
    family.run(process, parts, &events)
}

fn check_report(settings: &Settings) -> Result<(), Failure> {
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

/// A question, if one of the names is nearly this one.
pub fn did_you_mean(name: &str, names: &[&str]) -> String {
    const MOST_SLIPS: usize = 2;
    let near = names.iter().map(|other| (strsim::damerau_levenshtein(name, other), other));
    match near.filter(|(slips, _)| *slips <= MOST_SLIPS).min() {
        Some((_, other)) => format!("; did you mean `{other}`?"),
        None => String::new(),
    }
}

fn check_tool(settings: &Settings, tools: &[ToolInfo]) -> Result<(), Failure> {
    let names: Vec<&str> = tools.iter().map(|t| t.name).collect();
    let tool = tools.iter().find(|tool| tool.name == settings.tool).ok_or_else(|| {
        let meant = did_you_mean(&settings.tool, &names);
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        Failure::Tool(format!(
            "no tool is named `{}`{meant} (tools of this program: {}; the path of another needs a slash: ./{0})",
            settings.tool,
            names.join(", ")
        ))
    })?;
    let options: Vec<&OsStr> = settings.tool_options.iter().map(OsString::as_os_str).collect();
    (tool.check)(&options).map_err(Failure::Tool)
}

fn launch(
    settings: &Settings,
    path: PathBuf,
    events: &Events,
    limits: Vec<(libc::__rlimit_resource_t, libc::rlimit)>,
    inherited: &Inherited,
) -> Result<Stopped, Failure> {
    let text =
        |s: &OsStr| CString::new(s.as_bytes()).map_err(|_| Failure::Unsupported("a zero byte in an argument".into()));
    let program = Program {
        path: text(path.as_os_str())?,
        args: settings.app.iter().map(|s| text(s)).collect::<Result<_, _>>()?,
        environment: settings.environment.strings(),
        randomise: settings.randomise,
        births: match (settings.follow, settings.sliced) {
            (true, _) => Births::All,
            (false, false) => Births::Threads,
            // Its slices are made as threads are.
            (false, true) => Births::None,
        },
        signal_mask: events.mask_before(),
        ignored: events.ignored_before(),
        limits,
        inherited: inherited.not_standard(),
    };
    tracee::launch(&program).map_err(|source| program::not_started(path, source))
}
