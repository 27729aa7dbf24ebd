//! One run from settings to exit status.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use tracee::{Follows, Program, Stopped};

use super::event_loop::Processes;
use super::together;
use crate::app::{Standing, check_attachable, find_running};
use crate::base::{Failure, affinity};
use crate::command::{
    ChosenTool, Inherited, Settings, ToolImage, ToolInfo, did_you_mean, own_limits, program, surroundings,
};
use crate::events::Events;
use crate::follow::{Origin, Resources};
use crate::report::{Statistics, check_report, log, report};

/// Runs the app under the tool and returns the exit status for this process.
///
/// # Errors
/// If there is no result. What the app did it has done all the same.
pub fn run(settings: &Settings, tools: &[ToolInfo]) -> Result<i32, Failure> {
    check_tool(settings, tools)?;
    check_report(settings)?;
    let mut has_begun = false;
    let outcome = run_app(settings, &mut has_begun);
    let logged = log::close();
    let outcome = outcome.and_then(|status| logged.map(|()| status));
    outcome.or_else(|failure| {
        // What has begun has a report of its own.
        let told =
            if has_begun { Ok(()) } else { report(settings, &Statistics::new(false, false), Some(&failure), None) };
        told.and(Err(failure))
    })
}

fn run_app(settings: &Settings, has_begun: &mut bool) -> Result<i32, Failure> {
    if let Some(pid) = settings.attach {
        return run_attached(settings, pid, has_begun);
    }
    let path = program::find(&settings.app[0])?;
    program::check(&path)?;
    settings.watch.check(&path)?;
    surroundings::check()?;
    own_limits::check()?;
    let limits = own_limits::raise();
    let inherited = Inherited::take(settings)?;
    let image = ToolImage::own()?;
    let events = Events::new()?;
    log::open(&settings.watch)?;
    let processes = Processes::new(settings, &image);
    let resources = Resources::new(settings, &image, None)?;
    let process = launch(settings, path, &events, limits, &inherited)?;
    log::watch(settings.watch.addresses(process.pid())?);
    resources.memory.watch(log::watched());
    inherited.give_up()?;
    *has_begun = true;
    processes.run(process, Origin::Image, resources, &events)
}

/// The same with a process that is running.
fn run_attached(settings: &Settings, pid: i32, has_begun: &mut bool) -> Result<i32, Failure> {
    check_attachable(pid)?;
    settings.watch.check(Path::new(&format!("/proc/{pid}/exe")))?;
    own_limits::check()?;
    own_limits::raise();
    let image = ToolImage::own()?;
    let events = Events::new()?;
    log::open(&settings.watch)?;
    let processes = Processes::new(settings, &image);
    let resources = Resources::new(settings, &image, None)?;
    let Standing { process, is_stopped, others } = find_running(pid)?;
    log::watch(settings.watch.addresses(pid)?);
    resources.memory.watch(log::watched());
    *has_begun = true;
    processes.run(process, Origin::Running { is_stopped, others }, resources, &events)
}

fn check_tool(settings: &Settings, tools: &[ToolInfo]) -> Result<(), Failure> {
    let names: Vec<&str> = tools.iter().map(|t| t.name).collect();
    let mut seen = Vec::new();
    for ChosenTool { name, options } in &settings.tools {
        let tool = tools.iter().find(|tool| tool.name == name).ok_or_else(|| {
            let meant = did_you_mean(name, &names);
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            Failure::Tool(format!(
                "no tool is named `{name}`{meant} (tools of this program: {}; the path of another needs a slash: ./{name})",
                names.join(", ")
            ))
        })?;
        let options: Vec<&OsStr> = options.iter().map(OsString::as_os_str).collect();
        (tool.check)(&options, settings.follow).map_err(Failure::Tool)?;
        seen.extend((tool.sees)(&options).map(|sees| (tool, sees)));
    }
    together::check(&seen).map_err(Failure::Tool)
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
        new_processes: if settings.follow { Follows::All } else { Follows::Threads },
        signal_mask: events.mask_before(),
        ignored: events.ignored_before(),
        limits,
        inherited: inherited.not_standard(),
    };
    let process = tracee::launch(&program).map_err(|source| program::not_started(path, source))?;
    settings.processors.into_iter().for_each(|most| affinity::restrict(process.pid(), most));
    Ok(process)
}
