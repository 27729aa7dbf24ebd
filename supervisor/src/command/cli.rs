//! The command line.
//!
//! Options are spelled as in the papers: long names after a single dash. clap knows long names after two dashes only,
//! so the arguments are rewritten on their way in, and help and errors on their way out. What stands between the
//! tool's name and `--` (or the next tool) is the tool's, except options that are superpin's own.

use std::ffi::OsString;
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use bubble::switches::Off;
use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, ValueEnum};

use super::environment::Environment;
use super::region::RegionOptions;
use super::settings::{CallLimit, ReportTarget, Settings, SliceLength, ToolInfo};
use super::watch::{AppPlace, LogTarget, StopTarget, Watch};
use chosen::Chosen;
use words::{single_dashes, split};

const EXAMPLES: &str = "\
How it works:
  Without -sp 1 the app itself runs under instrumentation, as with Pin.
  With -sp 1 it runs natively in one process, while slices of it run again under instrumentation in
  others, in parallel. The results are merged in order: they are exactly those of a serial run.

Examples:
  superpin -t icount2 -- /bin/ls -l                 count instructions of `ls -l`, serially
  superpin -sp 1 -t icount2 -- gzip -9 big.txt      the same number for gzip, in parallel slices
  superpin -sp 1 -spmsec 200 -spmp 4 -t icount2 -o total.txt -- perl script.pl
  superpin -sp 1 -t mix -t cache -o cache.txt -- app   two tools look at one run
  superpin -t ./my-tool -- app                      a tool of your own, see docs/tools.md
  superpin new-tool my-tool                         makes a project for one, with a test
  superpin read trace                               a trace of `-t memtrace --binary -o trace` as text

Exit status:
  the app's; 128+N if signal N killed it; 125 if superpin failed or the result isn't exact;
  126 if the app can't be executed, 127 if there is none.

What a result is worth:
  It is exact, or it says that it isn't, and the run ends with 125: `at least`, where slices ended in a loop that
  changes nothing until a signal comes (each is counted once round), `uncertain`, where other processes wrote to
  memory while the app read it. -o FILE and --json (after -t TOOL) tell it with the result. See docs/exactness.md.
  A tool that samples (`shadow`) gives `a sample`, with the app's status.";

/// By so much a checked tool may take longer.
const CHECKED_TAKES: u64 = 50;

/// Calls that a slice replays at most, unless the user says how many.
const MOST_STOPS: u32 = 1000;

/// Dynamic instrumentation in parallel slices
#[derive(Parser)]
#[command(name = "superpin", version, override_usage = "superpin [OPTIONS] -t TOOL [TOOL OPTIONS] -- APP [ARGS]...")]
#[command(after_help = EXAMPLES, disable_help_flag = true, disable_version_flag = true)]
struct Arguments {
    /// Run in parallel slices (1) or serially (0)
    #[arg(long = "sp", value_name = "0|1", default_value = "0", value_parser = switch, action = ArgAction::Set)]
    sp: bool,
    /// Length of a slice in milliseconds of the app's CPU time, without what copying its pages for slices costs; auto: as short as costs little
    #[arg(long = "spmsec", value_name = "MS|auto", default_value = "auto", value_parser = SliceLength::parse)]
    spmsec: SliceLength,
    /// Slices that run at the same time; the app waits at the limit
    #[arg(long = "spmp", value_name = "N", default_value_t = 8, value_parser = within(1_u64, 128))]
    spmp: u64,
    /// System calls that a slice replays at most (0: a slice for each call) [default: 1000, where a hundred that are recorded inside the app count as one]
    #[arg(long = "spsysrecs", value_name = "N", value_parser = within(0, u32::MAX))]
    spsysrecs: Option<u32>,
    /// CPU time in milliseconds, besides a hundred times the app's, after which a slice that hasn't found its end fails (0: never)
    #[arg(long = "spgrace", value_name = "MS", default_value_t = 10_000, value_parser = within(0_u64, u64::MAX / 100_000_000))]
    spgrace: u64,
    /// Compare all memory at boundaries at system calls too (1), not only where an end is found by its state (0)
    #[arg(long = "spverify", value_name = "0|1", default_value = "0", value_parser = switch, action = ArgAction::Set)]
    spverify: bool,
    /// Attach to this process, in place of starting an app; Ctrl-C, `superpin detach` or the end of a region let it go on natively
    #[arg(long = "pid", value_name = "PID", value_parser = within(1_i32, i32::MAX))]
    pid: Option<i32>,
    /// The tool: a name (`-t help` lists them) or the path of a tool image. May be repeated: several tools look at one run, each with its options behind it
    #[arg(short = 't', long = "tool", value_name = "TOOL")]
    tool: Vec<String>,
    /// Follow the processes that the app starts as well, each with a result of its own (1), or let them run natively (0)
    #[arg(long = "follow", value_name = "0|1", default_value = "0", value_parser = switch, action = ArgAction::Set)]
    follow: bool,
    /// Place the app at random addresses (1) or at the same ones in each run (0)
    #[arg(long = "aslr", value_name = "0|1", default_value = "0", value_parser = switch, action = ArgAction::Set)]
    aslr: bool,
    /// Environment of the app: this shell's (inherit), or a fixed one by which totals are the same in every shell (clean)
    #[arg(long = "env", value_name = "inherit|clean", default_value = "inherit", value_parser = Environment::parse)]
    env: Environment,
    /// After a serial run of a second or more, say on a terminal how to have it in parallel (1), or not (0)
    #[arg(long = "hints", value_name = "0|1", default_value = "1", value_parser = switch, action = ArgAction::Set)]
    hints: bool,
    /// Processors that the app may have, and is told of by sched_getaffinity: with 1, most programs with threads (OpenMP, Java, Go) start fewer, and don't spin while they wait [default: all]
    #[arg(long = "cpus", value_name = "N", value_parser = within(1_u64, 1024))]
    cpus: Option<u64>,
    /// Ask the kernel for huge pages for the app's large mappings in sliced mode, which makes boundaries cheaper (1), or not (0)
    #[arg(long = "huge-pages", value_name = "0|1", default_value = "1", value_parser = switch, action = ArgAction::Set)]
    huge_pages: bool,
    /// Record the small system calls and clock readings (rdtsc) of an app that makes many of them inside the app, without stopping it (1), or not (0)
    #[arg(long = "record-in-process", value_name = "0|1", default_value = "1", value_parser = switch, action = ArgAction::Set)]
    record_in_process: bool,
    /// End with 125 where the result is a lower bound or uncertain and not exact (fail), or with the app's status (accept)
    #[arg(long = "ambiguous", value_name = "fail|accept", default_value = "fail", hide_possible_values = true)]
    ambiguous: Ambiguous,
    /// Check the tool (1): that it instruments the same code alike, that its routines change its own state only and make no system calls, that results add up however they are cut; slow
    #[arg(long = "check-tool", value_name = "0|1", default_value = "0", value_parser = switch, action = ArgAction::Set)]
    check_tool: bool,
    /// Show no line on a terminal that tells how the run gets on
    #[arg(long = "quiet", short = 'q')]
    quiet: bool,
    /// Write what the run did and cost, and what to try, to a file (- for standard error; FILE.json for programs)
    #[arg(long = "report", value_name = "FILE")]
    report: Option<OsString>,
    /// Draw the run on a page for a browser: app and slices over time (-sp 1)
    #[arg(long = "timeline", value_name = "FILE.html")]
    timeline: Option<OsString>,
    /// Basic blocks in a trace at most
    #[arg(long = "trace-blocks", value_name = "N", default_value_t = 5, help_heading = "Engine", value_parser = within(1_u32, 16))]
    trace_blocks: u32,
    /// Instructions in a trace at most, unless its first block has more
    #[arg(long = "trace-ins", value_name = "N", default_value_t = 64, help_heading = "Engine", value_parser = within(1_u32, 256))]
    trace_ins: u32,
    /// Link traces to each other (1) or go through the dispatcher each time (0)
    #[arg(long = "link", value_name = "0|1", default_value = "1", help_heading = "Engine", value_parser = switch, action = ArgAction::Set)]
    link: bool,
    /// Share translations between slices (1) or not (0)
    #[arg(long = "share", value_name = "0|1", default_value = "1", help_heading = "Engine", value_parser = switch, action = ArgAction::Set)]
    share: bool,
    /// Keep translations in a folder, and begin with those that earlier runs of the same program, tool and options have left there
    #[arg(long = "persist", value_name = "FOLDER", help_heading = "Engine")]
    persist: Option<OsString>,
    /// Bytes of each code cache
    #[arg(long = "cache-bytes", value_name = "N", default_value_t = 256 << 20, help_heading = "Engine", value_parser = within(32_u64 << 10, 256 << 20))]
    cache_bytes: u64,
    #[command(flatten)]
    region: RegionOptions,
    /// Turn optimisations of the engine off: `no-NAME` of each, with commas between, or `none` for all (a wrong name lists them). `NAME` turns one on again. May be repeated
    #[arg(long = "engine", value_name = "LIST", help_heading = "Development", value_parser = Off::parse)]
    engine: Vec<Off>,
    /// Compare the app's memory before and after each system call with what the table of calls says is written; very slow (-sp 1)
    #[arg(long = "check-calls", value_name = "0|1", default_value = "0", help_heading = "Development", value_parser = switch, action = ArgAction::Set)]
    check_calls: bool,
    /// Write down what happens, a line each, to a file (- for standard error), with slice and time: `boundaries`, `records`, `translations`, `links`, `faults`; all if none is named. May be slow
    #[arg(long = "log", value_name = "FILE[:WHAT,...]", help_heading = "Development", value_parser = LogTarget::parse)]
    log: Option<LogTarget>,
    /// Write translations that hold this instruction, an address in hexadecimal or FUNCTION+OFFSET, to the log (standard error without one): app code, emitted code, state map
    #[arg(long = "dump-trace", value_name = "ADDRESS", help_heading = "Development", value_parser = AppPlace::parse)]
    dump_trace: Option<AppPlace>,
    /// Have slice N wait for a debugger before it first executes the instruction at ADDRESS (before its first one if none is named), and say how to attach one (-sp 1)
    #[arg(long = "stop-slice", value_name = "N[:ADDRESS]", help_heading = "Development", value_parser = StopTarget::parse)]
    stop_slice: Option<StopTarget>,
    /// Print this help
    #[arg(long = "help", short = 'h')]
    help: bool,
    /// Print the version
    #[arg(long = "version", short = 'V')]
    version: bool,
    /// The app and its arguments, after `--`
    #[arg(last = true, value_name = "APP")]
    app: Vec<OsString>,
}

/// What is to become of results that aren't exact.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Ambiguous {
    Fail,
    Accept,
}

/// What the command line asks for.
#[derive(Debug)]
pub enum Request {
    /// A run.
    Run(Box<Settings>),
    /// A text for standard output.
    Print(String),
}

/// Reads the arguments (without the program's name).
///
/// # Errors
/// A text that says what is wrong and what to do.
pub fn parse(args: &[OsString], tools: &[ToolInfo]) -> Result<Request, String> {
    let described = Arguments::command();
    let single_dashes = |text: &str| single_dashes(&described, text);
    let split = split(&described, args)?;
    let matches = command().try_get_matches_from(&split.own);
    let parsed = matches.and_then(|matches| Arguments::from_arg_matches(&matches));
    let mut parsed = parsed.map_err(|error| single_dashes(&error.to_string()))?;
    if parsed.help {
        return Ok(Request::Print(single_dashes(&Arguments::command().render_help().to_string())));
    }
    if parsed.version {
        return Ok(Request::Print(format!("superpin {}\n", env!("CARGO_PKG_VERSION"))));
    }
    let names = std::mem::take(&mut parsed.tool);
    let Some(tool) = names.first().cloned() else {
        return Err("error: no tool: name one with -t (`superpin -t help` lists them)\n".into());
    };
    if tool == "help" {
        return Ok(Request::Print(tool_list(tools)));
    }
    let mut chosen = Chosen::new(names.into_iter().zip(split.tool_options), tools);
    if let Some(help) = chosen.help() {
        return Ok(Request::Print(help));
    }
    if let Some(pid) = parsed.pid {
        let wrong = [
            (!parsed.app.is_empty(), "a program, which would be started"),
            (parsed.follow, "-follow 1: what the process starts isn't followed, yet"),
            (parsed.cpus.is_some(), "-cpus: it has asked how many processors there are"),
            (parsed.persist.is_some(), "-persist, which needs an app at the same addresses in each run"),
        ];
        if let Some((_, what)) = wrong.into_iter().find(|(is_so, _)| *is_so) {
            return Err(format!("error: -pid {pid} doesn't go with {what}\n"));
        }
    } else if parsed.app.is_empty() {
        return Err(format!(
            "error: no app: name it and its arguments after `--`, as in `superpin -t {tool} -- ls -l`\n"
        ));
    }
    if parsed.persist.is_some() && (parsed.aslr || !parsed.share) {
        let why = "error: -persist keeps translations that are shared between runs, at the same addresses: it needs -aslr 0 and -share 1\n";
        return Err(why.into());
    }
    if parsed.check_tool && parsed.persist.is_some() {
        return Err("error: -check-tool looks at all that the tool instruments, and what -persist has kept is instrumented already: leave one out\n".into());
    }
    if parsed.stop_slice.is_some() && !parsed.sp {
        return Err("error: -stop-slice stops a slice, of which a serial run has none: it needs -sp 1\n".into());
    }
    if parsed.timeline.is_some() && !parsed.sp {
        return Err("error: -timeline draws slices, of which a serial run has none: it needs -sp 1\n".into());
    }
    let region = parsed.region.spec(parsed.aslr).map_err(|error| format!("error: {error}\n"))?;
    chosen.go_with(parsed.sp, parsed.check_tool, region.is_all())?;
    let notices = chosen.agree();
    if parsed.region.ends_app() && parsed.follow {
        return Err("error: -then end ends the app, and -follow 1 follows what it has started: leave one out\n".into());
    }
    let region = if chosen.any(|info| info.wants_prefix) { region.counted() } else { region };
    let region = if chosen.any(|info| info.has_first_pass) { region.with_values() } else { region };
    if parsed.persist.is_some() && !region.is_all() {
        return Err("error: -persist keeps translations of whole runs: it goes neither with a region (-start-icount and the like) nor with a tool that is told what was executed before a slice\n".into());
    }
    Ok(Request::Run(Box::new(Settings {
        sliced: parsed.sp,
        slice_length: parsed.spmsec,
        max_running: parsed.spmp as usize,
        call_limit: parsed.spsysrecs.map_or(CallLimit::Stops(MOST_STOPS), CallLimit::Calls),
        grace_ms: parsed.spgrace * if parsed.check_tool { CHECKED_TAKES } else { 1 },
        verify_calls: parsed.spverify,
        processors: parsed.cpus.map(|cpus| cpus as usize),
        huge_pages: parsed.huge_pages,
        follow: parsed.follow,
        record_in_process: parsed.record_in_process,
        randomise: parsed.aslr,
        environment: parsed.env,
        changes_app: chosen.any(|info| info.changes_app),
        samples: chosen.any(|info| info.samples),
        quiet: parsed.quiet,
        hints: parsed.hints,
        trace_blocks: parsed.trace_blocks,
        trace_instructions: parsed.trace_ins,
        linking: parsed.link,
        sharing: parsed.share,
        cache_bytes: parsed.cache_bytes,
        off: parsed.engine.into_iter().fold(Off::default(), Off::or),
        check_calls: parsed.check_calls,
        check_tool: parsed.check_tool,
        accepts_ambiguous: parsed.ambiguous == Ambiguous::Accept,
        report: parsed.report.map(|to| if to == "-" { ReportTarget::Stderr } else { ReportTarget::File(to.into()) }),
        timeline: parsed.timeline.map(PathBuf::from),
        persist: parsed.persist.map(PathBuf::from),
        region,
        detach_after: parsed.region.detach_after,
        ends_app: parsed.region.ends_app(),
        tool_identity: chosen.identity(),
        watch: Watch { log: parsed.log, dump: parsed.dump_trace, stop: parsed.stop_slice },
        attach: parsed.pid,
        tools: chosen.into_tools(),
        notices,
        app: parsed.app,
    })))
}

/// The command line for clap: a value may be `-5`, which is wrong everywhere and then told as such.
pub fn command() -> clap::Command {
    Arguments::command().mut_args(|arg| match arg.get_action().takes_values() && !arg.is_positional() {
        true => arg.allow_negative_numbers(true),
        false => arg,
    })
}

/// Reads a whole number within bounds.
fn within<N>(least: N, most: N) -> impl Fn(&str) -> Result<N, String> + Clone + Send + Sync
where
    N: FromStr + PartialOrd + Display + Copy + Send + Sync + 'static,
{
    move |text| match text.parse() {
        Ok(number) if least <= number && number <= most => Ok(number),
        _ => Err(format!("must be a whole number from {least} to {most}")),
    }
}

fn switch(text: &str) -> Result<bool, String> {
    match text {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err("must be 0 or 1".into()),
    }
}

fn tool_list(tools: &[ToolInfo]) -> String {
    let width = tools.iter().map(|t| t.name.len()).max().unwrap_or(0);
    let mut list = String::from("Tools of this image (superpin -t NAME --help tells a tool's options):\n");
    for tool in tools {
        list += &format!("  {:width$}  {}\n", tool.name, tool.about);
    }
    list
}

mod chosen;
mod words;

#[cfg(test)]
mod tests;
