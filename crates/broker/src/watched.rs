//! Queues that operators watch: for each of them is counted how long its messages are in each stage of their way.

use std::sync::Arc;

use engine::WATCHED_QUEUE_COUNT_MAX;
use engine::queue_handle::QueueHandle;
use parking_lot::Mutex;

use crate::vhosts::Vhosts;

/// All of them. It ends with the broker, or with the queue.
#[derive(Debug, Default)]
pub(crate) struct Watched(Mutex<Vec<Arc<QueueHandle>>>);

/// There are as many as there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooManyWatched;

impl Watched {
    /// Those that are there still, by vhost and name.
    pub(crate) fn all(&self, vhosts: &Vhosts) -> Vec<Arc<QueueHandle>> {
        let mut watched = self.0.lock();
        watched.retain(|queue| is_there(queue, vhosts));
        let mut all = watched.clone();
        all.sort_by(|a, b| (&a.definition.vhost, a.name()).cmp(&(&b.definition.vhost, b.name())));
        all
    }

    /// A queue is watched from now on, if it is not already.
    pub(crate) fn watch(&self, queue: Arc<QueueHandle>, vhosts: &Vhosts) -> Result<(), TooManyWatched> {
        let mut watched = self.0.lock();
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
        self.0.lock().retain(|other| !Arc::ptr_eq(other, queue));
        queue.watched.write().take().is_some()
    }
}

fn is_there(queue: &Arc<QueueHandle>, vhosts: &Vhosts) -> bool {
    let found = vhosts.get(queue.definition.vhost.as_str()).and_then(|vhost| vhost.queue(queue.name().as_bytes()));
    found.is_some_and(|found| Arc::ptr_eq(&found, queue))
}
