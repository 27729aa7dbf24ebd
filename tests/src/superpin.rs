//! The `superpin` command under test and the modes it is run in.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::{env, fs, io};

use crate::run::{Job, Outcome, Scratch, run};
use crate::switches;

/// A set of options, named.
#[derive(Debug)]
pub struct Mode {
    /// Its name in test names.
    pub name: &'static str,
    /// The tool.
    pub tool: &'static str,
    /// Options besides the tool's.
    pub options: &'static [&'static str],
    /// Whether the run is cut into slices.
    pub sliced: bool,
    /// Whether it is so slow that guests do a tenth of their work.
    pub slow: bool,
    /// Whether it begins with the translations of a run before, which is made first.
    pub persists: bool,
}

impl Mode {
    /// Whether its total doesn't depend on the order of the instructions.
    pub fn counts(&self) -> bool {
        self.tool.starts_with("icount")
    }

    const fn slow(self) -> Self {
        Self { slow: true, ..self }
    }

    const fn persists(self) -> Self {
        Self { persists: true, ..self }
    }
}

const fn serial(name: &'static str, tool: &'static str, options: &'static [&'static str]) -> Mode {
    Mode { name, tool, options, sliced: false, slow: false, persists: false }
}

const fn sliced(name: &'static str, tool: &'static str, options: &'static [&'static str]) -> Mode {
    Mode { name, tool, options, sliced: true, slow: false, persists: false }
}

/// The mode that all others are compared with.
pub const SERIAL: Mode = serial("serial", "icount2", &["-sp", "0"]);

/// Slices at each system call: many boundaries in any program.
pub const EACH_CALL: Mode = sliced("sysrecs-0", "icount2", &["-sp", "1", "-spsysrecs", "0"]);

/// Serially, with the processes that the app starts.
pub const FOLLOWED: Mode = serial("serial-follow", "icount2", &["-sp", "0", "-follow", "1"]);

/// All of the engine's optimisations off but two, without which a run takes a hundred times as long: routines in place and
/// IBL stubs. `scripts/switches.sh` turns these off as well.
const UNOPTIMISED: &str = "none,inline,landings";

/// Every mode that every guest is run in.
pub const MODES: &[Mode] = &[
    SERIAL,
    FOLLOWED,
    serial("serial-icount1", "icount1", &["-sp", "0"]),
    serial("serial-one-block", "icount2", &["-sp", "0", "-trace-blocks", "1"]),
    serial("serial-unlinked", "icount2", &["-sp", "0", "-link", "0"]).slow(),
    serial("serial-tiny-cache", "icount2", &["-sp", "0", "-cache-bytes", "65536"]).slow(),
    serial("serial-unoptimised", "icount1", &["-sp", "0", "-engine", UNOPTIMISED]).slow(),
    sliced("5ms", "icount2", &["-sp", "1", "-spmsec", "5"]),
    sliced("20ms", "icount2", &["-sp", "1", "-spmsec", "20"]),
    sliced("200ms", "icount2", &["-sp", "1", "-spmsec", "200"]),
    sliced("5ms-icount1", "icount1", &["-sp", "1", "-spmsec", "5"]),
    EACH_CALL,
    sliced("5ms-follow", "icount2", &["-sp", "1", "-spmsec", "5", "-follow", "1"]),
    sliced("verified-follow", "icount2", &["-sp", "1", "-spsysrecs", "1", "-spverify", "1", "-follow", "1"]),
    sliced("sysrecs-1", "icount2", &["-sp", "1", "-spsysrecs", "1"]),
    sliced("sysrecs-1000", "icount2", &["-sp", "1", "-spsysrecs", "1000", "-spmsec", "20"]),
    sliced("spmp-1", "icount2", &["-sp", "1", "-spmsec", "10", "-spmp", "1"]),
    sliced("spmp-2", "icount2", &["-sp", "1", "-spmsec", "5", "-spmp", "2"]),
    sliced("spmp-8", "icount2", &["-sp", "1", "-spmsec", "5", "-spmp", "8"]),
    sliced("5ms-one-block", "icount2", &["-sp", "1", "-spmsec", "5", "-trace-blocks", "1"]),
    sliced("5ms-unlinked", "icount2", &["-sp", "1", "-spmsec", "5", "-link", "0"]).slow(),
    sliced("5ms-tiny-cache", "icount2", &["-sp", "1", "-spmsec", "5", "-cache-bytes", "65536"]).slow(),
    sliced("5ms-unoptimised", "icount2", &["-sp", "1", "-spmsec", "5", "-engine", UNOPTIMISED]).slow(),
    sliced("verified", "icount2", &["-sp", "1", "-spmsec", "5", "-spsysrecs", "3", "-spverify", "1"]),
    sliced("checked-calls", "icount2", &["-sp", "1", "-spmsec", "20", "-check-calls", "1"]).slow(),
    serial("serial-memaddr-tiny-cache", "memaddr", &["-sp", "0", "-cache-bytes", "65536", "-trace-blocks", "1"]).slow(),
    sliced("5ms-memaddr", "memaddr", &["-sp", "1", "-spmsec", "5"]),
    sliced("sysrecs-3-dcache", "dcache", &["-sp", "1", "-spsysrecs", "3", "-spmsec", "20"]),
    serial("serial-persist", "icount2", &["-sp", "0", "-follow", "1"]).persists(),
    sliced("5ms-persist", "icount1", &["-sp", "1", "-spmsec", "5"]).persists(),
    sliced("200ms-persist", "icount2", &["-sp", "1", "-spmsec", "200"]).persists(),
    sliced("5ms-unshared", "icount2", &["-sp", "1", "-spmsec", "5", "-share", "0"]),
];

/// In how many successive rounds each guest comes in each mode once.
pub const SHARES: usize = 16;

/// A run under superpin.
#[derive(Clone, Debug)]
pub struct Counted {
    /// What the app (and superpin, if it had to complain) left.
    pub outcome: Outcome,
    /// The total, if one was printed.
    pub total: Option<u64>,
    /// All that the tool printed.
    pub printed: String,
    /// Totals of the processes that the app has started, in the order of size.
    pub children: Vec<u64>,
    /// Statistics, as `-report` wrote them.
    pub report: String,
}

impl Counted {
    /// A number of the statistics.
    pub fn statistic(&self, name: &str) -> Option<f64> {
        self.report.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")?.parse().ok())
    }
}

/// Runs a job in a mode. Total and statistics go to files of their own, so that standard error is the app's alone.
pub fn count(mode: &Mode, job: &Job) -> io::Result<Counted> {
    count_with(mode.tool, mode.options, job)
}

/// What a run that counted looked like, if all is as it must be: the app's output, files and status are those of the
/// native run, and there is a total.
pub fn total_of(counted: &Counted, native: &Outcome) -> Result<u64, String> {
    if counted.outcome != *native {
        return Err(format!("not as natively\n-- native\n{native:?}-- here\n{:?}", counted.outcome));
    }
    counted.total.ok_or_else(|| "no total".to_owned())
}

/// Runs a job with these options.
pub fn count_with<S: AsRef<str>>(tool: &str, options: &[S], job: &Job) -> io::Result<Counted> {
    let scratch = Scratch::new()?;
    let (total, report) = (scratch.beside("total"), scratch.beside("report"));
    let mut prefix = command();
    prefix.extend(options.iter().map(|option| option.as_ref().into()));
    if !switches::options().is_empty() && options.iter().all(|option| option.as_ref() != "-spgrace") {
        // Slices may be a hundred times as slow as with everything on.
        prefix.extend(["-spgrace", "0"].map(Into::into));
    }
    prefix.extend(["-report".into(), report.clone().into(), "-t".into(), tool.into()]);
    prefix.extend(["-o".into(), total.clone().into(), "--".into()]);
    let outcome = run(&job.under(prefix))?;
    let printed = fs::read_to_string(&total).unwrap_or_default();
    Ok(Counted {
        outcome,
        children: totals_beside(&total)?,
        total: parse_total(&printed),
        printed,
        report: fs::read_to_string(report).unwrap_or_default(),
    })
}

/// What was printed to files whose names are a path, a dot and a process's number.
fn totals_beside(path: &Path) -> io::Result<Vec<u64>> {
    let start = format!("{}.", path.display());
    let files = fs::read_dir(path.parent().expect("the file lies in a folder"))?;
    let paths = files.filter_map(|file| Some(file.ok()?.path()));
    let beside = paths.filter(|path| path.to_string_lossy().starts_with(&start));
    let mut totals: Vec<u64> = beside.filter_map(|path| parse_total(&fs::read_to_string(path).ok()?)).collect();
    totals.sort_unstable();
    Ok(totals)
}

/// The number in the line `Total Count: N`, or what stands for it in the other tools' results.
pub fn parse_total(text: &str) -> Option<u64> {
    let number = |line: &str| {
        let rest = ["Total Count: ", "Checksum: ", "Misses: "].iter().find_map(|name| line.strip_prefix(name))?;
        rest.split_whitespace().next()?.parse().ok()
    };
    text.lines().find_map(number)
}

/// The folder that cargo puts this profile's programs into.
pub fn artifacts() -> PathBuf {
    let me = env::current_exe().expect("the running program has no path");
    let folder = me.parent().expect("a program lies in a folder");
    if folder.ends_with("deps") {
        folder.parent().expect("deps lies in a folder").to_owned()
    } else {
        folder.to_owned()
    }
}

/// The `superpin` to test: the one that the variable SUPERPIN names, else this workspace's, brought up to date first
/// (cargo builds a package's programs only for that package's own tests).
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| match env::var_os("SUPERPIN") {
        Some(path) => fs::canonicalize(&path).unwrap_or_else(|e| panic!("SUPERPIN={}: {e}", path.display())),
        None => {
            build("superpin");
            artifacts().join("superpin")
        }
    })
}

/// What a run under superpin is started with: the program, and the options of [`switches`]. Others follow.
pub fn command() -> Vec<OsString> {
    std::iter::once(binary().into()).chain(switches::options().into_iter().map(Into::into)).collect()
}

/// The tool image of an example of `superpin-tool`, brought up to date.
pub fn example(name: &str) -> PathBuf {
    cargo_builds(&["--package", "superpin-tool", "--example", name]);
    artifacts().join("examples").join(name)
}

fn build(package: &str) {
    cargo_builds(&["--package", package]);
}

fn cargo_builds(what: &[&str]) {
    let profile = if artifacts().ends_with("debug") { "dev" } else { "release" };
    let target = artifacts().ancestors().nth(2).expect("TARGET/TRIPLE/PROFILE").to_owned();
    let status = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()))
        .args(["build", "--quiet", "--profile", profile, "--target-dir"])
        .arg(target)
        .args(what)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(status.is_ok_and(|s| s.success()), "cargo can't build {what:?}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_found_among_other_lines() {
        assert_eq!(parse_total("noise\nTotal Count: 1234\n"), Some(1234));
        assert_eq!(parse_total("Total Count: \n"), None);
        assert_eq!(parse_total("Accesses: 9\nMisses: 5 (55.56 %)\n"), Some(5));
    }
}
