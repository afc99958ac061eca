//! The consumers of all connections, by queue: for listings of a queue's consumers.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use model::ids::QueueId;
use parking_lot::Mutex;

use crate::connections::ConsumerHandle;
use engine::queue_handle::ConnectionId;

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct QueueConsumers(Mutex<BTreeMap<ConsumerKey, Arc<ConsumerHandle>>>);

/// A queue, a connection, and that connection's own number of the consumer.
type ConsumerKey = (QueueId, ConnectionId, u32);

fn seats_of(queue: QueueId) -> RangeInclusive<ConsumerKey> {
    (queue, ConnectionId(0), 0)..=(queue, ConnectionId(u64::MAX), u32::MAX)
}

impl QueueConsumers {
    pub(crate) fn add(&self, connection: ConnectionId, number: u32, consumer: Arc<ConsumerHandle>) {
        self.0.lock().insert((consumer.queue.id(), connection, number), consumer);
    }

    pub(crate) fn remove(&self, connection: ConnectionId, number: u32, consumer: &ConsumerHandle) {
        self.0.lock().remove(&(consumer.queue.id(), connection, number));
    }

    /// Those of a queue, by connection, in the order in which they came.
    pub(crate) fn of(&self, queue: QueueId) -> Vec<(ConnectionId, Arc<ConsumerHandle>)> {
        let all = self.0.lock();
        all.range(seats_of(queue)).map(|(&(_, connection, _), consumer)| (connection, consumer.clone())).collect()
    }

    /// The one of a queue that is what `is_wanted` says.
    pub(crate) fn find(
        &self,
        queue: QueueId,
        is_wanted: impl Fn(&ConsumerHandle) -> bool,
    ) -> Option<Arc<ConsumerHandle>> {
        let all = self.0.lock();
        all.range(seats_of(queue)).map(|(_, consumer)| consumer).find(|consumer| is_wanted(consumer)).cloned()
    }

    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.0.lock().len()
    }
}
