//! Lines of source files, as far as these lie where the compiler has found them.

use std::collections::HashMap;
use std::fs;

/// Characters of a line that are shown at most.
const WIDEST: usize = 80;
/// A larger file isn't source that anybody reads.
const LARGEST: u64 = 16 << 20;

/// Files that were read; `None`: it can't be.
#[derive(Default)]
pub struct Sources(HashMap<String, Option<String>>);

impl Sources {
    /// The text of a line, from 1 on, without the blanks around it.
    pub fn line(&mut self, file: &str, number: u32) -> Option<String> {
        let read = || {
            let is_source = fs::metadata(file).is_ok_and(|about| about.is_file() && about.len() <= LARGEST);
            is_source.then(|| fs::read(file).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())).flatten()
        };
        let text = self.0.entry(file.to_owned()).or_insert_with(read).as_ref()?;
        let line = text.lines().nth((number as usize).checked_sub(1)?)?.trim();
        Some(line.chars().take(WIDEST).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_files_that_are_there_have_a_text() {
        let mut sources = Sources::default();
        assert_eq!(sources.line(file!().rsplit_once('/').unwrap().1, 1), None);
        let here = concat!(env!("CARGO_MANIFEST_DIR"), "/src/profiles/sources.rs");
        assert_eq!(sources.line(here, 3).as_deref(), Some("use std::collections::HashMap;"));
        assert_eq!((sources.line(here, 0), sources.line(here, 1 << 20), sources.line("/", 1)), (None, None, None));
    }
}
