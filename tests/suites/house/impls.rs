//! A type's methods lie in one file, or in files of one room.
//!
//! Who reads a type finds all of it in one place. A room whose files share one type (the rules of `Emitter`, say) may have rooms below it, but the
//! crate's root isn't such a room: everything is below that.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::{Item, Type};

use crate::crates::{ModPath, Module, modules};
use crate::names::definition;
use crate::{CRATES, root};

/// Types whose methods lie in several rooms, and why.
const EXCEPTIONS: [(&str, &str, &str); 1] =
    [("slice-runtime/isa", "decode/instruction/Instruction", "`facts` are asked of what `decode` has made")];

/// A type, by where it is defined, with the files in which it has methods.
type Impls = BTreeMap<(ModPath, String), BTreeSet<PathBuf>>;

fn impls(modules: &BTreeMap<ModPath, Module>) -> Impls {
    let mut all = Impls::new();
    for (path, module) in modules {
        for item in &module.items {
            let Item::Impl(item) = item else { continue };
            let Type::Path(of) = &*item.self_ty else { continue };
            if item.trait_.is_some() {
                continue;
            }
            let segments: Vec<String> = of.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            let defined = definition(modules, path, &segments);
            let defined =
                defined.unwrap_or_else(|| panic!("{}: whose methods are these? {segments:?}", path.join("/")));
            all.entry(defined).or_default().insert(module.file.clone());
        }
    }
    all
}

/// Whether files lie in several rooms that have nothing in common but the crate's root, whose folder is `src`.
fn lie_apart(files: &BTreeSet<PathBuf>, src: &Path) -> bool {
    let rooms: BTreeSet<&Path> = files.iter().filter_map(|file| file.parent()).collect();
    let Some(first) = rooms.first() else { return false };
    let common = first.ancestors().find(|room| rooms.iter().all(|other| other.starts_with(room)));
    rooms.len() > 1 && common == Some(src)
}

#[test]
fn methods_of_a_type_lie_in_one_room() {
    let (mut seen, mut found) = (0, Vec::new());
    for name in CRATES {
        let src = Path::new(name).join("src");
        for ((path, of), files) in impls(&modules(root(), name)) {
            let of = [&path[..], &[of]].concat().join("/");
            let is_excepted = EXCEPTIONS.iter().any(|(its, exception, _)| (*its, *exception) == (name, &of[..]));
            seen += 1;
            if lie_apart(&files, &src) != is_excepted {
                found.push(format!("{name}: {of}: {files:?}, an exception: {is_excepted}"));
            }
        }
    }
    assert!(seen > 300, "only {seen} types were found");
    assert!(
        found.is_empty(),
        "methods of these lie in several rooms, or are no exception any more:\n{}",
        found.join("\n")
    );
}

#[test]
fn rooms_with_nothing_in_common_are_found() {
    let apart = |files: &[&str]| lie_apart(&files.iter().map(PathBuf::from).collect(), Path::new("crate/src"));
    assert!(apart(&["crate/src/a/x.rs", "crate/src/b/x.rs"]));
    assert!(apart(&["crate/src/a/x.rs", "crate/src/y.rs"]));
    assert!(!apart(&["crate/src/a/x.rs", "crate/src/a/b/y.rs", "crate/src/a/c/z.rs"]));
    assert!(!apart(&["crate/src/x.rs", "crate/src/y.rs"]), "a crate of one room");
    assert!(!apart(&["crate/src/a/x.rs"]));
}
