#!/usr/bin/env bash
# The suites with the engine's optimisations off: each one, all, and random combinations. What fails is printed, and is the exit status. The seed
# is printed; with it the combinations are the same again.
#
#   scripts/switches.sh [-n COMBINATIONS] [-s SEED] [-e LIST] … [SUITE[:FILTER]] …
#
# LIST, as `-engine` takes it, or each:SEED, which turns off others in each test, instead of each one and all. A suite is a test target of tests/Cargo.toml (all of them if none is named), and a filter a part of the names of its tests,
# as in `guests:5ms/` or `guests:/loops`. 6 combinations if nothing else is said.
set -euo pipefail
cd "$(dirname "$0")/.."
combinations=6 seed=$((RANDOM + 1)) lists=()
while getopts n:s:e: option; do
    case $option in
    n) combinations=$OPTARG ;;
    s) seed=$OPTARG ;;
    e) lists+=("$OPTARG") ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
export SUITE=all
[ $# -gt 0 ] || set -- guests counts programs cli faults totals persist

cargo build --quiet --release -p superpin
cargo test --quiet --release -p suites --no-run
# The program tells its switches when it meets a wrong one, and fails.
told=$(cargo run --quiet --release -p superpin -- -engine such 2>&1 || true)
names=$(grep -o 'no-[a-z][a-z]*' <<<"$told")
[ "${#lists[@]}" -gt 0 ] || lists=($names none)
RANDOM=$seed
for ((n = 0; n < combinations; n++)); do
    off=
    for name in $names; do
        ((RANDOM / 64 % 2)) || off+=${off:+,}$name
    done
    lists+=("$off")
done

failures=0 log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "${#lists[@]} lists of switches, seed $seed"
for list in "${lists[@]}"; do
    for suite; do
        filter=() && [[ $suite != *:* ]] || filter=("${suite#*:}")
        if RUST_BACKTRACE=0 SUPERPIN_ENGINE=$list cargo test --quiet --release -p suites --test "${suite%%:*}" -- "${filter[@]}" >"$log" 2>&1; then
            result=
        else
            failures=$((failures + 1)) result='FAILED: '
        fi
        echo "$list $suite: $result$(awk '/^test result:/ { print $4 + 0 " passed, " $6 + 0 " failed, " $8 + 0 " skipped" }' "$log") (${SECONDS}s)"
        [ -z "$result" ] || sed -n '/^failures:$/,$p' "$log"
    done
done
echo "$failures failed"
((failures == 0))
