//! The benchmark: real programs natively, under superpin's tools and under other instrumentation systems, as ratios to native.
//!
//! `cargo run --release -p benches -- [OPTIONS] [PROGRAM …]`; `--help` lists the options.
//!
//! A machine's speed drifts, so all ways are measured in turns and the least times compared; nothing absolute is
//! promised. Tables come out in Markdown: CPU times, wall times, and superpin's own statistics of the sliced run.

mod measure;
mod table;
mod ways;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use measure::{Measured, measure};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use suites::workload::{self, SHARING, WORKLOADS, Workload};
use ways::Peers;

/// What is run when nothing is named, and with how many megabytes of input it takes two to eight seconds.
const SUITE: [(&str, usize); 15] = [
    ("gzip", 80),
    ("bzip2", 40),
    ("xz", 8),
    ("perl", 18),
    ("python3", 22),
    ("sqlite3", 14),
    ("cc1", 3),
    ("mawk", 110),
    ("sort", 200),
    ("openssl", 100),
    ("floating", 150),
    ("c++-containers", 40),
    ("c++-exceptions", 130),
    ("lua", 45),
    ("bash-arithmetic", 40),
];

/// Megabytes for programs outside the suite.
const OTHERS: usize = 8;

const HELP: &str = "\
benches [OPTIONS] [PROGRAM …]
  -n ROUNDS          times that everything is run; the least times are printed (3)
  -x FACTOR          input sizes are multiplied by this (1)
  -m MEGABYTES       input size of all programs
  -s \"OPTIONS\"       options of a sliced run (-spmsec 1000); several make a column each
  -w \"WAY, WAY\"      measure only these ways besides native
  -dynamorio FOLDER  a release or build of DynamoRIO; else the variable DYNAMORIO_HOME
  -memtrace CLIENT   a DynamoRIO client that writes memory addresses into a buffer
  -valgrind FILE     else it is looked for in PATH
  -before FILE       another build of superpin, measured in turns with this one; a table tells this one's times over its
  -threads           run programs with threads, each with one and with two that share its work, instead of the suite
  -pin CPU           run everything on this processor; CPU times are printed then, and no wall times
";

struct Settings {
    rounds: usize,
    factor: f64,
    megabytes: Option<usize>,
    sliced: Vec<Vec<String>>,
    ways: Option<Vec<String>>,
    peers: Peers,
    before: Option<PathBuf>,
    processor: Option<usize>,
    programs: Vec<&'static Workload>,
}

impl Settings {
    fn new() -> Self {
        let peers = Peers {
            dynamorio: std::env::var_os("DYNAMORIO_HOME").map(PathBuf::from),
            memtrace: None,
            valgrind: ways::installed("valgrind"),
        };
        Self {
            rounds: 3,
            factor: 1.0,
            megabytes: None,
            sliced: Vec::new(),
            ways: None,
            peers,
            before: None,
            processor: None,
            programs: Vec::new(),
        }
    }

    fn read(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut settings = Self::new();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} needs a value"));
            match arg.as_str() {
                "-n" => settings.rounds = number(&value()?)?,
                "-x" => settings.factor = number(&value()?)?,
                "-m" => settings.megabytes = Some(number(&value()?)?),
                "-s" => settings.sliced.push(value()?.split_whitespace().map(str::to_owned).collect()),
                "-pin" => settings.processor = Some(number(&value()?)?),
                "-threads" => settings.programs.extend(SHARING),
                "-w" => settings.ways = Some(value()?.split(',').map(|way| way.trim().to_owned()).collect()),
                "-dynamorio" => settings.peers.dynamorio = Some(value()?.into()),
                "-before" => settings.before = Some(build(&value()?)?),
                "-memtrace" => settings.peers.memtrace = Some(value()?.into()),
                "-valgrind" => settings.peers.valgrind = Some(value()?.into()),
                "-h" | "-help" | "--help" => return Err(HELP.to_owned()),
                name => settings.programs.push(program(name)?),
            }
        }
        if settings.sliced.is_empty() {
            settings.sliced.push(vec!["-spmsec".into(), "1000".into()]);
        }
        if settings.programs.is_empty() {
            settings.programs = SUITE.iter().map(|(name, _)| workload::named(name)).collect();
        }
        Ok(settings)
    }

    fn megabytes(&self, workload: &Workload) -> usize {
        let own = SUITE.iter().find(|(name, _)| *name == workload.name).map_or(OTHERS, |(_, megabytes)| *megabytes);
        self.megabytes.unwrap_or(((own as f64 * self.factor).round() as usize).max(1))
    }

    fn ways(&self, kept: &Path) -> Result<Vec<ways::Way>, String> {
        let mut all = ways::all(&self.sliced, &self.peers, &kept.join("kept"));
        if let Some(wanted) = &self.ways {
            let names: Vec<_> = all.iter().map(|way| way.name.as_str()).collect();
            if let Some(unknown) = wanted.iter().find(|name| !names.contains(&name.as_str())) {
                return Err(format!("no way {unknown}; there are: {}", names.join(", ")));
            }
            all.retain(|way| way.name == ways::NATIVE || wanted.contains(&way.name));
        }
        Ok(match &self.before {
            Some(before) => ways::with_before(all, before, &kept.join("before")),
            None => all,
        })
    }
}

/// A build of superpin, by its full path: programs are run in folders of their own.
fn build(path: &str) -> Result<PathBuf, String> {
    std::fs::canonicalize(path).map_err(|e| format!("-before {path}: {e}"))
}

fn number<N: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Result<N, String> {
    text.parse().map_err(|e| format!("{text}: {e}"))
}

fn program(name: &str) -> Result<&'static Workload, String> {
    let all = || WORKLOADS.iter().chain(SHARING);
    all().find(|w| w.name == name).ok_or_else(|| {
        let names: Vec<_> = all().map(|w| w.name).collect();
        format!("no program {name}; there are: {}", names.join(" "))
    })
}

/// Keeps this process and what it starts on one processor: those of a virtual machine needn't be equally fast.
fn pin(processor: usize) -> Result<(), String> {
    let mut set = CpuSet::new();
    set.set(processor)
        .and_then(|()| sched_setaffinity(Pid::from_raw(0), &set))
        .map_err(|e| format!("-pin {processor}: {e}"))
}

fn main() -> ExitCode {
    let settings = Settings::read(std::env::args().skip(1)).and_then(|s| {
        s.processor.map_or(Ok(()), pin)?;
        let kept = tempfile::tempdir().map_err(|error| format!("a folder for translations: {error}"))?;
        Ok((s.ways(kept.path())?, s, kept))
    });
    let (ways, settings, _kept) = match settings {
        Ok(settings) => settings,
        Err(error) => {
            eprintln!("benches: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut rows: Vec<(&str, Measured)> = Vec::new();
    let mut failed = false;
    for workload in &settings.programs {
        if workload.program().is_none() {
            eprintln!("left out: {} (not installed: scripts/install-deps.sh)", workload.name);
            failed = true;
            continue;
        }
        eprintln!("{} …", workload.name);
        let repeats = workload.repeats && !workload.has_threads();
        match measure(&workload.job(settings.megabytes(workload)), &ways, settings.rounds, repeats) {
            Ok(measured) => {
                // A run of the whole suite takes long: what is known is shown at once.
                eprintln!("CPU time: {}", table::row(workload.name, &measured, |times| times.cpu));
                rows.push((workload.name, measured));
            }
            Err(error) => {
                eprintln!("{}: {error}", workload.name);
                failed = true;
            }
        }
    }
    println!("CPU time\n\n{}", table::ratios(&ways, &rows, |times| times.cpu));
    if settings.processor.is_none() {
        println!("Wall time\n\n{}", table::ratios(&ways, &rows, |times| times.wall));
    }
    if settings.before.is_some() {
        println!("CPU time over that of the build before\n\n{}", table::over_before(&ways, &rows));
    }
    if let Some(text) = table::beyond_serial(&ways, &rows) {
        println!("CPU time of sliced runs over native and serial together\n\n{text}");
    }
    if ways.iter().any(|way| way.name == ways::SLICED) {
        println!("Sliced\n\n{}", table::statistics(&rows));
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(line: &str) -> Result<Settings, String> {
        Settings::read(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn sizes_are_the_suites_unless_they_are_named() {
        let settings = settings("-x 0.5 gzip tar").unwrap();
        let sizes: Vec<_> = settings.programs.iter().map(|w| settings.megabytes(w)).collect();
        assert_eq!(sizes, [40, 4]);
    }

    #[test]
    fn programs_with_threads_take_the_suites_place() {
        let names: Vec<_> = settings("-threads gzip").unwrap().programs.iter().map(|w| w.name).collect();
        assert_eq!((names.len(), names[1], names[names.len() - 1]), (SHARING.len() + 1, "pigz-2", "gzip"));
    }

    #[test]
    fn a_build_before_must_be_there() {
        assert!(settings("-before Cargo.toml").unwrap().before.unwrap().is_absolute());
        assert!(settings("-before nothing").is_err());
    }

    #[test]
    fn every_program_of_the_suite_exists() {
        assert_eq!(settings("").unwrap().programs.len(), SUITE.len());
        assert!(settings("-m 3 nothing").is_err());
    }
}
