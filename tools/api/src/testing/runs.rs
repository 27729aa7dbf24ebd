//! What an author asks for.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::run::{Job, Seen};

/// How all others are to be.
const SERIAL: &str = "-sp 0";

/// Milliseconds of slices, unless an author says how many: short programs have several of the first, and long ones get to the last.
const LENGTHS: [u64; 3] = [2, 20, 200];

/// Runs of a tool over programs of the author's choice, which must all come to the same.
///
/// ```no_run
/// use superpin_tool::testing::Runs;
///
/// # const IMAGE: &str = "";
/// // In a test of the tool's crate: env!("CARGO_BIN_EXE_my-tool")
/// let results = Runs::of(IMAGE).over(["ls", "-ln", "src"]).over(["gzip", "-c", "Cargo.lock"]).agree();
/// assert!(results[0].starts_with("Total Count: "));
/// ```
///
/// A program must do the same each time that it runs: no clocks, process numbers or random numbers, no files that change meanwhile. It gets the environment of `-env clean`, and
/// the current folder of the test, which is that of the tool's crate.
#[derive(Clone, Debug)]
pub struct Runs {
    image: PathBuf,
    tool: OsString,
    options: Vec<OsString>,
    programs: Vec<Vec<OsString>>,
    stdin: Option<PathBuf>,
    lengths: Vec<u64>,
    is_checked: bool,
    limit: Duration,
}

impl Runs {
    /// Of the tool in this image, which has no other one: see [`Self::tool`].
    pub fn of(image: impl AsRef<Path>) -> Self {
        let image = std::path::absolute(image.as_ref()).unwrap_or_else(|_| image.as_ref().to_owned());
        Self {
            tool: image.clone().into_os_string(),
            image,
            options: Vec::new(),
            programs: Vec::new(),
            stdin: None,
            lengths: LENGTHS.to_vec(),
            is_checked: true,
            limit: Duration::from_secs(300),
        }
    }

    /// Which tool of an image that has several.
    pub fn tool(self, name: impl AsRef<OsStr>) -> Self {
        Self { tool: name.as_ref().to_owned(), ..self }
    }

    /// Options of the tool's own, in all runs.
    pub fn options<S: AsRef<OsStr>>(self, options: impl IntoIterator<Item = S>) -> Self {
        Self { options: options.into_iter().map(|option| option.as_ref().to_owned()).collect(), ..self }
    }

    /// Also over this program with its arguments.
    pub fn over<S: AsRef<OsStr>>(mut self, program: impl IntoIterator<Item = S>) -> Self {
        self.programs.push(program.into_iter().map(|word| word.as_ref().to_owned()).collect());
        self
    }

    /// This file is the programs' standard input, which is empty otherwise.
    pub fn stdin(self, file: impl AsRef<Path>) -> Self {
        Self { stdin: Some(file.as_ref().to_owned()), ..self }
    }

    /// Slices are of these lengths, in milliseconds of the program's CPU time, instead of 2, 20 and 200.
    pub fn slices_of(self, milliseconds: impl IntoIterator<Item = u64>) -> Self {
        Self { lengths: milliseconds.into_iter().collect(), ..self }
    }

    /// Whether the tool is checked, too (`-check-tool 1`), which takes ten to a hundred times as long as an ordinary run. It is, unless this says no.
    pub fn checked(self, is_checked: bool) -> Self {
        Self { is_checked, ..self }
    }

    /// The time for each run, five minutes unless this says how much.
    pub fn limit(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// Runs the tool over each program: serially, twice; in slices of each length; in slices that end at every tenth system call; and checked, serially and in slices. Returns what the tool
    /// printed of each, its last line being what the result is worth (`Result: exact`).
    ///
    /// # Panics
    /// If two runs differ, in the tool's result or in what the program prints and ends with, or if one has no result: with both, and the command that shows it.
    #[track_caller]
    pub fn agree(&self) -> Vec<String> {
        assert!(!self.programs.is_empty(), "no program: name one with Runs::over");
        let agreed: Result<Vec<String>, String> = self.programs.iter().map(|app| self.agree_over(app)).collect();
        agreed.unwrap_or_else(|why| panic!("{why}"))
    }

    fn ways(&self) -> Vec<String> {
        let mut ways: Vec<String> = self.lengths.iter().map(|ms| format!("-sp 1 -spmsec {ms} -spverify 1")).collect();
        ways.push("-sp 1 -spsysrecs 10".into());
        if self.is_checked {
            ways.extend(["-check-tool 1 -sp 0", "-check-tool 1 -sp 1 -spmsec 20"].map(String::from));
        }
        ways
    }

    fn agree_over(&self, app: &[OsString]) -> Result<String, String> {
        let stdin = self.stdin.as_deref();
        let Self { image, tool, options, limit, .. } = self;
        let job = Job { image, tool, options, app, stdin, limit: *limit };
        let run = |way: &str| job.run(way).map_err(|why| format!("{}\n{why}", job.command(way)));
        let serial = run(SERIAL)?;
        if let Some(difference) = differs(&serial, &run(SERIAL)?, [SERIAL, SERIAL]) {
            return Err(format!(
                "{}\nTwo serial runs differ, so this program can't be compared with itself: take one that does the same each time (no clocks, process numbers, random numbers), \
                 if it isn't the tool that looks at such things.\n{difference}",
                job.command(SERIAL)
            ));
        }
        for way in self.ways() {
            if let Some(difference) = differs(&serial, &run(&way)?, [SERIAL, &way]) {
                return Err(format!("{}\nIt isn't what a serial run comes to.\n{difference}", job.command(&way)));
            }
        }
        Ok(serial.result)
    }
}

/// In what a run differs from the first.
fn differs(first: &Seen, second: &Seen, ways: [&str; 2]) -> Option<String> {
    let width = ways[0].len().max(ways[1].len());
    let both = |what: String, one: String, other: String| {
        let line = |way: &str, text: String| format!("  {way:width$}  {text}");
        Some(format!("{what}:\n{}\n{}", line(ways[0], one), line(ways[1], other)))
    };
    if first.status != second.status {
        return both("The program's exit status".into(), first.status.to_string(), second.status.to_string());
    }
    if first.output != second.output {
        let at = first.output.iter().zip(&second.output).take_while(|(one, other)| one == other).count();
        let len = |seen: &Seen| format!("{} bytes", seen.output.len());
        return both(format!("What the program prints, from byte {at} on"), len(first), len(second));
    }
    if first.result == second.result {
        return None;
    }
    let (one, other): (Vec<&str>, Vec<&str>) = (first.result.lines().collect(), second.result.lines().collect());
    let lines = 0..one.len().max(other.len());
    let mut unlike = lines.filter(|n| one.get(*n) != other.get(*n));
    let line = unlike.next().unwrap_or(0);
    let more = unlike.count();
    let text = |all: &[&str]| all.get(line).map_or("(nothing)".to_owned(), |line| (*line).to_owned());
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    both(format!("The tool's result, line {}{more}", line + 1), text(&one), text(&other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_told_where_they_are() {
        let seen = |status, output: &str, result: &str| Seen { status, output: output.into(), result: result.into() };
        let ways = ["-sp 0", "-sp 1 -spmsec 2"];
        let first = seen(0, "app", "a 1\nb 2\nc 3\n");
        let told = |second| differs(&first, &second, ways);
        assert_eq!(told(seen(0, "app", "a 1\nb 2\nc 3\n")), None);
        let lines = "The tool's result, line 2, and 1 more:\n  -sp 0            b 2\n  -sp 1 -spmsec 2  b 3";
        assert_eq!(told(seen(0, "app", "a 1\nb 3\n")).unwrap(), lines);
        assert!(told(seen(1, "app", "")).unwrap().starts_with("The program's exit status:\n"));
        assert!(told(seen(0, "apple", "")).unwrap().starts_with("What the program prints, from byte 3 on:\n"));
    }
}
