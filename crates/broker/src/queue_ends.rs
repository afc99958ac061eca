//! Queues that the broker deletes unasked: those that have not been used for too long, and auto-delete queues without a consumer.

use crate::broker::Broker;
use crate::vhost::{DeleteConditions, Deletion};
use engine::queue_handle::QueueHandle;

impl Broker {
    /// Does what is due in queues and at exchanges, and deletes queues that have expired. Says how many were looked after.
    pub(crate) fn run_due_timers(&self) -> usize {
        let due = self.engine.run_due_timers();
        due.expired.iter().for_each(|queue| self.delete_expired(queue));
        due.count
    }

    /// Deletes a queue if it has not been used for too long.
    fn delete_expired(&self, queue: &QueueHandle) {
        let Some(vhost) = self.vhosts.get(queue.definition.vhost.as_str()) else { return };
        let conditions =
            DeleteConditions { if_expired_at_ms: Some(self.engine.clock.now_ms()), ..DeleteConditions::default() };
        if let Deletion::Deleted { removed, .. } = vhost.delete_queue(self, queue, conditions) {
            self.emit_queue_gone(queue, &removed);
        }
    }

    /// Deletes an auto-delete queue if its last consumer has left. Returns whether it did.
    pub(crate) fn delete_abandoned(&self, queue: &QueueHandle) -> bool {
        let Some(vhost) = self.vhosts.get(queue.definition.vhost.as_str()) else { return false };
        let conditions = DeleteConditions { if_abandoned: true, ..DeleteConditions::default() };
        let Deletion::Deleted { removed, .. } = vhost.delete_queue(self, queue, conditions) else { return false };
        self.emit_queue_gone(queue, &removed);
        true
    }
}
