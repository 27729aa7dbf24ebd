//! How often an instruction counts that repeats itself.

/// How often a string instruction with a REP prefix is executed, as a tool sees it: see [`crate::Tool::repeat`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Repeat {
    /// Once: calls are made before its first step, with the count in rcx, and after its last one. As perf and valgrind's exp-bbv count.
    #[default]
    Once,
    /// Once for each repetition, as Pin does it: it is a block for itself, which each step executes, with the addresses and the count of that step. If rcx is 0 it is one
    /// execution, but none that a predicated call sees. There are no calls after it ([`crate::Instruction::has_after`]). Each step costs a few nanoseconds.
    Each,
}

impl std::fmt::Display for Repeat {
    /// As an option's value.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Repeat::Once => "once",
            Repeat::Each => "each",
        })
    }
}
