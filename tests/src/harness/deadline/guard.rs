//! An end for what a test waits for, also where the test itself is killed: nobody would wait any more, and some programs never end by themselves.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Reads who is guarded and who isn't any more; at the end of its input, which is the end of the test's process, it kills those that are left, and their groups. It has a group
/// of its own: what ends the test's doesn't end it.
const GUARD: &str = r#"
trap '' HUP INT TERM
guarded=' '
while read -r what process; do
    case $what in
    begin) guarded="$guarded$process " ;;
    end) guarded="${guarded%% $process *} ${guarded#* $process }" ;;
    esac
done
for process in $guarded; do kill -9 "-$process"; kill -9 "$process"; done 2>/dev/null
"#;

/// How the guard of this process is told. It is started when there is someone to guard.
static TOLD: Mutex<Option<ChildStdin>> = Mutex::new(None);

/// A process that ends with this one, as its group does.
pub struct Guarded(u32);

impl Guarded {
    /// Begins to guard a child, which isn't reaped before this is dropped.
    pub fn new(pid: u32) -> Self {
        tell("begin", pid);
        Self(pid)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        tell("end", self.0);
    }
}

/// Where no guard can be started a test goes on without.
fn tell(what: &str, pid: u32) {
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if told.is_none() {
        let mut guard = Command::new("/bin/sh");
        guard.args(["-c", GUARD]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        *told = guard.process_group(0).current_dir("/").spawn().ok().and_then(|mut guard| guard.stdin.take());
    }
    if let Some(told) = &mut *told {
        let _ = told.write_all(format!("{what} {pid}\n").as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    use super::*;
    use crate::deadline::processes::{describe, family};
    use crate::deadline::{wait_for, wait_until};

    /// Says to the test below that it is to wait for a program that never ends.
    const WAITS: &str = "SUPERPIN_TEST_WAITS";

    #[test]
    fn what_a_killed_test_waits_for_ends() {
        if std::env::var_os(WAITS).is_some() {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", "read go; sleep 1000 & sleep 1000 & wait"]).process_group(0).stdin(Stdio::piped());
            let mut shell = shell.spawn().unwrap();
            // The sleeps are there once it is guarded, not before: the test below kills this one as soon as it sees them.
            let _guarded = Guarded::new(shell.id());
            shell.stdin.take().unwrap().write_all(b"go\n").unwrap();
            wait_for(&mut shell).unwrap();
            return;
        }
        let name = "harness::deadline::guard::tests::what_a_killed_test_waits_for_ends";
        let mut test = Command::new(std::env::current_exe().unwrap());
        let test = test.args([name, "--exact"]).env(WAITS, "1").stdout(Stdio::null()).stderr(Stdio::null());
        let mut test = test.process_group(0).spawn().unwrap();
        let all = RefCell::new(BTreeSet::new());
        let sleeps = || describe(&all.borrow()).matches("`sleep 1000 `").count();
        let is_there = || {
            all.replace(family(test.id()));
            sleeps() == 2
        };
        wait_until(|| "two sleeps".to_owned(), is_there);
        test.kill().unwrap();
        test.wait().unwrap();
        wait_until(|| "the ends of two sleeps".to_owned(), || sleeps() == 0);
    }

    #[test]
    fn who_is_not_guarded_any_more_is_left_alone() {
        let mut guard = Command::new("/bin/sh");
        guard.args(["-c", &format!("kill() {{ echo \"$*\"; }}\n{GUARD}")]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut guard = guard.spawn().unwrap();
        let told = b"begin 11\nbegin 12\nbegin 13\nend 12\nbegin 11\nend 11\nbegin 1\nend 1\n";
        guard.stdin.take().unwrap().write_all(told).unwrap();
        let killed = String::from_utf8(guard.wait_with_output().unwrap().stdout).unwrap();
        let mut killed: Vec<&str> = killed.lines().collect();
        killed.sort_unstable();
        assert_eq!(killed, ["-9 -11", "-9 -13", "-9 11", "-9 13"]);
    }
}
