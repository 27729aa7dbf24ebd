//! What one process's run works with, and what becomes of it.

use tracee::ExitStatus;

use super::collector::Collector;
use crate::base::Failure;
use crate::command::{Settings, ToolImage, names_stdout};
use crate::report::Statistics;
use crate::run_memory::{KeptCode, RunMemory};

/// What one process's run works with.
pub struct Resources<'a> {
    /// The run memory.
    pub memory: RunMemory,
    /// Translations from and for other runs.
    pub kept: KeptCode,
    /// The tool image.
    pub image: &'a ToolImage,
    /// The collector.
    pub collector: Collector,
    /// What is counted.
    pub statistics: Statistics,
    /// What the process executes, for people.
    pub name: String,
}

impl<'a> Resources<'a> {
    /// Of the app, or of a process that it has started.
    ///
    /// # Errors
    /// If the kernel has no memory or processes for them.
    pub fn new(settings: &Settings, image: &'a ToolImage, process: Option<i32>) -> Result<Self, Failure> {
        let memory = RunMemory::new(settings, process)?;
        let kept = KeptCode::new(settings, image, &memory)?;
        let collector = Collector::start(&memory, names_stdout(&settings.tool_options()))?;
        let mut statistics = Statistics::new(settings.verify_calls, settings.timeline.is_some());
        statistics.doubts.is_sample = settings.samples;
        Ok(Self { memory, kept, image, collector, statistics, name: String::new() })
    }
}

/// What became of the app, and why there is no result, if so.
pub struct Outcome {
    /// The app's end; `None` if it could not be followed to it.
    pub exit: Option<ExitStatus>,
    /// The first failure.
    pub failure: Option<Failure>,
    /// It goes on natively, and has a result of what it did until then.
    pub lives_on: bool,
}
