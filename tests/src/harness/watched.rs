//! What the random tools of `tools/api/examples/random` have seen of a guest.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use crate::guest::Guest;
use crate::run::{Outcome, Scratch, run};
use crate::selection;
use crate::superpin::example;
use crate::switches;

/// A guest with so much to do, and how it runs natively.
pub struct Watched<'a> {
    /// The guest.
    pub guest: &'a Guest,
    /// What it is asked to do.
    pub rounds: u64,
    /// A native run of it, which all others are to be like.
    pub native: &'a Outcome,
    /// The seed of what the tool `random` looks at: `SEED` of the environment, or the round.
    pub seed: u64,
}

impl<'a> Watched<'a> {
    /// With the seed that this run of the suite has.
    pub fn new(guest: &'a Guest, rounds: u64, native: &'a Outcome) -> Self {
        let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(selection::round);
        Self { guest, rounds, native, seed }
    }

    /// What a tool prints, a name and options, in a run with these options of superpin, each of which has a value. Those of the guest's own come before them.
    ///
    /// # Errors
    /// If the run isn't as natively, or there is no result.
    pub fn seen(&self, tool: &str, options: &str) -> Result<String, String> {
        static IMAGE: OnceLock<PathBuf> = OnceLock::new();
        let image = IMAGE.get_or_init(|| example("random"));
        let scratch = Scratch::new().map_err(|e| e.to_string())?;
        let out = scratch.beside("seen");
        let own: Vec<&str> = self.guest.options.iter().map(String::as_str).collect();
        let others: Vec<&str> = options.split(' ').collect();
        let others = others.chunks(2).filter(|pair| own.iter().all(|word| *word != pair[0])).flatten();
        let words = others.chain(&own).copied().chain(["-spgrace", "0", "-t"]).chain(tool.split(' '));
        let mut command = vec![image.into()];
        command.extend(switches::options().into_iter().map(Into::into));
        command.extend(words.map(Into::into));
        if tool.split(' ').next() == Some("random") && !tool.contains("counting") {
            command.extend(["--seed".into(), self.seed.to_string().into()]);
        }
        command.extend(["-o".into(), out.clone().into(), "--".into()]);
        let mut outcome = run(&self.guest.job(self.rounds).under(command)).map_err(|e| e.to_string())?;
        outcome.stderr = without_own_lines(&outcome.stderr);
        if outcome != *self.native {
            return Err(format!("{options}: not as natively\n-- native\n{:?}-- here\n{outcome:?}", self.native));
        }
        fs::read_to_string(&out).map_err(|e| format!("{options}: {}: {e}", out.display()))
    }
}

/// Without what superpin says of a region that never began.
fn without_own_lines(stderr: &[u8]) -> Vec<u8> {
    let lines = stderr.split_inclusive(|byte| *byte == b'\n');
    lines.filter(|line| !line.starts_with(b"superpin: the region never began: ")).flatten().copied().collect()
}
