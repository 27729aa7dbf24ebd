//! The test kit for authors: it finds what differs, and says what.

use std::panic::catch_unwind;
use std::path::PathBuf;

use superpin_tool::testing::Runs;

fn runs(tool: &str) -> Runs {
    // target/…/debug/deps/kit-… beside target/…/debug/examples/trials
    let mut path: PathBuf = std::env::current_exe().expect("this program has a path");
    path.pop();
    path.pop();
    Runs::of(path.join("examples/trials")).tool(tool)
}

/// What a test says that fails.
fn failure(runs: Runs) -> String {
    let failed = catch_unwind(|| runs.agree()).expect_err("they differ");
    failed.downcast_ref::<String>().cloned().expect("a panic with a text")
}

#[test]
fn a_tool_that_is_right_passes() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let results = runs("blocks").over(["gzip", "-c"]).over(["/bin/cat", "-"]).stdin(file).slices_of([1]).agree();
    assert_eq!(results.len(), 2);
    assert!(results.iter().all(|result| result.ends_with("Result: exact\n") && result.lines().count() > 100));
    let listed = runs("ordered").options(["--lines", "3"]).over(["/bin/echo", "hi"]).checked(false).agree();
    assert_ne!(listed, runs("ordered").options(["--lines", "4"]).over(["/bin/echo", "hi"]).checked(false).agree());
}

#[test]
fn what_differs_in_slices_is_shown() {
    let told = failure(runs("counts-slices").over(["/bin/ls", "/"]).checked(false));
    let lines = "It isn't what a serial run comes to.\nThe tool's result, line 1:\n  -sp 0";
    assert!(
        told.contains(lines) && told.contains("a total: 1\n") && told.contains("-t counts-slices -- /bin/ls /"),
        "{told}"
    );
}

#[test]
fn what_checking_finds_is_shown() {
    let told = failure(runs("looks-at-the-clock").over(["/bin/true"]));
    assert!(told.contains("Two serial runs differ"), "{told}");
    let told = failure(runs("stores-to-app").over(["/bin/true"]).slices_of([1000]));
    assert!(told.contains("-check-tool 1 -sp 0") && told.contains("there is no result (status 125):"), "{told}");
    assert!(told.contains("the tool's routine trials::wrong::impure::stores, called at 0x7ff"), "{told}");
}

#[test]
fn programs_that_do_not_repeat_are_told() {
    let told = failure(runs("blocks").over(["date", "+%N"]).checked(false));
    assert!(told.contains("Two serial runs differ, so this program can't be compared"), "{told}");
    let told = failure(runs("blocks").over(["/nowhere/program"]));
    assert!(told.contains("there is no result (status 127)") && told.contains("/nowhere/program"), "{told}");
    let told = failure(runs("no-such-tool").over(["/bin/true"]));
    assert!(told.contains("there is no result") && told.contains("no-such-tool"), "{told}");
    let short = std::time::Duration::from_millis(50);
    let told = failure(runs("blocks").over(["sleep", "60"]).limit(short));
    assert!(told.contains("it hasn't ended after") && told.contains("Runs::limit"), "{told}");
}
