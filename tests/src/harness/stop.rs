//! Why a test didn't come to its end.

/// Why a test didn't come to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It has failed.
    Failed(String),
    /// This machine can't do what it needs.
    Skipped(String),
}

impl From<String> for Stop {
    fn from(error: String) -> Self {
        Self::Failed(error)
    }
}
