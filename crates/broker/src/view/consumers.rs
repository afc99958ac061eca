//! Consumers as they are listed.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use amqp::table::Table;
use model::ids::QueueId;

use crate::broker::Broker;
use crate::connections::ConsumerHandle;
use crate::view::{ConnectionView, QueueView};
use engine::shard::QueueEntry;

/// Whether a consumer gets messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// It does, if there are any.
    Up,
    /// Messages wait, and it has no room for them: it holds as many as it may, or does not read.
    Blocked,
    /// It does, and no other of its queue.
    SingleActive,
    /// It does not as long as another is the single active one.
    Waiting,
}

/// A consumer.
#[derive(Debug, Clone)]
pub struct ConsumerView {
    /// Its connection.
    pub connection: ConnectionView,
    pub(super) handle: Arc<ConsumerHandle>,
}

impl ConsumerView {
    /// Its tag.
    #[must_use]
    pub fn tag(&self) -> String {
        shown(&self.handle.tag)
    }

    /// The number of its channel.
    #[must_use]
    pub fn channel(&self) -> u16 {
        self.handle.channel
    }

    /// The vhost and the name of its queue.
    #[must_use]
    pub fn queue(&self) -> (&str, &str) {
        (self.handle.queue.definition.vhost.as_str(), self.handle.queue.name())
    }

    /// The id of its queue.
    #[must_use]
    pub fn queue_id(&self) -> QueueId {
        self.handle.queue.definition.id
    }

    /// Whether it consumes from this queue.
    #[must_use]
    pub fn is_of(&self, queue: &QueueView) -> bool {
        self.queue_id() == queue.definition().id
    }

    /// Whether it acknowledges.
    #[must_use]
    pub fn is_ack_required(&self) -> bool {
        !self.handle.no_ack
    }

    /// Whether it wants no other consumer beside it.
    #[must_use]
    pub fn is_exclusive(&self) -> bool {
        self.handle.is_exclusive
    }

    /// How many unacked messages it has at most; 0 for no limit.
    #[must_use]
    pub fn prefetch_count(&self) -> u16 {
        self.handle.prefetch
    }

    /// Its arguments.
    #[must_use]
    pub fn arguments(&self) -> Table<'_> {
        self.handle.arguments.as_table()
    }

    /// Whether only one consumer of its queue at a time gets messages.
    #[must_use]
    pub fn is_of_single_active(&self) -> bool {
        self.handle.queue.definition.arguments.is_single_active_consumer()
    }

    /// Whether messages may wait because it has no room.
    fn may_be_blocked(&self) -> bool {
        // As in RabbitMQ quorum queues do not report it.
        !self.handle.queue.is_quorum() && self.handle.queue.gauges.ready_count.get() > 0
    }
}

fn shown(tag: &[u8]) -> String {
    String::from_utf8_lossy(tag).into_owned()
}

impl Broker {
    /// All consumers, by connection.
    #[must_use]
    pub fn consumer_views(&self) -> Vec<ConsumerView> {
        self.connection_views().iter().flat_map(|connection| self.consumers_of(connection)).collect()
    }

    /// The consumers of a queue, by connection, in the order in which they came.
    #[must_use]
    pub fn consumers_of_queue(&self, queue: &QueueView) -> Vec<ConsumerView> {
        let consumers = self.queue_consumers.of(queue.definition().id).into_iter();
        // What ends at this moment is left out.
        let view =
            |(connection, handle)| Some(ConsumerView { connection: self.connection_view_of(connection)?, handle });
        consumers.filter_map(view).collect()
    }

    /// The tag of the consumer that wants no other beside it on its queue.
    #[must_use]
    pub fn exclusive_tag_of(&self, queue: &QueueView) -> Option<String> {
        // It is alone, so the counter says of most queues that they have none.
        if queue.consumer_count() != 1 {
            return None;
        }
        let consumer = self.queue_consumers.find(queue.definition().id, |consumer| consumer.is_exclusive)?;
        Some(shown(&consumer.tag))
    }

    /// The tag of the one consumer of a queue that gets messages, if only one at a time does. Such a queue is asked, for a moment.
    #[must_use]
    pub fn single_active_tag_of(&self, queue: &QueueView) -> Option<String> {
        if queue.consumer_count() == 0 || !queue.definition().arguments.is_single_active_consumer() {
            return None;
        }
        let active = self.engine.shards.with_queue(&queue.handle, |entry| entry.queue.active_consumer()).flatten()?;
        let consumer = self.queue_consumers.find(queue.definition().id, |consumer| consumer.id == active)?;
        Some(shown(&consumer.tag))
    }

    /// The consumers of a connection, in the order in which they came.
    #[must_use]
    pub fn consumers_of(&self, connection: &ConnectionView) -> Vec<ConsumerView> {
        let consumers: Vec<_> = connection.handle.consumers.lock().values().cloned().collect();
        consumers.into_iter().map(|handle| ConsumerView { connection: connection.clone(), handle }).collect()
    }

    /// Whether a consumer gets messages. Its queue is asked, for a moment, where counters leave it open.
    #[must_use]
    pub fn activity_of(&self, consumer: &ConsumerView) -> Activity {
        let is_single = consumer.is_of_single_active();
        if !is_single && !consumer.may_be_blocked() {
            return Activity::Up;
        }
        let ConsumerHandle { id, queue, .. } = &*consumer.handle;
        let look = |entry: &mut QueueEntry| {
            let of_queue = entry.queue.consumer(*id)?;
            let asked = of_queue.consumer;
            Some(match (is_single, of_queue.is_active) {
                (true, true) => Activity::SingleActive,
                (true, false) => Activity::Waiting,
                _ if asked.gate.is_parked.load(Ordering::Relaxed) || !asked.credit.has_room() => Activity::Blocked,
                _ => Activity::Up,
            })
        };
        // A consumer that has left meanwhile, or whose queue is deleted, counts as up.
        self.engine.shards.with_queue(queue, look).flatten().unwrap_or(Activity::Up)
    }
}
