//! `-check-tool 1`: it catches tools that are wrong, and says where; and it accuses none that is right.

use std::ffi::OsString;

use suites::run::{Job, Outcome};
use suites::selection::Selection;
use suites::superpin::built_example;

/// Serially, and in slices that end here and there.
const MODES: [&str; 2] = ["-sp 0", "-sp 1 -spmsec 5 -spsysrecs 20"];

/// Files that nobody changes meanwhile.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/guests/plain");

fn run(options: &str, tool: &str, app: &[&str]) -> Outcome {
    let options = options.split(' ').chain(["-env", "clean", "-t"]).chain(tool.split(' '));
    let options = options.chain(["--"]).chain(app.iter().copied());
    let command: [OsString; 1] = [built_example("trials").into()];
    suites::run::run(&Job::new(options).under(command)).expect("cargo built the example")
}

fn told(outcome: &Outcome) -> String {
    String::from_utf8_lossy(&outcome.stderr).into_owned()
}

/// A tool that is wrong, and what is said of it: all of these words. (The app lies at the same addresses in each run. Which slice notices it first is up to chance: so is the library.)
fn is_caught(tool: &str, words: &[&str]) {
    let app = ["/bin/echo", "hi"];
    for mode in MODES {
        let outcome = run(&format!("-check-tool 1 {mode}"), tool, &app);
        let text = told(&outcome);
        assert_eq!(outcome.status, 125, "{tool} {mode}: {text}");
        for word in words {
            assert!(text.contains(word), "{tool} {mode}: no {word:?} in {text}");
        }
        assert!(!text.lines().any(|line| line.starts_with("a total: ")), "{tool} {mode}: {text}");
    }
}

#[test]
fn stores_to_the_apps_memory_are_caught() {
    let words =
        ["the tool's routine trials::wrong::impure::stores, called at 0x7ff", ".so.", "is about to store to 0x7ff"];
    is_caught("stores-to-app", &words);
    let words =
        ["trials::wrong::impure::clears, called at 0x7ff", ".so.", "is about to store to 0x7ff", "[stack]", "memset"];
    is_caught("clears-the-stack", &words);
    is_caught("crashes", &["trials::wrong::failing::crashes, called at 0x7ff", "is about to store to 0x8,"]);
}

#[test]
fn system_calls_are_caught() {
    is_caught("looks-at-the-clock", &["trials::wrong::impure::looks_at_the_clock, called at 0x7ff", "(clock_gettime)"]);
    is_caught("prints", &["trials::wrong::failing::prints", "(write)"]);
    is_caught("panic-in-routine", &["trials::wrong::failing::fail_late failed", "the routine gave up"]);
}

#[test]
fn instrumentation_that_remembers_is_caught() {
    let words =
        ["tool numbers-blocks instruments the same code in two ways: at 0x7ff", ".so.", "impure::add with [Const(0)]"];
    is_caught("numbers-blocks", &words);
    is_caught("remembers-the-first", &["in two ways: at 0x7ff", "impure::add with [Const(", "in another order"]);
}

#[test]
fn results_that_do_not_add_up_are_caught() {
    for tool in ["counts-elsewhere", "folds-by-hash", "rounds", "counts-slices", "adds-what-was-before"] {
        is_caught(tool, &[&format!("the results of tool {tool} don't add up"), "cut into", "in line 1", "0x7ff"]);
    }
    is_caught("finishes-twice", &["tool finishes-twice hands in two results for one local state"]);
}

#[test]
fn streams_that_depend_on_where_slices_begin_are_caught() {
    for mode in MODES {
        let outcome = run(&format!("-check-tool 1 {mode}"), "numbers-lines -o /dev/null", &["/bin/echo", "hi"]);
        let text = told(&outcome);
        let is_told = text.contains("what tool numbers-lines appends to its stream depends on where slices begin");
        assert!(outcome.status == 125 && is_told, "{mode}: {text}");
    }
}

#[test]
fn streams_that_are_right_are_not_accused() {
    let folder = tempfile::tempdir().expect("a folder");
    let written = |options: &str| {
        let file = folder.path().join("out");
        let outcome = run(options, &format!("written -o {}", file.display()), &["/bin/echo", "hi"]);
        assert_eq!(outcome.status, 0, "{options}: {}", told(&outcome));
        std::fs::read(file).expect("the run has written it")
    };
    let ordinary = written("-sp 0");
    for mode in MODES {
        assert!(written(&format!("-check-tool 1 {mode}")) == ordinary, "{mode}");
    }
}

/// The order between threads matters to a tool that says that it doesn't.
#[test]
fn results_that_depend_on_the_order_of_threads_are_caught() {
    let guest = suites::guest::named("threads_paths").executable().to_str().expect("the path is text");
    let outcome = run("-check-tool 1", "last-block", &[guest, "3"]);
    let text = told(&outcome);
    assert!(outcome.status == 125 && text.contains("the results of tool last-block don't add up"), "{text}");
    let outcome = run("-sp 0", "last-block", &[guest, "3"]);
    assert!(outcome.status == 0 && told(&outcome).starts_with("a total: "), "{}", told(&outcome));
}

/// What is wrong goes unnoticed otherwise: that is why there is such a mode.
#[test]
fn without_checking_they_have_a_total() {
    for tool in ["stores-to-app", "looks-at-the-clock", "numbers-blocks", "counts-elsewhere", "rounds"] {
        let outcome = run("-sp 0", tool, &["/bin/echo", "hi"]);
        assert!(outcome.status == 0 && told(&outcome).starts_with("a total: "), "{tool}: {}", told(&outcome));
    }
}

/// In how many successive rounds each of them comes once.
const SHARES: usize = 2;

/// Calls of all kinds, with all kinds of arguments, lists and states, words, block counts, images, and results of all shapes.
#[test]
fn no_tool_that_is_right_is_accused() {
    let app = ["/bin/ls", "-ln", FOLDER];
    let tools = "arguments behind blocks executed functions inclusive ordered places routines tested whole rarely-prints keeping reading recording intervals";
    for tool in tools.split(' ').filter(|tool| Selection::asked().has(tool, 0, SHARES)) {
        let ordinary = run("-sp 0", tool, &app);
        assert_eq!(ordinary.status, 0, "{tool}: {}", told(&ordinary));
        for mode in MODES {
            let checked = run(&format!("-check-tool 1 {mode}"), tool, &app);
            assert!(checked == ordinary, "{tool} {mode}: {}", told(&checked));
        }
    }
}

#[test]
fn kept_translations_can_not_be_checked() {
    let outcome = run("-check-tool 1 -persist /nowhere", "blocks", &["/bin/true"]);
    assert!(outcome.status == 125 && told(&outcome).contains("-persist"), "{}", told(&outcome));
}
