//! Programs that are watched, and programs that watch.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use suites::deadline::output;

/// The tools.
pub const SUPERPIN: &str = env!("CARGO_BIN_EXE_superpin");

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/apps");

/// Whether there is such a program; says so if not.
pub fn is_there(program: &str) -> bool {
    let is_there = output(Command::new(program).arg("--version")).is_ok();
    if !is_there {
        eprintln!("skipped: there is no {program}");
    }
    is_there
}

/// Compiles a program of `apps` into another folder.
pub fn compiled(source: &str, options: &[&str], folder: &Path) -> PathBuf {
    let program = folder.join(source.rsplit_once('.').map_or(source, |(name, _)| name));
    let mut command = Command::new("gcc");
    command.args(["-O1", "-g", "-no-pie", "-fcf-protection=none", "-fno-stack-protector"]).args(options);
    succeeds(command.arg("-o").arg(&program).arg(Path::new(FOLDER).join(source)));
    program
}

/// The program that does without a library.
pub fn counts(folder: &Path) -> PathBuf {
    compiled("counts.c", &["-nostdlib", "-static", "-ffreestanding"], folder)
}

/// Runs a command that is to succeed; its standard output.
pub fn succeeds(command: &mut Command) -> Vec<u8> {
    let output = output(command).unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// What a tool writes to a file in this folder of an app. `options`: superpin's and the tool's.
pub fn written(options: &str, folder: &Path, app: &[impl AsRef<OsStr>]) -> Vec<u8> {
    let file = folder.join("written");
    let mut command = Command::new(SUPERPIN);
    command.env_clear().args(options.split(' ')).arg("-o").arg(&file).arg("--").args(app);
    succeeds(&mut command);
    std::fs::read(file).expect("the tool wrote it")
}

/// It, if it is text.
pub fn text(options: &str, folder: &Path, app: &[impl AsRef<OsStr>]) -> String {
    String::from_utf8(written(options, folder, app)).expect("text")
}
