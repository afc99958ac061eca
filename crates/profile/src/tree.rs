//! The tree of calls: stacks with their common beginnings drawn together.

use std::collections::BTreeMap;

use crate::frame::Frame;
use crate::stacks::{Cost, Profile, Unit};

/// What was called from one place.
#[derive(Debug, Clone, Default)]
pub struct Node<'a> {
    /// Taken by the function itself.
    pub own: u64,
    /// Taken by it and all that it called.
    pub total: u64,
    /// How often it was called from here; 0 where that is not counted.
    pub calls: u64,
    /// What it called, by name.
    pub children: BTreeMap<&'a Frame, Node<'a>>,
}

/// All calls of a profile.
#[derive(Debug)]
pub struct Tree<'a> {
    /// What is no function: the whole.
    pub root: Node<'a>,
    /// What its figures are.
    pub unit: Unit,
}

impl<'a> Tree<'a> {
    /// The tree of a profile.
    pub fn of(profile: &'a Profile) -> Tree<'a> {
        let mut root = Node::default();
        for (stack, cost) in profile.stacks() {
            root.insert(&stack, cost);
        }
        Tree { root, unit: profile.unit() }
    }
}

impl<'a> Node<'a> {
    fn insert(&mut self, stack: &[&'a Frame], cost: Cost) {
        let mut node = self;
        node.total = node.total.saturating_add(cost.weight);
        for frame in stack {
            node = node.children.entry(frame).or_default();
            node.total = node.total.saturating_add(cost.weight);
        }
        node.own = node.own.saturating_add(cost.weight);
        node.calls = node.calls.saturating_add(cost.calls);
    }

    /// How many levels are below it.
    pub fn depth(&self) -> usize {
        self.children.values().map(|child| 1 + child.depth()).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_has_what_it_called() {
        let profile = Profile::from_folded("", "a;b 1\na;b;c 2\na 4\nd 8").unwrap();
        let tree = Tree::of(&profile);
        let a = &tree.root.children[&Frame::work("a")];
        let b = &a.children[&Frame::work("b")];
        assert_eq!((tree.root.total, a.total, a.own, b.total, b.own), (15, 7, 4, 3, 1));
        assert_eq!(tree.root.depth(), 3);
    }
}
