//! The guests that there are.

use std::fs;
use std::sync::OnceLock;

use super::guest::Guest;
use super::head::parse;
use super::sources::listed;

/// Every guest in every build, in the order of their names.
pub fn all() -> &'static [Guest] {
    static ALL: OnceLock<Vec<Guest>> = OnceLock::new();
    ALL.get_or_init(|| {
        let files = listed(&["c", "cc", "rs", "S"]);
        files.iter().flat_map(|file| parse(file, &fs::read_to_string(file).expect("unreadable guest"))).collect()
    })
}

/// The guest of that name.
pub fn named(name: &str) -> &'static Guest {
    all().iter().find(|g| g.name == name).unwrap_or_else(|| panic!("no guest is named {name}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_guests_in_whatever_folders_have_the_same_name() {
        let mut seen = BTreeSet::new();
        let twice: Vec<&str> =
            all().iter().map(|guest| guest.name.as_str()).filter(|name| !seen.insert(*name)).collect();
        assert!(twice.is_empty(), "{twice:?}");
        assert!(all().iter().map(|guest| guest.name.as_str()).is_sorted_by_key(|name| name.split('.').next()));
    }
}
