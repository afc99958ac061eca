//! What is kept of one user and vhost.

use std::sync::Arc;

use model::ids::{Place, QueueId, QueueSeq};
use queue::{Effects, Get, PagedRange, PurgedMessages, Queue, RestoredQueue, Return, Settings};
use store::{Content, RecordBatch, RecoveredQueue, Store};

use super::logins::Logins;
use super::stored_message::{NoConsumer, StoredMessage};
use super::{NextPublish, Publish, SpoolQueueReport};

pub(super) struct SpoolQueue {
    pub(super) id: QueueId,
    pub(super) user: Arc<str>,
    pub(super) vhost: Arc<str>,
    pub(super) queue: Queue<StoredMessage, NoConsumer>,
    /// Whether a forwarder has it.
    pub(super) is_claimed: bool,
    /// Whether there is a connection over which it is sent on.
    pub(super) is_sending: bool,
    /// Before this no forwarder tries to send it on again.
    pub(super) rests_until_ms: u64,
    /// How often that has failed in a row.
    pub(super) failure_count: u32,
    /// How often in a row a connection was lost over which nothing could be sent on.
    pub(super) lost_count: u32,
    /// When something was sent on last.
    pub(super) moved_ms: u64,
    /// When the first message was kept, if that is known.
    pub(super) front_kept_ms: Option<u64>,
    /// No ready message is at this seq or before.
    taken: QueueSeq,
    /// Why it could not be sent on, last.
    pub(super) last_error: Option<String>,
}

impl SpoolQueue {
    pub(super) fn new(id: QueueId, user: Arc<str>, vhost: Arc<str>) -> Self {
        Self::with(id, user, vhost, Queue::new(Settings::default()))
    }

    fn with(id: QueueId, user: Arc<str>, vhost: Arc<str>, queue: Queue<StoredMessage, NoConsumer>) -> Self {
        SpoolQueue {
            id,
            user,
            vhost,
            queue,
            is_claimed: false,
            is_sending: false,
            rests_until_ms: 0,
            failure_count: 0,
            lost_count: 0,
            moved_ms: 0,
            front_kept_ms: None,
            taken: QueueSeq(0),
            last_error: None,
        }
    }

    /// As it was found.
    pub(super) fn restore(id: QueueId, user: &str, vhost: &str, found: Option<RecoveredQueue>) -> Self {
        let Some(found) = found else { return Self::new(id, user.into(), vhost.into()) };
        let messages = found.messages.into_iter().map(|(seq, content)| (seq, StoredMessage::new(content, None)));
        let restored = RestoredQueue {
            next_seq: found.next_seq,
            watermark: found.watermark,
            ranges: found.ranges.into_iter().map(|found| (found.lane, found.range)).collect(),
            messages: messages.collect(),
            returned: Vec::new(),
            may_expire: false,
        };
        Self::with(id, user.into(), vhost.into(), Queue::restore(Settings::default(), restored))
    }

    /// Whether a forwarder could send on what is kept.
    pub(super) fn is_claimable(&self, now_ms: u64, logins: &Logins) -> bool {
        let is_free = !self.is_claimed && self.count() > 0 && self.rests_until_ms <= now_ms;
        is_free && logins.latest(&self.user, &self.vhost).is_some()
    }

    /// No message is before this; `None`: there is none at all.
    pub(super) fn first(&self) -> Option<QueueSeq> {
        let ready = (self.queue.ready_count() > 0).then_some(self.taken.next());
        self.queue.unacked().map(|(seq, ..)| seq).chain(ready).min()
    }

    /// Messages, those under way included.
    pub(super) fn count(&self) -> u64 {
        self.queue.ready_count() + self.queue.unacked_count()
    }

    /// Their bytes.
    pub(super) fn len(&self) -> u64 {
        self.queue.ready_bytes() + self.queue.unacked_bytes()
    }

    pub(super) fn publish(&mut self, content: Content) -> QueueSeq {
        self.queue.publish(StoredMessage::new(content, None))
    }

    pub(super) fn take(&mut self, store: &Store) -> NextPublish {
        match self.queue.get(false, 0, &mut Effects::default()) {
            Get::Empty => NextPublish::Nothing,
            Get::Loading(load) => {
                if let Some(load) = load {
                    store.load(self.id, load);
                }
                NextPublish::Loading
            }
            Get::Message(got) => match got.message.content() {
                Some(content) => {
                    self.taken = got.seq;
                    NextPublish::Publish(got.seq, Publish(content.clone()))
                }
                // Queues give out what has its body.
                None => NextPublish::Loading,
            },
        }
    }

    pub(super) fn put_back(&mut self, seqs: &[QueueSeq]) {
        self.queue.requeue(seqs, Return::Unharmed, 0, &mut Effects::default());
        if let Some(first) = seqs.iter().min() {
            self.taken = self.taken.min(QueueSeq(first.0.saturating_sub(1)));
        }
    }

    /// Puts all that is under way back.
    pub(super) fn put_back_all(&mut self) {
        let seqs: Vec<QueueSeq> = self.queue.unacked().map(|(seq, ..)| seq).collect();
        self.put_back(&seqs);
    }

    /// Takes messages that are under way out for good.
    pub(super) fn settle(&mut self, seqs: &[QueueSeq], batch: &mut RecordBatch) -> Removal {
        self.front_kept_ms = None;
        let mut settled = Vec::new();
        self.queue.settle(seqs, &mut settled);
        for (seq, _) in &settled {
            batch.settle(self.id, *seq, *seq);
        }
        Removal { places: places(&settled), ranges: Vec::new() }
    }

    /// Takes all out for good, what is under way too.
    pub(super) fn clear(&mut self, batch: &mut RecordBatch) -> Removal {
        self.front_kept_ms = None;
        let Some(first) = self.first() else { return Removal::default() };
        let mut settled = Vec::new();
        self.queue.drain_unacked(&mut settled);
        let mut purged = PurgedMessages::default();
        self.queue.purge(&mut purged);
        self.taken = QueueSeq(self.queue.next_seq().0 - 1);
        // Nothing else is between them.
        batch.settle(self.id, first, QueueSeq(self.queue.next_seq().0 - 1));
        settled.append(&mut purged.messages);
        Removal { places: places(&settled), ranges: purged.ranges }
    }

    pub(super) fn report(&self) -> SpoolQueueReport {
        SpoolQueueReport {
            user: self.user.to_string(),
            vhost: self.vhost.to_string(),
            count: self.count(),
            len: self.len(),
            is_sending: self.is_sending,
            last_error: self.last_error.clone(),
        }
    }
}

/// What was removed from a queue, for the store.
#[derive(Debug, Default)]
pub(super) struct Removal {
    pub(super) places: Vec<Place>,
    pub(super) ranges: Vec<PagedRange>,
}

/// Where these are in segments.
fn places(settled: &[(QueueSeq, StoredMessage)]) -> Vec<Place> {
    settled.iter().filter_map(|(_, kept)| queue::Message::place(kept)).collect()
}

const KEY: &str = "shelf/";

/// The queue's definition in the store: `spool_queue/ID`, and `| user's length u32 | user | vhost |`.
pub(super) fn definition(id: QueueId, user: &str, vhost: &str) -> (Vec<u8>, Vec<u8>) {
    let mut value = (user.len() as u32).to_le_bytes().to_vec();
    value.extend_from_slice(user.as_bytes());
    value.extend_from_slice(vhost.as_bytes());
    (format!("{KEY}{}", id.0).into_bytes(), value)
}

/// The queue, its user and its vhost. `None`: it is none.
pub(super) fn name_of<'a>(key: &[u8], value: &'a [u8]) -> Option<(QueueId, &'a str, &'a str)> {
    let id = std::str::from_utf8(key).ok()?.strip_prefix(KEY)?.parse().ok()?;
    let (len, names) = value.split_first_chunk()?;
    let (user, vhost) = names.split_at_checked(u32::from_le_bytes(*len) as usize)?;
    Some((QueueId(id), std::str::from_utf8(user).ok()?, std::str::from_utf8(vhost).ok()?))
}
