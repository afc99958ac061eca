//! What a matched binding leads to.

use crate::binding::BindingEntry;
use crate::exchanges::{ExchangeEntry, QueueEntry};
use crate::marks::Marks;
use crate::slab::Handle;

/// A binding's destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Node {
    Queue(Handle<QueueEntry>),
    Exchange(Handle<ExchangeEntry>),
}

/// A binding as routing sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    pub(crate) binding: Handle<BindingEntry>,
    pub(crate) node: Node,
}

/// Where a router put a binding: `point` is the router's own number (a key, a node of the trie, a matcher), `position`
/// counts in that point's targets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) point: u32,
    pub(crate) position: u32,
}

/// All bindings that match the same messages: adding and removing take constant time.
#[derive(Debug, Default)]
pub(crate) struct Targets {
    list: Vec<Target>,
}

impl Targets {
    /// Adds a target and says at which position.
    pub(crate) fn add(&mut self, target: Target) -> u32 {
        let position =
            u32::try_from(self.list.len()).expect("no more targets than bindings, whose handles are 32 bits");
        self.list.push(target);
        position
    }

    /// Removes the target at a position. The last one takes its place; its binding is returned, because it has moved.
    pub(crate) fn remove(&mut self, position: u32) -> Option<Handle<BindingEntry>> {
        self.list.swap_remove(position as usize);
        self.list.get(position as usize).map(|moved| moved.binding)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[Target] {
        &self.list
    }
}

/// What a message has reached so far: every queue and every exchange once.
#[derive(Debug, Default)]
pub(crate) struct Reached {
    pub(crate) queues: Marks<QueueEntry>,
    pub(crate) exchanges: Marks<ExchangeEntry>,
    /// How many bindings matched, those that led to what had been reached before included.
    pub(crate) match_count: usize,
}

impl Reached {
    #[inline]
    pub(crate) fn add_all(&mut self, targets: &Targets) {
        for target in targets.as_slice() {
            self.add(target.node);
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, node: Node) {
        self.match_count += 1;
        match node {
            Node::Queue(queue) => self.queues.add(queue),
            Node::Exchange(exchange) => self.exchanges.add(exchange),
        };
    }

    pub(crate) fn clear(&mut self) {
        self.queues.clear();
        self.exchanges.clear();
        self.match_count = 0;
    }
}
