//! Names of the steps by which a process is taken over.

/// The steps that a process is taken over by, by name.
#[derive(Clone, Debug, Default)]
pub struct StepNames(pub(crate) Vec<&'static str>);

impl StepNames {
    /// If `status` is what the loader exits with when a step fails: which one.
    pub fn failed(&self, status: i32) -> Option<&'static str> {
        let index = usize::try_from(status.checked_sub(FAILURE_BASE)?).ok()?;
        self.0.get(index).copied()
    }
}

/// A failing step makes the process exit with this and the step's index.
pub const FAILURE_BASE: i32 = 190;
