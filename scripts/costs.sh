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
head -c 4500000 "$image" | base64 -w 60 >"$scratch/lines"
for ((n = 0; n < 40; n++)); do
    echo "int f$n(int *a, int n) { int s = $n; for (int i = 0; i < n; i++) if (a[i] % 7 > $n % 5) s += a[i] * i; else s ^= a[n - i]; return s; }"
done >"$scratch/source.c"

declare -A apps=(
    [gzip]="gzip -c $scratch/data"
    [bzip2]="bzip2 -c $scratch/data"
    [xz]="xz -T1 -1 -c $scratch/data"
    [cc1]="$(gcc -print-prog-name=cc1) -quiet -O1 $scratch/source.c -o $scratch/source.s"
    [mawk]="mawk {n[substr(\$0,1,2)]++;s+=length(\$0)}END{for(k\\ in\\ n)t+=n[k]*n[k];print\\ s,t} $scratch/lines"
    [sort]="sort --parallel=1 $scratch/lines"
    [openssl]="openssl enc -aes-128-cbc -pbkdf2 -iter 60000 -S 0123456789abcdef -k a -in $scratch/data"
    [lua]='lua -e local\ t,s={},0\ for\ i=1,3000000\ do\ t[i%101]=(t[i%101]\ or\ 0)+i\ end\ for\ k,v\ in\ pairs(t)\ do\ s=s+v\ end\ print(s)'
    [bash]='bash -c s=0;for((i=0;i<9000;i++));do\ s=$((s*31+i&65535));done;echo\ $s'
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

names=(gzip bzip2 xz perl python3 sqlite3 cc1 mawk sort openssl lua bash)
declare -A native
for name in "${names[@]}"; do
    words "$name"
    native[$name]=$(rounds=$((rounds * 4)) least "${app[@]}")
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
printf ' |\n|---'
printf '|---%.0s' "${names[@]}"
printf '|\n| (native, ms)'
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
