//! The consistent hash exchange: one destination for each key, each with as many keys as its weight says.
//!
//! The destination is found by weighted rendezvous hashing. Key and destination's name together give a number u between 0
//! and 1, as good as random; a destination of weight w scores ln(u) / w, and the highest score wins. So each destination
//! wins in proportion to its weight; and which of those that stay wins does not depend on which others come or go: a new
//! destination takes its share evenly from all others, one that leaves gives its keys to all others evenly, and no other
//! key moves. That is the least that can move. (A jump hash over numbered buckets, as RabbitMQ's, moves that little only
//! if the last bucket is added or removed, and depends on the order in which they were numbered.) It costs one logarithm a
//! destination, which is paid once a key where routes are remembered.
//!
//! The choice depends on names and weights, and on nothing that is not the same after a restart: not on ids, not on the
//! order of binding, not on a secret. That is why of several bindings of one destination the one of the least weight
//! counts, and not the first that was made: which one that was is not stored.

use std::collections::BTreeMap;

use amqp::table::{Table, Value};
use rustc_hash::FxHashMap;

use crate::handles::BindingHandle;
use crate::routable::Routable;
use crate::slab::{Handle, Slab};
use crate::stable_hash::{ABSENT, combine, hash_bytes, hash_header, hash_name};
use crate::target::{Destinations, Node, Target, TargetPlace};

/// The greatest weight.
pub const WEIGHT_MAX: u32 = 10_000;

/// Why a binding key is no weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidWeight {
    /// It is no integer in decimal.
    #[error("the binding key is no integer")]
    NotAnInteger,
    /// It is 0 or less.
    #[error("the binding key is less than 1")]
    TooSmall,
    /// It is more than [`WEIGHT_MAX`].
    #[error("the binding key is greater than {WEIGHT_MAX}")]
    TooLarge,
}

/// The weight that a binding key gives to its destination.
pub fn parse_weight(binding_key: &[u8]) -> Result<u32, InvalidWeight> {
    let (is_negative, digits) = match binding_key {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(InvalidWeight::NotAnInteger);
    }
    let weight = digits.iter().fold(0_u32, |sum, digit| sum.saturating_mul(10).saturating_add(u32::from(digit - b'0')));
    match weight {
        0 => Err(InvalidWeight::TooSmall),
        _ if is_negative => Err(InvalidWeight::TooSmall),
        1..=WEIGHT_MAX => Ok(weight),
        _ => Err(InvalidWeight::TooLarge),
    }
}

/// A consistent hash exchange's bindings.
#[derive(Debug)]
pub(crate) struct ConsistentHash {
    hashed: HashInput,
    members: Slab<Member>,
    by_node: FxHashMap<(bool, u32), Handle<Member>>,
    /// What routing looks at, a line for each member.
    shares: Vec<Share>,
}

/// What of a message is hashed.
#[derive(Debug)]
enum HashInput {
    RoutingKey,
    Header(Box<[u8]>),
    MessageId,
    CorrelationId,
    Timestamp,
}

/// A destination with all its bindings.
#[derive(Debug)]
struct Member {
    share: usize,
    bindings: Vec<(BindingHandle, u32)>,
    /// How many of the bindings have each weight: the least is found without looking at all of them.
    weights: BTreeMap<u32, u32>,
}

#[derive(Debug)]
struct Share {
    member: Handle<Member>,
    node: Node,
    name_hash: u64,
    weight_inverse: f64,
}

impl ConsistentHash {
    /// One without bindings. The exchange's arguments say what is hashed; they were checked.
    pub(crate) fn new(arguments: Table<'_>) -> Self {
        let hashed = match (arguments.get("hash-header"), arguments.get("hash-property")) {
            (Some(Value::LongStr(name)), _) => HashInput::Header(name.into()),
            (_, Some(Value::LongStr(b"message_id"))) => HashInput::MessageId,
            (_, Some(Value::LongStr(b"correlation_id"))) => HashInput::CorrelationId,
            (_, Some(Value::LongStr(b"timestamp"))) => HashInput::Timestamp,
            _ => HashInput::RoutingKey,
        };
        Self { hashed, members: Slab::new(), by_node: FxHashMap::default(), shares: Vec::new() }
    }

    pub(crate) fn is_by_key(&self) -> bool {
        matches!(self.hashed, HashInput::RoutingKey)
    }

    /// Adds a binding, whose key was checked.
    pub(crate) fn bind(&mut self, binding_key: &[u8], name: &[u8], target: Target) -> TargetPlace {
        let weight = parse_weight(binding_key).expect("the key was checked");
        let member = match self.by_node.get(&identity(target.node)) {
            Some(member) => *member,
            None => self.insert(name, target.node),
        };
        let Member { bindings, weights, .. } = &mut self.members[member];
        bindings.push((target.binding, weight));
        *weights.entry(weight).or_default() += 1;
        let position = bindings.len() - 1;
        self.weigh(member);
        TargetPlace {
            point: member.place(),
            position: u32::try_from(position).expect("handles of bindings are 32 bits"),
        }
    }

    pub(crate) fn unbind(&mut self, place: TargetPlace) -> Option<BindingHandle> {
        let member = Handle::new(place.point);
        let Member { bindings, weights, .. } = &mut self.members[member];
        let (_, weight) = bindings.swap_remove(place.position as usize);
        if let Some(count) = weights.get_mut(&weight) {
            *count -= 1;
            if *count == 0 {
                weights.remove(&weight);
            }
        }
        let moved = bindings.get(place.position as usize).map(|(binding, _)| *binding);
        if bindings.is_empty() {
            self.remove(member);
        } else {
            self.weigh(member);
        }
        moved
    }

    pub(crate) fn route(&self, message: &Routable<'_>, reached: &mut Destinations) {
        if let [only] = &self.shares[..] {
            return reached.add(only.node);
        }
        let key_hash = self.hash(message);
        let score = |share: &Share| logarithm(combine(key_hash, share.name_hash)) * share.weight_inverse;
        let ranked = self.shares.iter().map(|share| (score(share), share));
        // Two that score the same are ordered by their names, so that the order of binding does not matter here either.
        let best = ranked.max_by(|(a, one), (b, other)| a.total_cmp(b).then(one.name_hash.cmp(&other.name_hash)));
        if let Some((_, share)) = best {
            reached.add(share.node);
        }
    }

    fn hash(&self, message: &Routable<'_>) -> u64 {
        let found = match &self.hashed {
            HashInput::RoutingKey => Some(hash_bytes(message.routing_key)),
            HashInput::Header(name) => message.header(name).map(hash_header),
            HashInput::MessageId => message.message_id.map(hash_bytes),
            HashInput::CorrelationId => message.correlation_id.map(hash_bytes),
            HashInput::Timestamp => message.timestamp.map(|seconds| hash_bytes(&seconds.to_le_bytes())),
        };
        found.unwrap_or(ABSENT)
    }

    fn insert(&mut self, name: &[u8], node: Node) -> Handle<Member> {
        let member = self.members.insert(Member {
            share: self.shares.len(),
            bindings: Vec::with_capacity(1),
            weights: BTreeMap::new(),
        });
        let name_hash = hash_name(matches!(node, Node::Queue(..)), name);
        self.shares.push(Share { member, node, name_hash, weight_inverse: 1.0 });
        self.by_node.insert(identity(node), member);
        member
    }

    fn remove(&mut self, member: Handle<Member>) {
        let Member { share, .. } = self.members.remove(member);
        self.by_node.remove(&identity(self.shares[share].node));
        self.shares.swap_remove(share);
        if let Some(moved) = self.shares.get(share) {
            self.members[moved.member].share = share;
        }
    }

    /// Gives a destination the least weight of its bindings.
    fn weigh(&mut self, member: Handle<Member>) {
        let member = &self.members[member];
        let (least, _) = member.weights.first_key_value().expect("a member has bindings");
        self.shares[member.share].weight_inverse = 1.0 / f64::from(*least);
    }
}

fn identity(node: Node) -> (bool, u32) {
    match node {
        Node::Queue(queue, _) => (true, queue.place()),
        Node::Exchange(exchange) => (false, exchange.place()),
    }
}

/// The logarithm of a hash as a number above 0 and up to 1.
#[inline]
fn logarithm(hash: u64) -> f64 {
    const UNIT: f64 = 1.0 / (1_u64 << 53) as f64;
    (((hash >> 11) + 1) as f64 * UNIT).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_is_an_integer_from_one_to_ten_thousand() {
        for (key, weight) in [("1", 1), ("10", 10), ("+3", 3), ("007", 7), ("010000", 10_000)] {
            assert_eq!(parse_weight(key.as_bytes()), Ok(weight), "{key}");
        }
        for key in ["", "abc", "1.5", " 1", "1 ", "0x1", "+", "-", "--1", "½"] {
            assert_eq!(parse_weight(key.as_bytes()), Err(InvalidWeight::NotAnInteger), "{key}");
        }
        for key in ["0", "-1", "-0", "-99999999999999999999"] {
            assert_eq!(parse_weight(key.as_bytes()), Err(InvalidWeight::TooSmall), "{key}");
        }
        for key in ["10001", "99999999999999999999"] {
            assert_eq!(parse_weight(key.as_bytes()), Err(InvalidWeight::TooLarge), "{key}");
        }
    }

    #[test]
    fn the_logarithm_of_every_hash_is_finite() {
        assert_eq!(logarithm(u64::MAX), 0.0);
        assert!(logarithm(0).is_finite() && logarithm(0) < logarithm(1 << 11));
    }
}
