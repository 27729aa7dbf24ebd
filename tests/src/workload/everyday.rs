//! Small programs of every kind that a soak cuts, besides those that are measured: what people have installed.

use std::path::Path;

use super::inputs::Inputs;
use super::job::{Workload, program, reading};
use crate::run::Job;

/// A job that a shell could have started: the words with the name of the input in place of `@`.
fn words(program: &Path, line: &str, inputs: &Inputs) -> Job {
    let text = inputs.text().to_string_lossy().into_owned();
    let words = line.split_ascii_whitespace().map(|word| word.replace('@', &text));
    Job::new(std::iter::once(program.to_string_lossy().into_owned()).chain(words))
}

/// The same, but two runs don't execute the same number of instructions.
const fn varying(workload: Workload) -> Workload {
    Workload { repeats: false, ..workload }
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
    // Big ones, each with much code that runs seldom. Those that aren't installed are left out.
    program("cc1plus", "cc1plus", |p, i| words(p, "-quiet -O1 -o out.s", i).with(i.script("words.cc", CXX))),
    program("php", "php", |p, i| words(p, "-n", i).with(i.script("words.php", PHP)).with(i.text())),
    // These seed their hash tables or generators from the system's.
    varying(program("ruby", "ruby", |p, i| {
        words(p, "--disable-gems", i).with(i.script("words.rb", RUBY)).with(i.text())
    })),
    varying(program("luajit", "luajit", |p, i| words(p, "", i).with(i.script("sieve.lua", LUAJIT)))),
    varying(program("luajit-interpreted", "luajit", |p, i| words(p, "-joff", i).with(i.script("sieve.lua", LUAJIT)))),
    varying(program("emacs", "emacs", |p, i| words(p, "--batch -Q -l", i).with(i.script("words.el", EMACS)))),
    // Not by the script's name: it would list that folder, in which files are made meanwhile.
    program("ocaml", "ocaml", |p, i| reading(words(p, "-noinit -noprompt", i), i.script("sum.ml", OCAML))),
    program("busybox", "busybox", |p, i| words(p, "sha512sum @", i)),
    program("git", "git", |p, i| words(p, "hash-object @", i)),
    program("git-diff", "git", |p, i| words(p, "diff --no-index --stat @ /dev/null", i)),
];

const CXX: &str = "\
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>
struct node { std::map<std::string, std::shared_ptr<node>> next; std::function<int(int)> f; };
int main(int argc, char **argv)
{
    std::map<std::string, std::vector<node>> all;
    for (int i = 0; i < argc; i++) all[argv[i]].push_back({{}, [i](int n) { return i + n; }});
    int sum = 0;
    for (auto &[name, nodes] : all) {
        std::sort(nodes.begin(), nodes.end(), [](auto &a, auto &b) { return a.f(1) < b.f(2); });
        for (auto &n : nodes) sum += n.f(name.size());
    }
    return sum;
}
";
const PHP: &str = "<?php $n = []; foreach (explode(' ', substr(file_get_contents($argv[1]), 0, 100000)) as $w) $n[$w] = ($n[$w] ?? 0) + 1;
ksort($n); echo count($n), ' ', md5(json_encode($n)), \"\\n\";\n";
const RUBY: &str =
    "n = Hash.new(0)\nFile.read(ARGV[0])[0, 100000].split.each { |w| n[w] += 1 }\nputs n.size, n.keys.sort.first\n";
const LUAJIT: &str =
    "local n, s = 60000, {}\nfor i = 2, n do if not s[i] then for j = i * i, n, i do s[j] = true end end end
local c = 0\nfor i = 2, n do if not s[i] then c = c + 1 end end\nprint(c, string.rep('x', 50):gsub('x', 'y'))\n";
const EMACS: &str = "(let ((s 0)) (dotimes (i 20000) (setq s (mod (+ (* s 31) i) 1000003))) (message \"%d\" s))\n";
const OCAML: &str =
    "let rec f n = if n < 2 then n else f (n - 1) + f (n - 2)\nlet () = Printf.printf \"%d\\n\" (f 20)\n";

const TCL: &str = "set s 0\nfor {set i 0} {$i < 20000} {incr i} { incr s [expr {$i * $i % 7}] }\nputs $s\n";
const SHELL: &str = "i=0\nwhile [ $i -lt 3000 ]; do i=$((i + 1)); set -- $i $*; shift; done\necho $i\n";
