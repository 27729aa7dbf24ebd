//! Who names whom.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::Visit;
use syn::{Item, ItemUse, UseTree};

use crate::crates::{ModPath, Module};

type Modules = BTreeMap<ModPath, Module>;

/// For each module those whose items it names: where these are defined, whatever re-exports them.
pub fn edges(modules: &Modules) -> BTreeMap<ModPath, BTreeSet<ModPath>> {
    let of = |path: &ModPath, module: &Module| {
        let mut named = Named { modules, path, aliases: BTreeMap::new(), found: BTreeSet::new() };
        for item in &module.items {
            if let Item::Use(item) = item {
                named.take_use(item);
            }
        }
        module.items.iter().for_each(|item| named.visit_item(item));
        named.found.remove(path);
        named.found
    };
    modules.iter().map(|(path, module)| (path.clone(), of(path, module))).collect()
}

struct Named<'a> {
    modules: &'a Modules,
    /// The module that is looked at.
    path: &'a ModPath,
    /// Modules that it has imported, by the names that it has for them.
    aliases: BTreeMap<String, ModPath>,
    found: BTreeSet<ModPath>,
}

impl Named<'_> {
    fn take_use(&mut self, item: &ItemUse) {
        for (name, path) in leaves(&item.tree) {
            let Some(absolute) = absolute(self.modules, self.path, &path) else { continue };
            if self.modules.contains_key(&absolute) {
                self.aliases.insert(name, absolute);
            } else {
                self.found.extend(defined_in(self.modules, &absolute, 0));
            }
        }
    }

    fn take_path(&mut self, segments: &[String]) {
        let [first, rest @ ..] = segments else { return };
        if rest.is_empty() {
            return;
        }
        let absolute = match self.aliases.get(first) {
            Some(module) => Some([&module[..], rest].concat()),
            None => absolute(self.modules, self.path, segments),
        };
        if let Some(absolute) = absolute.filter(|path| !self.modules.contains_key(path)) {
            self.found.extend(defined_in(self.modules, &absolute, 0));
        }
    }
}

impl<'ast> Visit<'ast> for Named<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.take_path(&segments);
        syn::visit::visit_path(self, path);
    }

    fn visit_item_use(&mut self, _: &'ast ItemUse) {}

    /// `const X = path` in an assembler's operands and the like are only tokens.
    fn visit_macro(&mut self, makro: &'ast syn::Macro) {
        let text = makro.tokens.to_string().replace(' ', "");
        for word in text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')) {
            let segments: Vec<String> = word.split("::").map(str::to_owned).collect();
            if segments.len() > 1 {
                self.take_path(&segments);
            }
        }
    }
}

/// The names that a `use` brings, each with the path that it stands for.
fn leaves(tree: &UseTree) -> Vec<(String, Vec<String>)> {
    match tree {
        UseTree::Path(path) => {
            let under = leaves(&path.tree).into_iter();
            let first = path.ident.to_string();
            under
                .map(|(name, rest)| {
                    let name = if rest.is_empty() { first.clone() } else { name };
                    (name, [std::slice::from_ref(&first), &rest[..]].concat())
                })
                .collect()
        }
        UseTree::Name(name) if name.ident == "self" => vec![(String::new(), Vec::new())],
        UseTree::Name(name) => vec![(name.ident.to_string(), vec![name.ident.to_string()])],
        UseTree::Rename(rename) => vec![(rename.rename.to_string(), vec![rename.ident.to_string()])],
        UseTree::Glob(_) => vec![(String::from("*"), vec![String::from("*")])],
        UseTree::Group(group) => group.items.iter().flat_map(leaves).collect(),
    }
}

/// The same path from the crate's root on, if it is one of this crate's.
fn absolute(modules: &Modules, here: &[String], path: &[String]) -> Option<Vec<String>> {
    let mut base = here.to_vec();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => {
            base.clear();
            rest = &path[1..];
        }
        "self" => rest = &path[1..],
        "super" => {}
        child => {
            let is_child = modules.contains_key(&[here, &[child.to_owned()]].concat());
            return is_child.then(|| [here, path].concat());
        }
    }
    while rest.first().is_some_and(|segment| segment == "super") {
        base.pop()?;
        rest = &rest[1..];
    }
    Some([&base[..], rest].concat())
}

/// The module in which what a path names there is defined, and its name in it. `None`: in another crate.
pub fn definition(modules: &Modules, here: &[String], path: &[String]) -> Option<(ModPath, String)> {
    let [first, rest @ ..] = path else { return None };
    for item in &modules[here].items {
        let Item::Use(item) = item else { continue };
        if let Some((_, leaf)) = leaves(&item.tree).into_iter().find(|(name, _)| name == first) {
            let target = [absolute(modules, here, &leaf)?, rest.to_vec()].concat();
            return definition_at(modules, &target);
        }
    }
    match absolute(modules, here, path) {
        Some(path) => definition_at(modules, &path),
        None if rest.is_empty() => Some((here.to_vec(), first.clone())),
        None => None,
    }
}

fn definition_at(modules: &Modules, path: &[String]) -> Option<(ModPath, String)> {
    let inside = (0..path.len()).rev().find(|&n| modules.contains_key(&path[..n]))?;
    definition(modules, &path[..inside], &path[inside..])
}

/// The module in which what a path names is defined.
fn defined_in(modules: &Modules, path: &[String], depth: usize) -> Option<ModPath> {
    let inside = (0..=path.len()).rev().find(|&n| modules.contains_key(&path[..n]))?;
    let (module, rest) = path.split_at(inside);
    let Some(name) = rest.first() else { return Some(module.to_vec()) };
    for item in &modules[module].items {
        let Item::Use(item) = item else { continue };
        for (new_name, leaf) in leaves(&item.tree) {
            if new_name != *name || depth > 8 {
                continue;
            }
            let target = absolute(modules, module, &leaf)?;
            return defined_in(modules, &[&target[..], &rest[1..]].concat(), depth + 1);
        }
    }
    Some(module.to_vec())
}
