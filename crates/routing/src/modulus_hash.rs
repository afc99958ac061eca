//! The modulus hash exchange: the hash of the routing keys modulo the number of bindings says which one, in the order of
//! their destinations' names.
//!
//! Binding keys mean nothing, except that a destination bound by two of them counts twice. The keys in a message's
//! headers (`CC`) are hashed with its own, as in RabbitMQ. When a destination comes or goes, nearly all keys move; of
//! [`ConsistentHash`](crate::consistent_hash::ConsistentHash) few do.

use crate::routable::Routable;
use crate::slab::{Handle, Slab};
use crate::stable_hash::{combine, hash_bytes};
use crate::target::{Destinations, Node, Target, TargetPlace};

/// A modulus hash exchange's bindings.
#[derive(Debug)]
pub(crate) struct ModulusHash {
    bound: Slab<Member>,
    /// In the order of their names.
    order: Vec<Handle<Member>>,
}

#[derive(Debug)]
struct Member {
    name: Box<[u8]>,
    node: Node,
}

impl Member {
    /// Queues before exchanges of the same name; which of two bindings of one destination comes first does not matter.
    fn rank(&self) -> (&[u8], bool) {
        (&self.name, matches!(self.node, Node::Exchange(_)))
    }
}

impl ModulusHash {
    pub(crate) fn new() -> Self {
        Self { bound: Slab::new(), order: Vec::new() }
    }

    pub(crate) fn bind(&mut self, name: Box<[u8]>, target: Target) -> TargetPlace {
        let bound = Member { name, node: target.node };
        let position = self.order.partition_point(|other| self.bound[*other].rank() < bound.rank());
        let handle = self.bound.insert(bound);
        self.order.insert(position, handle);
        TargetPlace { point: handle.place(), position: 0 }
    }

    /// Removes a binding. No other one changes its place.
    pub(crate) fn unbind(&mut self, place: TargetPlace) {
        let removed = Handle::new(place.point);
        let first = self.order.partition_point(|other| self.bound[*other].rank() < self.bound[removed].rank());
        let offset = self.order[first..].iter().position(|other| *other == removed);
        self.order.remove(first + offset.expect("every binding is in the order"));
        self.bound.remove(removed);
    }

    #[inline]
    pub(crate) fn route(&self, message: &Routable<'_>, reached: &mut Destinations) {
        if self.order.is_empty() {
            return;
        }
        let key_hash = hash_bytes(message.routing_key);
        let more = message.more_keys.iter();
        let hash = more.fold(key_hash, |hash, key| combine(hash.rotate_left(1), hash_bytes(key)));
        let position = hash % self.order.len() as u64;
        reached.add(self.bound[self.order[position as usize]].node);
    }
}
