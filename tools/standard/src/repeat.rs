//! How often an instruction counts that repeats: the option, and what results say of it.

use std::io;

use superpin_tool::{Out, Repeat, clap};

/// An option of the tools whose results depend on it.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct RepeatOption {
    /// Whether a string instruction that repeats (REP) counts once, or each repetition does
    #[arg(long, value_enum, default_value_t = Repeat::Once)]
    pub repeat: Repeat,
}

impl RepeatOption {
    /// Says which, below a result.
    pub fn say(self, out: &mut Out<'_>) -> io::Result<()> {
        say(self.repeat, out)
    }
}

/// Says below a result how often an instruction has counted that repeats.
pub fn say(repeat: Repeat, out: &mut Out<'_>) -> io::Result<()> {
    writeln!(out, "{}", text(repeat))
}

/// The same without the end of its line.
pub fn text(repeat: Repeat) -> &'static str {
    match repeat {
        Repeat::Once => "Repetitions: only the first counts",
        Repeat::Each => "Repetitions: each counts",
    }
}
