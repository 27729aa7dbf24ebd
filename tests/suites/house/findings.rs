//! What is not as it should be.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syn::Item;

use crate::crates::{ModPath, modules};
use crate::names::edges;

/// Files that a room has at most, its page and rooms in it among them.
pub const FILES: usize = 14;

/// What is found in a crate, a line each.
pub fn of(root: &Path, name: &str) -> Vec<String> {
    let modules = modules(root, name);
    let edges = edges(&modules);
    let file = |path: &ModPath| modules[path].file.display().to_string();
    let mut found = Vec::new();
    for circle in circles(&edges) {
        let files: Vec<String> = circle.iter().map(file).collect();
        found.push(format!("circle of files: {}", files.join(" ")));
    }
    found.extend(circles_of_rooms(name, &edges));
    for module in modules.values() {
        if module.file.ends_with("mod.rs") && module.items.iter().any(is_code) {
            found.push(format!("code in a page: {}", module.file.display()));
        }
    }
    found
}

fn is_code(item: &Item) -> bool {
    !matches!(item, Item::Mod(_) | Item::Use(_))
}

/// Circles of what lies side by side in a room: files, and rooms with all that is in them.
fn circles_of_rooms(name: &str, edges: &BTreeMap<ModPath, BTreeSet<ModPath>>) -> Vec<String> {
    let mut sides: BTreeMap<ModPath, BTreeMap<ModPath, BTreeSet<ModPath>>> = BTreeMap::new();
    for (from, to) in edges.iter().flat_map(|(from, all)| all.iter().map(move |to| (from, to))) {
        let common = from.iter().zip(to).take_while(|(a, b)| a == b).count();
        if common == from.len() || common == to.len() {
            // One of them is the page of a room that the other one is in.
            continue;
        }
        let [a, b] = [from, to].map(|path| path[..=common].to_vec());
        sides.entry(from[..common].to_vec()).or_default().entry(a).or_default().insert(b);
    }
    let is_file = |path: &ModPath| !edges.keys().any(|other| other.len() > path.len() && other.starts_with(path));
    let mut found = Vec::new();
    for edges in sides.values() {
        for circle in circles(edges).into_iter().filter(|circle| !circle.iter().all(is_file)) {
            let rooms: Vec<String> = circle.iter().map(|path| path.join("/")).collect();
            found.push(format!("circle of rooms in {name}: {}", rooms.join(" ")));
        }
    }
    found
}

/// Sets of more than one of which each leads to each.
fn circles(edges: &BTreeMap<ModPath, BTreeSet<ModPath>>) -> Vec<Vec<ModPath>> {
    let reach = |from: &ModPath| {
        let mut seen = BTreeSet::new();
        let mut left: Vec<&ModPath> = edges.get(from).into_iter().flatten().collect();
        while let Some(next) = left.pop() {
            if seen.insert(next.clone()) {
                left.extend(edges.get(next).into_iter().flatten());
            }
        }
        seen
    };
    let reached: BTreeMap<&ModPath, BTreeSet<ModPath>> = edges.keys().map(|from| (from, reach(from))).collect();
    let mut done = BTreeSet::new();
    let mut circles = Vec::new();
    for (from, to) in &reached {
        if !to.contains(*from) || done.contains(*from) {
            continue;
        }
        let circle: Vec<ModPath> =
            to.iter().filter(|other| reached.get(other).is_some_and(|back| back.contains(*from))).cloned().collect();
        done.extend(circle.iter().cloned());
        if circle.len() > 1 {
            circles.push(circle);
        }
    }
    circles
}

#[test]
fn circles_are_found_and_nothing_else() {
    let path = |name: &str| vec![name.to_owned()];
    let edges = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e"), ("f", "a")];
    let mut all: BTreeMap<ModPath, BTreeSet<ModPath>> = BTreeMap::new();
    edges.iter().for_each(|(from, to)| {
        all.entry(path(from)).or_default().insert(path(to));
    });
    assert_eq!(circles(&all), [["a", "b", "c"].map(path).to_vec()]);
}
