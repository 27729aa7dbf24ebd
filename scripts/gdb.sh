#!/usr/bin/env bash
# Puts gdb on a slice that waits (`-stop-slice`): with the symbols of the app, which gdb finds by itself, and those of the tool image, and the app's
# registers. Once in gdb, `app` prints them again; `continue` lets the slice go on, and so does leaving gdb and `kill -CONT PID`.
#
#   scripts/gdb.sh PID [GDB OPTIONS …]
set -euo pipefail
pid=${1:?usage: scripts/gdb.sh PID [GDB OPTIONS …]}
shift
# Where bubble/src/map.rs places the image.
at=5554e0000000
image=$(awk -v at="$at-" 'index($1, at) == 1 && $6 ~ /^\// { print $6; exit }' "/proc/$pid/maps")
[ -n "$image" ] || { echo "gdb.sh: process $pid has no tool image at 0x$at: it is no slice" >&2; exit 1; }

# Names that map to words of the registers' place, in the order of machine::Registers.
names=(rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15 rip rflags fs_base gs_base)
commands=$(mktemp)
trap 'rm -f "$commands"' EXIT
{
    echo "set confirm off"
    echo "add-symbol-file $image -o 0x$at"
    echo "set confirm on"
    echo "define app"
    echo "  set language c"
    echo '  set $app = *(unsigned long **)&SUPERPIN_APP_REGISTERS'
    echo '  if $app == 0'
    echo '    echo the slice has not stopped by -stop-slice\n'
    echo '  else'
    for n in "${!names[@]}"; do
        # Only numbers are printed: for a string gdb would call malloc in the slice.
        printf '    printf "%-8s0x%%lx\\n", $app[%d]\n' "${names[n]}" "$n"
    done
    echo '    x/i $app[16]'
    echo '  end'
    echo '  set language auto'
    echo "end"
    echo 'document app'
    echo "The app's registers where the slice waits, and the instruction before which it does."
    echo "end"
    echo "app"
} >"$commands"
gdb -p "$pid" -x "$commands" "$@"
