//! What is built for tests is built for users: the same features.
//!
//! If a crate that tests use asks for more of a library than superpin does (`libtest-mimic` for all of `clap`), cargo has two forms of
//! that library, and so of nearly all crates of the project: whoever builds superpin and then runs its tests, as `.ci/run` does, has
//! them compiled twice. So superpin asks for the same, although it doesn't need it.

use std::collections::BTreeSet;
use std::process::Command;

use suites::deadline::output;

use super::root;

#[test]
fn tests_ask_libraries_for_no_more_than_superpin_does() {
    let of_users = tree(&["-p", "superpin-tool", "-e", "normal,build"]);
    let of_tests = tree(&["--workspace", "-e", "normal,build,dev"]);
    let missing: Vec<&String> = of_users.difference(&of_tests).collect();
    assert!(of_users.len() > 20, "{of_users:?}");
    assert!(missing.is_empty(), "with other features in tests (have superpin ask for them, too): {missing:?}");
}

/// Packages with their versions and features.
fn tree(of: &[&str]) -> BTreeSet<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["tree", "--offline", "--quiet", "--prefix", "none", "--no-dedupe", "--format", "{p} {f}"]).args(of);
    let printed = output(cargo.current_dir(root())).expect("cargo runs this test, so there is one");
    assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
    String::from_utf8_lossy(&printed.stdout).lines().map(str::to_owned).collect()
}
