//! Binding and unbinding.

use std::hash::Hasher;

use amqp::table::Table;
use model::ids::QueueId;

use super::{DEFAULT_EXCHANGE, Exchanges, Removed};
use crate::bind_error::BindError;
use crate::binding::{BindingEntry, BindingSpec, Destination, sorted};
use crate::handles::{BindingHandle, ExchangeHandle};
use crate::seed::HashSeed;
use crate::target::{Node, Target, TargetPlace};

/// What makes two bindings the same.
#[derive(Clone, Copy)]
struct Identity<'a> {
    source: ExchangeHandle,
    destination: Node,
    routing_key: &'a [u8],
    /// Sorted.
    arguments: Table<'a>,
}

impl Exchanges {
    /// Binds. Returns whether the binding is new.
    pub fn bind(&mut self, spec: &BindingSpec<'_>) -> Result<bool, BindError> {
        check_not_default(spec)?;
        let source = self.find_exchange(spec.source).ok_or(BindError::SourceMissing)?;
        let destination = self.find_destination(spec.destination).ok_or(BindError::DestinationMissing)?;
        let arguments = sorted(spec.arguments);
        self.exchanges[source].router.check(spec.routing_key, arguments.as_table())?;
        let identity = Identity { source, destination, routing_key: spec.routing_key, arguments: arguments.as_table() };
        if self.find_binding(&identity).is_some() {
            return Ok(false);
        }
        let hash = identity.hash(self.seed);
        let binding = self.bindings.insert(BindingEntry {
            source,
            destination,
            routing_key: spec.routing_key.into(),
            arguments,
            place: TargetPlace { point: 0, position: 0 },
            outgoing_position: 0,
            incoming_position: 0,
        });
        let (seed, bindings) = (self.seed, &self.bindings);
        self.bindings_by_identity.insert_unique(hash, binding, |binding| bindings[*binding].identity().hash(seed));
        self.attach(binding);
        self.advance_epoch();
        Ok(true)
    }

    /// Removes a binding, if there is such a one.
    pub fn unbind(&mut self, spec: &BindingSpec<'_>) -> Result<Removed, BindError> {
        check_not_default(spec)?;
        let mut removed = Removed::default();
        let (Some(source), Some(destination)) =
            (self.find_exchange(spec.source), self.find_destination(spec.destination))
        else {
            return Ok(removed);
        };
        let arguments = sorted(spec.arguments);
        let identity = Identity { source, destination, routing_key: spec.routing_key, arguments: arguments.as_table() };
        let Some(binding) = self.find_binding(&identity) else { return Ok(removed) };
        let unused = self.remove_binding(binding, &mut removed);
        self.remove_exchanges(unused.into_iter().collect(), &mut removed);
        self.advance_epoch();
        Ok(removed)
    }

    /// Removes bindings to a queue, so many at most: one with very many is unbound in pieces before it is deleted.
    pub fn unbind_from_queue(&mut self, id: QueueId, count_max: usize) -> Removed {
        let mut removed = Removed::default();
        let Some(queue) = self.queues_by_id.get(&id).copied() else { return removed };
        let mut unused = Vec::new();
        while removed.bindings.len() < count_max
            && let Some(binding) = self.queues[queue].incoming.last().copied()
        {
            unused.extend(self.remove_binding(binding, &mut removed));
        }
        self.remove_exchanges(unused, &mut removed);
        self.advance_epoch();
        removed
    }

    /// Removes bindings from and to an exchange, so many at most: one with very many is unbound in pieces before it is deleted. The
    /// exchange stays, even one that is deleted with its last binding.
    pub fn unbind_from_exchange(&mut self, name: &[u8], count_max: usize) -> Removed {
        let mut removed = Removed::default();
        let Some(handle) = self.find_exchange(name) else { return removed };
        let mut unused = Vec::new();
        while removed.bindings.len() < count_max {
            let entry = &self.exchanges[handle];
            if let Some(binding) = entry.outgoing.last().copied() {
                self.remove_binding(binding, &mut removed);
            } else if let Some(binding) = entry.incoming.last().copied() {
                unused.extend(self.remove_binding(binding, &mut removed));
            } else {
                break;
            }
        }
        self.remove_exchanges(unused, &mut removed);
        self.advance_epoch();
        removed
    }

    /// How many bindings lead to a queue, without the implicit one.
    #[must_use]
    pub fn binding_count_of_queue(&self, id: QueueId) -> usize {
        self.queues_by_id.get(&id).map_or(0, |queue| self.queues[*queue].incoming.len())
    }

    /// How many bindings lead from and to an exchange.
    #[must_use]
    pub fn binding_count_of_exchange(&self, name: &[u8]) -> usize {
        let of = |entry: &super::ExchangeEntry| entry.outgoing.len() + entry.incoming.len();
        self.find_exchange(name).map_or(0, |handle| of(&self.exchanges[handle]))
    }

    /// Removes a binding. Returns its source if that is to go too.
    pub(super) fn remove_binding(&mut self, binding: BindingHandle, removed: &mut Removed) -> Option<ExchangeHandle> {
        removed.bindings.push(self.binding_ref(binding).to_removed());
        self.detach(binding);
        let hash = self.bindings[binding].identity().hash(self.seed);
        let entry = self.bindings_by_identity.find_entry(hash, |other| *other == binding);
        entry.expect("every binding is in the table").remove();
        let source = self.bindings.remove(binding).source;
        let entry = &self.exchanges[source];
        (entry.exchange.is_auto_delete && entry.outgoing.is_empty()).then_some(source)
    }

    /// Enters a binding into the lists of its two ends and into its source's router.
    fn attach(&mut self, handle: BindingHandle) {
        let binding = &mut self.bindings[handle];
        let target = Target { binding: handle, node: binding.destination };
        let name = self.exchanges[binding.source].router.wants_names().then(|| match binding.destination {
            Node::Queue(queue, _) => self.queues[queue].name.clone(),
            Node::Exchange(exchange) => self.exchanges[exchange].exchange.name.clone(),
        });
        let source = &mut self.exchanges[binding.source];
        binding.place = source.router.bind(&binding.routing_key, binding.arguments.as_table(), name, target);
        binding.outgoing_position = push(&mut source.outgoing, handle);
        let incoming = match binding.destination {
            Node::Queue(queue, _) => &mut self.queues[queue].incoming,
            Node::Exchange(exchange) => &mut self.exchanges[exchange].incoming,
        };
        binding.incoming_position = push(incoming, handle);
    }

    /// Takes a binding out of where [`attach`](Self::attach) entered it, and corrects the positions of those that move into its places.
    fn detach(&mut self, handle: BindingHandle) {
        let &BindingEntry { source, destination, place, outgoing_position, incoming_position, .. } =
            &self.bindings[handle];
        let source = &mut self.exchanges[source];
        if let Some(moved) = source.router.unbind(place) {
            self.bindings[moved].place.position = place.position;
        }
        if let Some(moved) = swap_remove(&mut source.outgoing, outgoing_position) {
            self.bindings[moved].outgoing_position = outgoing_position;
        }
        let incoming = match destination {
            Node::Queue(queue, _) => &mut self.queues[queue].incoming,
            Node::Exchange(exchange) => &mut self.exchanges[exchange].incoming,
        };
        if let Some(moved) = swap_remove(incoming, incoming_position) {
            self.bindings[moved].incoming_position = incoming_position;
        }
    }

    pub(super) fn find_destination(&self, destination: Destination<'_>) -> Option<Node> {
        match destination {
            Destination::Queue(id) => self.queues_by_id.get(&id).map(|queue| Node::Queue(*queue, id)),
            Destination::Exchange(name) => self.find_exchange(name).map(Node::Exchange),
        }
    }

    fn find_binding(&self, identity: &Identity<'_>) -> Option<BindingHandle> {
        let hash = identity.hash(self.seed);
        self.bindings_by_identity.find(hash, |binding| self.bindings[*binding].identity() == *identity).copied()
    }
}

impl BindingEntry {
    fn identity(&self) -> Identity<'_> {
        Identity {
            source: self.source,
            destination: self.destination,
            routing_key: &self.routing_key,
            arguments: self.arguments.as_table(),
        }
    }
}

impl PartialEq for Identity<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
            && self.destination == other.destination
            && self.routing_key == other.routing_key
            && self.arguments == other.arguments
    }
}

impl Identity<'_> {
    fn hash(&self, seed: HashSeed) -> u64 {
        let (kind, destination) = match self.destination {
            Node::Queue(queue, _) => (0, queue.place()),
            Node::Exchange(exchange) => (1, exchange.place()),
        };
        let mut hasher = seed.hasher();
        hasher.write_u64(u64::from(self.source.place()) << 32 | u64::from(destination));
        hasher.write_u8(kind);
        hasher.write(self.routing_key);
        hasher.write(self.arguments.as_bytes());
        hasher.finish()
    }
}

fn check_not_default(spec: &BindingSpec<'_>) -> Result<(), BindError> {
    if spec.source == DEFAULT_EXCHANGE || spec.destination == Destination::Exchange(DEFAULT_EXCHANGE) {
        return Err(BindError::DefaultExchange);
    }
    Ok(())
}

fn push(list: &mut Vec<BindingHandle>, handle: BindingHandle) -> u32 {
    list.push(handle);
    u32::try_from(list.len() - 1).expect("no more bindings than handles of 32 bits")
}

/// Removes the element at a position and returns the one that has it from now on.
fn swap_remove(list: &mut Vec<BindingHandle>, position: u32) -> Option<BindingHandle> {
    list.swap_remove(position as usize);
    list.get(position as usize).copied()
}
