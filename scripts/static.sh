#!/usr/bin/env bash
# Builds superpin as one static file to hand out, and looks whether it is one: scripts/static.sh [FILE]  (./superpin if none is named).
# It runs on any x86-64 Linux that superpin itself supports, and needs no other file. Each build of superpin is such a file; this one has no symbols either.
set -euo pipefail
cd "$(dirname "$0")/.."
to=${1:-superpin}
fail() { echo "static.sh: $*" >&2; exit 1; }

cargo build --release --quiet --package superpin
made=target/x86_64-unknown-linux-gnu/release/superpin
part=$(mktemp "$to.XXXXXX")
trap 'rm -f "$part"' EXIT
cp "$made" "$part"
strip --strip-unneeded "$part"
chmod 755 "$part"

headers=$(readelf --wide --program-headers "$part")
! grep -q INTERP <<< "$headers" || fail "the file asks for a dynamic loader"
! readelf --wide --dynamic "$part" | grep -q NEEDED || fail "the file needs libraries"
grep -q 'DYN' <<< "$headers" || fail "the file isn't position-independent, so it can't be mapped into an app"

# It works in both modes, without an environment.
version=$(env -i "$(realpath "$part")" --version)
for mode in 0 1; do
    told=$(env -i "$(realpath "$part")" -sp $mode -t icount2 -- /bin/echo said 2>&1) || fail "-sp $mode: $told"
    [[ $told == said$'\n'"Total Count: "[0-9]* ]] || fail "-sp $mode: $told"
done
mv -f "$part" "$to"
trap - EXIT
echo "$to: $version, $(stat -c %s "$to") bytes, static"
