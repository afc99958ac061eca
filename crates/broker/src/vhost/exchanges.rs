//! A vhost's exchanges: declared, deleted, put back where they were; and what some of them keep.

use std::sync::Arc;

use engine::Positions;
use model::definition::{self, Definition};
use model::name::ExchangeName;
use routing::{DeleteError, Removed};
use store::RecordBatch;

use super::Removal;
use super::topology::{Topology, Vhost};
use crate::broker::Broker;
use crate::changed::Changed;
use crate::history::History;
use crate::statistics::ExchangeCounters;
use message::StoredContent;

impl Vhost {
    /// Declares an exchange that is not there. Not new when another has been quicker.
    pub(crate) fn declare_exchange(&self, broker: &Broker, exchange: &definition::Exchange) -> Changed {
        let mut changed = self.change(|topology| {
            let is_new = !topology.is_gone && declare(topology, exchange);
            if is_new {
                self.apply_to_exchange(broker, topology, exchange.name.as_bytes());
                self.notify_federation_of_exchanges(broker, [exchange.name.as_bytes()]);
            }
            let position = match is_new && exchange.is_durable {
                true => broker.put_definition(&Definition::Exchange(exchange.clone())),
                false => Positions::NONE,
            };
            self.note_defined(position);
            Changed { is_new, position }
        });
        if changed.is_new {
            changed.position.add(self.shard_new_exchange(broker, exchange));
        }
        changed
    }

    /// Deletes an exchange with its bindings.
    pub(crate) fn delete_exchange(
        &self,
        broker: &Broker,
        name: &ExchangeName,
        if_unused: bool,
    ) -> Result<Removal, DeleteError> {
        let bytes = name.as_bytes();
        let (count, is_certain) = {
            let exchanges = &self.topology.read().exchanges;
            let may_go = exchanges.exchange(bytes).is_some_and(|exchange| !exchange.is_predeclared);
            (exchanges.binding_count_of_exchange(bytes), may_go && !if_unused)
        };
        let mut unbound = match is_certain {
            true => self.unbind_in_pieces(broker, count, |exchanges, max| exchanges.unbind_from_exchange(bytes, max)),
            // It is the source of nothing, or not deleted.
            false => Removed::default(),
        };
        self.change(|topology| {
            let mut removed = topology.exchanges.delete(bytes, if_unused)?;
            let mut records = RecordBatch::new();
            let dropped = self.forget(topology, &removed, &mut records);
            let position = broker.engine.append(&mut records);
            self.note_defined(position);
            dropped.forget(broker);
            self.notify_federation_of_exchanges(broker, removed.exchanges.iter().map(|exchange| &*exchange.name));
            unbound.extend(std::mem::take(&mut removed));
            Ok(Removal { removed: unbound, position })
        })
    }

    /// Puts an exchange that recovery found where it was.
    pub(crate) fn restore_exchange(&self, broker: &Broker, exchange: &definition::Exchange) {
        self.change(|topology| {
            if declare(topology, exchange) {
                self.apply_to_exchange(broker, topology, exchange.name.as_bytes());
            }
        });
    }

    /// What happens at an exchange that is there.
    pub(crate) fn exchange_counters(&self, name: &[u8]) -> Arc<ExchangeCounters> {
        if let Some(counters) = self.exchange_counters.read().get(name) {
            return counters.clone();
        }
        let mut all = self.exchange_counters.write();
        let new = || Arc::new(ExchangeCounters::new(self.name.clone(), name));
        all.entry(name.into()).or_insert_with(new).clone()
    }

    /// What has happened at an exchange, if anything has.
    pub(crate) fn known_exchange_counters(&self, name: &[u8]) -> Option<Arc<ExchangeCounters>> {
        self.exchange_counters.read().get(name).cloned()
    }

    /// The histories of all exchanges that keep one.
    pub(crate) fn histories(&self) -> Vec<Arc<History>> {
        self.topology.read().histories.values().cloned().collect()
    }

    /// Puts a message of a history that recovery found where it was. False if there is no such exchange.
    pub(crate) fn restore_history(&self, exchange: &[u8], seq: u64, message: StoredContent) -> bool {
        let topology = self.topology.read();
        let history = topology.histories.get(exchange);
        history.inspect(|history| history.restore(seq, message)).is_some()
    }
}

/// Declares an exchange. False when there is one of this name.
fn declare(topology: &mut Topology, exchange: &definition::Exchange) -> bool {
    let alternate = exchange.arguments.alternate_exchange();
    let Ok(kind) = routing::ExchangeType::parse(exchange.exchange_type.name().as_bytes()) else { return false };
    let declaration = routing::Declaration {
        name: exchange.name.as_bytes(),
        kind,
        is_durable: exchange.is_durable,
        is_auto_delete: exchange.is_auto_delete,
        is_internal: exchange.is_internal,
        alternate: alternate.as_ref().map(|name| name.as_bytes()),
        arguments: exchange.arguments.table(),
    };
    let is_new = topology.exchanges.declare(&declaration);
    let routing_type = kind.routing_type(exchange.arguments.table());
    if is_new && routing_type == routing::ExchangeType::RecentHistory {
        topology.histories.insert(exchange.name.as_bytes().into(), Arc::new(History::new(exchange)));
    }
    is_new
}
