#!/usr/bin/env bash
# Brings the lock file of the example, which is no member of the workspace, up to date with the workspace's: the same versions, so that it can be built without the network
# wherever the workspace has been built. To be called, and the result committed, when the dependencies of `superpin-tool` or of what it needs have changed.
set -euo pipefail
cd "$(dirname "$0")/.."
# What the workspace has is kept by cargo, and the rest removed.
cp Cargo.lock examples/hot-calls/Cargo.lock
cargo update --quiet --offline --workspace --manifest-path examples/hot-calls/Cargo.toml
git --no-pager diff --stat -- examples/hot-calls/Cargo.lock
