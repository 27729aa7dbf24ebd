//! What a run is to do, as the command line says it.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use bubble::region::Spec;
use bubble::shared::NEXT_TOOL;
use bubble::switches::Off;

use super::environment::Environment;
use super::watch::Watch;

/// A tool that the image of this program holds.
#[derive(Clone, Copy)]
pub struct ToolInfo {
    /// Its name for `-t`.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// Checks the tool's options without any other effect, for a run that follows other processes or doesn't; the error is a text for the user.
    pub check: fn(&[&OsStr], bool) -> Result<(), String>,
    /// What the tool's options say, but for where it prints: runs of which this is the same instrument alike.
    pub identity: fn(&[&OsStr]) -> String,
    /// Help on the tool's options.
    pub help: fn() -> String,
    /// Whether it is told what was executed before a slice.
    pub wants_prefix: bool,
    /// Whether it counts things of its own for that.
    pub has_first_pass: bool,
    /// Whether it changes the app: then it runs serially only.
    pub changes_app: bool,
    /// Whether it writes a stream.
    pub writes_stream: bool,
    /// Whether it looks at a sample of the run, and leaves slices early: then it runs in slices only.
    pub samples: bool,
    /// What it sees with these options, if they are right.
    pub sees: fn(&[&OsStr]) -> Option<Sees>,
}

/// What a tool sees of a run, and where it prints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sees {
    /// Each repetition of a string instruction by itself.
    pub each_repetition: bool,
    /// Its options don't say which, though they could (`--repeat`).
    pub leaves_repetitions_open: bool,
    /// Each thread by itself.
    pub each_thread: bool,
    /// The file that it prints to; `None`: standard error.
    pub output: Option<PathBuf>,
}

/// A tool that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenTool {
    /// Its name, or the path of its image.
    pub name: String,
    /// Its options.
    pub options: Vec<OsString>,
}

/// Where statistics go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportTarget {
    /// Standard error.
    Stderr,
    /// A file.
    File(PathBuf),
}

/// How long slices are, in CPU time of the app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceLength {
    /// So long.
    Fixed(Duration),
    /// As fits what they cost.
    Auto,
}

impl SliceLength {
    /// Reads `auto`, or milliseconds.
    ///
    /// # Errors
    /// If it is neither.
    pub fn parse(text: &str) -> Result<Self, String> {
        match (text, text.parse::<u64>()) {
            ("auto", _) => Ok(Self::Auto),
            (_, Ok(milliseconds @ 1..=86_400_000)) => Ok(Self::Fixed(Duration::from_millis(milliseconds))),
            _ => Err("must be a whole number from 1 to 86400000, or auto".into()),
        }
    }

    /// The longest that one may be.
    pub fn most(self) -> Duration {
        match self {
            Self::Fixed(time) => time,
            Self::Auto => Duration::from_secs(1),
        }
    }
}

impl std::fmt::Display for SliceLength {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fixed(time) => write!(f, "{}", time.as_millis()),
            Self::Auto => f.write_str("auto"),
        }
    }
}

/// How many system calls a slice replays at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallLimit {
    /// So many, however they were recorded (`-spsysrecs`).
    Calls(u32),
    /// So many for which the app was stopped. Of those that are recorded inside it a hundred count as one, and cost as much.
    Stops(u32),
}

/// What a run is to do.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The app ends when the tool has looked its last.
    pub ends_app: bool,
    /// Slices (true) or serial (false).
    pub sliced: bool,
    /// Length of a slice.
    pub slice_length: SliceLength,
    /// Slices that may run at the same time.
    pub max_running: usize,
    /// System calls that a slice replays at most.
    pub call_limit: CallLimit,
    /// CPU time that a slice may use besides a multiple of the app's, in milliseconds; 0: as much as it likes.
    pub grace_ms: u64,
    /// Whether memory is verified at boundaries at system calls as well.
    pub verify_calls: bool,
    /// Processors that the app may have.
    pub processors: Option<usize>,
    /// Whether the kernel is asked for huge pages for large memory of the app's.
    pub huge_pages: bool,
    /// Whether the processes that the app starts are followed as well.
    pub follow: bool,
    /// Whether calls of an app that makes many small ones are recorded inside it.
    pub record_in_process: bool,
    /// Whether the app's addresses are random.
    pub randomise: bool,
    /// What the app finds in its environment.
    pub environment: Environment,
    /// Whether the tool changes the app, which it can do serially only.
    pub changes_app: bool,
    /// Whether the tool looks at a sample.
    pub samples: bool,
    /// Whether nothing is to be shown on a terminal while the run goes on.
    pub quiet: bool,
    /// Whether superpin says on a terminal how to have a serial run in parallel.
    pub hints: bool,
    /// Basic blocks in a trace.
    pub trace_blocks: u32,
    /// Instructions in a trace.
    pub trace_instructions: u32,
    /// Whether traces are linked.
    pub linking: bool,
    /// Whether translations are shared between slices.
    pub sharing: bool,
    /// Bytes of a code cache.
    pub cache_bytes: u64,
    /// Optimisations of the engine that are off.
    pub off: Off,
    /// Whether the table of system calls is compared with what the kernel does.
    pub check_calls: bool,
    /// Whether the tool is checked.
    pub check_tool: bool,
    /// Whether a result that isn't exact is none that failed.
    pub accepts_ambiguous: bool,
    /// The page on which the run is drawn.
    pub timeline: Option<PathBuf>,
    /// Statistics at the end.
    pub report: Option<ReportTarget>,
    /// The folder where translations are kept for later runs.
    pub persist: Option<PathBuf>,
    /// The tools, at least one.
    pub tools: Vec<ChosenTool>,
    /// What is to be told of them before the run.
    pub notices: Vec<String>,
    /// See [`ToolInfo::identity`]; of all of them.
    pub tool_identity: String,
    /// Which part of the run the tool looks at.
    pub region: Spec,
    /// When the app is let go, to go on natively.
    pub detach_after: Option<Duration>,
    /// What those who work on superpin ask for.
    pub watch: Watch,
    /// The process to attach to, in place of starting an app.
    pub attach: Option<i32>,
    /// The app and its arguments.
    pub app: Vec<OsString>,
}

impl Settings {
    /// The tools' names, for people.
    pub fn tool_names(&self) -> String {
        self.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// All options of tools.
    pub fn tool_options(&self) -> Vec<OsString> {
        self.tools.iter().flat_map(|tool| tool.options.iter().cloned()).collect()
    }

    /// The tools as words, as a tool image takes them: names and options, with [`NEXT_TOOL`] between.
    pub fn tool_words(&self) -> Vec<OsString> {
        let mut words = Vec::new();
        for ChosenTool { name, options } in &self.tools {
            if !words.is_empty() {
                words.push(NEXT_TOOL.into());
            }
            words.push(name.into());
            words.extend_from_slice(options);
        }
        words
    }
}
