//! docs/json.md has each name that is in a tool's JSON, with its type, and no other.
//!
//! ```text
//!   a row of the page    `rows[].misses.{L1,L2}.loads` | number
//!   what a run gave      {"rows": [{"misses": {"L1": {"loads": 7}, …
//! ```
//!
//! A tool or an option more is a row in `RUNS`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use suites::deadline::output;
use suites::run::Scratch;
use suites::superpin::command;

/// A tool, its options, and superpin's. Together they give all that the page tells.
const RUNS: &[(&str, &[&str], &[&str])] = &[
    ("none", &[""], &[]),
    ("icount1", &["", "--threads 1"], &[]),
    ("icount2", &["", "--threads 1"], &[]),
    ("opcodes", &["", "--threads 1"], &[]),
    ("branches", &["", "--threads 1"], &[]),
    ("bpred", &["", "--conditional tage", "--threads 1"], &[]),
    ("memaddr", &["", "--threads 1"], &[]),
    ("dcache", &["", "--threads 1"], &[]),
    ("allcache", &["", "--l2 none", "--threads 1"], &[]),
    ("cache", &["", "--by line", "--by instruction", "--by image --processor zen4", "--threads 1"], &[]),
    ("data", &["", "--processor zen4 --top 0"], &[]),
    ("cmpcache", &["--cores 2"], &[]),
    ("heap", &["", "--depth 1 --by live", "--massif"], &[]),
    (
        "mix",
        &["", "--by mnemonic,extension,width,length", "--by image,routine,line,thread", "--by address", "--by block"],
        &[],
    ),
    ("hot", &["", "--code 1", "--threads 1"], &[]),
    ("shadow", &["", "--sample 1000"], &["-sp", "1"]),
    ("stacks", &["", "--threads 1"], &[]),
    ("blocks", &["", "--threads 1"], &[]),
    ("edges", &["", "--top 0", "--threads 1"], &[]),
    ("bbv", &["--interval 10000", "--interval 10000 --blocks"], &[]),
    ("simpoints", &["--interval 10000", "--interval 10000 --print weights"], &[]),
    ("footprint", &["", "--by-image", "--by-image --threads 1"], &[]),
    ("reuse", &["", "--line 4096", "--threads 1"], &[]),
    ("strace", &["", "-c", "--names"], &[]),
];

/// Threads, blocks that are kept, calls that fail, branches of all kinds.
const APP: &str = r#"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static long table[4096];
static __attribute__((noinline)) long more(long a) { return a + 1; }
static __attribute__((noinline)) long less(long a) { return a - 1; }
static long (*volatile ways[2])(long) = { more, less };
static void *work(void *from)
{
    long sum = 0;
    for (int i = 0; i < 4096; i++) {
        table[i] = sum;
        sum = ways[i & 1](sum) + (from != 0);
    }
    return (void *)sum;
}
int main(void)
{
    char *volatile kept = malloc(100000), *volatile freed = malloc(50000);
    memset(kept, 1, 100000);
    free(freed);
    close(-1);
    pthread_t other;
    pthread_create(&other, 0, work, kept);
    work(0);
    pthread_join(other, 0);
    return kept[5] != 1;
}
"#;

/// Stands for what of a thread is as of all.
const REST: &str = "threads[].…";

/// Names on the way to a value: `rows[]`, `line`.
type Steps = Vec<String>;

/// A path on the page, with its type.
struct Row {
    path: String,
    kind: String,
}

impl Row {
    fn is_of(&self, steps: &[String]) -> bool {
        let own: Vec<&str> = self.path.split('.').collect();
        own.len() == steps.len() && own.iter().zip(steps).all(|(own, step)| *own == "*" || own == step)
    }

    fn takes(&self, value: &Value) -> bool {
        let kind = match value {
            Value::Null => return self.kind.ends_with("or null"),
            Value::Bool(_) => "true or false",
            Value::Number(_) => "number",
            Value::String(_) => "text",
            Value::Array(_) | Value::Object(_) => "object",
        };
        self.kind.starts_with(kind)
    }
}

/// `a.{b,c}` is `a.b` and `a.c`.
fn expanded(path: &str) -> Vec<String> {
    let braces = path.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    let Some((before, (names, behind))) = braces else { return vec![path.to_owned()] };
    names.split(',').flat_map(|name| expanded(&format!("{before}{name}{behind}"))).collect()
}

/// The rows of each tool that has a part of the page; those of the object around them have no name.
fn rows_of(page: &str) -> BTreeMap<String, Vec<Row>> {
    let mut all: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    let mut tools: Vec<&str> = Vec::new();
    for line in page.lines() {
        if line.starts_with('#') {
            let names = line.strip_prefix("### ").unwrap_or_default();
            tools = if line == "## The object" { vec![""] } else { names.split('`').skip(1).step_by(2).collect() };
            tools.iter().for_each(|tool| assert!(all.insert((*tool).into(), Vec::new()).is_none(), "{tool} is twice"));
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let Some(path) = cells.get(1).and_then(|cell| cell.strip_prefix('`')?.strip_suffix('`')) else { continue };
        for (tool, path) in tools.iter().flat_map(|tool| expanded(path).into_iter().map(move |path| (tool, path))) {
            let rows = all.get_mut(*tool).unwrap();
            assert!(rows.iter().all(|row| row.path != path), "{tool}: {path} is twice");
            rows.push(Row { path, kind: cells[2].to_owned() });
        }
    }
    all
}

/// Adds the values that have no names below them.
fn leaves<'a>(value: &'a Value, steps: &Steps, found: &mut Vec<(Steps, &'a Value)>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (name, member) in members {
                leaves(member, &[&steps[..], std::slice::from_ref(name)].concat(), found);
            }
        }
        Value::Array(all) => {
            let mut steps = steps.clone();
            steps.last_mut().expect("a list has a name").push_str("[]");
            all.iter().for_each(|one| leaves(one, &steps, found));
        }
        Value::Object(_) if steps.is_empty() => {}
        _ => found.push((steps.clone(), value)),
    }
}

/// The page's paths that values use.
///
/// # Errors
/// One that the page hasn't, or has with another type.
fn used_of(rows: &[Row], values: &Value) -> Result<BTreeSet<String>, String> {
    let (mut found, mut used) = (Vec::new(), BTreeSet::new());
    leaves(values, &Steps::new(), &mut found);
    let row_of = |steps: &[String]| rows.iter().find(|row| row.is_of(steps));
    let has_rest = rows.iter().any(|row| row.path == REST);
    for (steps, value) in found {
        let path = steps.join(".");
        let of_thread = steps.strip_prefix(&["threads[]".to_owned()]).filter(|_| has_rest).and_then(row_of);
        let Some(row) = row_of(&steps).or(of_thread) else {
            return Err(format!("docs/json.md has no `{path}`: write what it means, and its unit"));
        };
        if !row.takes(value) {
            return Err(format!("`{path}` is {value}, and on docs/json.md {}", row.kind));
        }
        used.insert(row.path.clone());
        used.extend(of_thread.map(|_| REST.to_owned()));
    }
    Ok(used)
}

/// Paths of which the page says what no run has.
fn unused<'a>(rows: &'a [Row], used: &BTreeSet<String>) -> Vec<&'a str> {
    rows.iter().map(|row| row.path.as_str()).filter(|path| !used.contains(*path)).collect()
}

const TO_DO: &str = "no run has this: take it off docs/json.md, or add a run that has";

fn superpin(cwd: &Path, words: &[&str]) -> (bool, String) {
    let mut own = command().into_iter();
    let done = output(Command::new(own.next().unwrap()).args(own).args(words).current_dir(cwd)).unwrap();
    (done.status.success(), String::from_utf8(done.stderr).unwrap())
}

/// The objects that a run writes.
fn objects(cwd: &Path, words: &[&str]) -> Vec<Value> {
    let (is_well, told) = superpin(cwd, words);
    assert!(is_well, "{words:?}: {told}");
    told.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{words:?}: {line}"))).collect()
}

fn app() -> Scratch {
    let scratch = Scratch::new().unwrap();
    fs::write(scratch.cwd().join("app.c"), APP).unwrap();
    let gcc = ["-O1", "-g", "-o", "app", "app.c", "-lpthread"];
    assert!(output(Command::new("gcc").args(gcc).current_dir(scratch.cwd())).unwrap().status.success());
    scratch
}

#[test]
fn each_name_in_a_tools_json_is_documented_and_no_other() {
    let (scratch, documented) = (app(), rows_of(&super::read("docs/json.md")));
    for (tool, ways, options) in RUNS {
        let rows = documented.get(*tool).unwrap_or_else(|| panic!("docs/json.md has no part on `{tool}`"));
        let mut used = BTreeSet::new();
        for way in *ways {
            let of_tool = ["-t", tool, "--json"].into_iter().chain(way.split_whitespace());
            let words: Vec<&str> = options.iter().copied().chain(of_tool).chain(["--", "./app"]).collect();
            let mut objects = objects(&scratch.cwd(), &words);
            assert_eq!(objects.len(), 1, "{words:?}");
            let of_run = used_of(rows, &objects[0]["values"].take());
            used.extend(of_run.unwrap_or_else(|wrong| panic!("{tool} {way}: {wrong}")));
        }
        assert_eq!(unused(rows, &used), [""; 0], "{tool}: {TO_DO}");
    }
}

#[test]
fn each_name_around_the_values_is_documented_and_no_other() {
    let (scratch, documented) = (app(), rows_of(&super::read("docs/json.md")));
    let mut used = BTreeSet::new();
    for words in [
        "-t icount2 --json -- ./app",
        "-follow 1 -t icount2 --json -- sh -c ./app;true",
        "-report report -t data --json -- ./app",
        "-sp 1 -t shadow --json -- ./app",
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        for mut object in objects(&scratch.cwd(), &words) {
            assert!(object["values"].is_object(), "{words:?}");
            object["values"] = json!({});
            used.extend(used_of(&documented[""], &object).unwrap_or_else(|wrong| panic!("{words:?}: {wrong}")));
        }
    }
    assert_eq!(unused(&documented[""], &used), [""; 0], "{TO_DO}");
}

/// Each tool of the list has runs here, or is named among those that refuse it.
#[test]
fn tools_have_json_or_are_named_as_having_none() {
    let scratch = Scratch::new().unwrap();
    let page = super::read("docs/json.md");
    let none = page.split("\n## Tools without it\n").nth(1).expect("the part on tools without JSON");
    let mut own = command().into_iter();
    let list = output(Command::new(own.next().unwrap()).args(own).args(["-t", "help"])).unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    let tools: Vec<&str> = list.lines().filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next()).collect();
    assert!(tools.len() > 20, "{list}");
    for tool in tools {
        let (has_runs, is_named) = (RUNS.iter().any(|(name, ..)| *name == tool), none.contains(&format!("`{tool}`")));
        let told = superpin(&scratch.cwd(), &["-t", tool, "-o", "result", "--json", "--", "/nonexistent"]).1;
        let has_json = !told.contains("has no result in JSON");
        let what_to_do = "docs/json.md has a part on each tool with JSON, RUNS runs of it; it names the others";
        assert_eq!((has_runs, is_named), (has_json, !has_json), "{tool}: {what_to_do}");
    }
}

#[test]
fn what_differs_is_noticed() {
    let page = "### `a`, `b`\n| path | type |\n|---|---|\n| `n.{x,y}` | number of bytes |\n| `rows[].of.*` | text, or null |\n\
                | `threads[].…` | |\n## Others\n| `z` | text |\n";
    let documented = rows_of(page);
    assert_eq!(documented.keys().collect::<Vec<_>>(), ["a", "b"]);
    let right =
        json!({"n": {"x": 1, "y": 2}, "rows": [{"of": {"mov": "m", "add": null}}], "threads": [{"n": {"x": 1}}]});
    let used = used_of(&documented["b"], &right).unwrap();
    assert_eq!(used.iter().map(String::as_str).collect::<Vec<_>>(), ["n.x", "n.y", "rows[].of.*", REST]);
    assert_eq!(unused(&documented["b"], &used), [""; 0]);
    for wrong in [
        json!({"n": {"z": 1}}),
        json!({"n": {"x": "1"}}),
        json!({"n": {"x": null}}),
        json!({"n": [{"x": 1}]}),
        json!({"rows": {"of": {"mov": "m"}}}),
        json!({"threads": [{"n": {"z": 1}}]}),
    ] {
        assert!(used_of(&documented["b"], &wrong).is_err(), "{wrong}");
    }
    let used = used_of(&documented["b"], &json!({"n": {"x": 1}})).unwrap();
    assert_eq!(unused(&documented["b"], &used), ["n.y", "rows[].of.*", REST]);
}
