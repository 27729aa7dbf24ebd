//! Tools that take their time.

use super::{result, run, text};

/// A slice that doesn't come to its end fails, in the end. A tool that is so slow by itself says so.
#[test]
fn a_slow_tool_can_say_so() {
    let run_with = |tool| ["-sp", "1", "-spgrace", "1", "-t", tool, "--", "/bin/true"];
    let failed = run(&run_with("slow"));
    let why = text(&failed.stderr);
    assert!(failed.status == 125 && why.contains("it doesn't come to its end"), "{why}");
    assert_eq!(result(&run_with("patient")), result(&["-t", "slow", "--", "/bin/true"]));
}
