//! A process for each test: signals, the bubble and fixed addresses have one owner at a time, and more than one processor is to have work.

use std::env;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// In the environment of such a process.
const VARIABLE: &str = "SUPERPIN_TEST_ALONE";

/// Whether this process has one test at a time.
static IS_ALONE: AtomicBool = AtomicBool::new(false);

/// Runs the calling test in a process of its own, in which this returns false. True: it has passed there, and is over.
///
/// # Panics
///
/// If it has failed there.
pub fn has_passed_alone() -> bool {
    // The harness names its threads after the tests, unless there is only the main one.
    let thread = thread::current();
    let name = thread.name().filter(|name| *name != "main" && env::var_os(VARIABLE).is_none());
    let Some(name) = name else {
        IS_ALONE.store(true, Ordering::Relaxed);
        return false;
    };
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture", "--test-threads=1"]).env(VARIABLE, "1");
    let output = command.output().unwrap();
    eprint!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{name} in a process of its own: {}", output.status);
    true
}

/// # Panics
///
/// If the calling test hasn't asked for a process of its own.
pub fn must_be() {
    assert!(IS_ALONE.load(Ordering::Relaxed), "the test is to begin with `has_passed_alone`");
}
