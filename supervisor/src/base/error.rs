//! Why a run failed.

use std::io;
use std::path::PathBuf;

use tracee::{LaunchError, TraceError};

/// Exit status for failures of our own, as env(1), timeout(1) and others have it.
pub const OWN_FAILURE: i32 = 125;
/// Exit status for an app that can't be executed, as a shell has it.
pub const NOT_EXECUTABLE: i32 = 126;
/// Exit status for an app that doesn't exist, as a shell has it.
pub const NOT_FOUND: i32 = 127;

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// No such app.
    #[error("{}: no such program; give a path, or a name that is found through PATH", .0.display())]
    AppNotFound(PathBuf),
    /// An empty name.
    #[error("the program's name is empty")]
    AppUnnamed,
    /// The app's file can't be run here.
    #[error("{}: {why}", app.display())]
    AppNotExecutable {
        /// The file.
        app: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The app could not be started.
    #[error("{}: {source}", app.display())]
    Launch {
        /// The file.
        app: PathBuf,
        /// What happened.
        source: LaunchError,
    },
    /// Wrong tool name, tool options, or a file that is no tool image.
    #[error("{0}")]
    Tool(String),
    /// The environment refuses something that is needed.
    #[error("cannot {action}: {source}")]
    System {
        /// What.
        action: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The place of the bubble is taken in the app.
    #[error("the app has mapped something at {address:#x}, where superpin needs {len:#x} bytes for itself")]
    BubbleTaken {
        /// Start of the bubble.
        address: u64,
        /// Its size.
        len: u64,
    },
    /// Control of a process failed.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A serial run can't give a right result.
    #[error("{0}")]
    Serial(String),
    /// A slice can't give a right result.
    #[error("slice {slice}: {report}")]
    Slice {
        /// Its number.
        slice: u64,
        /// Why, in its own words or ours.
        report: String,
    },
    /// The page on which the run is drawn can't be written.
    #[error("cannot write the timeline to {}: {source}", path.display())]
    Timeline {
        /// Where to.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The report can't be written.
    #[error("cannot write the report to {}: {source}", path.display())]
    Report {
        /// Where to.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The log of events can't be written.
    #[error("cannot write the log to {}: {source}", path.display())]
    Log {
        /// Where to.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The result is printed, but elsewhere than it should be, or its counts have grown.
    #[error("{0}")]
    Printed(String),
    /// The collector failed.
    #[error("the collector: {0}")]
    Collector(String),
    /// The app does what this mode doesn't follow.
    #[error("{0}")]
    Unsupported(String),
    /// The app was killed in a way that leaves its last instruction unknown.
    #[error("the app was killed by signal {0} before its result was complete; there is no total")]
    Killed(i32),
    /// Somebody asked for the end by this signal, twice, while the tool was busy.
    #[error(
        "signal {0} was sent again, and the tool hasn't come back to the program since the first time: perhaps a routine of it doesn't return. \
         The program was ended; there is no total"
    )]
    ToolIsBusy(i32),
    /// A person asked twice for the end of a run that has attached to its app.
    #[error(
        "the process isn't let go yet, perhaps since a routine of the tool doesn't return. It lives on under the tool, without superpin; there is no total"
    )]
    NotLetGo,
    /// A person asked for the end.
    #[error("interrupted while slices were still running; there is no total")]
    Interrupted,
}

impl Failure {
    /// The exit status to end with.
    pub fn status(&self) -> i32 {
        match self {
            Self::AppNotFound(_) | Self::AppUnnamed => NOT_FOUND,
            Self::AppNotExecutable { .. } | Self::Launch { source: LaunchError::Exec(_), .. } => NOT_EXECUTABLE,
            Self::Killed(signal) | Self::ToolIsBusy(signal) => 128 + signal,
            Self::Interrupted | Self::NotLetGo => 128 + libc::SIGINT,
            _ => OWN_FAILURE,
        }
    }

    /// The last system error as the outcome of `action`.
    pub fn last(action: &'static str) -> Self {
        Self::System { action, source: io::Error::last_os_error() }
    }
}

/// Attaches what was being done to a system error.
pub trait Doing<T> {
    /// `cannot ACTION: ERROR`.
    ///
    /// # Errors
    /// Passes the error on.
    fn doing(self, action: &'static str) -> Result<T, Failure>;
}

impl<T, E: Into<io::Error>> Doing<T> for Result<T, E> {
    fn doing(self, action: &'static str) -> Result<T, Failure> {
        self.map_err(|source| Failure::System { action, source: source.into() })
    }
}
