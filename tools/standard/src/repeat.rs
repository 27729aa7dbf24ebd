//! The option that says how often an instruction counts that repeats.

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
    /// Says so below a result, if it isn't what it is without the option.
    pub fn say(self, out: &mut Out<'_>) -> io::Result<()> {
        match self.repeat {
            Repeat::Once => Ok(()),
            Repeat::Each => writeln!(out, "Repetitions: each counts"),
        }
    }
}
