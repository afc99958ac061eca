//! How events reach their listeners: the audit log, followers, and queues that are bound to the exchange of events.
//!
//! Events are also emitted for what is deleted along with something else, as in RabbitMQ: bindings with a queue or an exchange at one of
//! their ends, auto-delete exchanges with the last binding from them, auto-delete queues with their last consumer.

use std::sync::Arc;

use model::name::{ExchangeName, QueueName, VhostName};
use routing::{Removed, RemovedBinding};

use crate::binding_request::{BindingEnd, BindingRequest};
use crate::broker::Broker;
use crate::events::{EXCHANGE, Event};
use crate::identity::{Actor, Origin};
use crate::subscriptions::Subscription;
use engine::batch::Batch;
use engine::publish::{Publish, PublishOptions};
use engine::queue_handle::QueueHandle;
use engine::router::Routing;

/// The user of what no user has asked for, by RabbitMQ's name.
const INTERNAL_USER: &str = "rmq-internal";

impl Broker {
    /// Emits to all listeners what a user did.
    pub(crate) fn emit_by(&self, actor: &Actor, event: Event) {
        self.emit(event.by(actor.identity.name(), actor.origin));
    }

    /// Emits an event if there are listeners: for what happens often, and is not kept.
    pub(crate) fn emit_if_wanted(&self, make: impl FnOnce() -> Event) {
        if self.has_listeners() {
            self.emit(make());
        }
    }

    /// Emits an event to all listeners.
    pub fn emit(&self, event: Event) {
        let event = self.recent_events.push(event);
        self.publish_event(&event);
        if let Some(sink) = &self.options.event_sink {
            sink.take(&event);
        }
        self.subscribers.publish(event);
    }

    /// The last events that are kept, the newest first.
    #[must_use]
    pub fn recent_events(&self) -> Vec<Arc<Event>> {
        self.recent_events.all()
    }

    /// Whether events are wanted that are not kept.
    pub(crate) fn has_listeners(&self) -> bool {
        let vhost = self.vhosts.get(self.options.default_user.vhost.as_str());
        let is_followed = self.options.event_sink.is_some() || !self.subscribers.is_empty();
        is_followed || vhost.is_some_and(|vhost| vhost.has_bindings_from(EXCHANGE))
    }

    /// Publishes an event if any queue wants it.
    fn publish_event(&self, event: &Event) {
        let Some(vhost) = self.vhosts.get(self.options.default_user.vhost.as_str()) else { return };
        if !vhost.has_bindings_from(EXCHANGE) {
            return;
        }
        let routing = Routing {
            exchange: EXCHANGE.as_bytes(),
            routing_keys: &[event.name.as_bytes()],
            view: &event.view(event.fields.as_table()),
            content: &|| event.parts(&event.header()).to_kept(),
            is_delayed: false,
        };
        let Ok(routed) = vhost.route_from(&routing) else { return };
        if routed.targets.queues.is_empty() {
            return;
        }
        let header = event.header();
        let parts = event.parts(&header);
        let content = self.engine.chunks.write(routed.targets.kind(true), parts.len(), |out| parts.write(out));
        let targets = Arc::new(routed.targets);
        let mut batch = Batch::default();
        batch.publish(
            &targets,
            Publish::new(content, 0, PublishOptions { is_persistent: true, ..PublishOptions::default() }),
        );
        batch.apply(&self.engine, |_, _| ());
    }

    /// Follows events whose names are wanted.
    #[must_use]
    pub fn subscribe(&self, wants: fn(&str) -> bool) -> Subscription {
        self.subscribers.subscribe(wants)
    }

    /// Emits which exchanges and bindings were deleted because an exchange or a binding was.
    pub(crate) fn emit_removals(&self, vhost: &VhostName, removed: &Removed, user: &str, origin: Origin) {
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

    /// Emits which exchanges and bindings were deleted because a queue was. As in RabbitMQ that is no user's doing, not even that of the
    /// user who deleted the queue.
    pub(crate) fn emit_removals_with_queue(&self, queue: &QueueHandle, removed: &Removed) {
        self.emit_removals(&queue.definition.vhost, removed, INTERNAL_USER, Origin::broker());
    }

    /// Emits that the broker has deleted a queue, and what was deleted with it.
    pub(crate) fn emit_queue_gone(&self, queue: &QueueHandle, removed: &Removed) {
        self.emit_removals_with_queue(queue, removed);
        self.emit(Event::queue_deleted(queue).by(INTERNAL_USER, Origin::broker()));
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
