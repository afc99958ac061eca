//! Queues that operators have paused: consumers get nothing until they are resumed, after a restart of the broker, too.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use model::ids::QueueId;

use crate::engine::Engine;
use crate::position::Positions;
use crate::queue_handle::QueueHandle;

/// What the keys of queues that are paused begin with, among definitions.
const PAUSE_KEY: &[u8] = b"paused/";

impl Engine {
    /// Pauses a queue, or resumes it. Returns whether that is a change, and where it is durable; `None` when the queue is deleted.
    pub fn pause(&self, queue: &Arc<QueueHandle>, is_paused: bool) -> Option<(bool, Positions)> {
        self.with_queue(queue, |entry, work| {
            if entry.queue.is_paused() == is_paused {
                return false;
            }
            entry.queue.set_paused(is_paused);
            queue.is_paused.store(is_paused, Ordering::Relaxed);
            if queue.is_journaled() {
                match is_paused {
                    true => work.section_effects.records.put(&pause_key(queue.id()), &[]),
                    false => work.section_effects.records.delete(&pause_key(queue.id())),
                }
            }
            work.dispatch(entry);
            true
        })
    }
}

/// The key of the record that a queue is paused.
pub fn pause_key(queue: QueueId) -> Vec<u8> {
    [PAUSE_KEY, &queue.0.to_be_bytes()].concat()
}

/// Which queue is paused by the record under this key, if it is one of these.
pub fn queue_of_pause_key(key: &[u8]) -> Option<QueueId> {
    let id = key.strip_prefix(PAUSE_KEY)?;
    Some(QueueId(u64::from_be_bytes(id.try_into().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_names_its_queue() {
        assert_eq!(queue_of_pause_key(&pause_key(QueueId(77))), Some(QueueId(77)));
        assert_eq!(queue_of_pause_key(b"paused/x"), None);
        assert_eq!(queue_of_pause_key(b"ttl/00000000"), None);
    }
}
