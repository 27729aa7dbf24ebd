//! Commands that aren't run, and those in the text, have options that exist; and so have options that the text names.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use suites::deadline::output;
use suites::run::{Job, Scratch, run};
use suites::superpin::command;

use super::commands::{page, script};
use super::not_run::NOT_RUN;
use super::pages;

/// What stands on pages for what the reader has, and what is taken in its place: tools, processes, numbers.
const STANDS_FOR: [(&str, &str); 8] = [
    ("TOOL", "icount2"),
    ("NAME", "icount2"),
    ("my-tool", "icount2"),
    ("loads", "icount2"),
    ("target/x86_64-unknown-linux-gnu/release/loads", "icount2"),
    ("hot-calls", "opcodes"),
    ("PID", NOBODY),
    ("N", NOBODY),
];

/// No process has this number.
const NOBODY: &str = "2147483647";

/// A command with what is there in place of what isn't.
fn concrete(command: &str) -> String {
    let command = command.replace("$(pgrep -n perl)", NOBODY).replace("cargo run --release -- ", "superpin ");
    let there =
        |word: &str| STANDS_FOR.iter().find(|(name, _)| *name == word).map_or(word, |(_, there)| there).to_owned();
    command.split(' ').map(there).collect::<Vec<_>>().join(" ")
}

/// Runs a command with an app that doesn't exist: that there is none is said when all options are right.
fn check(command: &str, cwd: &Path) -> Result<(), String> {
    let command = concrete(command);
    let own = command.split(" -- ").next().unwrap_or_default().split(['<', '>', '#', '&']).next().unwrap_or_default();
    let is_run = own.starts_with("superpin -") && !["-pid", "help", "-h", "-V"].iter().any(|word| own.contains(word));
    let tool = if own.contains(" -t") { "" } else { " -t icount2" };
    let whole = if is_run { format!("{own}{tool} -- /nonexistent/app") } else { own.to_owned() };
    let done =
        output(Command::new("bash").args(["-c", &script(&whole)]).current_dir(cwd)).map_err(|e| e.to_string())?;
    let told = String::from_utf8_lossy(&done.stdout).into_owned();
    // `superpin read FILE`: it is known, and says what it lacks.
    let of_it = own.split_whitespace().nth(1).unwrap_or_default();
    let is_subcommand = !of_it.starts_with('-')
        && [format!("superpin {of_it}"), format!("superpin: {of_it}: ")]
            .iter()
            .any(|known| told.contains(known.as_str()));
    let is_right = match done.status.code() {
        Some(0) => !is_run,
        Some(127) => told.contains("/nonexistent/app: no such program"),
        Some(125) => told.contains(&format!("there is no process {NOBODY}")) || is_subcommand,
        _ => false,
    };
    if is_right { Ok(()) } else { Err(format!("{whole}: {}\n{told}", done.status)) }
}

#[test]
fn commands_that_are_not_run_have_options_that_exist() {
    let scratch = Scratch::new().unwrap();
    let mut looked_at = 0;
    for left in NOT_RUN.iter().filter(|left| concrete(left.command).starts_with("superpin ")) {
        check(left.command, &scratch.cwd()).unwrap_or_else(|told| panic!("{}: `{}`: {told}", left.page, left.command));
        looked_at += 1;
    }
    assert!(looked_at > 5, "only {looked_at} commands were found");
}

#[test]
fn commands_in_the_text_have_options_that_exist() {
    let scratch = Scratch::new().unwrap();
    let mut looked_at = 0;
    for path in pages() {
        let path = path.strip_prefix(super::root()).unwrap().to_str().unwrap();
        let page = page(path);
        for (line, span) in page.spans().filter(|(_, span)| span.starts_with("superpin ") && !span.contains('[')) {
            check(span, &scratch.cwd()).unwrap_or_else(|told| panic!("{path}:{line}: `{span}`: {told}"));
            looked_at += 1;
        }
    }
    assert!(looked_at > 20, "only {looked_at} commands were found");
}

/// Pages whose options are mostly those of scripts and of the benchmark, or of another time.
const OF_OTHER_THINGS: [&str; 3] = ["CHANGELOG.md", "CONTRIBUTING.md", "docs/benchmark.md"];

/// Options that pages name and that are other programs'.
const OF_OTHERS: [&str; 21] = [
    "--cap-add",
    "--security-opt",
    "--smc-check",
    "--peak-inaccuracy",
    "-O0",
    "-u",
    "-b",
    "-e",
    "-g",
    "-superpin",
    "-follow_execv",
    "-follow_children",
    "-control",
    "-skip_instrs",
    "-exit_after_tracing",
    "-logfile",
    "-loglevel",
    "-mix",
    "-offline",
    "--trace-mem",
    "-stop-",
];

/// The options in a text, by their names with the dashes.
fn options(text: &str) -> impl Iterator<Item = &str> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let words = text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| {
        let bare = word.trim_start_matches('-');
        (1..=2).contains(&(word.len() - bare.len())) && bare.starts_with(|c: char| c.is_ascii_alphabetic())
    });
    words.map(move |word| word.split(|c| !is_of_name(c)).next().unwrap_or_default())
}

/// What `--help` lists, superpin's and each tool's, without dashes.
fn known() -> BTreeSet<String> {
    let said = |job: Job| String::from_utf8(run(&job).unwrap().stdout).unwrap();
    let list = said(Job::new(command()).with("-t").with("help"));
    let tools = list.lines().filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
    let of_tools = tools.map(|tool| said(Job::new(command()).with("-t").with(tool).with("--help")));
    let all: String = of_tools.chain([said(Job::new(command()).with("--help"))]).collect();
    options(&all).map(|option| option.trim_start_matches('-').to_owned()).collect()
}

#[test]
fn options_in_the_text_exist() {
    let known = known();
    let mut looked_at = 0;
    for path in pages() {
        let path = path.strip_prefix(super::root()).unwrap().to_str().unwrap();
        if OF_OTHER_THINGS.contains(&path) {
            continue;
        }
        let page = page(path);
        for (line, span) in page.spans().filter(|(_, span)| span.starts_with('-')) {
            for option in options(span).filter(|option| !OF_OTHERS.contains(option)) {
                let is_there = known.contains(option.trim_start_matches('-'));
                assert!(is_there, "{path}:{line}: `{span}`: nothing has an option {option}");
                looked_at += 1;
            }
        }
    }
    assert!(looked_at > 300, "only {looked_at} options were found");
}

/// What `cargo … -p NAME --test NAME` names, in blocks and in the text.
fn named_to_cargo(page: &super::blocks::Page) -> Vec<(&str, &str)> {
    let lines = page.blocks.iter().filter(|block| block.language == "sh").flat_map(|block| &block.lines);
    let commands = lines.map(String::as_str).chain(page.spans().map(|(_, span)| span));
    let named = commands.filter(|command| command.contains("cargo ")).flat_map(|command| {
        let words: Vec<&str> = command.split(" -- ").next().unwrap_or_default().split_whitespace().collect();
        words.windows(2).map(|pair| (pair[0], pair[1])).collect::<Vec<_>>()
    });
    named.filter(|(option, _)| ["-p", "--test", "--bin", "--profile"].contains(option)).collect()
}

#[test]
fn what_cargo_is_told_exists() {
    let tree = super::tree();
    let manifests = tree.iter().filter(|path| path.ends_with("Cargo.toml")).map(|path| super::read(path));
    let manifests: String = manifests.collect();
    let mut looked_at = 0;
    for path in pages() {
        let path = path.strip_prefix(super::root()).unwrap().to_str().unwrap();
        for (option, name) in named_to_cargo(&page(path)) {
            let is_file = |file: String| option == "--test" && tree.iter().any(|path| path.ends_with(&file));
            let is_there = manifests.contains(&format!("\nname = \"{name}\"\n"))
                || manifests.contains(&format!("[profile.{name}]"))
                || is_file(format!("/tests/{name}.rs"))
                || is_file(format!("/tests/{name}/main.rs"));
            assert!(is_there, "{path}: there is no `{option} {name}`");
            looked_at += 1;
        }
    }
    assert!(looked_at > 15, "only {looked_at} names were found");
}

#[test]
fn options_of_the_benchmark_exist() {
    let source = super::read("benches/src/main.rs");
    let page = page("docs/benchmark.md");
    let lines = page.blocks.iter().filter(|block| block.language == "sh").flat_map(|block| &block.lines);
    let mut looked_at = 0;
    for line in lines {
        let Some((_, told)) = line.split_once("-p benches -- ") else { continue };
        // What stands between quotes are ways to run superpin.
        let own: String = told.split('"').step_by(2).collect();
        for option in options(&own) {
            assert!(source.contains(&format!("\"{option}\"")), "docs/benchmark.md: `{line}`: there is no {option}");
            looked_at += 1;
        }
    }
    assert!(looked_at > 15, "only {looked_at} options were found");
}

#[test]
fn a_wrong_option_is_noticed() {
    let scratch = Scratch::new().unwrap();
    for right in
        ["superpin -sp 1 -t TOOL -o out -- app", "superpin detach PID", "superpin -t opcodes --help", "superpin read"]
    {
        check(right, &scratch.cwd()).unwrap();
    }
    for wrong in [
        "superpin -sp 1 -spmesc 5 -t icount2 -- ls",
        "superpin -t icount -- ls",
        "superpin -t icount2 --top 5 -- ls",
        "superpin -spmp many -t icount2 -- ls",
        "superpin -pid PID -t icount2 -detach-afer 1",
        "superpin attach",
    ] {
        assert!(check(wrong, &scratch.cwd()).is_err(), "{wrong}");
    }
}
