//! The modulus hash exchange: the hash of the routing key modulo the number of bindings says which one, in the order of
//! their destinations' names.
//!
//! Binding keys mean nothing, except that a destination bound by two of them counts twice. Of the keys in a message's
//! headers (`CC`) none counts. When a destination comes or goes, nearly all keys move: who wants less takes
//! [`ConsistentHash`](crate::consistent_hash::ConsistentHash).

use crate::slab::{Handle, Slab};
use crate::stable_hash::hash_bytes;
use crate::target::{Node, Place, Reached, Target};

/// A modulus hash exchange's bindings.
#[derive(Debug)]
pub(crate) struct ModulusHash {
    bound: Slab<Bound>,
    /// In the order of their names.
    order: Vec<Handle<Bound>>,
}

#[derive(Debug)]
struct Bound {
    name: Box<[u8]>,
    node: Node,
}

impl Bound {
    /// Queues before exchanges of the same name; which of two bindings of one destination comes first does not matter.
    fn rank(&self) -> (&[u8], bool) {
        (&self.name, matches!(self.node, Node::Exchange(_)))
    }
}

impl ModulusHash {
    pub(crate) fn new() -> Self {
        Self { bound: Slab::new(), order: Vec::new() }
    }

    pub(crate) fn bind(&mut self, name: Box<[u8]>, target: Target) -> Place {
        let bound = Bound { name, node: target.node };
        let position = self.order.partition_point(|other| self.bound[*other].rank() < bound.rank());
        let handle = self.bound.insert(bound);
        self.order.insert(position, handle);
        Place { point: handle.place(), position: 0 }
    }

    /// Removes a binding. No other one changes its place.
    pub(crate) fn unbind(&mut self, place: Place) {
        let removed = Handle::new(place.point);
        let first = self.order.partition_point(|other| self.bound[*other].rank() < self.bound[removed].rank());
        let offset = self.order[first..].iter().position(|other| *other == removed);
        self.order.remove(first + offset.expect("every binding is in the order"));
        self.bound.remove(removed);
    }

    #[inline]
    pub(crate) fn route(&self, routing_key: &[u8], reached: &mut Reached) {
        let Some(last) = self.order.len().checked_sub(1) else { return };
        let position = hash_bytes(routing_key) % (last as u64 + 1);
        reached.add(self.bound[self.order[position as usize]].node);
    }
}
