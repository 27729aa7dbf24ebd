//! What the tools say is the same serially and in slices.

use suites::selection::Selection;
use superpin_tool::testing::Runs;

use super::programs::SUPERPIN;

/// Tools with options. Each commit's run has some of them.
const TOOLS: [&str; 18] = [
    "champsim",
    "memtrace --drmemtrace",
    "calltrace --arguments 2 --returns",
    "malloctrace",
    "mix --by routine,class,width,thread --repeat each",
    "hot --top 0 --code 2",
    "blocks --top 0",
    "callgrind",
    "stacks",
    "edges --top 0",
    "coverage --text",
    "bbv --interval 10000",
    "simpoints --interval 10000 --max-k 5",
    "footprint --by-image",
    "heap --top 0",
    "reuse",
    "cmpcache --cores 2 --l1 4K,2,64",
    "cache --processor zen4 --by instruction --top 0",
];

/// Rounds in which each tool comes once.
const SHARES: usize = 3;

#[test]
fn tools_agree_with_themselves() {
    let is_asked = |n: &usize| Selection::asked().has("ported tools", n % SHARES, SHARES);
    for n in (0..TOOLS.len()).filter(is_asked) {
        let mut words = TOOLS[n].split(' ');
        let tool = words.next().unwrap_or_default();
        let runs = Runs::of(SUPERPIN).tool(tool).options(words).slices_of([2]);
        // A checked run takes a hundred times as long. What streams have isn't compared in it.
        let is_short = !matches!(tool, "champsim" | "memtrace" | "calltrace" | "malloctrace");
        runs.clone().checked(is_short).over(["/bin/true"]).agree();
        let results =
            runs.checked(false).over(["/bin/gzip", "-c", "Cargo.toml"]).over(["/bin/ls", "-nR", "tests"]).agree();
        assert!(results.iter().all(|result| result.len() > 100), "{tool}: {results:?}");
    }
}
