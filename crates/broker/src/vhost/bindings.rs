//! A vhost's bindings: made, taken away, shown.

use engine::Positions;
use model::definition::{self, BindingChange, Definition};
use model::name::{ExchangeName, QueueName};
use routing::{BindError, BindingRef, BindingSpec, Destination};
use store::RecordBatch;

use super::Removal;
use super::topology::{Topology, Vhost};
use crate::broker::Broker;
use crate::changed::Changed;
use crate::limits::SHOWN_BINDING_COUNT;
use message::StoredContent;

impl Vhost {
    /// Binds. Doing it twice is the same as once. Gives the messages that the source has kept for its new destination.
    pub(crate) fn bind(
        &self,
        broker: &Broker,
        spec: &BindingSpec<'_>,
        destination: definition::Destination,
    ) -> Result<(Changed, Vec<StoredContent>), BindError> {
        self.change(|topology| {
            let is_new = !topology.is_gone && topology.exchanges.bind(spec)?;
            let mut position = Positions::NONE;
            if is_new
                && self.is_durable(topology, spec)
                && let Ok(source) = ExchangeName::parse(spec.source)
            {
                let destination = destination.clone();
                let binding =
                    definition::Binding::new(self.name.clone(), source, destination, spec.routing_key, spec.arguments);
                position = broker.put_definition(&Definition::Binding(binding));
                self.note_defined(position);
            }
            if is_new {
                let change = || {
                    let source = ExchangeName::parse(spec.source).ok()?;
                    let (vhost, key, arguments) = (self.name.clone(), spec.routing_key, spec.arguments);
                    let binding = definition::Binding::new(vhost, source, destination, key, arguments);
                    Some(BindingChange { binding, is_added: true })
                };
                topology.followed.notify(change, spec.source);
            }
            let history = topology.histories.get(spec.source).filter(|_| is_new);
            Ok((Changed { is_new, position }, history.map_or_else(Vec::new, |history| history.messages())))
        })
    }

    /// Unbinds. What is not bound is left as it is.
    pub(crate) fn unbind(&self, broker: &Broker, spec: &BindingSpec<'_>) -> Result<Removal, BindError> {
        self.change(|topology| {
            let removed = topology.exchanges.unbind(spec)?;
            let mut records = RecordBatch::new();
            let dropped = self.forget(topology, &removed, &mut records);
            let position = broker.engine.append(&mut records);
            self.note_defined(position);
            dropped.forget(broker);
            self.notify_federation_of_exchanges(broker, removed.exchanges.iter().map(|exchange| &*exchange.name));
            Ok(Removal { removed, position })
        })
    }

    /// Whether both ends of a binding outlive a restart.
    fn is_durable(&self, topology: &Topology, spec: &BindingSpec<'_>) -> bool {
        let of_exchange = |name| topology.exchanges.exchange(name).is_some_and(|exchange| exchange.is_durable);
        of_exchange(spec.source)
            && match spec.destination {
                Destination::Exchange(name) => of_exchange(name),
                Destination::Queue(id) => topology.queues.get(&id).is_some_and(|queue| queue.is_journaled()),
            }
    }

    /// Puts a binding that recovery found where it was.
    pub(crate) fn restore_binding(&self, spec: &BindingSpec<'_>) {
        let Err(error) = self.change(|topology| topology.exchanges.bind(spec)) else { return };
        let (kind, destination) = match spec.destination {
            Destination::Exchange(name) => ("exchange", String::from_utf8_lossy(name).into_owned()),
            Destination::Queue(id) => {
                let topology = self.topology.read();
                let queue = topology.queues.get(&id);
                ("queue", queue.map_or_else(|| id.to_string(), |queue| queue.definition.name.as_str().to_owned()))
            }
        };
        tracing::warn!(
            vhost = %self.name,
            source = %String::from_utf8_lossy(spec.source),
            destination_kind = kind,
            destination,
            routing_key = %String::from_utf8_lossy(spec.routing_key),
            %error,
            "a binding could not be restored"
        );
    }

    /// Whether anything is bound to an exchange.
    pub(crate) fn has_bindings_from(&self, exchange: &str) -> bool {
        self.topology.read().exchanges.bindings_from(exchange.as_bytes()).next().is_some()
    }

    /// Shows bindings: all, those from an exchange, or those to a queue or an exchange. The implicit ones, too.
    pub(crate) fn with_bindings<T>(&self, of: BindingsOf<'_>, show: impl FnMut(BindingRef<'_>) -> T) -> Vec<T> {
        let topology = || self.topology.read();
        let to = |destination, show| topology().exchanges.bindings_to(destination).map(show).collect();
        match of {
            BindingsOf::All => self.with_all_bindings(show),
            BindingsOf::Source(name) => topology().exchanges.bindings_from(name.as_bytes()).map(show).collect(),
            BindingsOf::Exchange(name) => to(Destination::Exchange(name.as_bytes()), show),
            BindingsOf::Queue(name) => {
                let id = topology().exchanges.queue(name.as_bytes());
                id.map_or_else(Vec::new, |id| to(Destination::Queue(id), show))
            }
        }
    }

    /// In pieces, so that others make and remove bindings in between: such a binding may be among those shown or not.
    fn with_all_bindings<T>(&self, mut show: impl FnMut(BindingRef<'_>) -> T) -> Vec<T> {
        let mut shown = Vec::new();
        let mut places = 0..SHOWN_BINDING_COUNT;
        loop {
            let topology = self.topology.read();
            if places.start >= topology.exchanges.binding_place_count() {
                return shown;
            }
            shown.extend(topology.exchanges.bindings_in(places.clone()).map(&mut show));
            places = places.end..places.end + SHOWN_BINDING_COUNT;
        }
    }
}

/// Which bindings are to be shown.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BindingsOf<'a> {
    All,
    Source(&'a ExchangeName),
    Exchange(&'a ExchangeName),
    Queue(&'a QueueName),
}
