//! The files of `tests/guests`, in folders by what they are about.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of all.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("guests")
}

/// The files with these endings, in whatever folder, in the order of their names.
pub fn listed(endings: &[&str]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("tests/guests can't be listed") {
            let path = entry.expect("tests/guests can't be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| endings.iter().any(|ending| e == *ending)) {
                files.push(path);
            }
        }
    }
    files.sort_by(|a, b| a.file_name().cmp(&b.file_name()));
    files
}

/// The folders that a source lies in, up to that of all: headers are found in each of them.
pub fn folders_above(source: &Path) -> impl Iterator<Item = &Path> {
    source.ancestors().skip(1).take_while(|above| above.starts_with(folder()))
}

/// Whether it is for rustc.
pub fn is_rust(source: &Path) -> bool {
    source.extension().is_some_and(|e| e == "rs")
}
