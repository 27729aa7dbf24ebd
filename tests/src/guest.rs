//! The guests: what each needs to be built and run, read from the head of its source, so that a guest is one file.
//!
//! A source in `tests/guests` starts with a comment in whose lines these words mean something:
//!
//! ```text
//! // One sentence: the behaviour.
//! // build NAME: FLAGS     one executable, built with these flags (default: one, `-O1`, in Rust `-O`); may be repeated
//! // rounds: SMALL LARGE   argument for single-stepped runs (about 100 000 instructions; 0: not single-stepped) and for the others
//! // needs: FLAG …         CPU flags without which it isn't run
//! // native: may hang      there are machines on which it doesn't end natively: there it is skipped
//! // totals: vary          its native instruction count isn't the same from run to run
//! // children: vary        nor is that of the processes that it starts
//! // order: varies        its instructions come in another order in each run: only their number is the same
//! // blocks: differ        faults inside blocks: counting by block and by instruction differ
//! // warned: WORTH         the results of sliced runs must say that they are worth this, and no more
//! // options: WORD …        superpin's options besides those of the mode, or instead of them
//! // refused: TEXT         sliced and serial runs must refuse to count, with a message that contains the text
//! // refused sliced: TEXT  sliced runs must
//! // kept: by chance       it makes files of code, which are others in the next run: what is kept may be of no use
//! // ends: by a signal     natively, too
//! // ends NAME: by a signal   the executable of that name does
//! // counted: by chance    what is refused may by chance be possible
//! // refused serial: TEXT  serial runs must
//! ```

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;
use std::{env, fs, io};

use crate::deadline::stretched;
use crate::libraries;
use crate::run::{Job, Outcome, run, run_at_most};
use crate::selection::hash;
use crate::superpin::artifacts;
use crate::trials::Stop;

/// A program of `tests/guests`, one of its builds.
#[derive(Debug)]
pub struct Guest {
    /// `source` or `source.build`.
    pub name: String,
    /// Argument for single-stepped runs; none if it isn't single-stepped.
    pub small: Option<u64>,
    /// Argument for all other runs.
    pub large: u64,
    /// Whether it may be that it doesn't end natively.
    pub may_hang: bool,
    /// Whether a signal ends it natively.
    pub is_killed: bool,
    /// Whether two native runs execute the same number of instructions.
    pub repeats: bool,
    /// Whether the processes that it starts do.
    pub children_repeat: bool,
    /// Whether they execute them in the same order.
    pub order_repeats: bool,
    /// Whether counting by blocks gives the number of instructions.
    pub whole_blocks: bool,
    /// What the results of sliced runs are worth, if they aren't exact.
    pub warned: Option<String>,
    /// What serial and sliced runs must say when they refuse to count; `None` where they must not refuse.
    pub refused: [Option<String>; 2],
    /// Whether it has no C library, so that all its system calls are in its source.
    pub bare: bool,
    /// Whether what must be refused may be counted all the same.
    pub by_chance: bool,
    /// Whether the translations that one run keeps are of use to the next.
    pub keeps: bool,
    /// Options for superpin besides those of the mode, or instead of them.
    pub options: Vec<String>,
    source: PathBuf,
    flags: Vec<String>,
    needs: Vec<String>,
    built: OnceLock<PathBuf>,
}

impl Guest {
    /// The name of its source, without ending.
    pub fn source_name(&self) -> &str {
        self.name.split('.').next().unwrap_or_default()
    }

    /// Skips the guest if this CPU doesn't have what it needs.
    pub fn runs_here(&self) -> Result<(), Stop> {
        static FLAGS: OnceLock<Vec<String>> = OnceLock::new();
        let flags = FLAGS.get_or_init(cpu_flags);
        let missing = self.needs.iter().find(|need| !flags.contains(need));
        missing.map_or(Ok(()), |need| Err(Stop::Skipped(format!("the processor has no {need}"))))
    }

    /// A native run, which must end as the guest's head says. The guest is skipped if it may be that it doesn't end, and so it is.
    pub fn natively(&self, rounds: u64) -> Result<Outcome, Stop> {
        /// Many times what the guests take that may hang.
        const LIMIT: Duration = Duration::from_secs(3);
        let failed = |error: io::Error| Stop::Failed(format!("natively: {error}"));
        let outcome = if self.may_hang {
            let why = || format!("natively it doesn't end within {} s", LIMIT.as_secs());
            run_at_most(&self.job(rounds), stretched(LIMIT)).map_err(failed)?.ok_or_else(|| Stop::Skipped(why()))?
        } else {
            run(&self.job(rounds)).map_err(failed)?
        };
        // One that was built wrongly dies in the same way in all modes.
        if self.is_killed != (129..=192).contains(&outcome.status) {
            let killed = if self.is_killed { "is" } else { "isn't" };
            return Err(Stop::Failed(format!(
                "natively: its head says that it {killed} killed by a signal: {outcome:?}"
            )));
        }
        Ok(outcome)
    }

    /// A run with that many rounds; standard input is the guest's own source.
    pub fn job(&self, rounds: u64) -> Job {
        let mut job = Job::new([self.executable().as_os_str(), rounds.to_string().as_ref()]);
        job.stdin = Some(self.source.clone());
        job
    }

    /// The executable, compiled at the first call.
    pub fn executable(&self) -> &Path {
        self.built.get_or_init(|| self.build().unwrap_or_else(|e| panic!("cannot build guest {}: {e}", self.name)))
    }

    fn build(&self) -> io::Result<PathBuf> {
        // Those of another way to build them lie elsewhere.
        let folder = artifacts().join(format!("guests-{:08x}", hash(libraries::path())));
        fs::create_dir_all(&folder)?;
        let program = folder.join(&self.name);
        if newer(&program, &self.source) && listed(&["h"]).iter().all(|header| newer(&program, header)) {
            return Ok(program);
        }
        let unfinished = folder.join(format!("{}.{}", self.name, std::process::id()));
        let output = compiler(&self.source, &self.flags)
            .arg("-o")
            .arg(&unfinished)
            .arg(&self.source)
            .args(&self.flags)
            .output()?;
        if !output.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        fs::rename(&unfinished, &program)?;
        Ok(program)
    }
}

/// What compiles a source, with its flags for all guests beside `flags`, its own.
fn compiler(source: &Path, flags: &[String]) -> Command {
    if is_rust(source) {
        let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or("rustc".into()));
        rustc.args(["--edition", "2021", "-D", "warnings"]);
        rustc.args(find_libraries().map(|flag| format!("-Clink-arg={flag}")));
        return rustc;
    }
    let mut gcc = Command::new(if source.extension().is_some_and(|e| e == "cc") { "g++" } else { "gcc" });
    gcc.args(["-Wall", "-Werror"]);
    // glibc's start of a static program that has such a path crashes.
    if !flags.iter().any(|flag| flag.starts_with("-static")) {
        gcc.args(find_libraries());
    }
    gcc
}

/// What tells the loader where libraries are, those of libraries and of `dlopen` as well.
fn find_libraries() -> [String; 2] {
    ["-Wl,--disable-new-dtags".to_owned(), format!("-Wl,-rpath,{}", libraries::path())]
}

fn is_rust(source: &Path) -> bool {
    source.extension().is_some_and(|e| e == "rs")
}

/// Every guest in every build, in the order of their names.
pub fn all() -> &'static [Guest] {
    static ALL: OnceLock<Vec<Guest>> = OnceLock::new();
    ALL.get_or_init(|| {
        let files = listed(&["c", "cc", "rs", "S"]);
        files.iter().flat_map(|file| parse(file, &fs::read_to_string(file).expect("unreadable guest"))).collect()
    })
}

/// The guest of that name.
pub fn named(name: &str) -> &'static Guest {
    all().iter().find(|g| g.name == name).unwrap_or_else(|| panic!("no guest is named {name}"))
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("guests")
}

/// The files with these endings, in the order of their names.
fn listed(endings: &[&str]) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(sources())
        .expect("tests/guests can't be listed")
        .map(|entry| entry.expect("tests/guests can't be listed").path())
        .filter(|path| path.extension().is_some_and(|e| endings.iter().any(|ending| e == *ending)))
        .collect();
    files.sort();
    files
}

fn newer(product: &Path, source: &Path) -> bool {
    let time = |path: &Path| fs::metadata(path).and_then(|m| m.modified());
    matches!((time(product), time(source)), (Ok(p), Ok(s)) if p > s)
}

fn cpu_flags() -> Vec<String> {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    line.split_whitespace().map(str::to_owned).collect()
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn parse(file: &Path, text: &str) -> Vec<Guest> {
    let stem = file.file_stem().expect("a source has a name").to_string_lossy().into_owned();
    let head: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("//")).map(str::trim).collect();
    let field = |key: &str| head.iter().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).map(str::trim);
    let rounds: Vec<u64> =
        field("rounds").unwrap_or("1 1").split(' ').map(|n| n.parse().expect("rounds: two numbers")).collect();
    let mut builds: Vec<(String, Vec<String>)> = head
        .iter()
        .filter_map(|line| line.strip_prefix("build ")?.split_once(':'))
        .map(|(name, flags)| (format!("{stem}.{}", name.trim()), words(flags)))
        .collect();
    match builds.as_mut_slice() {
        [] => builds.push((stem, words(if is_rust(file) { "-O" } else { "-O1" }))),
        [only] => only.0 = stem,
        _ => {}
    }
    builds
        .into_iter()
        .map(|(name, flags)| Guest {
            small: (rounds[0] > 0).then_some(rounds[0]),
            large: rounds[1],
            is_killed: {
                let build = name.split_once('.').map(|(_, build)| format!("ends {build}"));
                field("ends").or(build.and_then(|key| field(&key))) == Some("by a signal")
            },
            may_hang: field("native") == Some("may hang"),
            repeats: field("totals") != Some("vary"),
            children_repeat: field("children") != Some("vary"),
            order_repeats: field("order") != Some("varies"),
            whole_blocks: field("blocks") != Some("differ"),
            warned: field("warned").map(str::to_owned),
            refused: ["refused serial", "refused sliced"].map(|key| field("refused").or(field(key)).map(str::to_owned)),
            bare: file.extension().is_some_and(|e| e == "S"),
            by_chance: field("counted") == Some("by chance"),
            keeps: field("kept") != Some("by chance"),
            options: words(field("options").unwrap_or_default()),
            name,
            source: file.to_owned(),
            flags,
            needs: words(field("needs").unwrap_or_default()),
            built: OnceLock::new(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_source_says_how_it_is_built_and_run() {
        let text = "// It.\n// build a: -O2 -static\n// build b: -O0\n// rounds: 0 7\n// totals: vary\n// order: varies\n// refused sliced: a word\n// ends b: by a signal\n\nint main;";
        let guests = parse(Path::new("/x/it.c"), text);
        assert_eq!(guests.iter().map(|g| g.name.as_str()).collect::<Vec<_>>(), ["it.a", "it.b"]);
        assert_eq!(guests[0].flags, ["-O2", "-static"]);
        assert_eq!((guests[1].small, guests[1].large), (None, 7));
        assert_eq!(guests.iter().map(|g| g.is_killed).collect::<Vec<_>>(), [false, true]);
        assert!(!guests[0].repeats && !guests[0].order_repeats && guests[0].whole_blocks);
        assert_eq!(guests[0].refused, [None, Some("a word".to_owned())]);
    }

    #[test]
    fn a_source_that_says_nothing_is_one_guest() {
        let guests = parse(Path::new("/x/it.c"), "// It.\nint main;");
        assert_eq!(guests.len(), 1);
        assert_eq!((guests[0].name.as_str(), guests[0].small, guests[0].large), ("it", Some(1), 1));
    }
}
