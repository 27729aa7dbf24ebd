//! What cargo builds: the command under test, and tool images.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::{env, fs};

use crate::switches;

/// The folder that cargo puts this profile's programs into.
pub fn artifacts() -> PathBuf {
    let me = env::current_exe().expect("the running program has no path");
    let folder = me.parent().expect("a program lies in a folder");
    if folder.ends_with("deps") {
        folder.parent().expect("deps lies in a folder").to_owned()
    } else {
        folder.to_owned()
    }
}

/// The `superpin` to test: the one that the variable SUPERPIN names, else this workspace's, brought up to date first
/// (a test of one package alone doesn't build it).
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| match env::var_os("SUPERPIN") {
        Some(path) => fs::canonicalize(&path).unwrap_or_else(|e| panic!("SUPERPIN={}: {e}", path.display())),
        None => {
            // Only where something is built for tests do the features count that tests ask for.
            cargo_builds(&["--bin", "superpin", "--test", "collector"]);
            artifacts().join("superpin")
        }
    })
}

/// What a run under superpin is started with: the program, and the options of [`switches`]. Others follow.
pub fn command() -> Vec<OsString> {
    std::iter::once(binary().into()).chain(switches::options().into_iter().map(Into::into)).collect()
}

/// The tool image of an example of `superpin-tool`, brought up to date.
pub fn example(name: &str) -> PathBuf {
    cargo_builds(&["--example", name]);
    built_example(name)
}

/// The same for tests of that crate, for which cargo has just built it.
pub fn built_example(name: &str) -> PathBuf {
    artifacts().join("examples").join(name)
}

/// With the features that the whole workspace and its tests ask for: `cargo test --workspace` has built it so, and with others
/// nearly all would be built once more.
fn cargo_builds(what: &[&str]) {
    let profile = if artifacts().ends_with("debug") { "dev" } else { "release" };
    let target = artifacts().ancestors().nth(2).expect("TARGET/TRIPLE/PROFILE").to_owned();
    let status = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()))
        .args(["build", "--quiet", "--workspace", "--profile", profile, "--target-dir"])
        .arg(target)
        .args(what)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(status.is_ok_and(|s| s.success()), "cargo can't build {what:?}");
}
