//! What is deleted with exchanges, queues and bindings that are removed, or with the whole vhost.

use std::sync::Arc;

use engine::Positions;
use model::definition::{self, Definition};
use model::name::{ExchangeName, QueueName};
use routing::{Destination, Removed};
use store::RecordBatch;

use super::followed_bindings::undone;
use super::topology::{Topology, Vhost};
use crate::broker::Broker;
use crate::limits::UNBOUND_COUNT_MAX;
use crate::long_turns::take_long;
use engine::deduplication::ExchangeKeys;
use engine::delayed::DelaySet;

/// What belongs to exchanges that are deleted.
#[must_use]
#[derive(Default)]
pub(super) struct ExchangeState {
    delays: Vec<Arc<DelaySet>>,
    keys: Vec<Arc<ExchangeKeys>>,
}

impl ExchangeState {
    /// Forgets it, without the lock of a shard.
    pub(super) fn forget(&self, broker: &Broker) {
        self.delays.iter().for_each(|set| set.forget(&broker.engine));
        self.keys.iter().for_each(|keys| keys.forget(&broker.engine));
    }
}

/// What unbinding, or deleting an exchange, came to.
pub(crate) struct Removal {
    /// What is deleted.
    pub(crate) removed: Removed,
    /// Where that is durable.
    pub(crate) position: Positions,
}

impl Vhost {
    /// It is deleted: from now on nothing is declared or bound in it.
    pub(crate) fn close_for_good(&self) {
        self.topology.write().is_gone = true;
    }

    /// Records that all its durable exchanges are deleted with the vhost, and their bindings with them.
    pub(crate) fn forget_all(&self, records: &mut RecordBatch) {
        let topology = self.topology.read();
        for binding in topology.exchanges.bindings().filter(|binding| binding.is_durable && !binding.source.is_empty())
        {
            // Those to queues were deleted with their queues.
            let (Destination::Exchange(name), Ok(source)) = (binding.destination, ExchangeName::parse(binding.source))
            else {
                continue;
            };
            let Ok(name) = ExchangeName::parse(name) else { continue };
            let destination = definition::Destination::Exchange(name);
            let (key, arguments) = (binding.routing_key, binding.arguments);
            let binding = definition::Binding::new(self.name.clone(), source, destination, key, arguments);
            records.delete(&Definition::Binding(binding).key());
        }
        topology.histories.values().flat_map(|history| history.forget()).for_each(|key| records.delete(&key));
        for exchange in topology.exchanges.exchanges().filter(|exchange| exchange.is_durable) {
            if let Some(exchange) = self.definition_of(exchange) {
                records.delete(&Definition::Exchange(exchange).key());
            }
        }
    }

    /// Takes bindings away in pieces, all but those that the deletion of their queue or exchange takes away itself: the topology is locked
    /// for one piece after the other, and each is a commit of its own. A crash in between leaves the rest bound, and nothing was answered.
    pub(super) fn unbind_in_pieces(
        &self,
        broker: &Broker,
        count: usize,
        unbind: impl Fn(&mut routing::Exchanges, usize) -> Removed,
    ) -> Removed {
        let unbind_piece = || {
            self.change(|topology| {
                let removed = unbind(&mut topology.exchanges, UNBOUND_COUNT_MAX);
                let mut records = RecordBatch::new();
                let state = self.forget(topology, &removed, &mut records);
                broker.engine.append(&mut records);
                state.forget(broker);
                self.notify_federation_of_exchanges(broker, removed.exchanges.iter().map(|exchange| &*exchange.name));
                removed
            })
        };
        let mut all = Removed::default();
        if count > UNBOUND_COUNT_MAX {
            take_long(|| (1..count.div_ceil(UNBOUND_COUNT_MAX)).for_each(|_| all.extend(unbind_piece())));
        }
        all
    }

    /// Records that what was removed is deleted, as far as it was durable. Returns what waited at exchanges: the caller has to forget it
    /// after the exchanges, and without the lock of a shard. Should a crash come in between, recovery finds it without its exchange.
    pub(super) fn forget(
        &self,
        topology: &mut Topology,
        removed: &Removed,
        records: &mut RecordBatch,
    ) -> ExchangeState {
        let mut state = ExchangeState::default();
        for binding in &removed.bindings {
            topology.followed.notify(|| undone(&self.name, binding), &binding.source);
        }
        for exchange in &removed.exchanges {
            topology.followed.forget(&exchange.name);
            if let Some(history) = topology.histories.remove(&exchange.name) {
                history.forget().iter().for_each(|key| records.delete(key));
            }
            state.delays.extend(topology.delays.remove(&exchange.name));
            state.keys.extend(topology.keys.remove(&exchange.name));
            if let Some(counters) = self.exchange_counters.write().remove(&exchange.name) {
                counters.end();
            }
        }
        for binding in removed.bindings.iter().filter(|binding| binding.is_durable) {
            let destination = if binding.queue.is_some() {
                QueueName::parse(&binding.destination_name).ok().map(definition::Destination::Queue)
            } else {
                ExchangeName::parse(&binding.destination_name).ok().map(definition::Destination::Exchange)
            };
            let (Some(destination), Ok(source)) = (destination, ExchangeName::parse(&binding.source)) else { continue };
            let binding = definition::Binding::new(
                self.name.clone(),
                source,
                destination,
                &binding.routing_key,
                binding.arguments.as_table(),
            );
            records.delete(&Definition::Binding(binding).key());
        }
        for exchange in removed.exchanges.iter().filter(|exchange| exchange.is_durable) {
            if let Some(exchange) = self.definition_of(exchange) {
                records.delete(&Definition::Exchange(exchange).key());
            }
        }
        state
    }
}
