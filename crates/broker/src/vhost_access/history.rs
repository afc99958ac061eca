//! What a recent-history exchange has kept, handed over to what was bound to it.
//!
//! The oldest message comes first. A queue gets copies as if they were published to it; an exchange routes them, and those that it
//! cannot route are dropped. Their publisher is not notified: it has had its answer long since.

use std::sync::Arc;

use engine::Positions;
use message::{Parts, StoredContent, View};
use routing::Destination;

use crate::broker::Broker;
use crate::publish_properties::sender_selected_keys;
use crate::vhost::Vhost;
use engine::BATCH_COUNT;
use engine::batch::Batch;
use engine::publish::{Publish, PublishOptions};
use engine::router::Routing;
use engine::targets::Targets;

impl Vhost {
    /// Brings messages to a new binding's destination. Says where they are durable there.
    pub(crate) fn hand_over(
        &self,
        broker: &Broker,
        history: &[StoredContent],
        destination: &Destination<'_>,
    ) -> Positions {
        let queue = match destination {
            Destination::Queue(id) => Some(Arc::new(Targets::new(self.queue_of(*id)))),
            Destination::Exchange(_) => None,
        };
        let mut durable_at = Positions::NONE;
        for part in history.chunks(BATCH_COUNT) {
            let mut batch = Batch::default();
            for message in part {
                let Some(kept) = Parts::read(message) else { continue };
                let parts = Parts { published_at_ms: broker.engine.clock.now_ms(), ..kept };
                let Some(view) = parts.header.view() else { continue };
                let targets = match (&queue, destination) {
                    (Some(queue), _) => queue.clone(),
                    (None, Destination::Exchange(name)) => self.onward(name, message, &parts, &view),
                    (None, Destination::Queue(_)) => continue,
                };
                if targets.queues.is_empty() {
                    continue;
                }
                let is_persistent = view.is_persistent();
                let content =
                    broker.engine.chunks.write(targets.kind(is_persistent), parts.len(), |out| parts.write(out));
                let (ttl_ms, priority) = (parts.history.ttl_ms, view.priority());
                let options = PublishOptions { is_persistent, ttl_ms, priority, due_ms: 0 };
                batch.publish(&targets, Publish::new(content, parts.body.len(), options));
            }
            durable_at.add(batch.apply(&broker.engine, |_, _| ()));
        }
        durable_at
    }

    /// The queues to which an exchange routes a message.
    fn onward(&self, exchange: &[u8], message: &StoredContent, parts: &Parts<'_>, view: &View<'_>) -> Arc<Targets> {
        let mut routing_keys = vec![parts.routing_key];
        if let Some(headers) = &view.headers() {
            // They were checked when it was published.
            let _ = sender_selected_keys(headers, &mut routing_keys);
        }
        let content = || message.clone();
        let routing = Routing { exchange, routing_keys: &routing_keys, view, content: &content, is_delayed: false };
        // It may have been deleted meanwhile.
        self.route_from(&routing).map_or_else(|_| Arc::default(), |routed| Arc::new(routed.targets))
    }
}
