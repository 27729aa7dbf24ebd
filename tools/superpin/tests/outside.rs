//! A tool image that is built outside this workspace and named by its path, as docs/tools.md tells authors.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use suites::deadline::output;
use suites::run::{Job, Outcome, run};
use suites::selection::Selection;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/hot-calls");

/// What somebody has to do whose change makes the example's lock file stale.
const ADVICE: &str =
    "examples/hot-calls/Cargo.lock has to be brought up to date, and committed: scripts/lock-examples.sh";

fn cargo(folder: &Path, arguments: &[&str]) -> std::process::Output {
    // Nothing here needs the network: what the example needs the workspace has as well, in the same version.
    output(Command::new(env!("CARGO")).args(arguments).args(["--locked", "--offline"]).current_dir(folder))
        .expect("cargo runs this test, so there is one")
}

/// Names and versions of the packages that a lock file has from elsewhere.
fn locked(folder: &str) -> HashMap<String, Vec<String>> {
    let text = fs::read_to_string(Path::new(folder).join("Cargo.lock")).expect("there is a lock file");
    let mut packages: HashMap<String, Vec<String>> = HashMap::new();
    for package in text.split("[[package]]").skip(1).filter(|package| package.contains("\nsource = ")) {
        let field =
            |key: &str| package.lines().find_map(|line| line.strip_prefix(key)).expect("each has one").to_owned();
        packages.entry(field("name = ")).or_default().push(field("version = "));
    }
    packages
}

#[test]
fn the_lock_of_the_example_is_up_to_date() {
    let checked = cargo(Path::new(EXAMPLE), &["update", "--workspace"]);
    assert!(checked.status.success(), "{ADVICE}\n{}", String::from_utf8_lossy(&checked.stderr));
    let ours = locked(ROOT);
    for (name, versions) in locked(EXAMPLE) {
        let known = ours.get(&name).is_some_and(|known| versions.iter().all(|version| known.contains(version)));
        assert!(known, "{ADVICE}\nit has {name} {versions:?}, the workspace {:?}", ours.get(&name));
    }
}

/// The tables of a manifest that say how releases are built. The suites and the command are no part of an image.
fn release_profile(folder: &str) -> Vec<String> {
    let text = fs::read_to_string(Path::new(folder).join("Cargo.toml")).expect("there is a manifest");
    let tables = text.split("\n\n").map(|table| table.split_once("\n[").map_or(table, |(_, rest)| rest));
    let tables = tables.map(|table| table.trim().trim_start_matches('[').to_owned());
    let others = ["suites", "superpin", "syn"].map(|package| format!("profile.release.package.{package}]"));
    tables
        .filter(|table| table.starts_with("profile.release") && !others.iter().any(|other| table.starts_with(other)))
        .collect()
}

#[test]
fn the_example_is_built_as_the_workspace_is() {
    let ours = release_profile(ROOT);
    assert!(ours.len() > 1, "{ours:?}");
    assert_eq!(
        release_profile(EXAMPLE),
        ours,
        "copy the tables of the workspace's Cargo.toml to that of examples/hot-calls"
    );
}

/// Builds a copy of the example as its author would: in its own folder, which isn't below this workspace's, by its own configuration. What it has in common with the workspace
/// is compiled once: it has the same target folder, and the same profile.
fn build(folder: &Path) -> PathBuf {
    let tool = folder.join("hot-calls");
    for name in ["Cargo.lock", ".cargo/config.toml", "src/main.rs"] {
        let to = tool.join(name);
        fs::create_dir_all(to.parent().expect("a folder")).expect("the folder is ours");
        fs::copy(Path::new(EXAMPLE).join(name), to).expect("the example has this file");
    }
    let api = fs::canonicalize(Path::new(ROOT).join("tools/api")).expect("it is there");
    let manifest = fs::read_to_string(Path::new(EXAMPLE).join("Cargo.toml")).expect("the example has a manifest");
    let moved = manifest.replace("../../tools/api", api.to_str().expect("the path is text"));
    fs::write(tool.join("Cargo.toml"), moved).expect("the folder is ours");
    let artifacts = suites::superpin::artifacts();
    let target = artifacts.ancestors().nth(2).expect("TARGET/TRIPLE/PROFILE").to_str().expect("the path is text");
    let built = cargo(&tool, &["build", "--release", "--quiet", "--target-dir", target]);
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Path::new(target).join("x86_64-unknown-linux-gnu/release/hot-calls")
}

fn superpin(mode: &str, tool: &Path, options: &[&str], app: &[&str]) -> Outcome {
    let image = tool.to_str().expect("the path is text");
    let command: [OsString; 1] = [env!("CARGO_BIN_EXE_superpin").into()];
    let arguments = [&["-sp", mode, "-spmsec", "20", "-t", image], options, &["--"], app].concat();
    run(&Job::new(arguments).under(command)).expect("cargo built it")
}

/// Standard error of a run that ends well.
fn printed(outcome: &Outcome) -> String {
    let text = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert_eq!(outcome.status, 0, "{text}");
    text
}

/// In how many successive rounds the example is built once: in another workspace all of superpin's crates are compiled anew.
const SHARES: usize = 8;

#[test]
fn an_image_from_elsewhere_is_a_tool() {
    if !Selection::asked().has("the example", 0, SHARES) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    let image = build(folder.path());
    let app = ["/bin/ls", "-lnR", EXAMPLE];
    let serial = printed(&superpin("0", &image, &["--top", "3"], &app));
    assert_eq!(serial.lines().count(), 4, "{serial}");
    assert!(serial.starts_with("Calls: "), "{serial}");
    assert_eq!(printed(&superpin("1", &image, &["--top", "3"], &app)), serial);

    let refused = superpin("1", &image, &["--top", "0"], &app);
    assert_eq!(refused.status, 125);
    assert!(refused.stdout.is_empty(), "the app ran although the tool's options are wrong");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--top"));
}
