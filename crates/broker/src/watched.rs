//! Queues that are watched, because operators have named them or the configuration's pattern does: for each of them is counted how long
//! its messages are in each stage of their way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::WATCHED_QUEUE_COUNT_MAX;
use engine::queue_handle::QueueHandle;
use parking_lot::Mutex;

use crate::broker::Broker;
use crate::vhosts::Vhosts;

/// All of them. It ends with the broker, or with the queue.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    queues: Mutex<Vec<Arc<QueueHandle>>>,
    /// It was said that the pattern has more queues than may be watched.
    has_warned: AtomicBool,
}

/// There are as many as there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooManyWatched;

impl Watched {
    /// Those that are there still, by vhost and name.
    pub(crate) fn all(&self, vhosts: &Vhosts) -> Vec<Arc<QueueHandle>> {
        let mut watched = self.queues.lock();
        watched.retain(|queue| is_there(queue, vhosts));
        let mut all = watched.clone();
        all.sort_by(|a, b| (&a.definition.vhost, a.name()).cmp(&(&b.definition.vhost, b.name())));
        all
    }

    /// A queue is watched from now on, if it is not already.
    pub(crate) fn watch(&self, queue: Arc<QueueHandle>, vhosts: &Vhosts) -> Result<(), TooManyWatched> {
        let mut watched = self.queues.lock();
        watched.retain(|other| is_there(other, vhosts));
        if watched.iter().any(|other| Arc::ptr_eq(other, &queue)) {
            return Ok(());
        }
        if watched.len() >= WATCHED_QUEUE_COUNT_MAX {
            return Err(TooManyWatched);
        }
        *queue.watched.write() = Some(Arc::default());
        watched.push(queue);
        Ok(())
    }

    /// A queue is watched no longer. Says whether it was.
    pub(crate) fn unwatch(&self, queue: &Arc<QueueHandle>) -> bool {
        self.queues.lock().retain(|other| !Arc::ptr_eq(other, queue));
        queue.watched.write().take().is_some()
    }
}

/// Watches a queue that is new here if the configuration wants that. Not to be called under the lock of a topology.
pub(crate) fn watch_if_wanted(broker: &Broker, queue: &Arc<QueueHandle>) {
    let is_wanted = broker.options.watched_queues.as_ref().is_some_and(|pattern| pattern.is_match(queue.name()));
    if !is_wanted || broker.watched.watch(queue.clone(), &broker.vhosts).is_ok() {
        return;
    }
    if !broker.watched.has_warned.swap(true, Ordering::Relaxed) {
        let (vhost, queue) = (queue.definition.vhost.as_str(), queue.name());
        let max = WATCHED_QUEUE_COUNT_MAX;
        tracing::warn!(vhost, queue, max, "more queues match warren.statistics.watched_queues than may be watched");
    }
}

/// The same for those that have been recovered, by vhost and name.
pub(crate) fn watch_recovered(broker: &Broker) {
    if broker.options.watched_queues.is_none() {
        return;
    }
    let mut queues: Vec<_> = broker.vhosts.all().iter().flat_map(|vhost| vhost.queues()).collect();
    queues.sort_by(|a, b| (&a.definition.vhost, a.name()).cmp(&(&b.definition.vhost, b.name())));
    queues.iter().for_each(|queue| watch_if_wanted(broker, queue));
}

fn is_there(queue: &Arc<QueueHandle>, vhosts: &Vhosts) -> bool {
    let found = vhosts.get(queue.definition.vhost.as_str()).and_then(|vhost| vhost.queue(queue.name().as_bytes()));
    found.is_some_and(|found| Arc::ptr_eq(&found, queue))
}
