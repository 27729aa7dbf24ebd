//! Small programs of every kind that a soak cuts, besides those that are measured: what people have installed.

use std::path::Path;

use super::{Inputs, Job, Workload, program, reading};

/// A job that a shell could have started: the words with the name of the input in place of `@`.
fn words(program: &Path, line: &str, inputs: &Inputs) -> Job {
    let text = inputs.text().to_string_lossy().into_owned();
    let words = line.split_ascii_whitespace().map(|word| word.replace('@', &text));
    Job::new(std::iter::once(program.to_string_lossy().into_owned()).chain(words))
}

/// All of them.
pub const EVERYDAY: &[Workload] = &[
    program("md5sum", "md5sum", |p, i| words(p, "@", i)),
    program("cksum", "cksum", |p, i| words(p, "@", i)),
    program("od", "od", |p, i| words(p, "-x -N200000 @", i)),
    program("xxd", "xxd", |p, i| words(p, "-l 200000 @", i)),
    program("hexdump", "hexdump", |p, i| words(p, "-C -n 100000 @", i)),
    program("base64", "base64", |p, i| words(p, "@", i)),
    program("fold", "fold", |p, i| words(p, "-w 20 @", i)),
    program("fmt", "fmt", |p, i| words(p, "-w 40 @", i)),
    program("nl", "nl", |p, i| words(p, "@", i)),
    program("tac", "tac", |p, i| words(p, "@", i)),
    program("cut", "cut", |p, i| words(p, "-c 3-9 @", i)),
    program("tr", "tr", |p, i| reading(words(p, "a-m n-z", i), i.text())),
    program("paste", "paste", |p, i| words(p, "-d, @ @", i)),
    program("uniq", "uniq", |p, i| words(p, "-c @", i)),
    program("comm", "comm", |p, i| words(p, "--nocheck-order @ @", i)),
    program("pr", "pr", |p, i| words(p, "-3 -D x @", i)),
    program("rev", "rev", |p, i| words(p, "@", i)),
    program("factor", "factor", |p, i| words(p, "1000000016000000063 600851475143 99999999999999999999", i)),
    program("seq", "seq", |p, i| words(p, "-s, 1 20000", i)),
    program("printf", "printf", |p, i| words(p, "%08.3f%s 3.25 @", i)),
    program("dc", "dc", |p, i| words(p, "-e 3000k2vp", i)),
    program("m4", "m4", |p, i| words(p, "@", i)),
    program("cpp", "cpp", |p, i| words(p, "-P -x c @", i)),
    program("objdump", "objdump", |p, i| words(p, "-d /bin/true", i)),
    program("readelf", "readelf", |p, i| words(p, "-aW /bin/true", i)),
    program("nm", "nm", |p, i| words(p, "-D /bin/bash", i)),
    program("strings", "strings", |p, i| words(p, "/bin/bash", i)),
    program("tclsh", "tclsh", |p, i| reading(words(p, "", i), i.script("sum.tcl", TCL))),
    // It formats its parent's process id, whose number of digits varies.
    Workload {
        repeats: false,
        ..program("dash", "dash", |p, i| reading(words(p, "", i), i.script("count.sh", SHELL)))
    },
    program("find", "find", |p, i| words(p, "/etc/apt -name *.list", i)),
    // It subtracts two readings of the clock: two instructions more if a second begins between them.
    Workload { repeats: false, ..program("lz4", "lz4", |p, i| words(p, "-q -c @", i)) },
    program("split", "split", |p, i| words(p, "-b 100000 @ part", i)),
    program("shuf", "shuf", |p, i| words(p, "--random-source=@ -n 1000 @", i)),
    program("join", "join", |p, i| words(p, "--nocheck-order @ /dev/null", i)),
    program("expand", "expand", |p, i| words(p, "@", i)),
    program("numfmt", "numfmt", |p, i| words(p, "--to=iec 1000 2000000 3000000000", i)),
    program("file", "file", |p, i| words(p, "-b /bin/true", i)),
];

const TCL: &str = "set s 0\nfor {set i 0} {$i < 20000} {incr i} { incr s [expr {$i * $i % 7}] }\nputs $s\n";
const SHELL: &str = "i=0\nwhile [ $i -lt 3000 ]; do i=$((i + 1)); set -- $i $*; shift; done\necho $i\n";
