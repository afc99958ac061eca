//! The modulus hash exchange: the hash of the routing keys modulo the number of bindings says which one, in the order of
//! their destinations' names.
//!
//! Binding keys mean nothing, except that a destination bound by two of them counts twice. The keys in a message's
//! headers (`CC`) are hashed with its own, as in RabbitMQ. When a destination is bound or unbound, nearly all keys move; of
//! [`ConsistentHash`](crate::consistent_hash::ConsistentHash) few do.

use crate::routable::Routable;
use crate::slab::{Handle, Slab};
use crate::stable_hash::{combine, hash_bytes};
use crate::target::{Destinations, Node, Target, TargetPlace};

/// A modulus hash exchange's bindings.
#[derive(Debug)]
pub(crate) struct ModulusHash {
    members: Slab<Member>,
    /// In the order of their names.
    order: Vec<Handle<Member>>,
    /// For each in the order: how many bindings those up to it have, itself included.
    ends: Vec<u32>,
}

/// A destination, however many bindings it has.
#[derive(Debug)]
struct Member {
    name: Box<[u8]>,
    node: Node,
    binding_count: u32,
}

impl Member {
    /// Queues before exchanges of the same name.
    fn rank(&self) -> (&[u8], bool) {
        rank(&self.name, self.node)
    }
}

fn rank(name: &[u8], node: Node) -> (&[u8], bool) {
    (name, matches!(node, Node::Exchange(_)))
}

impl ModulusHash {
    pub(crate) fn new() -> Self {
        Self { members: Slab::new(), order: Vec::new(), ends: Vec::new() }
    }

    pub(crate) fn bind(&mut self, name: Box<[u8]>, target: Target) -> TargetPlace {
        let place = self.place_of(rank(&name, target.node));
        let known = self.order.get(place).copied().filter(|member| self.members[*member].node == target.node);
        let member = known.unwrap_or_else(|| {
            let member = self.members.insert(Member { name, node: target.node, binding_count: 0 });
            self.order.insert(place, member);
            self.ends.insert(place, place.checked_sub(1).map_or(0, |before| self.ends[before]));
            member
        });
        self.members[member].binding_count += 1;
        self.ends[place..].iter_mut().for_each(|end| *end += 1);
        TargetPlace { point: member.place(), position: 0 }
    }

    /// Removes a binding. No other one changes its place: those of one destination are alike.
    pub(crate) fn unbind(&mut self, place: TargetPlace) {
        let member = Handle::new(place.point);
        let place = self.place_of(self.members[member].rank());
        self.ends[place..].iter_mut().for_each(|end| *end -= 1);
        self.members[member].binding_count -= 1;
        if self.members[member].binding_count == 0 {
            self.order.remove(place);
            self.ends.remove(place);
            self.members.remove(member);
        }
    }

    #[inline]
    pub(crate) fn route(&self, message: &Routable<'_>, reached: &mut Destinations) {
        let Some(&binding_count) = self.ends.last() else { return };
        let key_hash = hash_bytes(message.routing_key);
        let more = message.more_keys.iter();
        let hash = more.fold(key_hash, |hash, key| combine(hash.rotate_left(1), hash_bytes(key)));
        let position = hash % u64::from(binding_count);
        let place = self.ends.partition_point(|end| u64::from(*end) <= position);
        reached.add(self.members[self.order[place]].node);
    }

    /// Where in the order what has this rank is, or belongs.
    fn place_of(&self, rank: (&[u8], bool)) -> usize {
        self.order.partition_point(|other| self.members[*other].rank() < rank)
    }
}
