//! The command line as a user meets it: help, totals, exit statuses, errors.

mod descriptors;
mod detaching;
mod limits;
mod messages;
mod packaging;
mod records;
mod results;
mod slices;
mod starting;
mod timeline;
mod together;
mod watching;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use suites::run::{Job, Outcome, Scratch, run};
use suites::superpin::{command, parse_total};
use suites::switches;

fn superpin(arguments: &[&str]) -> Outcome {
    run(&arguments.iter().fold(Job::new(command()), Job::with)).unwrap()
}

/// How a shell script starts superpin, whose path is the script's name.
fn in_script() -> String {
    format!("exec \"$0\" {}", switches::options().join(" "))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs and expects a failure of superpin's own whose message contains all of `words`, and no total.
fn fails(arguments: &[&str], statuses: &[i32], words: &[&str]) {
    let outcome = superpin(arguments);
    let told = text(&outcome.stderr);
    assert!(statuses.contains(&outcome.status), "{arguments:?} ended with status {}: {told}", outcome.status);
    for word in words {
        assert!(told.to_lowercase().contains(&word.to_lowercase()), "{arguments:?}: no {word:?} in: {told}");
    }
    assert_eq!(parse_total(&told), None);
}

/// Copies a file in another process: a descriptor of ours would be inherited by what other threads start at that moment, and as long as they
/// hold it the file can't be executed.
fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").args([from, to]).status().unwrap().success());
}

fn executable(path: &Path, contents: &[u8]) -> String {
    let mut written = path.as_os_str().to_owned();
    written.push(".contents");
    let written = Path::new(&written);
    fs::write(written, contents).unwrap();
    copy(written, path);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The head of an executable ELF file of another machine.
fn elf_header(class: u8, machine: u16) -> Vec<u8> {
    let mut header = vec![0; 4096];
    header[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, 1, 1]);
    header[16..18].copy_from_slice(&2u16.to_le_bytes());
    header[18..20].copy_from_slice(&machine.to_le_bytes());
    header[20] = 1;
    header
}

#[test]
fn help_teaches_every_option() {
    let outcome = superpin(&["--help"]);
    let help = text(&outcome.stdout);
    assert_eq!(outcome.status, 0);
    for option in ["-sp ", "-spmsec", "-spmp", "-spsysrecs", "-t ", "-aslr", "-report"] {
        assert!(help.contains(option), "{option} isn't in {help}");
    }
}

#[test]
fn tools_are_listed() {
    let outcome = superpin(&["-t", "help"]);
    let list = text(&outcome.stdout);
    assert_eq!(outcome.status, 0);
    assert!(list.contains("icount1") && list.contains("icount2") && list.contains("none"), "{list}");
}

#[test]
fn a_run_with_no_tool_is_the_apps_alone() {
    for mode in [&["-sp", "0"][..], &["-sp", "1", "-spsysrecs", "2"]] {
        let app = ["-t", "none", "--", "/bin/sh", "-c", "echo out; echo err >&2; exit 9"];
        let outcome = superpin(&[mode, &app].concat());
        let left = (outcome.status, text(&outcome.stdout), text(&outcome.stderr));
        assert_eq!(left, (9, "out\n".to_owned(), "err\n".to_owned()), "{mode:?}");
    }
}

#[test]
fn the_total_follows_the_apps_own_errors() {
    for sliced in ["0", "1"] {
        let outcome =
            superpin(&["-sp", sliced, "-t", "icount2", "--", "/bin/sh", "-c", "echo out; echo err >&2; exit 9"]);
        let told = text(&outcome.stderr);
        assert_eq!((outcome.status, text(&outcome.stdout).as_str()), (9, "out\n"));
        assert!(told.starts_with("err\nTotal Count: ") && told.ends_with('\n') && told.lines().count() == 3, "{told}");
    }
}

#[test]
fn the_total_goes_to_a_file_on_request() {
    let scratch = Scratch::new().unwrap();
    let file = scratch.beside("total");
    let outcome = superpin(&["-t", "icount1", "-o", file.to_str().unwrap(), "--", "/bin/true"]);
    assert_eq!((outcome.status, text(&outcome.stderr).as_str()), (0, ""));
    assert!(parse_total(&fs::read_to_string(file).unwrap()).is_some_and(|n| n > 1000));
}

#[test]
fn an_end_by_a_signal_is_reported_as_a_shell_does() {
    for sliced in ["0", "1"] {
        let outcome = superpin(&["-sp", sliced, "-t", "icount2", "--", "/bin/sh", "-c", "kill -USR1 $$"]);
        assert_eq!(outcome.status, 128 + libc::SIGUSR1);
        assert!(parse_total(&text(&outcome.stderr)).is_some());
    }
}
