//! A tool image that is built outside this workspace and named by its path, as docs/tools.md tells authors.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/hot-calls");

/// Builds the example as its author would: in its own directory, by its own configuration.
fn build() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hot-calls");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--locked", "--quiet", "--target-dir"])
        .arg(&target)
        .current_dir(EXAMPLE)
        .status()
        .expect("cargo runs this test, so there is one");
    assert!(built.success());
    target.join("x86_64-unknown-linux-gnu/debug/hot-calls")
}

fn superpin(mode: &str, tool: &Path, options: &[&str], app: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_superpin"))
        .args(["-sp", mode, "-spmsec", "20", "-t"])
        .arg(tool)
        .args(options)
        .arg("--")
        .args(app)
        .output()
        .expect("cargo built it")
}

/// Standard error of a run that ends well.
fn printed(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{:?}: {text}", output.status);
    text
}

#[test]
fn an_image_from_elsewhere_is_a_tool() {
    let image = build();
    let app = ["/bin/ls", "-lR", EXAMPLE];
    let serial = printed(&superpin("0", &image, &["--top", "3"], &app));
    assert_eq!(serial.lines().count(), 4, "{serial}");
    assert!(serial.starts_with("Calls: "), "{serial}");
    assert_eq!(printed(&superpin("1", &image, &["--top", "3"], &app)), serial);

    let refused = superpin("1", &image, &["--top", "0"], &app);
    assert_eq!(refused.status.code(), Some(125));
    assert!(refused.stdout.is_empty(), "the app ran although the tool's options are wrong");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--top"));
}
