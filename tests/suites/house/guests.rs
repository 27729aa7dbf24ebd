//! The guests lie in folders, each of which `tests/guests/README.md` tells of.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::findings::FILES;
use crate::root;

/// Files in each folder, by its path from `tests/guests`; headers left out, and those that aren't guests.
fn guests(folder: &Path, name: &str, all: &mut BTreeMap<String, usize>) {
    for entry in fs::read_dir(folder).expect("the guests can be listed").map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            let below = format!("{name}/{}", entry.file_name().to_string_lossy());
            guests(&path, below.trim_start_matches('/'), all);
        } else if path.extension().is_some_and(|ending| ["c", "cc", "rs", "S"].iter().any(|guest| ending == *guest)) {
            *all.entry(name.to_owned()).or_default() += 1;
        }
    }
}

#[test]
fn guests_lie_in_rooms_that_the_page_tells_of() {
    let folder = root().join("tests/guests");
    let page = fs::read_to_string(folder.join("README.md")).expect("the page can be read");
    let mut rooms = BTreeMap::new();
    guests(&folder, "", &mut rooms);
    let what_to_do = "put it into the folder whose row in tests/guests/README.md it fits";
    assert!(!rooms.contains_key(""), "a guest lies in tests/guests itself: {what_to_do}");
    let large: Vec<&String> = rooms.iter().filter(|(_, guests)| **guests > FILES).map(|(room, _)| room).collect();
    assert!(large.is_empty(), "rooms with more than {FILES} guests, which are to be split: {large:?}");
    let cells = page.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    let told: BTreeSet<&str> = cells.flat_map(|cell| cell.split('`').step_by(2)).collect();
    let there: BTreeSet<&str> = rooms.keys().map(String::as_str).collect();
    assert_eq!(told, there, "the rows of tests/guests/README.md, and the folders");
}
