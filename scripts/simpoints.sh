#!/usr/bin/env bash
# How well the intervals that `simpoints` chooses stand for the whole of a run: classes of instructions, cache misses and mispredicted branches, measured over
# all of it and reckoned from the chosen intervals by their weights. Of each interval as much before it warms caches and predictors up.
#
#   scripts/simpoints.sh [-i INTERVAL] [-k CLUSTERS] [-s 'OPTIONS OF SUPERPIN'] -- APP [ARGUMENTS]
set -euo pipefail
folder=$(cd "$(dirname "$0")/.." && pwd)
interval=1000000 clusters=30 options='-sp 1'
while getopts i:k:s: option; do
    case $option in
        i) interval=$OPTARG ;;
        k) clusters=$OPTARG ;;
        s) options=$OPTARG ;;
        *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[[ $# -gt 0 ]] || { sed -n '2,/^set/{/^#/s/^# \?//p}' "$0" && exit 2; }
(cd "$folder" && cargo build --quiet --release -p superpin)
superpin=$(ls "$folder"/target/*/release/superpin)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
app=("$@")

# What a tool says of a region: `over 'REGION' TOOL…`, the app's own output is dropped.
# shellcheck disable=SC2086
over() {
    "$superpin" $options $1 -t "${@:2}" -o "$scratch/result" -- "${app[@]}" >"$scratch/out" 2>"$scratch/err" </dev/null \
        || { cat "$scratch/err" >&2; exit 1; }
    cat "$scratch/result"
}

# Measures of a region, a line each: name, number.
measures() {
    over "$1" dcache | awk '/^Accesses:/ { print "accesses", $2 } /^Misses:/ { print "dcache-misses", $2 }'
    over "$1" allcache | awk '/^LLC/ { misses += $4 } END { print "llc-misses", misses }'
    over "$1" bpred | awk '/conditional branches,/ { print "branches", $1; print "mispredicted", $4 }'
    over "$1" mix | awk '/^Total Count:/ { print "instructions", $3 } NF == 3 && $1 ~ /^[0-9]+$/ { print $3, $1 }'
}

over '' simpoints --interval "$interval" --max-k "$clusters" >"$scratch/points"
measures '' | sed 's/^/1 whole /' >"$scratch/measures"
chosen=0
while read -r _ _ weight start length _; do
    warm=$((start < interval ? start : interval))
    region="-start-icount $start -trace $length -then end"
    ((warm == 0)) || region+=" -warm-up $warm"
    measures "$region" | sed "s/^/$weight point /" >>"$scratch/measures"
    chosen=$((chosen + length))
done < <(awk 'on && NF >= 6; $1 == "cluster" { on = 1 }' "$scratch/points")

awk -v chosen="$chosen" '
    $2 == "whole" { whole[$3] = $4; if (!($3 in place)) { place[$3] = ++n; name[n] = $3 } }
    $2 == "point" { points[$3] += $1 * $4; }
    END {
        all = whole["instructions"]; one = points["instructions"]
        printf "%d of %d instructions looked at, one in %d\n", chosen, all, all / chosen
        printf "%-16s %14s %14s %9s\n", "per 1000", "whole run", "reckoned", "off by"
        for (i = 1; i <= n; i++) {
            m = name[i]; if (m == "instructions") continue
            w = whole[m] * 1000 / all; p = points[m] * 1000 / one
            # What is seldom tells little.
            if (w < 0.05) continue
            printf "%-16s %14.3f %14.3f %8.1f%%\n", m, w, p, 100 * (p - w) / w
        }
    }' "$scratch/measures"
