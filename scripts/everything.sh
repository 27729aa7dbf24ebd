#!/usr/bin/env bash
# All that is tested, in parts that can be run one by one: what it ends with is what a closing note quotes. docs/everything.md tells more.
#
#   scripts/everything.sh [PART …]        all parts if none is named
#
#   tests      the whole matrix of `cargo test`, each test program by itself
#   switches   the suites with each of the engine's optimisations off, with all off, and with random combinations
#   soak       real programs, cut in a thousand random ways and verified
#
# SUITES='guests:5ms/ cli', say, has the part `switches` run these alone; SWITCHES='-e none' gives it options of scripts/switches.sh; SOAK='60 7 gzip' gives the part `soak`
# those of scripts/soak.sh; TESTS='-p suites --test guests -- 5ms/' gives the part `tests` those of `cargo test`. What they print goes to target/everything/.
set -uo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- tests switches soak
for part; do
    case $part in tests | switches | soak) ;; *) sed -n '2,/^set/{/^#/s/^# \?//p}' "$0" && exit 2 ;; esac
done
logs=target/everything && mkdir -p "$logs"

# Names of the options that these variables hold are words without blanks in them.
# shellcheck disable=SC2086
run() {
    case $1 in
    tests) SUITE=all cargo test --release --no-fail-fast ${TESTS:---workspace} ;;
    switches) scripts/switches.sh ${SWITCHES:-} ${SUITES:-} ;;
    soak) scripts/soak.sh ${SOAK:-1000} ;;
    esac
}

# What a part has to tell at its end, from what it printed.
told() {
    case $1 in
    tests)
        awk '/^test result:/ { programs++; passed += $4; failed += $6; ignored += $8 }
            END { printf "%d test programs, %d tests passed, %d failed, %d skipped\n", programs, passed, failed, ignored }' "$2"
        sed -n '/^skipped, since/,/^$/p; /^error: .* target.* failed/,/^$/p' "$2"
        grep -E '^test .*FAILED$' "$2"
        ;;
    switches) grep -E 'FAILED|lists of switches|failed$' "$2" ;;
    soak) grep -E 'seed|WRONG|left out' "$2" && tail -n 2 "$2" ;;
    esac
}

failures=0 summary=()
for part; do
    echo "== $part"
    start=$SECONDS
    run "$part" > >(tee "$logs/$part.log") 2>&1 \
        && result=passed || { result=FAILED && failures=$((failures + 1)); }
    wait
    summary+=("$part: $result, $(((SECONDS - start) / 60)) min $(((SECONDS - start) % 60)) s; $(told "$part" "$logs/$part.log")")
done

printf '\n== everything: %s, %s, %s processors, %s, Linux %s\n' "$(git describe --always --dirty)" "$(date +%F)" "$(nproc)" \
    "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(uname -r)"
printf '%s\n' "${summary[@]}"
((failures == 0))
