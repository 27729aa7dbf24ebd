//! The documentation against what it documents: commands and what they print, options, names in the report, dependencies, links.

mod blocks;
mod commands;
mod json;
mod manual;
mod messages;
mod not_run;
mod spelled;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use suites::run::{Job, Scratch, run};
use suites::superpin::{command, count_with};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// README, what lies beside it, and all pages of `docs`.
fn pages() -> Vec<PathBuf> {
    let in_folder = |folder: PathBuf| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let all = in_folder(root()).chain(in_folder(root().join("docs"))).chain(in_folder(root().join("docs/manual")));
    all.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

/// What stands between backquotes in the first cells of a page's tables.
fn first_cells(page: &str) -> BTreeSet<String> {
    let cells = page.lines().filter_map(|line| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned()));
    cells.collect()
}

/// An option's name, dashes included.
fn option_name(text: &str) -> &str {
    text.split(|c: char| c.is_whitespace() || c == '`').next().unwrap()
}

/// Names with one dash in the list of options that `--help` prints.
fn options_in_help() -> BTreeSet<String> {
    let outcome = run(&Job::new(command()).with("--help")).unwrap();
    let help = String::from_utf8(outcome.stdout).unwrap();
    let rows = help.lines().map(str::trim_start).filter(|row| row.starts_with('-'));
    // `-h, --help  Print …`: the short name stands first.
    rows.map(|row| option_name(row).trim_end_matches(',').to_owned()).collect()
}

#[test]
fn every_option_is_documented_and_no_other() {
    let documented: BTreeSet<String> =
        first_cells(&read("docs/options.md")).iter().map(|cell| option_name(cell).to_owned()).collect();
    let in_help = options_in_help();
    assert!(in_help.len() > 15, "{in_help:?}");
    for option in in_help.iter().filter(|option| !["-h", "-V"].contains(&option.as_str())) {
        let what_to_do = "give it a row in a table of docs/options.md";
        assert!(documented.contains(option), "--help has {option}, docs/options.md hasn't: {what_to_do}");
    }
    let of_tools = run(&Job::new(command()).with("-t").with("icount2").with("--help")).unwrap();
    let of_tools = String::from_utf8(of_tools.stdout).unwrap();
    for option in documented.iter().filter(|option| option.starts_with('-')) {
        let is_every_tools = of_tools.lines().any(|row| option_name(row.trim_start()).trim_end_matches(',') == option);
        let is_there = in_help.contains(option) || is_every_tools;
        assert!(is_there, "docs/options.md has {option}, --help hasn't: take the row out");
    }
}

/// The names of a report. That of `slice_3_ended` is documented as `slice_N_ended`.
fn names(report: &str) -> BTreeSet<String> {
    // Its summary is for people.
    let lines = report.lines().filter(|line| !line.starts_with('#'));
    let names = lines.filter_map(|line| Some(line.split_once(':')?.0.trim()));
    let is_number = |part: &str| part.parse::<u64>().is_ok();
    let general = |name: &str| -> String {
        name.split('_').map(|part| if is_number(part) { "N" } else { part }).collect::<Vec<_>>().join("_")
    };
    names.map(general).collect()
}

#[test]
fn every_name_in_a_report_is_documented() {
    let documented = first_cells(&read("docs/report.md"));
    let scratch = Scratch::new().unwrap();
    let folder = scratch.beside("kept");
    let persist = ["-persist", folder.to_str().unwrap()];
    let app = ["/bin/sh", "-c", "/bin/true; /bin/true"];
    let runs = [&["-sp", "0"][..], &["-sp", "1", "-spmsec", "1", "-spverify", "1"], &persist];
    for options in runs {
        let counted = count_with("icount2", options, &Job::new(app)).unwrap();
        let written = names(&counted.report);
        assert!(written.len() > 30, "{options:?}: {}", counted.report);
        for name in &written {
            let what_to_do = "give it a row in a table of docs/report.md that says what it means and in which unit";
            assert!(
                documented.contains(name),
                "the report of {options:?} has `{name}`, docs/report.md hasn't: {what_to_do}"
            );
        }
    }
}

/// Words that others of docs/glossary.md have replaced, in names, messages, options and reports.
const REPLACED: [&str; 19] = [
    "landing",
    "landings",
    "tally",
    "mirror",
    "mirrors",
    "mirrored",
    "picture",
    "pictures",
    "keeper",
    "keepers",
    "wish",
    "settle",
    "cradle",
    "borrower",
    "heritage",
    "proximity",
    "lingering",
    "shortcut",
    "stranger",
];

/// The words of a line, those of names included: of `ShardCount` and of `shard_count`.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut last = ' ';
    for c in line.chars() {
        if !c.is_ascii_alphabetic() || c.is_ascii_uppercase() && last.is_ascii_lowercase() {
            words.push(String::new());
        }
        if c.is_ascii_alphabetic() {
            words.last_mut().expect("there is one").push(c.to_ascii_lowercase());
        }
        last = c;
    }
    words
}

#[test]
fn words_that_were_replaced_are_gone() {
    let tree = tree();
    let folders = ["slice-runtime/", "supervisor/", "syscall-replay/", "sigmatch/", "tools/api/src/"];
    let sources =
        tree.iter().filter(|path| path.ends_with(".rs") && folders.iter().any(|folder| path.starts_with(folder)));
    let mut looked_at = 0;
    for path in sources {
        for (number, line) in read(path).lines().enumerate() {
            let found = words(line).into_iter().find(|word| REPLACED.contains(&word.as_str()));
            assert!(
                found.is_none(),
                "{path}:{}: {}: docs/glossary.md has another word",
                number + 1,
                found.unwrap_or_default()
            );
            looked_at += 1;
        }
    }
    assert!(looked_at > 20_000, "only {looked_at} lines were found");
}

/// Names in the table of the workspace's dependencies that aren't its own crates.
fn dependencies() -> Vec<String> {
    let manifest = read("Cargo.toml");
    let table = manifest.split("[workspace.dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
    let foreign = table.lines().filter(|line| !line.starts_with('#') && !line.contains("path = "));
    foreign.filter_map(|line| Some(line.split_once('=')?.0.trim().to_owned())).collect()
}

#[test]
fn every_dependency_is_argued_for() {
    let documented = first_cells(&read("docs/dependencies.md"));
    let used = dependencies();
    assert!(used.len() > 8, "{used:?}");
    for name in &used {
        let what_to_do = "say in a row of docs/dependencies.md what it is for, and why this one";
        assert!(documented.contains(name), "Cargo.toml has {name}, docs/dependencies.md hasn't: {what_to_do}");
    }
    for name in &documented {
        let there = used.contains(name) || read("docs/dependencies.md").contains(&format!("| `{name}` | not used"));
        assert!(there, "docs/dependencies.md has {name}, Cargo.toml hasn't: take the row out, or call it \"not used\"");
    }
}

/// Lines of a manifest's tables of dependencies.
fn dependency_lines(manifest: &str) -> Vec<&str> {
    let mut is_in = false;
    let lines = manifest.lines().filter(|line| {
        let is_head = line.starts_with('[');
        if is_head {
            is_in = line.ends_with("dependencies]") && *line != "[workspace.dependencies]";
        }
        is_in && !is_head && !line.is_empty() && !line.starts_with('#')
    });
    lines.collect()
}

#[test]
fn every_manifest_takes_its_crates_from_the_workspace() {
    let tree = tree();
    let mut taken = 0;
    for manifest in tree.iter().filter(|path| path.ends_with("Cargo.toml")) {
        for line in dependency_lines(&read(manifest)) {
            let is_listed = line.contains("workspace = true") || line.contains("path = ");
            assert!(
                is_listed,
                "{manifest}: `{line}`: name it in [workspace.dependencies], so that docs/dependencies.md has it"
            );
            taken += 1;
        }
    }
    assert!(taken > 60, "only {taken} dependencies were found");
}

/// Targets of `[text](target)`.
fn links(page: &str) -> Vec<&str> {
    page.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0)).collect()
}

/// As a page's headings are named in links.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| -> String {
        let text = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        text.chars().filter(|c| c.is_alphanumeric() || *c == '-' || *c == '_').collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn links_between_pages_lead_somewhere() {
    let mut followed = 0;
    for path in pages() {
        let page = fs::read_to_string(&path).unwrap();
        for link in links(&page).into_iter().filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            assert!(target.exists(), "{}: [..]({link}) leads nowhere", path.display());
            let there = anchor.is_empty() || anchors(&fs::read_to_string(&target).unwrap()).contains(anchor);
            assert!(there, "{}: [..]({link}): there is no such heading", path.display());
            followed += 1;
        }
    }
    assert!(followed > 20, "only {followed} links were found");
}

/// All files and folders of the repository, as paths from its root.
fn tree() -> Vec<String> {
    let mut all = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            if name == "target" || name == ".git" {
                continue;
            }
            all.push(entry.path().strip_prefix(root()).unwrap().to_str().unwrap().to_owned());
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            }
        }
    }
    all
}

/// What a page names of the repository: paths, and behind `::` what is defined there.
fn named(page: &str, tree: &[String]) -> Vec<(String, Option<String>)> {
    const ENDINGS: [&str; 8] = ["rs", "sh", "md", "txt", "S", "c", "cpp", "toml"];
    let is_path = |c: char| c.is_ascii_alphanumeric() || "_./-:".contains(c);
    let words = page.split(|c: char| !is_path(c)).filter(|word| !word.contains("://") && !word.starts_with(['/', '.']));
    let starts: BTreeSet<&str> = tree.iter().filter_map(|path| Some(path.split_once('/')?.0)).collect();
    let crates = ["api", "bubble", "engine", "isa", "machine", "standard", "tracee", "translator"];
    let paths = words.filter_map(|word| {
        let (path, item) = word.split_once("::").map_or((word, None), |(path, item)| (path, Some(item)));
        // `words/words.c:51` is a line of it.
        let path = path.split_once(':').filter(|(path, _)| path.contains('/')).map_or(path, |(path, _)| path);
        let (path, item) = (path.trim_end_matches(['.', '/']), item.map(|item| item.trim_end_matches(['.', ':'])));
        let ending = path.rsplit_once('.').map(|(_, ending)| ending);
        let is_file = ending.is_some_and(|ending| ENDINGS.contains(&ending));
        let is_folder =
            path.split_once('/').is_some_and(|(first, _)| starts.contains(first) || crates.contains(&first));
        let is_named = (is_file || is_folder) && !path.starts_with("target/");
        is_named.then(|| (path.to_owned(), item.map(str::to_owned)))
    });
    paths.collect()
}

/// Files that users make, and one of DynamoRIO's.
const ELSEWHERE: [&str; 8] = [
    "total.txt",
    "report.txt",
    "sorted.txt",
    "calls.txt",
    "mix.txt",
    "bpred.txt",
    "cache.txt",
    "api/samples/memtrace_x86.c",
];

#[test]
fn every_path_that_is_named_exists() {
    let tree = tree();
    let ends_so = |whole: &str, path: &str| {
        whole.strip_suffix(path).is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    let (mut files, mut items) = (0, 0);
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for (path, item) in named(&text, &tree) {
            if ELSEWHERE.contains(&path.as_str()) {
                continue;
            }
            let found: Vec<&String> = tree.iter().filter(|whole| ends_so(whole, &path)).collect();
            assert!(!found.is_empty(), "{} names {path}: there is no such file or folder", page.display());
            files += 1;
            let Some(item) = item else { continue };
            assert_eq!(found.len(), 1, "{} names {path}::{item}: which of {found:?}?", page.display());
            let source = read(found[0]);
            let defined = ["fn", "struct", "enum", "trait", "mod"].map(|what| format!("{what} {item}"));
            let is_there = defined.iter().any(|start| {
                source
                    .split(start.as_str())
                    .skip(1)
                    .any(|rest| !rest.starts_with(|c: char| c == '_' || c.is_alphanumeric()))
            });
            assert!(is_there, "{} names {path}::{item}: nothing of that name is defined there", page.display());
            items += 1;
        }
    }
    assert!(files > 100 && items > 40, "only {files} paths and {items} items were found");
}

#[test]
fn every_page_can_be_found_from_readme() {
    let mut found = BTreeSet::from([root().join("README.md")]);
    let mut new: Vec<PathBuf> = found.iter().cloned().collect();
    while let Some(page) = new.pop() {
        let text = fs::read_to_string(&page).unwrap();
        let linked =
            links(&text).into_iter().filter_map(|link| link.split('#').next().filter(|file| file.ends_with(".md")));
        // A book's table of contents would lead everywhere.
        let linked = linked.filter(|file| !file.ends_with("SUMMARY.md"));
        let linked = linked.filter_map(|file| page.parent().unwrap().join(file).canonicalize().ok());
        new.extend(linked.filter(|page| found.insert(page.clone())).collect::<Vec<_>>());
    }
    for page in pages().into_iter().filter(|page| !page.ends_with("SUMMARY.md")) {
        let page = page.canonicalize().unwrap();
        assert!(found.contains(&page), "nobody who begins at README.md comes to {}", page.display());
    }
}
