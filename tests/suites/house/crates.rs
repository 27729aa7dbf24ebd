//! The modules of a crate, with the files that they are in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use syn::{Attribute, Item};

/// The path of a module in its crate, without `crate`.
pub type ModPath = Vec<String>;

/// A module that has a file of its own.
pub struct Module {
    /// The file, from the project's root.
    pub file: PathBuf,
    /// What is in it, tests left out.
    pub items: Vec<Item>,
}

/// All modules of a crate.
pub fn modules(root: &Path, name: &str) -> BTreeMap<ModPath, Module> {
    let src = Path::new(name).join("src");
    let mut all = BTreeMap::new();
    for first in ["lib.rs", "main.rs"] {
        if root.join(&src).join(first).exists() {
            read(root, &src.join(first), &src, Vec::new(), &mut all);
        }
    }
    all
}

fn read(root: &Path, file: &Path, folder: &Path, path: ModPath, all: &mut BTreeMap<ModPath, Module>) {
    let text = std::fs::read_to_string(root.join(file)).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let parsed = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let mut items = parsed.items;
    items.retain(|item| !is_for_tests(attributes(item)));
    for item in &items {
        if let Item::Mod(module) = item
            && module.content.is_none()
        {
            let name = module.ident.to_string();
            let [alone, page] = [folder.join(format!("{name}.rs")), folder.join(&name).join("mod.rs")];
            let child = [alone, page].into_iter().find(|file| root.join(file).exists());
            let child = child.unwrap_or_else(|| panic!("{}: no file for mod {name}", file.display()));
            read(root, &child, &folder.join(&name), [&path[..], &[name]].concat(), all);
        }
    }
    all.insert(path, Module { file: file.to_owned(), items });
}

/// Attributes of the items that matter.
pub fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Mod(i) => &i.attrs,
        Item::Fn(i) => &i.attrs,
        Item::Use(i) => &i.attrs,
        Item::Impl(i) => &i.attrs,
        Item::Const(i) => &i.attrs,
        Item::Static(i) => &i.attrs,
        Item::Struct(i) => &i.attrs,
        Item::Macro(i) => &i.attrs,
        _ => &[],
    }
}

/// Whether they say `cfg(test)`.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes
        .iter()
        .any(|a| a.path().is_ident("cfg") && a.parse_args::<syn::Path>().is_ok_and(|what| what.is_ident("test")))
}
