//! The manual has each tool, the book each page.

use std::fs;
use std::path::{Path, PathBuf};

use suites::run::{Job, run};
use suites::superpin::command;

use super::root;

fn folder() -> PathBuf {
    root().join("docs/manual")
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

/// What lies elsewhere isn't in the book, and a link to it would lead nowhere there.
#[test]
fn links_of_the_book_stay_in_it() {
    let docs = root().join("docs").canonicalize().unwrap();
    let mut followed = 0;
    for path in super::pages().into_iter().filter(|path| path.starts_with(root().join("docs"))) {
        let text = fs::read_to_string(&path).unwrap();
        for link in super::links(&text).into_iter().filter(|link| !link.contains("://") && !link.starts_with('#')) {
            let file = path.parent().unwrap().join(link.split('#').next().unwrap());
            let is_inside = file.canonicalize().is_ok_and(|file| file.starts_with(&docs));
            assert!(is_inside, "{}: [..]({link}) isn't in the book: name it as code", path.display());
            followed += 1;
        }
    }
    assert!(followed > 100, "only {followed} links were found");
}
