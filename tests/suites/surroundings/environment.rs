//! The app's environment, and what superpin says on a terminal.

use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use suites::superpin::{binary, parse_total};
use suites::switches;

/// `superpin OPTIONS -- ls /` as started from that folder, with those variables, under that name.
fn started(options: &[&str], folder: &str, variables: &[(&str, &str)], name: &str) -> u64 {
    let mut command = Command::new(binary());
    command.arg0(name).args(switches::options()).args(options).args(["-t", "icount2", "--", "ls", "-d", "/"]);
    let outcome = command.current_dir(folder).envs(variables.iter().copied()).output().unwrap();
    let told = String::from_utf8_lossy(&outcome.stderr);
    assert_eq!(String::from_utf8_lossy(&outcome.stdout), "/\n");
    parse_total(&told).unwrap_or_else(|| panic!("{told}"))
}

const HERE: [(&str, &str); 2] = [("_", "/usr/bin/superpin"), ("LC_ALL", "C")];
const THERE: [(&str, &str); 4] = [
    ("_", "/a/longer/path/than/the/other/to/superpin"),
    ("PWD", "/somewhere/else"),
    ("LANGUAGE", "eo:de:en"),
    ("QUOTING_STYLE", "shell"),
];

#[test]
fn with_a_clean_environment_totals_are_the_same_in_every_shell() {
    for mode in ["0", "1"] {
        let options = ["-sp", mode, "-env", "clean"];
        let one = started(&options, "/", &HERE, "superpin");
        let other = started(&options, "/tmp", &THERE, "/opt/superpin/bin/superpin");
        assert_eq!(one, other, "-sp {mode}");
    }
    // And the environments do differ in what an app does with them.
    let inherited = |folder, variables| started(&["-env", "inherit"], folder, variables, "superpin");
    assert_ne!(inherited("/", &HERE), inherited("/tmp", &THERE));
}

#[test]
fn a_clean_environment_is_what_the_documentation_says() {
    let mut command = Command::new(binary());
    command.args(switches::options()).args(["-env", "clean", "-t", "none", "--", "env"]);
    let outcome = command.env("SECRET", "1").output().unwrap();
    let found = String::from_utf8(outcome.stdout).unwrap();
    let documented = include_str!("../../../docs/options.md");
    assert!(!found.contains("SECRET") && !found.contains("\n_="), "{found}");
    assert_eq!(found.lines().count(), 5, "{found}");
    for line in found.lines() {
        assert!(documented.contains(&format!("`{line}`")), "docs/options.md doesn't say `{line}`");
    }
}

/// What superpin writes to a terminal as its standard error.
fn on_a_terminal(options: &[&str], app: &[&str]) -> String {
    let (mut ours, mut theirs) = (-1, -1);
    // SAFETY: openpty fills in two descriptors; the other pointers may be null.
    let made =
        unsafe { libc::openpty(&mut ours, &mut theirs, std::ptr::null_mut(), std::ptr::null(), std::ptr::null()) };
    assert_eq!(made, 0, "no pseudo-terminal");
    // SAFETY: the two were just opened, and nobody else owns them.
    let (ours, theirs) = unsafe { (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
    let mut command = Command::new(binary());
    command.args(switches::options()).args(options).args(["-t", "icount2", "--"]).args(app);
    let mut child = command.stdout(Stdio::null()).stderr(theirs).spawn().unwrap();
    drop(command); // it has the terminal's other end open
    let mut told = Vec::new();
    // The kernel ends it by an error, when nobody has the other end open any more.
    let _ = (&ours).read_to_end(&mut told);
    assert!(child.wait().unwrap().success());
    String::from_utf8_lossy(&told).into_owned()
}

/// A second of CPU time, however fast the processor is.
const LONG: [&str; 3] = ["python3", "-c", "import time\nwhile time.process_time() < 1.2: pass"];

#[test]
fn a_long_serial_run_says_on_a_terminal_how_to_have_it_in_parallel() {
    let told = on_a_terminal(&[], &LONG);
    assert!(parse_total(&told).is_some() && told.matches("`-sp 1`").count() == 1, "{told}");
}

#[test]
fn hints_are_given_only_where_they_help() {
    for (options, app) in [(&["-hints", "0"][..], &LONG[..]), (&[], &["true"])] {
        let told = on_a_terminal(options, app);
        assert!(parse_total(&told).is_some() && !told.contains("-sp 1"), "{told}");
    }
    let mut command = Command::new(binary());
    command.args(switches::options()).args(["-t", "icount2", "--"]).args(LONG);
    let told = String::from_utf8(command.output().unwrap().stderr).unwrap();
    assert!(parse_total(&told).is_some() && told.lines().count() == 2, "{told}");
}
