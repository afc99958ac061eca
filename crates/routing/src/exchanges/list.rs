//! Listing of bindings. The implicit ones, of every queue to the default exchange, come first.

use std::ops::Range;

use amqp::table::Table;

use super::{DEFAULT_EXCHANGE, Exchanges, QueueEntry};
use crate::binding::{BindingRef, Destination};
use crate::handles::BindingHandle;
use crate::target::Node;

impl Exchanges {
    /// All bindings, in no particular order.
    pub fn bindings(&self) -> impl Iterator<Item = BindingRef<'_>> {
        self.bindings_in(0..self.binding_place_count())
    }

    /// Those of all bindings that lie in these places, for listings in pieces: as long as it exists a binding stays where it is.
    pub fn bindings_in(&self, places: Range<usize>) -> impl Iterator<Item = BindingRef<'_>> {
        let implicit = self.queues.iter_in(places.clone()).map(|(_, queue)| queue.implicit_binding());
        implicit.chain(self.bindings.iter_in(places).map(|(handle, _)| self.binding_ref(handle)))
    }

    /// There, and behind, are no bindings.
    #[must_use]
    pub fn binding_place_count(&self) -> usize {
        self.queues.place_count().max(self.bindings.place_count())
    }

    /// How many bindings there are, without the implicit ones.
    #[must_use]
    pub fn binding_count(&self) -> usize {
        self.bindings.len()
    }

    /// The bindings from an exchange; none if there is no such exchange.
    pub fn bindings_from(&self, source: &[u8]) -> impl Iterator<Item = BindingRef<'_>> {
        let implicit =
            (source == DEFAULT_EXCHANGE).then(|| self.queues.iter().map(|(_, queue)| queue.implicit_binding()));
        let outgoing = self.find_exchange(source).map_or(&[][..], |handle| &self.exchanges[handle].outgoing);
        implicit.into_iter().flatten().chain(outgoing.iter().map(|handle| self.binding_ref(*handle)))
    }

    /// The bindings to a queue or an exchange; none if there is no such.
    pub fn bindings_to(&self, destination: Destination<'_>) -> impl Iterator<Item = BindingRef<'_>> {
        let (queue, incoming) = match self.find_destination(destination) {
            Some(Node::Queue(queue, _)) => (Some(&self.queues[queue]), &self.queues[queue].incoming[..]),
            Some(Node::Exchange(exchange)) => (None, &self.exchanges[exchange].incoming[..]),
            None => (None, &[][..]),
        };
        let implicit = queue.map(QueueEntry::implicit_binding);
        implicit.into_iter().chain(incoming.iter().map(|handle| self.binding_ref(*handle)))
    }

    pub(super) fn binding_ref(&self, handle: BindingHandle) -> BindingRef<'_> {
        let binding = &self.bindings[handle];
        let source = &self.exchanges[binding.source].exchange;
        let (destination, destination_name, is_destination_durable) = match binding.destination {
            Node::Queue(queue, _) => {
                let queue = &self.queues[queue];
                (Destination::Queue(queue.id), &*queue.name, queue.is_durable)
            }
            Node::Exchange(exchange) => {
                let exchange = &self.exchanges[exchange].exchange;
                (Destination::Exchange(&exchange.name), &*exchange.name, exchange.is_durable)
            }
        };
        BindingRef {
            source: &source.name,
            destination,
            destination_name,
            routing_key: &binding.routing_key,
            arguments: binding.arguments.as_table(),
            is_durable: source.is_durable && is_destination_durable,
        }
    }
}

impl QueueEntry {
    fn implicit_binding(&self) -> BindingRef<'_> {
        BindingRef {
            source: DEFAULT_EXCHANGE,
            destination: Destination::Queue(self.id),
            destination_name: &self.name,
            routing_key: &self.name,
            arguments: Table::EMPTY,
            is_durable: self.is_durable,
        }
    }
}
