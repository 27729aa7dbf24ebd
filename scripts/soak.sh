#!/usr/bin/env bash
# Sliced runs of real programs (all that are installed, or those named), each cut in another random way, with all memory compared
# at each boundary: all must give the serial total. The seed is printed; with it the same cuts are made again.
#
#   scripts/soak.sh [RUNS [SEED [PROGRAM …]]]      default: 1000 runs
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --quiet --release -p superpin
exec cargo run --quiet --release -p suites --bin soak -- "${@:-1000}"
