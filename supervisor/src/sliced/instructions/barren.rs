//! Code that was searched in vain. Who rewrites code makes the same pages writable and executable again all the time, and to search them
//! takes longer than that.

use std::fs;
use std::os::unix::fs::MetadataExt;

use bubble::code_files::FileVersion;

use crate::base::since_1970;

/// Ranges that are remembered.
const MOST: usize = 16;

/// A file, by its path, and what it was when it was searched: device, inode, version.
type Searched = (String, (u64, u64, FileVersion));

/// Where nothing was found, as long as nothing else is mapped there.
#[derive(Default)]
pub struct Barren(Vec<(u64, u64, Vec<Searched>)>);

impl Barren {
    /// Whether nothing was found in just this range, and the files behind it are what they were.
    pub fn is_known(&self, start: u64, end: u64) -> bool {
        let known = self.0.iter().find(|(from, to, _)| (*from, *to) == (start, end));
        known.is_some_and(|(_, _, files)| files.iter().all(|(path, was)| now(path) == Some(*was)))
    }

    /// Nothing was found there, where these files are mapped.
    pub fn add(&mut self, start: u64, end: u64, files: impl Iterator<Item = String>) {
        self.0.retain(|(from, to, _)| (*from, *to) != (start, end));
        let files: Option<Vec<Searched>> = files.map(|path| settled(&path).map(|is| (path, is))).collect();
        if let Some(files) = files {
            self.0.truncate(MOST - 1);
            self.0.insert(0, (start, end, files));
        }
    }

    /// Something else is mapped there.
    pub fn forget(&mut self, start: u64, end: u64) {
        self.0.retain(|(from, to, _)| *to <= start || end <= *from);
    }
}

/// What the file is.
fn now(path: &str) -> Option<(u64, u64, FileVersion)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino(), FileVersion::of(&metadata)))
}

/// The same, if any further change will show.
fn settled(path: &str) -> Option<(u64, u64, FileVersion)> {
    now(path).filter(|(_, _, version)| version.is_settled(since_1970()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_searched_again_when_its_mapping_or_its_file_has_changed() {
        let this = std::env::current_exe().unwrap();
        let path = || this.to_str().unwrap().to_owned();
        let mut barren = Barren::default();
        assert!(!barren.is_known(0x1000, 0x3000));
        barren.add(0x1000, 0x3000, std::iter::empty());
        assert!(
            barren.is_known(0x1000, 0x3000) && !barren.is_known(0x1000, 0x2000) && !barren.is_known(0x1000, 0x4000)
        );
        barren.forget(0x3000, 0x4000);
        assert!(barren.is_known(0x1000, 0x3000));
        barren.forget(0x2000, 0x2001);
        assert!(!barren.is_known(0x1000, 0x3000));
        let changing = std::env::temp_dir().join(format!("superpin-barren-{}", std::process::id()));
        fs::write(&changing, "code").unwrap();
        barren.add(0x1000, 0x3000, [changing.to_str().unwrap().to_owned()].into_iter());
        assert!(!barren.is_known(0x1000, 0x3000), "it may change again, and look the same");
        fs::remove_file(&changing).unwrap();
        barren.add(0x1000, 0x3000, [path()].into_iter());
        let is_old = settled(&path()).is_some();
        assert_eq!(barren.is_known(0x1000, 0x3000), is_old);
        for n in 0..MOST as u64 {
            barren.add(n << 20, (n << 20) + 1, std::iter::empty());
        }
        assert!(!barren.is_known(0x1000, 0x3000) && barren.is_known(0, 1));
    }
}
