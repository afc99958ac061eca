//! The mirror of an exchange's bindings at its upstream: which are made and undone there. No I/O.
//!
//! Of bindings with the same key and arguments one is made there, as long as there is any here. One that came from another broker's link
//! is carried on as far as messages come: each link counts its hops down from the least `max-hops` on the way, and one that has been at
//! the upstream already is carried no further.

use std::collections::{HashMap, HashSet};

use amqp::table::{ArrayBuf, TableBuf};
use amqp::{Array, Table, Value};
use model::definition::{Binding, Destination};

/// Where a binding says which way it has come, the latest broker first.
const BOUND_FROM: &str = "x-bound-from";

/// What is noted of a binding on its way.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    /// This cluster.
    pub(crate) cluster_name: Box<str>,
    pub(crate) vhost: Box<str>,
    /// The exchange here, and the side in use.
    pub(crate) exchange: Box<str>,
    pub(crate) max_hops: u32,
    /// The cluster at the other end, where it says.
    pub(crate) upstream_cluster_name: Option<Box<str>>,
    pub(crate) upstream_vhost: Box<str>,
}

/// A binding at the upstream.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Mirrored {
    pub(crate) routing_key: Box<[u8]>,
    pub(crate) arguments: Vec<u8>,
}

impl Mirrored {
    pub(crate) fn arguments(&self) -> Table<'_> {
        // They were encoded by us.
        Table::decode(&self.arguments).unwrap_or_default()
    }
}

/// A binding's key and its arguments, encoded: as it is here.
type Key = (Box<[u8]>, Vec<u8>);

/// See the module.
#[derive(Debug)]
pub(crate) struct Mirror {
    way: Way,
    bound: HashMap<Key, HashSet<Destination>>,
}

impl Mirror {
    pub(crate) fn new(way: Way) -> Self {
        Mirror { way, bound: HashMap::new() }
    }

    /// What this cluster is called.
    pub(crate) fn cluster_name(&self) -> &str {
        &self.way.cluster_name
    }

    /// A binding was made here: what is to be made there.
    pub(crate) fn add(&mut self, binding: &Binding) -> Option<Mirrored> {
        let destinations = self.bound.entry(key(binding)).or_default();
        let is_first = destinations.is_empty();
        destinations.insert(binding.destination().clone());
        if is_first { self.mirrored(binding) } else { None }
    }

    /// A binding was undone here: what is to be undone there.
    pub(crate) fn remove(&mut self, binding: &Binding) -> Option<Mirrored> {
        let key = key(binding);
        let destinations = self.bound.get_mut(&key)?;
        destinations.remove(binding.destination());
        if !destinations.is_empty() {
            return None;
        }
        self.bound.remove(&key);
        self.mirrored(binding)
    }

    /// As it is made there. `None`: no message that it would bring could come here.
    fn mirrored(&self, binding: &Binding) -> Option<Mirrored> {
        let Way { cluster_name, vhost, exchange, max_hops, upstream_cluster_name, upstream_vhost } = &self.way;
        let earlier = way_of(binding.arguments());
        let hops = match earlier {
            None => *max_hops,
            Some(earlier) if has_been_at(earlier, upstream_cluster_name.as_deref(), upstream_vhost) => 0,
            Some(earlier) => hops_of(earlier).saturating_sub(1).min(*max_hops),
        };
        if hops == 0 {
            return None;
        }
        let hop = TableBuf::new()
            .with("cluster-name", Value::LongStr(cluster_name.as_bytes()))
            .with("vhost", Value::LongStr(vhost.as_bytes()))
            .with("exchange", Value::LongStr(exchange.as_bytes()))
            .with("hops", Value::I16(i16::try_from(hops).unwrap_or(i16::MAX)));
        let mut hops = ArrayBuf::new().with(Value::Table(hop.as_table()));
        earlier.iter().flat_map(Array::iter).for_each(|hop| hops.push(hop));
        let mut arguments = binding.arguments().to_owned();
        // The name is short.
        let _ = arguments.set(BOUND_FROM.as_bytes(), Value::Array(hops.as_array()));
        let arguments = arguments.as_table().as_bytes().to_vec();
        Some(Mirrored { routing_key: binding.routing_key().into(), arguments })
    }
}

fn key(binding: &Binding) -> Key {
    (binding.routing_key().into(), binding.arguments().as_bytes().to_vec())
}

/// Where a binding that came over a link says which way it has come.
fn way_of(arguments: Table<'_>) -> Option<Array<'_>> {
    arguments.get(BOUND_FROM)?.as_array()
}

/// Over how many links messages could come to where the binding was made last.
fn hops_of(way: Array<'_>) -> u32 {
    let last = way.iter().next().and_then(|hop| hop.as_table());
    let hops = last.and_then(|hop| hop.get("hops")?.as_i64());
    hops.and_then(|hops| u32::try_from(hops).ok()).unwrap_or(0)
}

/// Whether a way, of a binding or of a message, leads over a vhost of a cluster.
pub(crate) fn has_been_at(way: Array<'_>, cluster_name: Option<&str>, vhost: &str) -> bool {
    let Some(cluster_name) = cluster_name else { return false };
    let says = |hop: Table<'_>, name, text: &str| {
        hop.get(name).and_then(|value| value.as_bytes()).is_some_and(|found| found == text.as_bytes())
    };
    way.iter()
        .filter_map(|hop| hop.as_table())
        .any(|hop| says(hop, "cluster-name", cluster_name) && says(hop, "vhost", vhost))
}

#[cfg(test)]
mod tests;
