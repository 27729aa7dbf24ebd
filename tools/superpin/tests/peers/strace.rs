//! The tool `strace` sees the calls that strace(1) sees, with the same results.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use suites::deadline::output;
use suites::run::Scratch;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/guests");

/// Runs a command in an empty environment; what it writes to `log`.
fn log(program: impl AsRef<OsStr>, args: &[&str], log: &Path, app: &[&str]) -> String {
    let mut command = Command::new(program);
    command.env_clear().args(args).arg("-o").arg(log).arg("--").args(app);
    let output = output(&mut command).expect("the tests need strace(1)");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    std::fs::read_to_string(log).expect("it was written")
}

/// Names and results, but of those calls that are about the layout of memory: that isn't the same, nor are numbers of processes; and that
/// read the clock, which a program does without a call where it isn't under superpin. Both programs print addresses and flags in
/// hexadecimal, strace(1) with explanations behind.
fn calls(log: &str) -> Vec<(&str, String)> {
    const OTHERWISE: [&str; 8] =
        ["execve", "rseq", "mmap", "munmap", "brk", "mremap", "set_tid_address", "clock_gettime"];
    let call = |line: &'_ str| -> Option<(usize, String)> {
        let (name, _) = line.split_once('(')?;
        let (_, result) =
            line.rsplit_once(") ")?.1.trim_start().split_once("= ").or_else(|| line.rsplit_once(") = "))?;
        let mut words = result.split(' ');
        let number = words.next()?;
        let number = number
            .strip_prefix("0x")
            .and_then(|hex| i64::from_str_radix(hex, 16).ok())
            .map_or_else(|| number.to_owned(), |n| n.to_string());
        let error = words.next().filter(|word| number == "-1" && word.starts_with('E')).unwrap_or("");
        Some((name.len(), format!("{number} {error}")))
    };
    let calls = log.lines().filter_map(|line| call(line).map(|(len, result)| (&line[..len], result)));
    calls.filter(|(name, _)| !OTHERWISE.contains(name)).collect()
}

#[test]
fn calls_and_results_are_those_that_strace_sees() {
    let folder = Scratch::new().unwrap();
    let [theirs, ours] = ["theirs", "ours"].map(|name| folder.beside(name));
    for app in [&["/bin/ls", "-nR", FOLDER][..], &["/bin/gzip", "-c", "/bin/ls"][..]] {
        let theirs = log("strace", &[], &theirs, app);
        let theirs = calls(&theirs);
        assert!(theirs.len() > 30, "{theirs:?}");
        for options in ["-sp 0 -t strace", "-sp 1 -spmsec 5 -t strace", "-sp 1 -spsysrecs 0 -t strace"] {
            let options: Vec<&str> = options.split(' ').collect();
            let ours = log(env!("CARGO_BIN_EXE_superpin"), &options, &ours, app);
            let ours = calls(&ours);
            let differ = theirs.iter().zip(&ours).find(|(one, other)| one != other);
            assert!(theirs == ours, "{app:?} {options:?}: {differ:?} of {} and {}", theirs.len(), ours.len());
        }
    }
}
