//! The page of messages has what superpin says.

use std::fs;
use std::path::{Path, PathBuf};

use super::{read, root};

/// All of superpin's own sources as one text, strings that go on in the next line put together.
fn sources() -> String {
    fn collect(folder: &Path, text: &mut String) {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() && entry.file_name().is_none_or(|name| name != "tests" && name != "target") {
                collect(&entry, text);
            } else if entry.extension().is_some_and(|ending| ending == "rs") {
                text.push_str(&fs::read_to_string(&entry).unwrap());
            }
        }
    }
    let mut text = String::new();
    let folders: Vec<PathBuf> =
        ["supervisor", "slice-runtime", "syscall-replay", "sigmatch", "tools/api"].map(|name| root().join(name)).into();
    folders.iter().for_each(|folder| collect(folder, &mut text));
    text.replace("\\\n", " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What a row quotes, without what differs from run to run.
fn quoted(row: &str) -> Vec<String> {
    let cell = row.split('|').nth(1).unwrap_or_default();
    let messages = cell.split('`').skip(1).step_by(2);
    let parts = messages.flat_map(|message| {
        let message =
            message.replace("slice N", "…").replace("result: ", "…").replace("signal N", "…").replace("0x…", "…");
        message.split('…').map(|part| part.trim_matches([' ', '.', ':', '(', ')']).to_owned()).collect::<Vec<_>>()
    });
    parts.filter(|part| part.len() > 8).collect()
}

#[test]
fn messages_are_as_the_page_quotes_them() {
    let sources = sources();
    let page = read("docs/messages.md");
    let parts: Vec<String> = page.lines().filter(|line| line.starts_with("| `")).flat_map(quoted).collect();
    let missing: Vec<&String> = parts.iter().filter(|part| !sources.contains(part.as_str())).collect();
    assert!(parts.len() > 20 && missing.is_empty(), "docs/messages.md quotes what no source has: {missing:?}");
}
