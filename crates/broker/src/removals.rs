//! What goes because something else does: bindings with a queue or an exchange at one of their ends, auto-delete exchanges with the
//! last binding from them, auto-delete queues with their last consumer. Told as RabbitMQ tells of it.

use model::name::{ExchangeName, QueueName, VhostName};
use routing::{Removed, RemovedBinding};

use crate::broker::Broker;
use crate::events::Event;
use crate::identity::Origin;
use crate::vhost_access::{BindingEnd, BindingRequest};
use engine::queue_handle::QueueHandle;

/// Who does what nobody has asked for, by RabbitMQ's name.
const INTERNAL_USER: &str = "rmq-internal";

impl Broker {
    /// Tells of exchanges and bindings that are gone because somebody deleted an exchange or a binding.
    pub(crate) fn emit_removals(&self, vhost: &VhostName, removed: &Removed, user: &str, origin: Origin) {
        if !self.has_listeners() {
            return;
        }
        for exchange in &removed.exchanges {
            if let Ok(name) = ExchangeName::parse(&exchange.name) {
                self.emit(Event::exchange_deleted(vhost, &name).by(user, origin));
            }
        }
        for binding in &removed.bindings {
            if let Some(event) = event_of(vhost, binding) {
                self.emit(event.by(user, origin));
            }
        }
    }

    /// Tells of exchanges and bindings that are gone because a queue is. As in RabbitMQ that is nobody's doing, whoever deleted the
    /// queue.
    pub(crate) fn emit_removals_with_queue(&self, queue: &QueueHandle, removed: &Removed) {
        self.emit_removals(&queue.definition.vhost, removed, INTERNAL_USER, Origin::broker());
    }

    /// Tells that a queue is gone by itself, and what went with it.
    pub(crate) fn emit_queue_gone(&self, queue: &QueueHandle, removed: &Removed) {
        self.emit_removals_with_queue(queue, removed);
        self.emit_if_wanted(|| Event::queue_deleted(queue).by(INTERNAL_USER, Origin::broker()));
    }
}

/// None for what every queue has without being asked: its binding to the default exchange.
fn event_of(vhost: &VhostName, binding: &RemovedBinding) -> Option<Event> {
    let source = &ExchangeName::parse(&binding.source).ok().filter(|source| !source.is_default())?;
    let (queue, exchange);
    let destination = match binding.queue {
        Some(_) => {
            queue = QueueName::parse(&binding.destination_name).ok()?;
            BindingEnd::Queue(&queue)
        }
        None => {
            exchange = ExchangeName::parse(&binding.destination_name).ok()?;
            BindingEnd::Exchange(&exchange)
        }
    };
    let (routing_key, arguments) = (&*binding.routing_key, binding.arguments.as_table());
    Some(Event::binding_deleted(vhost, &BindingRequest { source, destination, routing_key, arguments }))
}
