#!/usr/bin/env bash
# Where do two runs of an app part? Finds the first block that one executes and the other doesn't, and prints it: address, function and image, app code.
#
#   scripts/first-difference.sh [OPTIONS] -- APP [ARGUMENTS]        a sliced run against a serial one
#
#   --first 'WORDS'       superpin's options of the first run   (-sp 1 -spmsec 20)
#   --second 'WORDS'      those of the second run               (-sp 0)
#   --first-env N=VALUE   a variable of the first run alone; may be repeated
#   --second-env N=VALUE  one of the second run alone
#   --stdin FILE          what both read                        (/dev/null)
#   --registers           compare general registers too, where the app goes elsewhere (slower)
#   --context N           how many stretches of code before it are listed (5)
#
# Status: 0 nothing differs, 1 something does, 2 that couldn't be found out. CONTRIBUTING.md has an example.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
built=$root/target/x86_64-unknown-linux-gnu/release
(cd "$root" && cargo build --quiet --release -p suites --bin first-difference && cargo build --quiet --release -p superpin-tool --example path)
exec "$built/first-difference" --image "$built/examples/path" "$@"
