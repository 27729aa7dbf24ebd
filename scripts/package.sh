#!/usr/bin/env bash
# Makes what can be handed out: scripts/package.sh [FOLDER]  (target/package-out if none is named).
#
#   superpin-VERSION-x86_64-linux.tar.gz   the program as one static file, its manual, completions, documents: to unpack anywhere
#   superpin_VERSION_amd64.deb             the same for Debian and what is like it: apt install ./superpin_…_amd64.deb
#
# What is needed besides Rust is what Debian has anyway (tar, gzip, dpkg-deb).
set -euo pipefail
cd "$(dirname "$0")/.."
to=${1:-target/package-out}
mkdir -p "$to"
work=$(mktemp -d "$to/work.XXXXXX")
trap 'rm -rf "$work"' EXIT
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)

root=$work/root
install -d "$root"/usr/{bin,share/{man/man1,bash-completion/completions,zsh/vendor-completions,fish/vendor_completions.d,doc/superpin}}
scripts/static.sh "$root/usr/bin/superpin"
cargo build --release --quiet --package supervisor --example manual
made() { "$root/usr/bin/superpin" -t help | target/x86_64-unknown-linux-gnu/release/examples/manual "$1"; }
made man | gzip -9n > "$root/usr/share/man/man1/superpin.1.gz"
made bash > "$root/usr/share/bash-completion/completions/superpin"
made zsh > "$root/usr/share/zsh/vendor-completions/_superpin"
made fish > "$root/usr/share/fish/vendor_completions.d/superpin.fish"
cp README.md LICENSE-APACHE LICENSE-MIT CHANGELOG.md "$root/usr/share/doc/superpin/"
cp -r docs "$root/usr/share/doc/superpin/docs"
{
    printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: superpin\n\n'
    printf 'Files: *\nCopyright: the authors of SuperPin\nLicense: MIT or Apache-2.0\n The texts are in LICENSE-MIT and LICENSE-APACHE beside this file.\n'
} > "$root/usr/share/doc/superpin/copyright"
find "$root" -type d -exec chmod 755 {} + && find "$root" -type f ! -path '*/bin/*' -exec chmod 644 {} +

# The time of the last commit: the same sources give the same archives.
when=$(git log -1 --format=%ct 2>/dev/null || date +%s)
name=superpin-$version-x86_64-linux
cp -r "$root/usr" "$work/$name"
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$when" -C "$work" -cf - "$name" | gzip -9n > "$work/$name.tar.gz"

install -d "$root/DEBIAN"
cat > "$root/DEBIAN/control" << END
Package: superpin
Version: $version
Architecture: amd64
Maintainer: the authors of SuperPin <superpin@localhost>
Installed-Size: $(du -sk "$root/usr" | cut -f 1)
Section: devel
Priority: optional
Description: dynamic binary instrumentation in parallel slices
 Counts instructions, mixes, cache misses and branches of programs as they are,
 records traces and profiles. The program runs natively, while slices of it run
 instrumented on the other processors; their results add up to exactly what a
 serial run gives.
END
SOURCE_DATE_EPOCH=$when dpkg-deb --root-owner-group --build "$root" "$work/superpin_${version}_amd64.deb" > /dev/null
mv -f "$work"/*.tar.gz "$work"/*.deb "$to/"
ls -l "$to"/superpin*
