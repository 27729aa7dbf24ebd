//! Who a thread is.

use serde::{Deserialize, Serialize};
use slice_runtime::AppThread;

use super::path::ThreadPath;

/// A thread of the app's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ThreadInfo {
    /// Its number in its process, by the order in which threads are started: 0 for the first one (Pin's `THREADID`). No number is used twice. What [`crate::Arg::ThreadId`] is.
    ///
    /// A program that is executed (`exec`) begins with thread 0 again, and so does a new process.
    pub number: u64,
    /// The kernel's number of it, what `gettid` says.
    pub tid: i32,
    /// What it is called in every run.
    pub path: ThreadPath,
    /// Number of the thread that has started it. `None` for the first.
    pub parent: Option<u64>,
}

impl ThreadInfo {
    pub(crate) fn of(thread: &AppThread) -> Self {
        let AppThread { number, tid, parent, .. } = *thread;
        Self { number, tid, path: ThreadPath::new(thread.path.clone()), parent }
    }
}
