//! The documentation against what it documents: options, names in the report, dependencies, links, and README's numbers.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use suites::run::{Job, Scratch, run};
use suites::superpin::{SERIAL, command, count_with, parse_total};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// README, what lies beside it, and all pages of `docs`.
fn pages() -> Vec<PathBuf> {
    let in_folder = |folder: PathBuf| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let all = in_folder(root()).chain(in_folder(root().join("docs")));
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
    for option in
        documented.iter().filter(|option| option.starts_with('-') && !["-o", "--json"].contains(&option.as_str()))
    {
        assert!(in_help.contains(option), "docs/options.md has {option}, --help hasn't: take the row out");
    }
}

/// The names of a report. That of `slice_3_ended` is documented as `slice_N_ended`.
fn names(report: &str) -> BTreeSet<String> {
    let names = report.lines().filter_map(|line| Some(line.split_once(':')?.0.trim()));
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

#[test]
fn every_page_can_be_found_from_readme() {
    let readme = read("README.md");
    let linked: BTreeSet<PathBuf> = links(&readme).iter().map(|link| root().join(link)).collect();
    for page in pages().into_iter().filter(|page| !page.ends_with("README.md")) {
        assert!(linked.contains(&page), "README.md doesn't link to {}", page.display());
    }
}

#[test]
fn the_example_of_readme_gives_its_numbers() {
    let readme = read("README.md");
    let line =
        |start: &str| readme.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("no {start}"));
    let compile = line("gcc -nostdlib -static -o target/crc");
    let promised = parse_total(&readme).expect("README has no `Total Count: N`");
    let printed = readme.lines().take_while(|line| !line.starts_with("Total Count: ")).last().unwrap();
    let scratch = Scratch::new().unwrap();
    let program = scratch.beside("crc");
    let compile = compile.replace("target/crc", program.to_str().unwrap());
    let compiled = std::process::Command::new("sh").args(["-c", &compile]).current_dir(root()).status();
    assert!(compiled.is_ok_and(|status| status.success()), "{compile}");
    let script = format!("exec {} < {}", program.display(), root().join("LICENSE-APACHE").display());
    for options in [SERIAL.options, &["-sp", "1", "-spmsec", "50"]] {
        // Standard input is the file's: the shell that opens it is no part of what is counted.
        let mut words = vec!["-c".to_owned(), script.replacen("exec ", "exec \"$0\" \"$@\" -- ", 1)];
        words.extend(command().into_iter().map(|word| word.into_string().unwrap()));
        words.extend(options.iter().map(|option| (*option).to_owned()));
        words.extend(["-t", "icount2"].map(str::to_owned));
        let outcome = std::process::Command::new("sh").args(&words).output().unwrap();
        let told = String::from_utf8_lossy(&outcome.stderr);
        assert_eq!(String::from_utf8_lossy(&outcome.stdout), format!("{printed}\n"), "{told}");
        assert_eq!(parse_total(&told), Some(promised), "{options:?}: {told}");
    }
}
