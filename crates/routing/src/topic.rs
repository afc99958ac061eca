//! The topic exchange: keys are words between dots; in a binding `*` stands for one word, `#` for zero or more.
//!
//! Bindings are the paths of a trie, one edge a word:
//!
//! ```text
//!   orders.*.paid      root ─orders─► ● ─*─► ● ─paid─► [targets]
//!   orders.#           root ─orders─► ● ─#─► [targets]
//! ```
//!
//! A routing key is walked word by word with the set of nodes that the words so far can lead to, as one runs a
//! non-deterministic automaton. A `#` node that was entered once stays in the set until the end, since it may swallow
//! every further word; its own targets match as soon as it is entered. So a walk visits each node at most once a word,
//! however many `#` a client puts into its bindings: there is no backtracking.
//!
//! The empty key has no words (`#` matches it, `*` does not); `a.` has two, the second empty, and empty words are
//! words like any other.

use std::hash::Hasher;

use hashbrown::HashTable;

use crate::handles::BindingHandle;
use crate::marks::Marks;
use crate::seed::HashSeed;
use crate::slab::{Handle, Slab};
use crate::target::{Destinations, Target, TargetPlace, Targets};

/// A topic exchange's bindings.
#[derive(Debug)]
pub(crate) struct Topic {
    seed: HashSeed,
    nodes: Slab<TrieNode>,
    root: Handle<TrieNode>,
    /// The nodes under ordinary words, by parent and word. (`*` and `#` are fields of their parent.)
    by_edge: HashTable<Handle<TrieNode>>,
}

/// One word of one or more bindings.
#[derive(Debug)]
pub(crate) struct TrieNode {
    parent: Handle<TrieNode>,
    word: Box<[u8]>,
    one: Option<Handle<TrieNode>>,
    many: Option<Handle<TrieNode>>,
    child_count: u32,
    targets: Targets,
}

/// What a walk needs to remember; kept between walks so that none allocates.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    /// Nodes that the words so far lead to, `#` nodes excepted.
    front: Vec<Handle<TrieNode>>,
    /// The same before the word at hand.
    back: Vec<Handle<TrieNode>>,
    /// The `#` nodes that were entered.
    many: Marks<TrieNode>,
}

impl Topic {
    pub(crate) fn new(seed: HashSeed) -> Self {
        let mut nodes = Slab::new();
        let root = nodes.insert(TrieNode::new(Handle::new(0), b""));
        Self { seed, nodes, root, by_edge: HashTable::new() }
    }

    pub(crate) fn bind(&mut self, pattern: &[u8], target: Target) -> TargetPlace {
        let mut node = self.root;
        for word in words(pattern) {
            node = self.child(node, word).unwrap_or_else(|| self.insert(node, word));
        }
        TargetPlace { point: node.place(), position: self.nodes[node].targets.add(target) }
    }

    pub(crate) fn unbind(&mut self, place: TargetPlace) -> Option<BindingHandle> {
        let mut node = Handle::new(place.point);
        let moved = self.nodes[node].targets.remove(place.position);
        while node != self.root && self.nodes[node].is_unused() {
            node = self.remove(node);
        }
        moved
    }

    pub(crate) fn route(&self, key: &[u8], walk: &mut Walk, reached: &mut Destinations) {
        walk.front.clear();
        walk.many.clear();
        self.enter(self.root, walk, reached);
        for word in words(key) {
            let hash = self.seed.hash(word);
            std::mem::swap(&mut walk.front, &mut walk.back);
            walk.front.clear();
            let many_count = walk.many.added().len();
            for position in 0..walk.back.len() {
                self.step(walk.back[position], word, hash, walk, reached);
            }
            for position in 0..many_count {
                self.step(walk.many.added()[position], word, hash, walk, reached);
            }
        }
        for node in &walk.front {
            reached.add_all(&self.nodes[*node].targets);
        }
    }

    /// Steps from a node to those that one more word leads to.
    #[inline]
    fn step(&self, from: Handle<TrieNode>, word: &[u8], hash: u64, walk: &mut Walk, reached: &mut Destinations) {
        let node = &self.nodes[from];
        if node.child_count == 0 {
            return;
        }
        if let Some(one) = node.one {
            self.enter(one, walk, reached);
        }
        if let Some(child) = self.find_edge(from, word, hash) {
            self.enter(child, walk, reached);
        }
    }

    /// Adds a node to the front, and the `#` nodes below it, which need no word.
    #[inline]
    fn enter(&self, node: Handle<TrieNode>, walk: &mut Walk, reached: &mut Destinations) {
        walk.front.push(node);
        let mut above = node;
        while let Some(many) = self.nodes[above].many {
            if !walk.many.add(many) {
                return; // and so were those below it
            }
            reached.add_all(&self.nodes[many].targets);
            above = many;
        }
    }

    fn child(&self, parent: Handle<TrieNode>, word: &[u8]) -> Option<Handle<TrieNode>> {
        match word {
            b"*" => self.nodes[parent].one,
            b"#" => self.nodes[parent].many,
            _ => self.find_edge(parent, word, self.seed.hash(word)),
        }
    }

    #[inline]
    fn find_edge(&self, parent: Handle<TrieNode>, word: &[u8], word_hash: u64) -> Option<Handle<TrieNode>> {
        self.by_edge
            .find(edge_hash(self.seed, parent, word_hash), |node| {
                let node = &self.nodes[*node];
                node.parent == parent && *node.word == *word
            })
            .copied()
    }

    fn insert(&mut self, parent: Handle<TrieNode>, word: &[u8]) -> Handle<TrieNode> {
        let node = self.nodes.insert(TrieNode::new(parent, word));
        self.nodes[parent].child_count += 1;
        match word {
            b"*" => self.nodes[parent].one = Some(node),
            b"#" => self.nodes[parent].many = Some(node),
            _ => {
                let hash = |node: &Handle<TrieNode>| {
                    let node = &self.nodes[*node];
                    edge_hash(self.seed, node.parent, self.seed.hash(&node.word))
                };
                let node_hash = hash(&node);
                self.by_edge.insert_unique(node_hash, node, hash);
            }
        }
        node
    }

    /// Removes an unused node and returns its parent.
    fn remove(&mut self, node: Handle<TrieNode>) -> Handle<TrieNode> {
        let TrieNode { parent, word, .. } = self.nodes.remove(node);
        self.nodes[parent].child_count -= 1;
        match &*word {
            b"*" => self.nodes[parent].one = None,
            b"#" => self.nodes[parent].many = None,
            _ => {
                let hash = edge_hash(self.seed, parent, self.seed.hash(&word));
                self.by_edge.find_entry(hash, |other| *other == node).expect("every edge is in the table").remove();
            }
        }
        parent
    }
}

impl TrieNode {
    fn new(parent: Handle<TrieNode>, word: &[u8]) -> Self {
        Self { parent, word: word.into(), one: None, many: None, child_count: 0, targets: Targets::default() }
    }

    fn is_unused(&self) -> bool {
        self.child_count == 0 && self.targets.is_empty()
    }
}

#[inline]
fn edge_hash(seed: HashSeed, parent: Handle<TrieNode>, word_hash: u64) -> u64 {
    let mut hasher = seed.hasher();
    hasher.write_u64(word_hash);
    hasher.write_u32(parent.place());
    hasher.finish()
}

fn words(key: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut words = key.split(|byte| *byte == b'.');
    if key.is_empty() {
        words.next(); // `split` finds one empty word where AMQP has none
    }
    words
}
