//! `first-difference`: where do two runs of an app part? See `scripts/first-difference.sh`, which builds what it needs.
//!
//! ```text
//!   options ─► runs: each writes its path ─► suites::path::first ─► code: what is there ─► show
//! ```

mod code;
mod options;
mod runs;
mod show;

use std::process::ExitCode;

use suites::path::{PathFile, first};

use crate::options::Options;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let options = match Options::parse(&arguments) {
        Ok(options) => options,
        Err(why) => {
            eprintln!("first-difference: {why}\n{}", options::USAGE);
            return ExitCode::from(2);
        }
    };
    match compare(&options) {
        Ok(differs) => ExitCode::from(u8::from(differs)),
        Err(why) => {
            eprintln!("first-difference: {why}");
            ExitCode::from(2)
        }
    }
}

/// Prints what differs. Whether something does.
fn compare(options: &Options) -> Result<bool, String> {
    // Registers are written down in two halves: so each run is made twice.
    let halves: &[Option<usize>] = if options.registers { &[Some(0), Some(1)] } else { &[None] };
    let mut pairs = Vec::new();
    for half in halves {
        pairs.push(pair(options, *half)?);
    }
    show::difference(options, &pairs)
}

/// Two runs and what differs.
fn pair(options: &Options, half: Option<usize>) -> Result<show::Pair, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no folder for paths: {error}"))?;
    let mut ended = Vec::new();
    for (run, name) in options.runs.iter().zip(options::NAMES) {
        let to = folder.path().join(name);
        ended.push(runs::path(options, run, &to, half).map_err(|why| format!("the {name} run: {why}"))?);
    }
    let open = |name| {
        let path = folder.path().join(name);
        PathFile::open(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let [a, b] = options::NAMES.map(open);
    let found = first(a?, b?, options.context).map_err(|error| format!("a path can't be read: {error}"))?;
    Ok(show::Pair { found, failures: ended.iter().map(|ended| ended.failure().map(str::to_owned)).collect() })
}
