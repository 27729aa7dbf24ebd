//! `first-difference`, behind `scripts/first-difference.sh`: it names the function in which two runs part, and no difference where there is none.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use suites::guest;
use suites::run::{Job, Outcome, Scratch, run};
use suites::superpin::{SERIAL, count, example};

/// Goes left or right as a variable says, after a loop with calls, and does more of it then.
const APP: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile unsigned sum;
__attribute__((noinline)) static void work(unsigned rounds)
{
    for (unsigned n = 0; n < rounds; n++) {
        sum = sum * 31 + n;
        if (n % 5000 == 0)
            getppid();
    }
}
__attribute__((noinline)) static void left(void) { sum += 1; }
__attribute__((noinline)) static void right(void) { sum += 2; }
__attribute__((noinline)) static void choose(int way)
{
    if (way == 'r')
        right();
    else
        left();
    sum += 3;
}
int main(void)
{
    const char *way = getenv("WAY");
    work(250000);
    choose(way ? *way : 'l');
    work(1000);
    return 0;
}
"#;

fn app(scratch: &Scratch) -> PathBuf {
    let (source, program) = (scratch.beside("app.c"), scratch.beside("app"));
    fs::write(&source, APP).unwrap();
    let built = Command::new("gcc").args(["-O1", "-o"]).arg(&program).arg(&source).status().unwrap();
    assert!(built.success());
    program
}

fn compared(options: &[&str], app: &Job) -> (i32, String) {
    let program = env!("CARGO_BIN_EXE_first-difference");
    let job = Job::new([program, "--image"]).with(example("path"));
    let job = options.iter().chain(&["--"]).fold(job, Job::with);
    let Outcome { status, stdout, stderr, .. } = run(&app.argv.iter().fold(job, Job::with)).unwrap();
    (status, format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr)))
}

/// How many instructions the app executes, as a bundled tool counts them.
fn serial(app: &Job) -> u64 {
    count(&SERIAL, app).unwrap().total.expect("a total")
}

/// The line that follows the one with these words, which names a block.
fn block_after<'a>(told: &'a str, words: &str) -> &'a str {
    let mut lines = told.lines().skip_while(|line| !line.contains(words));
    lines.nth(1).unwrap_or_else(|| panic!("no {words:?}: {told}"))
}

#[test]
fn runs_that_part_in_a_function_are_told_so() {
    let scratch = Scratch::new().unwrap();
    let app = app(&scratch);
    let in_app = |function: &str| (format!("  {function}+0x"), format!(" in {}", app.display()));
    for [first, second] in [["-sp 1 -spmsec 5", "-sp 0"], ["-sp 1 -spsysrecs 7", "-sp 1 -spmsec 5"], ["-sp 0", "-sp 0"]]
    {
        let runs = ["--first", first, "--second", second, "--first-env", "WAY=left", "--second-env", "WAY=rite"];
        let (status, told) = compared(&runs, &Job::new([&app]));
        assert_eq!(status, 1, "{told}");
        for (words, function) in
            [("and part after this block", "choose"), ("The first run (", "choose"), ("The second run (", "choose")]
        {
            let (named, image) = in_app(function);
            let line = block_after(&told, words);
            assert!(line.contains(&named) && line.ends_with(&image), "{words}: {told}");
        }
        // Of fifty calls before it.
        assert!(!first.contains("sysrecs") || !told.contains(&format!("({first}, slice 0)")), "{told}");
        // The branch that goes both ways, with what it compares, and the two calls that follow.
        assert!(told.contains("cmp $0x72,%edi") && told.contains("  je 0x"), "{told}");
        assert_eq!(told.matches("  call 0x").count(), 2, "{told}");
    }
}

#[test]
fn registers_that_differ_are_named_before_the_paths_part() {
    let scratch = Scratch::new().unwrap();
    let runs = ["--registers", "--first-env", "WAY=left", "--second-env", "WAY=rite"];
    let (status, told) = compared(&runs, &Job::new([app(&scratch)]));
    assert_eq!(status, 1, "{told}");
    // What is in a register where the function is called that decides; nothing else that matters.
    let (before, _) = told.split_once("\n\n").unwrap_or_else(|| panic!("{told}"));
    assert!(before.starts_with("Registers differ from here on, after "), "{told}");
    assert!(block_after(&told, "Registers differ").contains("  choose+0x0 in "), "{told}");
    assert!(before.contains("   rdi  0x6c in the first run, 0x72 in the second"), "{told}");
}

#[test]
fn nothing_is_told_of_runs_that_are_the_same() {
    let scratch = Scratch::new().unwrap();
    let same = Job::new([app(&scratch)]);
    for first in ["-sp 1 -spmsec 5", "-sp 1 -spsysrecs 1", "-sp 0 -trace-blocks 1"] {
        nothing_differs(first, &same, true);
    }
}

#[test]
fn nothing_is_told_of_guests_that_run_twice() {
    let [loops, signals, faults, exact] = ["loops", "signal_raise", "fault_in_loop", "exact"].map(guest::named);
    nothing_differs("-sp 1 -spmsec 5", &loops.job(100), false);
    nothing_differs("-sp 1 -spsysrecs 0", &signals.job(5), false);
    nothing_differs("-sp 1 -spsysrecs 1", &faults.job(4), false);
    let told = nothing_differs("-sp 1 -spsysrecs 0", &exact.job(20), true);
    // The dynamic linker reads the time stamp counter; a program without libraries has no such excuse.
    assert!(told.iter().all(|told| told.starts_with("Nothing differs: ")), "{told:?}");
}

/// Compares a run with these options and a serial one, by blocks and with registers. `prints_itself`: not by libraries: what an app does to print depends on what its output is, which is
/// nowhere here. Returns what is told.
fn nothing_differs(first: &str, app: &Job, prints_itself: bool) -> [String; 2] {
    [&[][..], &["--registers"]].map(|registers| {
        let (status, told) = compared(&[&["--first", first], registers].concat(), app);
        assert!(status == 0 && told.contains("Nothing differs: "), "{first} {registers:?} {app:?}: {told}");
        if prints_itself {
            assert!(told.contains(&format!(" {} instructions in", serial(app))), "{first} {app:?}: {told}");
        }
        told
    })
}

#[test]
fn what_cannot_be_compared_is_said() {
    let (status, told) = compared(&["--first", "-no-such-option 1"], &Job::new(["/bin/true"]));
    assert!(status == 2 && told.contains("the first run: it has left no path, its status is 125"), "{told}");
}

/// A slice that fails has no result: what was before it is compared.
#[test]
fn of_a_run_that_fails_the_part_before_is_compared() {
    let (status, told) = compared(&["--first", "-sp 1 -spsysrecs 3"], &guest::named("segment_limit").job(1));
    assert!(status == 2 && told.starts_with("The first run failed; "), "{told}");
    assert!(told.contains("lsl at") && told.contains(", as far as both are known, up to this block:"), "{told}");
    assert!(told.contains("Of the first run nothing more is known.") && !told.contains("and part after"), "{told}");
}
