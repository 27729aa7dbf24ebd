#!/usr/bin/env bash
# Makes a project for a tool of your own, outside this repository: scripts/new-tool.sh FOLDER. The tool's name is the folder's.
# It compiles at once. What it needs of superpin is compiled in this repository's target folder, so that what superpin's own build and other tools have left there is used.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)

fail() { echo "new-tool.sh: $*" >&2; exit 1; }
[ $# -eq 1 ] || fail "name the folder to make, as in: scripts/new-tool.sh ../my-tool"
[ ! -e "$1" ] || fail "$1 is there already"
name=$(basename "$1")
[[ $name =~ ^[a-z][a-z0-9-]*$ ]] || fail "\`$name\` can't be a tool's name: small letters, digits and dashes, a letter first"
case $(realpath -m "$1")/ in "$here"/*) fail "$1 lies in superpin's own repository: choose a place outside" ;; esac

mkdir -p "$1/src" "$1/.cargo"
cd "$1"
cat > Cargo.toml <<END
[package]
name = "$name"
version = "0.1.0"
edition = "2024"

[dependencies]
superpin-tool = { path = "$here/tools/api" }

# As in superpin's own workspace, so that what was compiled there fits.
$(sed -n '/^\[profile\.release/,/^$/p' "$here/Cargo.toml")
END
cat > .cargo/config.toml <<END
# A tool image is static-PIE: the same file is started by a person, and mapped into other processes.
[build]
target = "x86_64-unknown-linux-gnu"
build-dir = "$here/target"    # what is compiled on the way (cargo 1.91 or later; older ones compile all of it here)

[target.x86_64-unknown-linux-gnu]
rustflags = ["-C", "target-feature=+crt-static", "-C", "relocation-model=pie"]
END
cp "$here/Cargo.lock" Cargo.lock
printf 'target/\n' > .gitignore
cat > src/main.rs <<END
//! Counts calls. A place to start from: superpin's docs/tools.md tells what else a tool can ask for.
#![no_main]

use superpin_tool::{At, NoOptions, Out, SliceInfo, Tool, Trace};

superpin_tool::image!(MyTool);

struct MyTool;

/// Analysis: runs each time that the app gets to a call.
fn count(calls: &mut u64) {
    *calls = calls.wrapping_add(1);
}

impl Tool for MyTool {
    const NAME: &'static str = "$name";
    const ABOUT: &'static str = "Count calls";
    type Options = NoOptions;
    type Local = u64; // what analysis routines work on, one for each slice
    type Result = u64; // what a slice hands in
    type Total = u64; // what the results add up to

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(MyTool)
    }

    /// Instrumentation: looks at each piece of code before it is executed the first time.
    fn instrument(&self, trace: &Trace<'_, u64>) {
        for instruction in trace.instructions().filter(|instruction| instruction.is_call()) {
            instruction.call(At::Before, count, ());
        }
    }

    fn begin(&self, _: SliceInfo) -> u64 {
        0
    }

    fn finish(&self, calls: &u64) -> u64 {
        *calls
    }

    fn fold(&self, total: &mut u64, _: SliceInfo, calls: u64) {
        *total += calls;
    }

    fn fini(&self, total: u64, out: &mut Out<'_>) -> std::io::Result<()> {
        writeln!(out, "Calls: {}", out.total(total))
    }
}
END
echo "made $1. Build and run it:"
echo "  cd $1 && cargo build --release"
echo "  target/x86_64-unknown-linux-gnu/release/$name -sp 1 -t $name -- ls"
