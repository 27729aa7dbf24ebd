#!/usr/bin/env bash
# What one thing that tools do costs, as CPU time over that of a native run: a counter, two additions and a branch, floating point, a check that may panic, a hash
# table, a stream of addresses, the whole state. The tools are in tools/api/examples/costs. The least of some rounds counts.
#
#   scripts/costs.sh [-n ROUNDS] [-s 'OPTIONS OF SUPERPIN']
#
# With DynamoRIO, in the folder that DYNAMORIO_HOME names (a release, or where it was built), the same tools as a client of its own are measured beside each, see
# scripts/costs/dynamorio.c.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=3 options='-sp 0'
while getopts n:s: option; do
    case $option in
        n) rounds=$OPTARG ;;
        s) options=$OPTARG ;;
        *) exit 2 ;;
    esac
done
cargo build --quiet --release -p superpin-tool --example costs
image=$(ls target/*/release/examples/costs)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
head -c 1200000 "$image" >"$scratch/data"

declare -A apps=(
    [gzip]="gzip -c $scratch/data"
    [perl]='perl -e my$s=0;for(1..160000){$h{$_%97}.=$_;$s+=length($h{$_%97})}print$s'
    [sqlite3]='sqlite3 :memory: with\ recursive\ c(x)as(select\ 1\ union\ all\ select\ x+1\ from\ c\ where\ x<60000)select\ sum(x*x%7),count(distinct\ x%1001)from\ c'
    [python3]='PYTHON -S -c d={}\nfor\ i\ in\ range(100000):d[i%101]=d.get(i%101,0)+i\nprint(sum(d.values()))'
)

# The program itself, where `python3` is a script that chooses one.
apps[python3]=${apps[python3]/PYTHON/$(python3 -c 'import sys; print(sys.executable)')}

# The least CPU time of some runs, in milliseconds.
least() {
    local least='' used
    for ((n = 0; n < rounds; n++)); do
        used=$({ TIMEFORMAT='%U %S' && time "$@" >"$scratch/out" 2>"$scratch/err"; } 2>&1) || { cat "$scratch/err" >&2; exit 1; }
        used=$(awk '{ print ($1 + $2) * 1000 }' <<<"$used")
        if [[ -z $least ]] || awk "BEGIN { exit !($used < $least) }"; then least=$used; fi
    done
    echo "$least"
}

# Words of an app, in which `\ ` is a blank and `\n` a line's end.
words() {
    local IFS=$'\1'
    read -r -d '' -a app < <(sed 's/\\ /\x02/g; s/ /\x01/g; s/\x02/ /g' <<<"${apps[$1]}" | sed -z 's/\n$//; s/\\n/\n/g'; printf '\0') || true
}

names=(gzip perl python3 sqlite3)
declare -A native
for name in "${names[@]}"; do
    words "$name"
    native[$name]=$(least "${app[@]}")
done

row() {
    local label=$1
    shift
    printf '| %s' "$label"
    for name in "${names[@]}"; do
        words "$name"
        local used
        used=$(least "$@" "${app[@]}")
        awk "BEGIN { printf \" | %.1f\", $used / ${native[$name]} }"
    done
    printf ' |\n'
}

printf '| tool'
printf ' | %s' "${names[@]}"
printf ' |\n|---|---|---|---|---|\n| (native, ms)'
for name in "${names[@]}"; do printf ' | %.0f' "${native[$name]}"; done
printf ' |\n'
dynamorio=${DYNAMORIO_HOME:-/nowhere}
if [[ -e $dynamorio/bin64/drrun ]]; then
    gcc -O2 -shared -fPIC -DLINUX -DX86_64 "-I$dynamorio/include" "-I$dynamorio/ext/include" scripts/costs/dynamorio.c -o "$scratch/libcosts.so" \
        "-L$dynamorio/lib64/release" "-L$dynamorio/ext/lib64/release" -ldynamorio -ldrmgr -ldrreg -ldrx -ldrutil -ldrcontainers
fi
for tool in count branch floating checked table stream whole; do
    # shellcheck disable=SC2086 # several options
    row "\`$tool\`" "$image" $options -t "$tool" --
    if [[ -e $scratch/libcosts.so ]]; then row "$tool, DynamoRIO" "$dynamorio/bin64/drrun" -c "$scratch/libcosts.so" "$tool" --; fi
done
