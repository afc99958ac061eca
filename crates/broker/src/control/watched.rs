//! Queues that operators watch.

use engine::WATCHED_QUEUE_COUNT_MAX;

use super::{ControlError, invalid, not_found};
use crate::broker::Broker;
use crate::watched::TooManyWatched;

impl Broker {
    /// Watches a queue from now on, until the broker ends.
    pub fn watch_queue(&self, vhost: &str, name: &str) -> Result<(), ControlError> {
        let queue = self.vhosts.get(vhost).and_then(|vhost| vhost.queue(name.as_bytes()));
        let Some(queue) = queue else { return not_found(format!("no queue '{name}' in vhost '{vhost}'")) };
        self.watched.watch(queue, &self.vhosts).or_else(|TooManyWatched| {
            invalid(format!(
                "cannot watch queue '{name}' in vhost '{vhost}': {WATCHED_QUEUE_COUNT_MAX} queues are watched already, which is the \
                 limit; stop watching one of them first"
            ))
        })
    }

    /// Watches a queue no longer.
    pub fn unwatch_queue(&self, vhost: &str, name: &str) -> Result<(), ControlError> {
        let queue = self.vhosts.get(vhost).and_then(|vhost| vhost.queue(name.as_bytes()));
        match queue {
            Some(queue) if self.watched.unwatch(&queue) => Ok(()),
            _ => not_found(format!("queue '{name}' in vhost '{vhost}' is not being watched")),
        }
    }
}
