#!/usr/bin/env bash
# All that is tested, in parts that can be run one by one: about two hours on two processors. It ends with a row for the table in
# docs/everything.md, which tells more.
#
#   scripts/everything.sh [PART …]        all parts if none is named
#
#   tests      the whole matrix of `cargo test`, each test program by itself
#   switches   the suites once more, each test with others of the engine's optimisations off, and some with all off
#   soak       real programs, cut in a thousand random ways and verified
#
# What is chosen by chance is another thing each time; SEED=N, as a run before has printed it, chooses the same again. With these the parts are smaller:
#
#   TESTS='-p suites --test guests -- 5ms/'   options of `cargo test` for the part `tests`
#   SUITES='guests:5ms/ cli'                  suites and filters for the part `switches`, as scripts/switches.sh takes them
#   SWITCHES='-e none'                        options of scripts/switches.sh for it
#   SOAK='60 7 gzip'                          options of scripts/soak.sh
#
# What they print goes to target/everything/.
set -uo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- tests switches soak
for part; do
    case $part in tests | switches | soak) ;; *) sed -n '2,/^set/{/^#/s/^# \?//p}' "$0" && exit 2 ;; esac
done
logs=target/everything && mkdir -p "$logs"
seed=${SEED:-$((RANDOM * 32768 + RANDOM + 1))}

# Names of the options that these variables hold are words without blanks in them.
# shellcheck disable=SC2086
run() {
    case $1 in
    tests) SUITE=all cargo test --release --no-fail-fast ${TESTS:---workspace} ;;
    switches)
        if [ -n "${SUITES:-}${SWITCHES:-}" ]; then
            scripts/switches.sh ${SWITCHES:--n 0 -e each:$seed} ${SUITES:-}
        else
            local result=0
            scripts/switches.sh -n 0 -e "each:$seed" || result=1
            scripts/switches.sh -n 0 -e none guests:serial/ totals:addresses totals:mixes || result=1
            return $result
        fi
        ;;
    soak) scripts/soak.sh ${SOAK:-1000 $seed} ;;
    esac
}

# How many tests of the part passed, failed and were skipped.
counted() {
    case $1 in
    tests)
        awk '/^test result:/ { passed += $4; failed += $6; skipped += $8 } END { print passed + 0, failed + 0, skipped + 0 }' "$2"
        ;;
    switches)
        # A line for each list and suite: `LIST SUITE: N passed, N failed, N skipped (Ns)`.
        sed -nE 's/.*: ([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped \([0-9]+s\)$/\1 \2 \3/p' "$2" \
            | awk '{ passed += $1; failed += $2; skipped += $3 } END { print passed + 0, failed + 0, skipped + 0 }'
        ;;
    soak)
        # Its last tally: `N runs, …; F failed, W of them with a wrong total`.
        awk '/^[0-9]+ runs, .* failed, / { runs = $1; for (i = 2; i < NF; i++) if ($(i + 1) == "failed,") failed = $i }
            END { print runs - failed, failed + 0, 0 }' "$2"
        ;;
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

failures=0 summary=() numbers=(0 0 0) minutes=
began=$SECONDS
for part; do
    echo "== $part"
    start=$SECONDS
    run "$part" > >(tee "$logs/$part.log") 2>&1 \
        && result=passed || { result=FAILED && failures=$((failures + 1)); }
    wait
    # What has failed without any of its tests failing (it didn't compile, say) is one failure.
    read -r passed failed skipped <<<"$(counted "$part" "$logs/$part.log")"
    [ "$result" = passed ] || ((failed)) || failed=1
    numbers=($((numbers[0] + passed)) $((numbers[1] + failed)) $((numbers[2] + skipped)))
    minutes+="${minutes:+, }$part $(((SECONDS - start + 30) / 60))"
    summary+=("$part: $result, $(((SECONDS - start) / 60)) min $(((SECONDS - start) % 60)) s; $(told "$part" "$logs/$part.log")")
done

printf '\n== everything, seed %s\n' "$seed"
printf '%s\n' "${summary[@]}"
printf '\nThe row for docs/everything.md:\n| %s | %s | %s, %s cores, Linux %s | %s | %s | %s | %s (%s) |\n' "$(date +%F)" "$(git describe --always --dirty)" \
    "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(uname -r)" "${numbers[@]}" $(((SECONDS - began + 30) / 60)) "$minutes"
((failures == 0))
