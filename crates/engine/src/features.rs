//! What queues are asked to do by their arguments and policies, applied to their state machines; and what of it must last.

use std::sync::Arc;

use model::arguments::Overflow;
use model::features::QueueFeatures;
use model::ids::{QueueId, QueueSeq};
use queue::TtlHistory;
use store::RecordBatch;

use crate::deduplication::key_set_of;
use crate::engine::{Engine, Options};
use crate::limits::SHARD_COUNT;

use crate::queue_handle::QueueHandle;
use crate::shard::QueueEntry;

/// What the keys of histories of times to live begin with, among definitions.
const TTL_KEY: &[u8] = b"ttl/";
/// One change in a history: a seq, and a time to live or `u64::MAX`.
const CHANGE_LEN: usize = 16;

impl Engine {
    /// A queue does something else from now on.
    pub fn change_features(&self, queue: &Arc<QueueHandle>, features: &QueueFeatures) {
        self.with_queue(queue, |entry, work| {
            entry.queue.set_rules(rules_of(features, &self.options));
            entry.queue.set_groups(features.group_header.as_deref());
            work.set_deduplication(entry, features.deduplication.as_ref());
            let is_changed = entry.queue.set_ttl(features.message_ttl_ms);
            if is_changed && queue.is_journaled() {
                // Messages that are here keep the time they came under, after a restart, too.
                record_ttls(&mut work.section_effects.records, queue.id(), entry.queue.ttls());
            }
            // What it does now may have nothing left to wait for.
            entry.stuck.iter_mut().for_each(|stuck| stuck.until_ms = 0);
            let now_ms = work.now_ms();
            work.retry_stuck(entry, now_ms);
            work.dispatch(entry);
        });
    }

    /// What recovery found of a queue does this. Its times to live were kept.
    pub fn restore_features(&self, queue: &QueueHandle, features: &QueueFeatures) {
        let now_ms = self.clock.now_ms();
        let applied = self.shards.with_queue(queue, |entry| apply(entry, features, &self.options, now_ms));
        debug_assert!(applied.is_some(), "a queue that is being restored is there");
    }

    /// Every queue that has times is looked after once, and only these are locked one by one: it is not known yet when the first of its
    /// messages expires. A time to live that a policy had just been given or had just lost when the process ended holds, or does
    /// not, for what comes from here on.
    pub fn wake_restored(&self) {
        let now_ms = self.clock.now_ms();
        let to_wake = |entry: &mut QueueEntry| {
            let ttl_ms = entry.handle.features().message_ttl_ms;
            (entry.is_timed() || entry.queue.ttls().current() != ttl_ms).then(|| entry.handle.clone())
        };
        let queues = (0..SHARD_COUNT).flat_map(|number| {
            self.shards.with(number, |shard| shard.entries().filter_map(to_wake).collect::<Vec<_>>())
        });
        let timed = queues.filter(|queue| {
            let is_timed = self.with_queue(queue, |entry, work| {
                if entry.queue.set_ttl(queue.features().message_ttl_ms) {
                    record_ttls(&mut work.section_effects.records, queue.id(), entry.queue.ttls());
                }
                entry.queue.resume_waits(now_ms);
                entry.timer_at_ms = u64::from(entry.is_timed());
                entry.is_timed()
            });
            matches!(is_timed, Some((true, _)))
        });
        let timers: Vec<_> = timed.map(|queue| (1, queue.into())).collect();
        self.timers.set(timers.into_iter());
    }
}

/// Sets what a new queue does, but for its times to live.
pub fn apply(entry: &mut QueueEntry, features: &QueueFeatures, options: &Options, now_ms: u64) {
    entry.queue.set_rules(rules_of(features, options));
    entry.queue.set_groups(features.group_header.as_deref());
    // Keys are restored when all policies are.
    entry.key_set = key_set_of(entry, features.deduplication.as_ref());
    entry.queue.note_used(now_ms);
}

/// What the queue's state machine has to know of its features.
fn rules_of(features: &QueueFeatures, options: &Options) -> queue::Rules {
    let timeout_ms = options.consumer_timeout.as_millis() as u64;
    queue::Rules {
        length_max: features.length_max,
        bytes_max: features.length_bytes_max,
        refuses_beyond: features.overflow != Overflow::DropHead
            && (features.length_max.is_some() || features.length_bytes_max.is_some()),
        keeps_dropped: features.dead_letter.is_some(),
        counts_returns: features.is_quorum,
        delivery_limit: features.delivery_limit,
        retry: features.retry,
        consumer_timeout_ms: features.consumer_timeout_ms.or(features.is_quorum.then_some(timeout_ms)),
        expires_after_ms: features.expires_ms,
    }
}

/// Keeps a queue's history of times to live, if it has any.
pub fn record_ttls(records: &mut RecordBatch, queue: QueueId, ttls: &TtlHistory) {
    match ttls.changes() {
        [] => records.delete(&ttl_key(queue)),
        _ => records.put(&ttl_key(queue), &encode(ttls)),
    }
}

/// The key of the record of a history of times to live.
pub fn ttl_key(queue: QueueId) -> Vec<u8> {
    [TTL_KEY, &queue.0.to_be_bytes()].concat()
}

/// The queue whose history is kept under this key, if one is.
pub fn queue_of_ttl_key(key: &[u8]) -> Option<QueueId> {
    let id = key.strip_prefix(TTL_KEY)?;
    Some(QueueId(u64::from_be_bytes(id.try_into().ok()?)))
}

fn encode(ttls: &TtlHistory) -> Vec<u8> {
    let change = |(from, ttl_ms): &(QueueSeq, Option<u64>)| {
        let (from, ttl_ms) = (from.0.to_le_bytes(), ttl_ms.unwrap_or(u64::MAX).to_le_bytes());
        from.into_iter().chain(ttl_ms)
    };
    ttls.changes().iter().flat_map(change).collect()
}

/// A history as it was kept.
pub fn decode_ttls(value: &[u8]) -> TtlHistory {
    let changes = value.as_chunks::<CHANGE_LEN>().0.iter().filter_map(|change| {
        let (from, ttl_ms) = change.split_at(8);
        let ttl_ms = u64::from_le_bytes(ttl_ms.try_into().ok()?);
        Some((QueueSeq(u64::from_le_bytes(from.try_into().ok()?)), Some(ttl_ms).filter(|ttl_ms| *ttl_ms != u64::MAX)))
    });
    TtlHistory::of(changes.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_reads_back_as_kept() {
        let ttls = TtlHistory::of(vec![(QueueSeq(1), Some(10)), (QueueSeq(7), None), (QueueSeq(9), Some(0))]);
        assert_eq!(decode_ttls(&encode(&ttls)), ttls);
        assert_eq!(queue_of_ttl_key(&ttl_key(QueueId(77))), Some(QueueId(77)));
        assert_eq!(queue_of_ttl_key(b"ttl/x"), None);
    }
}
