//! How long files are, and how much lies in a folder: of all Rust files, also of tests, benches and examples.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::findings::FILES;
use crate::{CRATES, root};

/// Lines that a file has at most.
const LINES: usize = 400;

/// The Rust files below a folder, by their paths from the project's root. What cargo builds isn't among them.
fn rust_files(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(root().join(folder)).expect("folders can be listed").map(Result::unwrap) {
        let path = folder.join(entry.file_name());
        let is_folder = entry.file_type().expect("entries have types").is_dir();
        if is_folder && !path.ends_with("target") {
            rust_files(&path, all);
        } else if !is_folder && path.extension() == Some(OsStr::new("rs")) {
            all.push(path);
        }
    }
}

/// Folders with more than `FILES` files and folders that lead to files.
fn large_rooms(files: &[PathBuf]) -> Vec<String> {
    let mut inside: BTreeMap<&Path, BTreeSet<&Path>> = BTreeMap::new();
    for file in files {
        for path in file.ancestors() {
            if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                inside.entry(folder).or_default().insert(path);
            }
        }
    }
    let large = inside.into_iter().filter(|(_, entries)| entries.len() > FILES);
    large.map(|(folder, entries)| format!("large room: {} ({})", folder.display(), entries.len())).collect()
}

#[test]
fn files_are_short_and_rooms_small() {
    let tops: BTreeSet<&OsStr> = CRATES.into_iter().filter_map(|name| Path::new(name).iter().next()).collect();
    let mut files = Vec::new();
    tops.into_iter().for_each(|top| rust_files(Path::new(top), &mut files));
    files.sort();
    for name in CRATES {
        assert!(files.iter().any(|file| file.starts_with(name)), "no file of {name} was found");
    }
    let lines = |file: &PathBuf| fs::read_to_string(root().join(file)).expect("it can be read").lines().count();
    let long = files.iter().filter_map(|file| {
        let lines = lines(file);
        (lines > LINES).then(|| format!("long file: {} ({lines})", file.display()))
    });
    let found: Vec<String> = long.chain(large_rooms(&files)).collect();
    assert!(found.is_empty(), "not wanted:\n{}", found.join("\n"));
}

#[test]
fn a_room_is_large_by_its_files_and_by_rooms_in_it() {
    let room = |files: usize| -> Vec<PathBuf> {
        let files = (0..files).map(|n| format!("tests/room/{n}.rs")).chain(["tests/room/inner/mod.rs".to_owned()]);
        files.map(PathBuf::from).collect()
    };
    assert_eq!(large_rooms(&room(FILES - 1)), [""; 0]);
    assert_eq!(large_rooms(&room(FILES)), [format!("large room: tests/room ({})", FILES + 1)]);
}
