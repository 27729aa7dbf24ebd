//! Each tool's `--help` ends with examples, which do what they say.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use suites::deadline::output;
use suites::run::Scratch;

/// What makes an app of its own.
const SOURCE: &str =
    "#include <stdio.h>\nint main(void) { for (int i = 0; i < 1000; i++) printf(\"%d \", i * i); return 0; }\n";

/// Words in capitals stand for something that the user knows.
fn has_placeholder(command: &str) -> bool {
    let is_one = |word: &str| word.len() > 2 && word.chars().all(|c| c.is_ascii_uppercase());
    command.split([' ', ':']).any(is_one)
}

/// The commands of superpin in the examples of a tool's help, without those of other programs that follow.
fn examples(help: &str) -> Vec<String> {
    let behind = help.rsplit("--help").next().unwrap_or_default();
    let of = |line: &str| {
        let command = &line[line.find("superpin -")?..];
        Some(command.split(';').next()?.trim().to_owned())
    };
    behind.lines().filter_map(of).collect()
}

#[test]
fn examples_of_help_work() {
    let scratch = Scratch::new().unwrap();
    let folder = scratch.cwd();
    symlink(env!("CARGO_BIN_EXE_superpin"), folder.join("superpin")).unwrap();
    fs::write(folder.join("app.c"), SOURCE).unwrap();
    fs::write(folder.join("file"), [b'x'; 10_000]).unwrap();
    let run = |script: &str| {
        let script = format!("PATH=.:$PATH; {script}");
        output(Command::new("bash").args(["-ec", &script]).current_dir(&folder)).unwrap()
    };
    assert!(run("gcc -g -o app app.c").status.success());
    let list = String::from_utf8(run("superpin -t help").stdout).unwrap();
    let tools: Vec<&str> = list.lines().filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next()).collect();
    assert!(tools.len() > 20, "{list}");
    for tool in tools {
        let help = String::from_utf8(run(&format!("superpin -t {tool} --help")).stdout).unwrap();
        let examples = examples(&help);
        assert!(!examples.is_empty(), "{tool}: {help}");
        assert!(examples.iter().any(|example| example.contains(&format!("-t {tool} "))), "{tool}: {examples:?}");
        for example in examples.iter().filter(|example| !has_placeholder(example)) {
            let done = run(example);
            let said = String::from_utf8_lossy(&done.stderr);
            assert_eq!(done.status.code(), Some(0), "{tool}: {example}: {said}");
        }
    }
}
