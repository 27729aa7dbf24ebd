//! The commands of all pages are run, and print what the pages say.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use suites::deadline::output;
use suites::run::Scratch;
use suites::superpin::command;

use super::blocks::Page;
use super::not_run::NOT_RUN;
use super::{pages, root};

/// In what a page shows: stands for anything in a line, and alone for any number of lines.
const ANYTHING: &str = "…";

/// What a page's commands take for granted: README's and the manual's first page make the programs that others use.
const FIRST: [&str; 2] = ["README.md", "docs/manual/index.md"];

/// How cargo is called for superpin itself, which the test has built.
const CARGO: &str = r#"cargo() {
    case "$*" in
        'build --release') ;;
        'run --release -- '*) shift 3; superpin "$@" ;;
        *) echo "cargo $*: tests/suites/docs/not_run.rs names what isn't run"; return 9 ;;
    esac
}"#;

/// All pages as paths from the repository's root, in the order in which they are tried.
fn in_order() -> Vec<String> {
    let mut all: Vec<String> =
        pages().iter().map(|page| page.strip_prefix(root()).unwrap().to_str().unwrap().to_owned()).collect();
    all.sort_by_key(|page| (!FIRST.contains(&page.as_str()), page.clone()));
    all
}

pub fn page(path: &str) -> Page {
    Page::of(&super::read(path))
}

/// Where commands run: what they name of the repository is there, and a folder for what they make.
fn place() -> Scratch {
    let scratch = Scratch::new().unwrap();
    for name in ["examples", "LICENSE-APACHE", "README.md"] {
        symlink(root().join(name), scratch.cwd().join(name)).unwrap();
    }
    fs::create_dir(scratch.cwd().join("target")).unwrap();
    scratch
}

/// A script that knows `superpin`.
pub fn script(commands: &str) -> String {
    let words: Vec<String> = command().into_iter().map(|word| word.into_string().unwrap()).collect();
    format!("superpin() {{ {} \"$@\"; }}\n{CARGO}\nexec 2>&1\n{commands}\n", words.join(" "))
}

/// What the commands print, as a page shows it.
fn printed(at: &str, commands: &str, cwd: &Path) -> String {
    let done = output(Command::new("bash").args(["-ec", &script(commands)]).current_dir(cwd)).unwrap();
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{at}: {}\n{commands}\n{text}", done.status);
    text
}

fn is_line_as_shown(shown: &str, printed: &str) -> bool {
    let Some((begin, rest)) = shown.split_once(ANYTHING) else { return shown == printed };
    let Some(mut left) = printed.strip_prefix(begin) else { return false };
    let mut parts: Vec<&str> = rest.split(ANYTHING).collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        let Some((_, behind)) = left.split_once(part) else { return false };
        left = behind;
    }
    left.ends_with(end)
}

fn are_as_shown(shown: &[&str], printed: &[&str]) -> bool {
    match (shown.split_first(), printed.split_first()) {
        (None, _) => printed.is_empty(),
        (Some((&ANYTHING, rest)), _) => (0..=printed.len()).any(|skipped| are_as_shown(rest, &printed[skipped..])),
        (Some((line, rest)), Some((first, others))) => is_line_as_shown(line, first) && are_as_shown(rest, others),
        (Some(_), None) => false,
    }
}

fn is_as_shown(shown: &str, printed: &str) -> bool {
    let lines = |text| str::lines(text).map(str::trim_end).collect::<Vec<_>>();
    are_as_shown(&lines(shown), &lines(printed))
}

#[test]
fn commands_print_what_pages_say() {
    let scratch = place();
    let (mut run, mut compared) = (0, 0);
    for path in in_order() {
        for (block, text) in page(&path).shown() {
            let is_run = |line: &&String| !NOT_RUN.iter().any(|left| left.page == path && left.command == **line);
            let commands: Vec<&str> = block.lines.iter().filter(is_run).map(String::as_str).collect();
            if commands.iter().all(|line| line.is_empty()) {
                continue;
            }
            let at = format!("{path}:{}", block.line);
            let printed = printed(&at, &commands.join("\n"), &scratch.cwd());
            run += 1;
            let Some(text) = text.map(super::blocks::Block::text) else { continue };
            let commands = commands.join("\n");
            assert!(is_as_shown(&text, &printed), "{at}:\n{commands}\n-- the page\n{text}\n-- here\n{printed}");
            compared += 1;
        }
    }
    assert!(run > 50 && compared > 45, "only {run} blocks of commands were found, {compared} with what they print");
}

/// Nothing that looks like a command is where it isn't run.
#[test]
fn commands_are_where_they_are_run() {
    let is_command = |line: &str| {
        let line = line.trim_start().trim_start_matches("$ ");
        ["superpin -", "cargo run ", "cargo build ", "cargo test ", "scripts/"]
            .iter()
            .any(|start| line.starts_with(start))
    };
    for path in in_order() {
        let page = page(&path);
        for block in page.blocks.iter().filter(|block| block.language != "sh") {
            let at = format!("{path}:{}", block.line);
            assert!(
                !block.language.is_empty(),
                "{at}: say behind ``` what it is: sh for commands, text for what they print"
            );
            let found = block.lines.iter().find(|line| is_command(line) && !line.contains('['));
            assert!(found.is_none(), "{at}: {found:?} in a block of `{}`: commands are `sh`", block.language);
        }
        let found = page.prose.iter().find(|(_, line)| line.starts_with("    ") && is_command(line));
        assert!(found.is_none(), "{path}: {found:?}: commands stand between ```sh and ```");
    }
}

#[test]
fn what_is_not_run_is_there() {
    for left in NOT_RUN {
        let page = page(left.page);
        let mut lines = page.blocks.iter().filter(|block| block.language == "sh").flat_map(|block| &block.lines);
        assert!(
            lines.any(|line| line == left.command),
            "{} has no `{}`: take it out of NOT_RUN",
            left.page,
            left.command
        );
        assert!(!left.reason.is_empty());
    }
}

#[test]
fn other_output_is_noticed() {
    let printed = "Total Count: 1234\n   12  find\n    3  hash\nend\n";
    for same in [
        "Total Count: 1234\n   12  find\n    3  hash\nend",
        "Total Count: …\n…find\n… …  hash\nend",
        "Total Count: …4\n…\nend",
        "…\nend\n…",
    ] {
        assert!(is_as_shown(same, printed), "{same}");
    }
    for other in [
        "Total Count: 1235\n   12  find\n    3  hash\nend",
        "Total Count: 1234\n   12  find\n    3  hash",
        "Total Count: …5\n…\nend",
        "Total Count: 1234\n…  find\n…  find\nend",
        "…\nhash\n…",
        "Total Count: 1234\n…\nend\nend",
    ] {
        assert!(!is_as_shown(other, printed), "{other}");
    }
}
