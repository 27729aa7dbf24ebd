//! `data`: misses of variables, blocks and stacks that are known, the same however the run is cut, and in all as many as `cache` finds.

use std::fs;
use std::path::Path;
use std::process::Command;

use suites::deadline::output;
use suites::run::Scratch;
use superpin_tool::json::{self, Value};

/// Each round goes through a table, a list and an array on the stack, all of them larger than the first cache, and has blocks allocated in three ways.
const SOURCE: &str = r#"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
enum { ROUNDS = 30, LINES = 4096, NODES = 5000 };
struct line { long words[8]; };
static struct line table[LINES] __attribute__((aligned(64)));
struct node { struct node *next; char rest[72]; };
static __attribute__((noinline)) void *get(size_t size) { char *p = malloc(size); *p = 1; return p; }
static __attribute__((noinline)) struct node *list(void)
{
    struct node *first = 0;
    for (int i = 0; i < NODES; i++) {
        struct node *node = get(sizeof *node);
        node->next = first;
        first = node;
    }
    return first;
}
static __attribute__((noinline)) char *aligned(void)
{
    void *p;
    if (posix_memalign(&p, 64, 64 * LINES))
        abort();
    return p;
}
static __attribute__((noinline)) long on_stack(int round)
{
    volatile struct line lines[LINES / 8];
    long sum = 0;
    for (int i = 0; i < LINES / 8; i++)
        lines[i].words[0] = round;
    for (int i = 0; i < LINES / 8; i++)
        sum += lines[i].words[0];
    return sum;
}
int main(void)
{
    struct node *first = list();
    long sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < LINES; i++)
            table[i].words[3]++;
        for (struct node *node = first; node; node = node->next)
            sum += node->rest[5];
        char *block = aligned();
        for (int i = 0; i < LINES; i++)
            block[64 * i]++;
        char *grown = realloc(malloc(100), 200000);
        for (int i = 0; i < 200000; i += 64)
            grown[i] = 1;
        free(grown);
        free(block);
        sum += on_stack(round);
        getppid();
    }
    return sum == 1;
}
"#;

fn result(folder: &Path, tool: &str, options: &str) -> Value {
    let caches = "--l1i 16K,4,64 --l1d 4K,4,64 --l2 64K,4,64 --llc 256K,8,64 --json -o result -- ./app";
    let words = format!("{options} -env clean -t {tool} {caches}");
    let done = output(Command::new(env!("CARGO_BIN_EXE_superpin")).args(words.split(' ')).current_dir(folder)).unwrap();
    assert_eq!(done.status.code(), Some(0), "{words}: {}", String::from_utf8_lossy(&done.stderr));
    json::from_slice::<Value>(&fs::read(folder.join("result")).unwrap()).unwrap()["values"].take()
}

fn misses(result: &Value, is_it: impl Fn(&Value) -> bool) -> u64 {
    let rows = result["rows"].as_array().unwrap();
    rows.iter().filter(|row| is_it(row)).map(|row| row["misses"]["L1"].as_u64().unwrap()).sum()
}

#[test]
fn misses_are_of_the_data_that_was_accessed() {
    let scratch = Scratch::new().unwrap();
    let folder = scratch.cwd();
    fs::write(folder.join("app.c"), SOURCE).unwrap();
    let built = output(Command::new("gcc").args(["-O1", "-g", "-o", "app", "app.c"]).current_dir(&folder)).unwrap();
    assert!(built.status.success());
    let serial = result(&folder, "data --top 0", "-sp 0");
    for options in ["-sp 1 -spmsec 5", "-sp 1 -spsysrecs 1", "-sp 1 -spsysrecs 0", "-sp 0 -engine none"] {
        assert_eq!(result(&folder, "data --top 0", options), serial, "{options}");
    }

    // Whose they are changes none of them.
    let all = result(&folder, "cache", "-sp 0")["all"]["misses"].take();
    for (cache, by_kind) in all.as_object().unwrap() {
        let sum: u64 = by_kind.as_object().unwrap().values().filter_map(Value::as_u64).sum();
        assert_eq!(serial["all"]["misses"][cache], sum, "{cache}");
    }

    // Each line of these misses once in each round, the stack's twice: nothing stays until the next. The rest is a few of other accesses.
    let (rounds, lines) = (30, 4096);
    let about = |found: u64, expected: u64| assert!(found.abs_diff(expected) <= expected / 20, "{found}: {serial}");
    about(misses(&serial, |of| of["variable"] == "table"), rounds * lines);
    about(misses(&serial, |of| of["kind"] == "stack"), rounds * 2 * lines / 8);
    let blocks_of =
        |result: &Value, routine: &str| misses(result, |of| of["kind"] == "blocks" && of["routine"] == routine);
    about(blocks_of(&serial, "aligned"), rounds * lines);
    assert_eq!(blocks_of(&serial, "list"), 0);
    // A node has 80 bytes of two lines, of which the next one has a part.
    let nodes = blocks_of(&serial, "get");
    assert!((5000 * rounds..5000 * rounds * 2).contains(&nodes), "{nodes}");
    about(blocks_of(&serial, "main"), rounds * 200_000 / 64);

    // Whoever calls `get` has the blocks.
    let named = result(&folder, "data --top 0 --allocator get", "-sp 0");
    assert_eq!((blocks_of(&named, "list"), blocks_of(&named, "get")), (nodes, 0));
    assert_eq!(result(&folder, "data --top 0 --allocator get", "-sp 1 -spsysrecs 1"), named);

    // What has no name isn't called after what stands at its section's start.
    let stripped = output(Command::new("strip").arg("app").current_dir(&folder)).unwrap();
    assert!(stripped.status.success());
    let stripped = result(&folder, "data --top 0", "-sp 0");
    about(misses(&stripped, |of| of["variable"] == ".bss"), rounds * lines);
}
