//! An app that becomes another program: what each has executed has its own names.

use std::fs;
use std::process::Command;

use suites::deadline::output;
use suites::run::Scratch;

const LOOP: &str = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";

/// What a tool says of a shell that executes this.
fn told(tool: &str, options: &str, script: &str) -> String {
    let folder = Scratch::new().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_superpin"));
    command.args(options.split(' ')).args(["-env", "clean", "-t"]).args(tool.split(' ')).args(["-o", "told", "--"]);
    let done = output(command.args(["/bin/sh", "-c", script]).current_dir(folder.cwd())).unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    fs::read_to_string(folder.cwd().join("told")).unwrap()
}

/// The first number of each line that ends so, added up.
fn count(told: &str, end: &str) -> u64 {
    let rows = told.lines().filter(|row| row.ends_with(end));
    rows.map(|row| row.split_whitespace().next().unwrap().parse::<u64>().unwrap()).sum()
}

#[test]
fn each_program_has_its_own_names() {
    let shell = fs::canonicalize("/bin/sh").unwrap();
    let shell = shell.file_name().unwrap().to_str().unwrap().to_owned();
    for (tool, row) in [("mix --by image", format!("  {shell}")), ("hot --top 0 --each 0", format!(" in {shell}"))] {
        let alone = count(&told(tool, "-sp 0", LOOP), &row);
        let serial = told(tool, "-sp 0", &format!("{LOOP}; exec /bin/true"));
        assert!(alone > 1_000_000 && count(&serial, &row).abs_diff(alone) < alone / 10, "{alone}: {serial}");
        assert_eq!(told(tool, "-sp 1 -spmsec 10", &format!("{LOOP}; exec /bin/true")), serial, "{tool}");
    }
}
