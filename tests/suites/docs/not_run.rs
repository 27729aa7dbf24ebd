//! Commands on pages that the tests don't run, and why. Their options are looked at all the same.

pub struct NotRun {
    /// From the repository's root.
    pub page: &'static str,
    /// A line of it.
    pub command: &'static str,
    pub reason: &'static str,
}

const fn of(page: &'static str, command: &'static str, reason: &'static str) -> NotRun {
    NotRun { page, command, reason }
}

const NEW_TOOL: &str = "builds a tool, which takes a minute: tools/superpin/tests/new_tool.rs does it";
const LONG: &str = "takes minutes";
const MACHINE: &str = "what it prints is of one machine";
const OTHERS: &str = "works on a process or a program that the reader has";

pub const NOT_RUN: &[NotRun] = &[
    of(
        "README.md",
        "alias superpin=$PWD/target/x86_64-unknown-linux-gnu/release/superpin",
        "the test has a function of this name",
    ),
    of(
        "README.md",
        "superpin -pid $(pgrep -n perl) -t icount2 -detach-after 1   # a second of a process that runs already",
        OTHERS,
    ),
    of("README.md", "superpin new-tool ../my-tool && cd ../my-tool", NEW_TOOL),
    of("README.md", "cargo run --release -- -sp 1 -t my-tool -- ls", NEW_TOOL),
    of("README.md", "scripts/install-deps.sh && cargo test --workspace --release --no-fail-fast", LONG),
    of("CONTRIBUTING.md", "scripts/install-deps.sh && cargo test --workspace --release --no-fail-fast", LONG),
    of(
        "CONTRIBUTING.md",
        "scripts/first-difference.sh --registers --context 3 --first-env KIND=income --second-env KIND=losses -- ./accounts",
        OTHERS,
    ),
    of(
        "docs/benchmark.md",
        "cargo build --release -p superpin && cp target/*/release/superpin /tmp/before    # at the commit before",
        LONG,
    ),
    of(
        "docs/benchmark.md",
        "cargo run --release -p benches -- -before /tmp/before -pin 1 -n 5 -x 0.5 -w \"none, icount2, sliced icount2\"",
        LONG,
    ),
    of(
        "docs/benchmark.md",
        "cargo run --release -p benches -- -pin 1 -n 5 -x 0.5 -dynamorio FOLDER -w \"none, icount2, icount1, memaddr, DynamoRIO, DynamoRIO bbcount\"",
        LONG,
    ),
    of(
        "docs/benchmark.md",
        "cargo run --release -p benches -- -pin 1 -n 1 -x 0.12 -dynamorio FOLDER -w \"icount1, memaddr, opcodes, DynamoRIO inscount, DynamoRIO opcodes, valgrind\"",
        LONG,
    ),
    of(
        "docs/benchmark.md",
        "cargo run --release -p benches -- -threads -n 2 -dynamorio FOLDER -w \"none, icount2, DynamoRIO, DynamoRIO bbcount\"",
        LONG,
    ),
    of(
        "docs/benchmark.md",
        "cargo run --release -p benches -- -n 2 -x 4 -dynamorio FOLDER -w \"none, icount2, DynamoRIO, DynamoRIO bbcount\" pigz-2 pbzip2-2 stencil-2 sums-2",
        LONG,
    ),
    of(
        "docs/benchmark.md",
        "cargo run --release -p benches -- -pin 1 -m 1 -n 3 -dynamorio FOLDER -w \"none, icount2, icount2 -persist, DynamoRIO, DynamoRIO bbcount\"",
        LONG,
    ),
    of(
        "docs/benchmark.md",
        "cargo run --release -p benches -- -pin 1 -n 2 -x 0.5 -w \"icount2, sliced icount2, sliced icount2 -spmsec 50\" -s \"-spmsec 1000\" -s \"-spmsec 50\"",
        LONG,
    ),
    of(
        "docs/report.md",
        "superpin -sp 1 -report report.txt -t dcache -- /usr/bin/python3 -c 'print(sum(range(30000000)))'",
        MACHINE,
    ),
    of("docs/tools.md", "superpin new-tool ../loads", NEW_TOOL),
    of("docs/tools.md", "cd ../loads", NEW_TOOL),
    of("docs/tools.md", "cargo run --release -- -sp 1 -t loads -- ls", NEW_TOOL),
    of("docs/tools.md", "cargo test --release", NEW_TOOL),
    of("docs/tools.md", "cargo build --release", NEW_TOOL),
    of("docs/tools.md", "target/x86_64-unknown-linux-gnu/release/loads -sp 1 -t loads -- ls", NEW_TOOL),
    of("docs/tools.md", "superpin -sp 1 -t target/x86_64-unknown-linux-gnu/release/loads -- ls", NEW_TOOL),
    of("docs/tools.md", "superpin -check-tool 1 -t my-tool -- ls", NEW_TOOL),
];
