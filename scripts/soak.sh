#!/usr/bin/env bash
# Sliced runs of real programs (all that are installed, or those named), each cut in another random way, with all memory compared
# at each boundary: all must give the serial total. The seed is printed; with it the same cuts are made again.
#
#   scripts/soak.sh [RUNS [SEED [PROGRAM …]]]      default: 1000 runs
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --quiet --release -p superpin
# With the features that the whole workspace asks for, as tests are: what they have built is used again.
cargo build --quiet --release --workspace --bin soak
exec "${CARGO_TARGET_DIR:-target}/x86_64-unknown-linux-gnu/release/soak" "${@:-1000}"
