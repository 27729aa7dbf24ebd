//! `superpin new-tool`: what it makes builds without the net, and its own test passes; what it refuses.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use suites::deadline::output;
use suites::selection::Selection;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn new_tool<S: AsRef<OsStr>>(folder: &Path, arguments: &[S]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_superpin"));
    output(command.arg("new-tool").args(arguments).current_dir(folder)).expect("cargo built it")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// In how many successive rounds a project is built once: that compiles all crates of superpin's again, which takes minutes.
const SHARES: usize = 8;

/// As its author would build it, in a folder that isn't below this workspace's.
#[test]
fn what_it_makes_is_built_and_tested_without_the_net() {
    if !Selection::asked().has("new-tool", 0, SHARES) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    let made = new_tool(folder.path(), &["my-tool"]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    assert!(text(&made.stdout).contains("cargo run --release -- -sp 1 -t my-tool -- ls"), "{}", text(&made.stdout));

    let tool = folder.path().join("my-tool");
    let cargo = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO"));
        command.args(arguments).current_dir(&tool).env("CARGO_NET_OFFLINE", "true").env_remove("CARGO_TARGET_DIR");
        output(&mut command).expect("cargo runs this test, so there is one")
    };
    let run = cargo(&["run", "--release", "--quiet", "--", "-sp", "1", "-t", "my-tool", "--", "ls"]);
    let told = text(&run.stderr);
    assert!(run.status.success() && told.lines().any(|line| line.starts_with("Total Count: ")), "{told}");
    assert!(!told.contains("did not match any packages"), "{told}");
    assert!(text(&run.stdout).contains("Cargo.toml"), "{}", text(&run.stdout));

    let tested = cargo(&["test", "--release", "--quiet"]);
    let told = text(&tested.stdout) + &text(&tested.stderr);
    assert!(tested.status.success() && told.contains("1 passed"), "{told}");

    // What is wrong is told by the project's own test.
    let source = tool.join("src/main.rs");
    let right = fs::read_to_string(&source).expect("it was made");
    let wrong = right.replace("*total += icount;", "*total = total.wrapping_mul(3) + icount;");
    assert_ne!(right, wrong);
    fs::write(&source, wrong).expect("the folder is ours");
    let tested = cargo(&["test", "--release", "--quiet"]);
    let told = text(&tested.stdout) + &text(&tested.stderr);
    assert!(!tested.status.success() && told.contains("It isn't what a serial run comes to"), "{told}");
    assert!(told.contains("The tool's result, line 1:"), "{told}");

    // The tool that docs/tools.md builds, in the same project, since others are compiled there.
    let page = fs::read_to_string(Path::new(ROOT).join("docs/tools.md")).expect("it is there");
    let shown = |begin: &str| -> String {
        let found = page.split("```rust\n").find(|block| block.starts_with(begin)).expect(begin);
        found.split("\n```").next().unwrap_or_default().to_owned()
    };
    let manifest = fs::read_to_string(tool.join("Cargo.toml")).expect("it was made").replace("my-tool", "loads");
    for (file, text) in [
        ("src/main.rs", shown("//! Counts the bytes that are loaded")),
        ("tests/slices.rs", shown("use superpin_tool::testing::Runs;")),
        ("Cargo.toml", manifest),
    ] {
        fs::write(tool.join(file), text).expect("the folder is ours");
    }
    let run = cargo(&["run", "--release", "--quiet", "--", "-sp", "1", "-t", "loads", "--", "ls"]);
    let told = text(&run.stderr);
    assert!(run.status.success() && told.lines().any(|line| line.starts_with("Bytes loaded: ")), "{told}");
    let tested = cargo(&["test", "--release", "--quiet"]);
    let told = text(&tested.stdout) + &text(&tested.stderr);
    assert!(tested.status.success() && told.contains("1 passed"), "{told}");
}

#[test]
fn what_it_can_not_make_is_told() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    fs::create_dir(folder.path().join("there")).expect("the folder is ours");
    let inside = format!("{ROOT}/docs/tool");
    for (arguments, word) in [
        (&["there"][..], "there"),
        (&["Tool"], "`Tool` can't be a tool's name"),
        (&["-x"], "no option `-x`"),
        (&[], "name the folder"),
        (&["a", "b"], "one folder"),
        (&["nowhere/tool"], "nowhere"),
        (&[&inside], "repository"),
        (&["tool", "-superpin", "/usr"], "/usr isn't a checkout"),
    ] {
        let refused = new_tool(folder.path(), arguments);
        let told = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(125), "{arguments:?}: {told}");
        assert!(told.starts_with("superpin: new-tool: ") && told.contains(word), "{arguments:?}: {told}");
        assert!(refused.stdout.is_empty() && !Path::new(&inside).exists());
    }
    let left: Vec<_> = fs::read_dir(folder.path()).expect("it is there").collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

/// A checkout elsewhere, which has what a project takes from it.
#[test]
fn a_checkout_can_be_named() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let checkout = folder.path().join("it's here");
    fs::create_dir_all(checkout.join("tools/api")).expect("the folder is ours");
    for file in ["Cargo.toml", "Cargo.lock", "tools/api/Cargo.toml"] {
        fs::copy(Path::new(ROOT).join(file), checkout.join(file)).expect("it is there");
    }
    let made = new_tool(folder.path(), &[OsStr::new("of-its-own"), OsStr::new("-superpin"), checkout.as_os_str()]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let read = |path: &str| fs::read_to_string(folder.path().join("of-its-own").join(path)).expect("it was made");
    assert!(read("Cargo.toml").contains("/it's here/tools/api\" }"), "{}", read("Cargo.toml"));
    assert!(read(".cargo/config.toml").contains("/it's here/target\""), "{}", read(".cargo/config.toml"));
    assert!(read("src/main.rs").contains("superpin_tool::image!(OfItsOwn);"), "{}", read("src/main.rs"));
    assert!(read("tests/slices.rs").contains("CARGO_BIN_EXE_of-its-own"));
}
