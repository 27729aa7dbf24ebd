//! The control process: what runs when a person starts `superpin`, or a tool image of their own.
//!
//! It starts the app under ptrace, cuts its run into slices, takes each over with the tool image, records the app's
//! system calls for them, and hands their results to the collector in order. It knows nothing of translation: what is in
//! a slice is the image's business, what is in the run memory is drawn in [`bubble`].
//!
//! ```text
//!   base ◄─ command ◄─ app ◄─ events          base, command ◄─ report ◄─ run_memory ◄─ takeover
//!   all these ◄─ follow ◄─ serial, sliced ◄─ processes ◄─ main
//! ```
//! Rooms name only what lies to their left. Each room's `mod.rs` is a page that explains it:
//!
//! * `base`: errors, and what this machine is; `command`: what a person said; `app`: what is known of an app's process.
//! * `events`: the one place that sleeps; `report`: what is told besides the result.
//! * `run_memory`: the memory of all processes of a run; `takeover`: the way into a process.
//! * `follow`: what it takes to follow a process; `serial` and `sliced`: the two ways; `processes`: all of them, and the loop.

#[macro_use]
mod base;
mod app;
mod command;
mod events;
mod follow;
mod processes;
mod report;
mod run_memory;
mod serial;
mod sliced;
mod takeover;

pub use base::{Failure, Moment, NOT_EXECUTABLE, NOT_FOUND, OWN_FAILURE};
pub use command::{ReportTarget, Sees, Settings, ToolInfo};
pub use report::{Output, Worth};

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;

use crate::command::detach::detach;
use crate::command::{ChosenTool, cli, image, own_limits};
use crate::processes::run;

/// The command line, for what is made of it: a page of the manual, completions. Names have two dashes in it, as clap writes them.
pub fn command_line() -> clap::Command {
    cli::command()
}

/// Plays the control process: reads the command line, does what it asks for, and returns the exit status.
///
/// `tools` are those of the image that this program is; `args` are the process's arguments, name first.
pub fn main(tools: &[ToolInfo], args: Vec<OsString>) -> i32 {
    if let [_, first, rest @ ..] = &args[..]
        && first == "detach"
    {
        return detach(rest).map_or_else(
            |failure| {
                tell!("superpin: {failure}");
                failure.status()
            },
            |()| 0,
        );
    }
    match cli::parse(args.get(1..).unwrap_or(&[]), tools) {
        Ok(cli::Request::Print(text)) => {
            // A closed standard output is the reader's choice.
            let _ = std::io::stdout().write_all(text.as_bytes());
            0
        }
        Ok(cli::Request::Run(settings)) => start(*settings, tools, &args).unwrap_or_else(|failure| {
            tell!("superpin: {failure}");
            if let Some(limits) = own_limits::behind(&failure) {
                tell!("superpin: {limits}");
            }
            failure.status()
        }),
        Err(text) => {
            tell!("superpin: {}", text.trim_end());
            OWN_FAILURE
        }
    }
}

/// Runs, by itself or, if `-t` names another tool image, as that image: each image is a complete superpin, so the
/// runtime in it and the control process beside it are always of one version.
fn start(mut settings: Settings, tools: &[ToolInfo], args: &[OsString]) -> Result<i32, Failure> {
    let is_path = |tool: &&mut ChosenTool| tool.name.contains('/');
    let several = settings.tools.len() > 1;
    if let Some(tool) = settings.tools.iter_mut().find(is_path) {
        let image = image::probe(&tool.name)?;
        if several {
            return Err(Failure::Tool(format!(
                "{}: tools that look at one run are of one image: start that one by itself, with -t NAME for each",
                tool.name
            )));
        }
        if !same_file(&image, Path::new("/proc/self/exe")) {
            let error = std::process::Command::new(&image).arg0("superpin").args(&args[1..]).exec();
            return Err(Failure::Tool(format!("{}: cannot start the tool image: {error}", image.display())));
        }
        tool.name = only_tool(tools)?.to_owned();
    }
    settings.notices.iter().for_each(|notice| tell!("superpin: {notice}"));
    run::run(&settings, tools)
}

fn only_tool(tools: &[ToolInfo]) -> Result<&'static str, Failure> {
    match tools {
        [tool] => Ok(tool.name),
        _ => {
            let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
            let names = names.join(", ");
            Err(Failure::Tool(format!("this image has several tools ({names}): start it by itself with -t NAME")))
        }
    }
}

fn same_file(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |path: &Path| path.metadata().map(|m| (m.dev(), m.ino()));
    matches!((identity(a), identity(b)), (Ok(a), Ok(b)) if a == b)
}

#[cfg(test)]
suites::watch_tests!();
