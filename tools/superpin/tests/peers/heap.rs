//! `heap` against valgrind's memcheck, which replaces what allocates.

use std::process::Command;

use suites::deadline::output;
use suites::run::Scratch;

use super::programs::{compiled, is_there, text};

/// All numbers of a text, in their order.
fn numbers(text: &str) -> Vec<u64> {
    let words = text.replace(',', "");
    words.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn memcheck_counts_the_same_blocks() {
    let folder = Scratch::new().unwrap();
    let app = [compiled("heaps.c", &[], &folder.cwd())];
    let found = text("-sp 1 -spmsec 2 -t heap --top 0", &folder.cwd(), &app);
    let lines: Vec<&str> = found.lines().take(5).collect();
    let (allocated, freed, unknown, left) =
        (numbers(lines[0]), numbers(lines[1]), numbers(lines[2]), numbers(lines[4]));
    assert_eq!(unknown, [0], "{found}");
    // The loop's blocks that are left have two callers that are known by name, of the one line and the other.
    let callers: Vec<&str> = found.lines().skip_while(|line| !line.contains(" 320 ")).take(3).collect();
    assert!(callers[0].contains("inner+") && callers[1].contains("outer+") && callers[2].contains("main+"), "{found}");

    if !is_there("valgrind") {
        return;
    }
    let mut memcheck = Command::new("valgrind");
    let output = output(memcheck.env_clear().arg("--run-libc-freeres=no").args(app)).unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    let line = |what: &str| {
        let (_, line) = told.lines().find_map(|line| line.split_once(what)).unwrap_or_else(|| panic!("{told}"));
        numbers(line)
    };
    assert_eq!(line("in use at exit:"), left);
    assert_eq!(line("total heap usage:"), [allocated[1], freed[0], allocated[0]]);
}
