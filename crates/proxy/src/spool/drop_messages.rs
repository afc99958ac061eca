//! What leaves a queue without having been sent on: it is too old, or an operator has had enough of it.

use std::sync::atomic::Ordering;

use amqp::content::ContentHeader;
use amqp::frame::decode_frame;
use amqp::method::decode_publish;
use model::ids::{QueueId, QueueSeq};
use store::RecordBatch;

use super::spool_queue::{Removal, SpoolQueue};
use super::stored_message::kept_at_ms;
use super::{NextPublish, Publish, Spool, State};

/// The message on a queue that is sent on first, for operators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct First {
    /// Where it was published to.
    pub exchange: String,
    /// By what it is routed there.
    pub routing_key: String,
    /// Bytes of its body.
    pub body_len: u64,
    /// When it was kept, in milliseconds since 1970.
    pub kept_ms: u64,
}

impl First {
    /// `None`: it is no publish, which is not kept.
    fn of(publish: &Publish) -> Option<First> {
        let frames = publish.frames();
        let (method, len) = decode_frame(frames, 0).ok()??;
        let (header, _) = decode_frame(&frames[len..], 0).ok()??;
        let method = decode_publish(method.payload)?;
        Some(First {
            exchange: String::from_utf8_lossy(method.exchange).into_owned(),
            routing_key: String::from_utf8_lossy(method.routing_key).into_owned(),
            body_len: ContentHeader::decode(header.payload).ok()?.body_len,
            kept_ms: kept_at_ms(publish.0.bytes()),
        })
    }
}

/// Why the first message cannot be had now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotNow {
    /// It is being read; [`Spool::changes`] signals when to ask again.
    Loading,
    /// The queue is being sent on.
    Sending,
}

impl Spool {
    /// What is sent on first of this user and vhost. `None`: nothing is kept of them.
    pub fn first(&self, user: &str, vhost: &str) -> Result<Option<First>, NotNow> {
        let mut state = self.state.lock();
        let Some((id, seq, publish)) = self.take_first(&mut state, user, vhost)? else { return Ok(None) };
        if let Some(spool_queue) = state.spool_queues.get_mut(&id) {
            spool_queue.put_back(&[seq]);
        }
        Ok(First::of(&publish))
    }

    /// As [`first`](Self::first), and drops it.
    pub fn drop_first(&self, user: &str, vhost: &str) -> Result<Option<First>, NotNow> {
        let mut state = self.state.lock();
        let Some((id, seq, publish)) = self.take_first(&mut state, user, vhost)? else { return Ok(None) };
        self.drop_for_operator(&mut state, id, |spool_queue, batch| spool_queue.settle(&[seq], batch));
        Ok(First::of(&publish))
    }

    /// Drops all that is kept of this user and vhost, even what is under way. How many messages that were.
    pub(crate) fn drop_all(&self, user: &str, vhost: &str) -> u64 {
        let mut state = self.state.lock();
        let Some(id) = state.id_of(user, vhost).filter(|_| !self.is_closed.load(Ordering::Relaxed)) else { return 0 };
        self.drop_for_operator(&mut state, id, SpoolQueue::clear)
    }

    /// Takes what is first on a queue from which no forwarder takes.
    fn take_first(
        &self,
        state: &mut State,
        user: &str,
        vhost: &str,
    ) -> Result<Option<(QueueId, QueueSeq, Publish)>, NotNow> {
        let Some(id) = state.id_of(user, vhost) else { return Ok(None) };
        let Some(spool_queue) = state.spool_queues.get_mut(&id) else { return Ok(None) };
        if self.is_closed.load(Ordering::Relaxed) {
            return Ok(None);
        }
        if spool_queue.count() > 0 && spool_queue.is_sending {
            return Err(NotNow::Sending);
        }
        match spool_queue.take(&self.store) {
            NextPublish::Publish(seq, publish) => Ok(Some((id, seq, publish))),
            NextPublish::Loading => Err(NotNow::Loading),
            NextPublish::Nothing => Ok(None),
        }
    }

    fn drop_for_operator(
        &self,
        state: &mut State,
        id: QueueId,
        leave: impl FnOnce(&mut SpoolQueue, &mut RecordBatch) -> Removal,
    ) -> u64 {
        let count = self.drop_from(state, id, leave);
        state.counters.dropped += count;
        if let Some(spool_queue) = state.spool_queues.get_mut(&id) {
            // The publish that was to blame is deleted, perhaps.
            (spool_queue.rests_until_ms, spool_queue.failure_count, spool_queue.lost_count) = (0, 0, 0);
        }
        self.tell();
        count
    }

    /// Drops what is too old, of queues that no forwarder sends on.
    pub(super) fn expire(&self, state: &mut State, wall_ms: u64) {
        let Some(age_max_ms) = self.options.age_max_ms else { return };
        let ids: Vec<QueueId> = state
            .spool_queues
            .values()
            .filter(|spool_queue| !spool_queue.is_claimed)
            .map(|spool_queue| spool_queue.id)
            .collect();
        for id in ids {
            while let Some(spool_queue) = state.spool_queues.get_mut(&id)
                // What was looked at lies in a segment again, perhaps: it is not read before it can be too old.
                && spool_queue.front_kept_ms.is_none_or(|kept_ms| kept_ms.saturating_add(age_max_ms) <= wall_ms)
                && let NextPublish::Publish(seq, publish) = spool_queue.take(&self.store)
            {
                let kept_ms = kept_at_ms(publish.0.bytes());
                if kept_ms.saturating_add(age_max_ms) > wall_ms {
                    spool_queue.put_back(&[seq]);
                    spool_queue.front_kept_ms = Some(kept_ms);
                    break;
                }
                let count = self.drop_from(state, id, |spool_queue, batch| spool_queue.settle(&[seq], batch));
                state.counters.expired += count;
                self.wake_waiters(state, id);
            }
        }
    }

    /// Messages leave a queue for good. How many there were.
    pub(super) fn drop_from(
        &self,
        state: &mut State,
        id: QueueId,
        leave: impl FnOnce(&mut SpoolQueue, &mut RecordBatch) -> Removal,
    ) -> u64 {
        let Some(spool_queue) = state.spool_queues.get_mut(&id) else { return 0 };
        let before = (spool_queue.count(), spool_queue.len());
        let gone = leave(spool_queue, &mut state.batch);
        let count = before.0 - spool_queue.count();
        self.recount(state, id, before);
        // Before the slots: a checkpoint must not know of it before the journal does.
        self.store.append(&mut state.batch);
        self.store.settle_slots(&gone.places);
        self.store.settle_ranges(&gone.ranges);
        count
    }
}
