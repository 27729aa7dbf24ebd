#!/usr/bin/env bash
# Installs what building and testing need on Debian and its kin: a C toolchain (the guests of the suites are small C, C++
# and assembler programs) and the real programs that the suites run. Rust itself is expected to be there already.
set -euo pipefail

packages=(
    gcc g++ libc6-dev                                   # guests; also `cc1` as a program under test
    gzip bzip2 xz-utils tar grep sed diffutils coreutils bash
    pigz pbzip2 lbzip2 zstd                             # with threads
    perl python3 sqlite3 mawk gawk bc jq lua5.4 openssl
    luajit php-cli php-opcache                          # compilers of their own
    less vim-tiny                                       # at a terminal
    valgrind                                            # cachegrind, which `allcache` is compared with
    strace                                              # which the tool `strace` is compared with
)

missing=()
for package in "${packages[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
    echo "all dependencies are installed"
    exit 0
fi
echo "installing: ${missing[*]}"
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
