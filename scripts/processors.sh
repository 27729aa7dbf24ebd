#!/usr/bin/env bash
# How good the report's estimates are: what a run on two processors says of 1, 2, 4, 8, 16 and 32 ("on_N_processors"), and what a run on so many takes then, with the
# options that were said. Five programs, four tools; as many processors as there are.
#
#   scripts/processors.sh [-x FACTOR] [-k FOLDER] [PROGRAM …]
#
# FACTOR multiplies the programs' inputs (1: a program takes about a second). FOLDER keeps all reports. SUPERPIN names another superpin than this folder's. Wall times in
# seconds, and the total of each run is compared with that of the first.
set -euo pipefail
cd "$(dirname "$0")/.."
factor=1 keep=
while getopts x:k: option; do
    case $option in
        x) factor=$OPTARG ;;
        k) keep=$(realpath "$OPTARG") ;;
        *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
if [[ -z ${SUPERPIN:-} ]]; then
    cargo build --quiet --release -p superpin
    SUPERPIN=$(ls "$PWD"/target/*/release/superpin)
fi
# Hashes of words that are other ones in each run take other times.
export PERL_HASH_SEED=0 PYTHONHASHSEED=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
times() { awk "BEGIN { printf \"%d\", $1 * $factor }"; }
# A text that compresses like one.
awk -v n="$(times 1000000)" 'BEGIN { x = 1; for (i = 0; i < n; i++) { x = (x * 16807) % 2147483647; printf "w%d%s", x % 5003, i % 11 ? " " : "\n" } }' >text
python=$(python3 -c 'import sys; print(sys.executable)')
declare -A apps=(
    [gzip]='gzip -c text text'
    [bzip2]='bzip2 -c text text text'
    [xz]='xz -T1 -3 -c text'
    [perl]="perl -e my\$s=0;for(1..$(times 9000000)){\$h{\$_%97}=\$_;\$s+=\$h{\$_%89}//1}print\$s"
    [python3]="$python -S -c d={};exec('for\ i\ in\ range($(times 8000000)):d[i%101]=d.get(i%101,0)+i');print(sum(d.values()))"
)
[[ $# -gt 0 ]] || set -- gzip bzip2 xz perl python3

# Runs something on so many processors: its wall time in seconds.
on() {
    local processors=$1
    shift
    local TIMEFORMAT=%R
    { time taskset -c "0-$((processors - 1))" "$@" >"$scratch/out" 2>"$scratch/err"; } 2>&1 || { cat "$scratch/err" >&2; exit 1; }
}
value() { awk -v name="$2" '$1 == name ":" { print $2 }' "$1"; }

here=$(nproc)
echo "| program | tool | native | processors | options | estimated | measured | of native |"
echo "|---|---|--:|--:|---|--:|--:|--:|"
for app in "$@"; do
    IFS=$'\1' read -r -d '' -a words < <(sed 's/\\ /\x02/g; s/ /\x01/g; s/\x02/ /g' <<<"${apps[$app]}") || true
    words[-1]=${words[-1]%$'\n'}
    native=$(on 2 "${words[@]}")
    for tool in icount2 mix branches dcache; do
        first=$scratch/first total=
        measured=$(on 2 "$SUPERPIN" -sp 1 -report "$first" -t "$tool" -o total -- "${words[@]}")
        total=$(cksum <total)
        echo "| $app | \`$tool\` | $native | 2 | | $(value "$first" on_2_processors_ms | awk '{ print $1 / 1000 }') | $measured | $(awk "BEGIN { printf \"%.2f\", $measured / $native }") |"
        [[ -z $keep ]] || cp "$first" "$keep/$app-$tool-first"
        for n in 1 2 4 8 16 32; do
            [[ $n -le $here ]] || continue
            at=$(value "$first" "on_${n}_processors_spmp") length=$(value "$first" "on_${n}_processors_spmsec")
            estimated=$(value "$first" "on_${n}_processors_best_ms")
            measured=$(on "$n" "$SUPERPIN" -sp 1 -spmp "$at" -spmsec "$length" -report report -t "$tool" -o total -- "${words[@]}")
            [[ $(cksum <total) == "$total" ]] || { echo "$app, $tool, $n processors: another total" >&2; exit 1; }
            [[ -z $keep ]] || cp report "$keep/$app-$tool-$n"
            awk -v l="| | | | $n | \`-spmp $at -spmsec $length\`" -v e="$estimated" -v m="$measured" -v n="$native" \
                'BEGIN { printf "%s | %.2f | %.2f | %.2f |\n", l, e / 1000, m, m / n }'
        done
    done
done
