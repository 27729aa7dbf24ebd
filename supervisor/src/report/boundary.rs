//! Why slices end.

/// Why a slice ended where it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Boundary {
    /// Its time was over.
    Timeout,
    /// A system call that isn't recorded.
    Syscall,
    /// It had as many records as it may.
    Records,
    /// Its log was full, or a file could not be kept.
    Log,
    /// A signal.
    Signal,
    /// The app started another process.
    Process,
    /// exec.
    Exec,
    /// The app's end.
    Exit,
}

impl Boundary {
    /// All of them, in their order.
    pub const ALL: [Self; 8] =
        [Self::Timeout, Self::Syscall, Self::Records, Self::Log, Self::Signal, Self::Process, Self::Exec, Self::Exit];

    /// What reports call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Syscall => "syscall",
            Self::Records => "records",
            Self::Log => "log",
            Self::Signal => "signal",
            Self::Process => "process",
            Self::Exec => "exec",
            Self::Exit => "exit",
        }
    }
}
