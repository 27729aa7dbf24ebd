//! `superpin read`: a binary trace as text is what the tool writes as text; what isn't such a trace is refused.

use std::path::Path;
use std::process::Command;

use suites::deadline::output;
use suites::run::Scratch;

const SUPERPIN: &str = env!("CARGO_BIN_EXE_superpin");

/// What a run of superpin's in this folder has printed: status, standard output and error.
fn superpin(words: &str, folder: &Path) -> (Option<i32>, Vec<u8>, String) {
    let mut command = Command::new(SUPERPIN);
    command.env_clear().args(words.split(' ')).current_dir(folder);
    let output = output(&mut command).expect("cargo built it");
    (output.status.code(), output.stdout, String::from_utf8_lossy(&output.stderr).into_owned())
}

fn succeeds(words: &str, folder: &Path) -> Vec<u8> {
    let (status, stdout, stderr) = superpin(words, folder);
    assert_eq!(status, Some(0), "{words}: {stderr}");
    stdout
}

#[test]
fn a_binary_trace_reads_as_the_text_would() {
    let folder = Scratch::new().unwrap();
    let folder = folder.cwd();
    for tool in ["itrace", "memtrace", "memtrace --repeat each"] {
        for mode in ["-sp 0", "-sp 1 -spsysrecs 3"] {
            succeeds(&format!("{mode} -t {tool} -o text -- /bin/echo word"), &folder);
            succeeds(&format!("{mode} -t {tool} --binary -o binary -- /bin/echo word"), &folder);
            succeeds(&format!("{mode} -t {tool} --binary -z -o packed -- /bin/echo word"), &folder);
            let text = std::fs::read(folder.join("text")).unwrap();
            assert!(text.len() > 100_000, "{tool}");
            for file in ["binary", "packed"] {
                assert!(succeeds(&format!("read {file}"), &folder) == text, "{tool}, {mode}: {file}");
            }
        }
    }
}

#[test]
fn what_is_no_whole_trace_is_refused() {
    let folder = Scratch::new().unwrap();
    let folder = folder.cwd();
    succeeds("-t memtrace --binary -o whole -- /bin/true", &folder);
    let whole = std::fs::read(folder.join("whole")).unwrap();
    std::fs::write(folder.join("cut"), &whole[..whole.len() - 8]).unwrap();
    std::fs::write(folder.join("text"), "These are words, and of no trace.\n").unwrap();
    std::fs::write(folder.join("empty"), "").unwrap();
    for file in ["cut", "text", "empty"] {
        let (status, stdout, stderr) = superpin(&format!("read {file}"), &folder);
        assert_eq!((status, stdout.len()), (Some(125), 0), "{file}: {stderr}");
        assert!(stderr.starts_with(&format!("superpin: read: {file}: ")) && stderr.contains("--binary"), "{stderr}");
    }
    succeeds("-t memtrace --binary -z -o whole -- /bin/true", &folder);
    let whole = std::fs::read(folder.join("whole")).unwrap();
    for len in [5, 100, whole.len() / 2, whole.len() - 1] {
        std::fs::write(folder.join("cut"), &whole[..len]).unwrap();
        let (status, _, stderr) = superpin("read cut", &folder);
        assert_eq!(status, Some(125), "{len}: {stderr}");
        assert!(stderr.starts_with("superpin: read: cut: this isn't a whole trace"), "{len}: {stderr}");
    }
    for (words, told) in [("read none", "none: No such file"), ("read", "usage:"), ("read a b", "usage:")] {
        let (status, _, stderr) = superpin(words, &folder);
        assert!(status == Some(125) && stderr.contains(told), "{words}: {stderr}");
    }
}
