//! Stacks of calls as a tree: a node is a routine with those that it was called from.
//!
//! ```text
//!   slice                          all before it                 together
//!   (where it began) ─┬─ f ─ g     main ─ h ◄── it began here    main ─ h ─ f ─ g
//!                     │
//!   (above, in main) ─┴─ k                                       main ─ k
//! ```
//! A slice doesn't know in which routines it begins, nor, when it has returned from some of them, in which it then is. Each such place is a root of its own, named by how far up it came
//! ([`superpin_tool::CallStack::unwound_to`]); where that is, `fold` finds out.

use std::collections::HashMap;

use superpin_tool::serde::{Deserialize, Serialize};

/// A routine, called in one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Node {
    /// By what; of a root itself.
    pub parent: u32,
    /// Its address; of a root how far up it is.
    pub routine: u64,
    /// What was executed of it, without what it has called.
    pub cost: u64,
    /// Calls that lead to it, from the root on.
    depth: u32,
}

/// Nodes, each behind its parent.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    nodes: Vec<Node>,
    /// By parent and routine. Roots have a parent that is no node.
    children: HashMap<(u32, u64), u32>,
}

/// The parent of roots.
const NONE: u32 = u32::MAX;

impl Tree {
    /// The root with this name.
    pub fn root(&mut self, name: u64) -> u32 {
        self.node(NONE, name, 0)
    }

    /// A routine that is called there. Deeper than `most` it is a part of who calls it.
    pub fn child(&mut self, parent: u32, routine: u64, most: u32) -> u32 {
        match self.nodes[parent as usize].depth {
            depth if depth >= most => parent,
            depth => self.node(parent, routine, depth + 1),
        }
    }

    fn node(&mut self, parent: u32, routine: u64, depth: u32) -> u32 {
        let new = self.nodes.len() as u32;
        let node = *self.children.entry((parent, routine)).or_insert(new);
        if node == new {
            self.nodes.push(Node { parent: if parent == NONE { new } else { parent }, routine, cost: 0, depth });
        }
        node
    }

    /// So much more was executed there.
    pub fn add(&mut self, node: u32, cost: u64) {
        let sum = &mut self.nodes[node as usize].cost;
        *sum = sum.wrapping_add(cost);
    }

    /// All of them, by their numbers.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Adds nodes of another tree. `place` says which node of this one a root of that is. Gives the nodes of this one for all of that.
    pub fn graft(&mut self, other: &[Node], most: u32, place: impl Fn(&mut Self, u64) -> u32) -> Vec<u32> {
        let mut here: Vec<u32> = Vec::with_capacity(other.len());
        for (number, node) in other.iter().enumerate() {
            let own = match node.parent as usize == number {
                true => place(self, node.routine),
                false => self.child(here[node.parent as usize], node.routine, most),
            };
            self.add(own, node.cost);
            here.push(own);
        }
        here
    }

    /// The routines that lead to a node, the outermost first, without the root.
    pub fn path(&self, node: u32) -> Vec<u64> {
        let (mut path, mut at) = (Vec::new(), node);
        while self.nodes[at as usize].parent != at {
            path.push(self.nodes[at as usize].routine);
            at = self.nodes[at as usize].parent;
        }
        path.reverse();
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_slice_has_seen_finds_its_place() {
        let mut whole = Tree::default();
        let start = whole.root(0);
        let main = whole.child(start, 1, 9);
        let h = whole.child(main, 2, 9);
        let mut slice = Tree::default();
        let began = slice.root(0);
        let f = slice.child(began, 3, 9);
        let g = slice.child(f, 4, 9);
        let above = slice.root(100);
        let k = slice.child(above, 5, 9);
        slice.add(g, 7);
        slice.add(k, 8);
        let places = whole.graft(slice.nodes(), 9, |_, up| if up == 0 { h } else { main });
        assert_eq!((whole.path(places[g as usize]), whole.path(places[k as usize])), (vec![1, 2, 3, 4], vec![1, 5]));
        assert_eq!(whole.nodes().iter().map(|node| node.cost).collect::<Vec<_>>(), [0, 0, 0, 0, 7, 8]);
        // The same once more adds up, and what is too deep is its caller's.
        whole.graft(slice.nodes(), 3, |_, up| if up == 0 { h } else { main });
        assert_eq!(whole.nodes().iter().map(|node| node.cost).collect::<Vec<_>>(), [0, 0, 0, 7, 7, 16]);
    }
}
