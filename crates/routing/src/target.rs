//! What a matched binding leads to.

use model::ids::QueueId;

use crate::handles::{BindingHandle, ExchangeHandle, ExchangeKind, ExchangeRef, QueueHandle, QueueKind};
use crate::marks::Marks;

/// A binding's destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Node {
    /// With its id, so that routing need not look into the entry, which is seldom in the processor's cache.
    Queue(QueueHandle, QueueId),
    Exchange(ExchangeHandle),
}

/// A binding as routing sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    pub(crate) binding: BindingHandle,
    pub(crate) node: Node,
}

/// Where a router put a binding: `point` is the router's own number (a key, a node of the trie, a matcher), `position`
/// counts in that point's targets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TargetPlace {
    pub(crate) point: u32,
    pub(crate) position: u32,
}

/// All bindings that match the same messages: adding and removing take constant time.
///
/// Mostly there is one, which therefore lies here and not behind a pointer. Position 0 is `first`, 1 is `rest[0]`.
#[derive(Debug, Default)]
pub(crate) struct Targets {
    first: Option<Target>,
    rest: Vec<Target>,
}

impl Targets {
    /// Adds a target and says at which position.
    pub(crate) fn add(&mut self, target: Target) -> u32 {
        if self.first.is_none() {
            self.first = Some(target);
            return 0;
        }
        self.rest.push(target);
        u32::try_from(self.rest.len()).expect("no more targets than bindings, whose handles are 32 bits")
    }

    /// Removes the target at a position. The last one takes its place; its binding is returned, because it has moved.
    pub(crate) fn remove(&mut self, position: u32) -> Option<BindingHandle> {
        let Some(position) = (position as usize).checked_sub(1) else {
            self.first = self.rest.pop();
            return self.first.map(|moved| moved.binding);
        };
        self.rest.swap_remove(position);
        self.rest.get(position).map(|moved| moved.binding)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(crate) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len()
    }

    /// The target at a position, which is below [`len`](Self::len).
    #[inline]
    pub(crate) fn get(&self, position: usize) -> &Target {
        match position.checked_sub(1) {
            None => self.first.as_ref().expect("the position is below the length"),
            Some(position) => &self.rest[position],
        }
    }

    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Target> {
        self.first.iter().chain(&self.rest)
    }
}

/// What a message has reached so far: every queue and every exchange once.
#[derive(Debug, Default)]
pub(crate) struct Destinations {
    pub(crate) queues: Vec<QueueId>,
    queue_marks: Marks<QueueKind>,
    pub(crate) exchanges: Marks<ExchangeKind>,
    /// Those of the exchanges asked that keep a history.
    pub(crate) histories: Vec<ExchangeRef>,
    /// Those of the exchanges asked where the message waits.
    pub(crate) delays: Vec<ExchangeRef>,
    /// How many bindings matched, those that led to what had been reached before included.
    pub(crate) match_count: usize,
}

impl Destinations {
    #[inline]
    pub(crate) fn add_all(&mut self, targets: &Targets) {
        for target in targets.iter() {
            self.add(target.node);
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, node: Node) {
        self.match_count += 1;
        match node {
            Node::Queue(queue, id) => {
                if self.queue_marks.add(queue) {
                    self.queues.push(id);
                }
            }
            Node::Exchange(exchange) => {
                self.exchanges.add(exchange);
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        self.queues.clear();
        self.queue_marks.clear();
        self.exchanges.clear();
        self.histories.clear();
        self.delays.clear();
        self.match_count = 0;
    }
}
