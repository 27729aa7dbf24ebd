//! Why an operation on a process under control failed.

use std::io;

use machine::MemoryError;

/// Why an operation on a process under control failed.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The process was killed. Its end is reported by the kernel as usual.
    #[error("process {pid} was killed while superpin wanted to {action}")]
    Gone {
        /// The process.
        pid: i32,
        /// What was tried.
        action: &'static str,
    },
    /// The kernel refused.
    #[error("cannot {action} (process {pid}): {source}")]
    Refused {
        /// The process.
        pid: i32,
        /// What was tried.
        action: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A stop came that can't come at this point.
    #[error("process {pid} stopped unexpectedly ({stop}) while superpin wanted to {action}")]
    Unexpected {
        /// The process.
        pid: i32,
        /// What was tried.
        action: &'static str,
        /// The stop in words.
        stop: String,
    },
    /// Memory of the process is not accessible.
    #[error("process {pid}: {source}")]
    Memory {
        /// The process.
        pid: i32,
        /// The access.
        source: MemoryError,
    },
}

impl TraceError {
    /// Whether the process has ended, which is not an error of ours.
    pub fn is_gone(&self) -> bool {
        matches!(self, Self::Gone { .. })
    }

    /// The last system error as the outcome of `action`.
    pub(crate) fn last(pid: i32, action: &'static str) -> Self {
        Self::from_io(pid, action, io::Error::last_os_error())
    }

    pub(crate) fn from_io(pid: i32, action: &'static str, source: io::Error) -> Self {
        if source.raw_os_error() == Some(libc::ESRCH) {
            Self::Gone { pid, action }
        } else {
            Self::Refused { pid, action, source }
        }
    }
}
