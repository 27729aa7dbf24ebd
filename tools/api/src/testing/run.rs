//! One run of a tool's image.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> std::io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("superpin-testing-{}-{number}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left of it does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What is run.
#[derive(Debug)]
pub struct Job<'a> {
    /// The tool's image.
    pub image: &'a Path,
    /// The tool, by its name or as the only one of its image.
    pub tool: &'a OsStr,
    /// The tool's options.
    pub options: &'a [OsString],
    /// The app, with its arguments.
    pub app: &'a [OsString],
    /// The file that is its standard input.
    pub stdin: Option<&'a Path>,
    /// After so long it is killed.
    pub limit: Duration,
}

/// What came of it.
#[derive(Debug, PartialEq, Eq)]
pub struct Seen {
    /// The app's exit status, as a shell tells it.
    pub status: i32,
    /// Its standard output.
    pub output: Vec<u8>,
    /// What the tool printed.
    pub result: String,
}

impl Job<'_> {
    fn arguments(&self, way: &str, result: &OsStr) -> Vec<OsString> {
        let fixed = ["-env", "clean", "-hints", "0", "-t"].map(OsString::from);
        let words = way.split_whitespace().map(OsString::from).chain(fixed).chain([self.tool.into()]);
        let words = words.chain(["-o".into(), result.into()]).chain(self.options.iter().cloned());
        words.chain(["--".into()]).chain(self.app.iter().cloned()).collect()
    }

    /// The command for a shell by which a person sees the same.
    pub fn command(&self, way: &str) -> String {
        let quote = |word: &OsStr| {
            let word = word.to_string_lossy();
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,%+".contains(c);
            if !word.is_empty() && word.chars().all(is_plain) {
                word.into_owned()
            } else {
                format!("'{}'", word.replace('\'', r"'\''"))
            }
        };
        let from = self.stdin.map_or(String::new(), |file| format!(" < {}", quote(file.as_os_str())));
        let words = [self.image.as_os_str().to_owned()].into_iter().chain(self.arguments(way, OsStr::new("-")));
        let words: Vec<String> = words.map(|word| quote(&word)).collect();
        format!("{}{from}", words.join(" ").replace(" -o -", ""))
    }

    /// Runs it with these options of superpin's.
    ///
    /// # Errors
    /// Why there is no result, for the author.
    pub fn run(&self, way: &str) -> Result<Seen, String> {
        let failed = |what: &str, error: std::io::Error| format!("{what}: {error}");
        let folder = Folder::new().map_err(|error| failed("a folder for results", error))?;
        let [result, output, errors] = ["result", "output", "errors"].map(|name| folder.0.join(name));
        let create = |path: &Path| File::create(path).map_err(|error| failed("a file for output", error));
        let stdin = match self.stdin {
            None => Stdio::null(),
            Some(path) => File::open(path).map_err(|error| failed(&path.display().to_string(), error))?.into(),
        };
        let mut command = Command::new(self.image);
        command.args(self.arguments(way, result.as_os_str()));
        command.stdin(stdin).stdout(create(&output)?).stderr(create(&errors)?);
        let mut child = command.spawn().map_err(|error| failed(&self.image.display().to_string(), error))?;
        let end = Instant::now() + self.limit;
        let status = loop {
            match child.try_wait().map_err(|error| failed("waiting for it", error))? {
                Some(status) => break status,
                None if Instant::now() > end => {
                    let _ = child.kill();
                    let _ = child.wait();
                    let seconds = self.limit.as_secs();
                    return Err(format!(
                        "it hasn't ended after {seconds} s: a shorter program, or more time (Runs::limit)"
                    ));
                }
                None => thread::sleep(Duration::from_millis(5)),
            }
        };
        let read = |path: &Path| fs::read(path).unwrap_or_default();
        let text = |path: &Path| String::from_utf8_lossy(&read(path)).into_owned();
        if !result.exists() {
            return Err(format!("there is no result (status {}):\n{}", code(status), text(&errors).trim_end()));
        }
        Ok(Seen { status: code(status), output: read(&output), result: text(&result) })
    }
}

fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(-1)
}
