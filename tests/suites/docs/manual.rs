//! The manual's commands print what its pages say.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use suites::deadline::output;
use suites::run::{Job, Scratch, run};
use suites::superpin::command;

use super::root;

/// The rest of what is printed isn't shown.
const AND_SO_ON: &str = "…";

/// Commands of a page, and what they print.
struct Shown {
    commands: String,
    printed: String,
}

fn folder() -> PathBuf {
    root().join("docs/manual")
}

/// What a page shows: each block of commands, and the block of text behind it.
fn shown(page: &str) -> Vec<Shown> {
    let blocks: Vec<(&str, &str)> = page
        .split("\n```")
        .skip(1)
        .step_by(2)
        .map(|block| block.split_once('\n').expect("a block of code has a line"))
        .collect();
    let pairs = blocks.windows(2).filter(|pair| pair[0].0 == "sh" && pair[1].0 == "text");
    pairs.map(|pair| Shown { commands: pair[0].1.to_owned(), printed: pair[1].1.to_owned() }).collect()
}

/// Where commands run: what they name of the repository is there, and a folder for what they make.
fn place() -> Scratch {
    let scratch = Scratch::new().unwrap();
    for name in ["examples", "LICENSE-APACHE"] {
        symlink(root().join(name), scratch.cwd().join(name)).unwrap();
    }
    fs::create_dir(scratch.cwd().join("target")).unwrap();
    scratch
}

/// What the commands print, as a page shows it.
fn printed(commands: &str, cwd: &Path) -> String {
    let words: Vec<String> = command().into_iter().map(|word| word.into_string().unwrap()).collect();
    let script = format!("superpin() {{ {} \"$@\"; }}\nexec 2>&1\n{commands}", words.join(" "));
    let done = output(Command::new("bash").args(["-ec", &script]).current_dir(cwd)).unwrap();
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{commands}\n{text}");
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

fn is_as_shown(shown: &str, printed: &str) -> bool {
    match shown.strip_suffix(AND_SO_ON) {
        Some(begin) => printed.starts_with(begin),
        None => printed == shown,
    }
}

#[test]
fn commands_print_what_the_manual_says() {
    let scratch = place();
    let index = fs::read_to_string(folder().join("index.md")).unwrap();
    let mut pages: Vec<PathBuf> = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.retain(|page| !page.ends_with("index.md"));
    pages.sort();
    let texts = pages.iter().map(|page| fs::read_to_string(page).unwrap());
    let mut commands = 0;
    // What the index makes the others use.
    for Shown { commands: script, printed: expected } in [index].into_iter().chain(texts).flat_map(|text| shown(&text))
    {
        let printed = printed(&script, &scratch.cwd());
        assert!(is_as_shown(&expected, &printed), "{script}\n-- the manual\n{expected}\n-- here\n{printed}");
        commands += 1;
    }
    assert!(commands > 20, "only {commands} commands were found");
}

#[test]
fn each_tool_has_a_part_of_the_manual() {
    let list = String::from_utf8(run(&Job::new(command()).with("-t").with("help")).unwrap().stdout).unwrap();
    let tools: Vec<&str> = list.lines().filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next()).collect();
    let pages = fs::read_dir(folder()).unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
    let pages = pages.collect::<String>();
    let missing: Vec<&&str> = tools.iter().filter(|tool| !pages.contains(&format!("\n## `{tool}`\n"))).collect();
    assert!(
        tools.len() > 20 && missing.is_empty(),
        "{missing:?}: write `## \\`NAME\\`` with a run of it in docs/manual"
    );
}

/// The book has all pages.
#[test]
fn the_summary_has_each_page() {
    let docs = root().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let pages = super::pages().into_iter().filter_map(|page| Some(page.strip_prefix(&docs).ok()?.to_owned()));
    let pages: Vec<PathBuf> = pages.filter(|page| page != Path::new("SUMMARY.md")).collect();
    let missing: Vec<&PathBuf> =
        pages.iter().filter(|page| !summary.contains(&format!("({})", page.display()))).collect();
    assert!(pages.len() > 15 && missing.is_empty(), "docs/SUMMARY.md has no {missing:?}");
}
