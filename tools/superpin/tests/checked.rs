//! No bundled tool is accused by `-check-tool 1`, and each prints what it prints without.

use std::ffi::OsString;

use suites::run::{Job, Outcome, run};
use suites::selection::Selection;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");

fn superpin(arguments: &str) -> Outcome {
    let command: [OsString; 1] = [env!("CARGO_BIN_EXE_superpin").into()];
    run(&Job::new(arguments.split_whitespace()).under(command)).expect("cargo built it")
}

/// The tools' names, as `-t help` lists them.
fn tools() -> Vec<String> {
    let list = String::from_utf8(superpin("-t help").stdout).expect("it is text");
    let names = list.lines().filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
    names.map(str::to_owned).collect()
}

/// In how many successive rounds each tool comes once.
const SHARES: usize = 2;

#[test]
fn no_bundled_tool_is_accused() {
    let tools = tools();
    assert!(
        ["icount2", "dcache", "allcache", "bpred"].iter().all(|name| tools.iter().any(|tool| tool == name)),
        "{tools:?}"
    );
    // Samples differ in each run, and are refused here.
    let tools = tools.into_iter().filter(|tool| tool != "shadow");
    for tool in tools.filter(|tool| Selection::asked().has(tool, 0, SHARES)) {
        let app = format!("-env clean -t {tool} -o result -- /bin/ls -n {FOLDER}");
        let ordinary = superpin(&app);
        let printed = String::from_utf8_lossy(&ordinary.stderr);
        assert!(ordinary.status == 0 && ordinary.files.len() == 1, "{tool}: {printed}");
        for mode in ["-sp 0", "-sp 1 -spmsec 5 -spsysrecs 20"] {
            let checked = superpin(&format!("-check-tool 1 {mode} {app}"));
            // It tells process numbers and random numbers, which are others in each run.
            let is_same = if tool == "strace" { checked.status == 0 } else { checked == ordinary };
            assert!(is_same, "{tool} {mode}: {}", String::from_utf8_lossy(&checked.stderr));
        }
    }
}
