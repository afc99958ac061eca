//! Queues as they are listed.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use model::definition;
use model::policy::EffectivePolicy;
use queue::{Message as _, Position};

use crate::broker::Broker;
use crate::selection;
use crate::statistics::{LossCounts, Observable};
use crate::vhost::Vhost;
use engine::queue_handle::QueueHandle;
use engine::queued_message::QueuedMessage;
use engine::shard::QueueEntry;

/// A queue. Cheap to make: it reads its numbers when it is asked for them.
#[derive(Debug, Clone)]
pub struct QueueView {
    pub(super) handle: Arc<QueueHandle>,
}

/// The ready message of a queue that came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OldestView {
    /// Where it stands. As long as this is the same, so is the message.
    position: Position,
    /// When it entered the queue, in milliseconds since 1970. None: it is not in memory.
    pub published_at_ms: Option<u64>,
}

impl OldestView {
    /// Whether another look has found the same message.
    #[must_use]
    pub fn is_same(&self, other: &OldestView) -> bool {
        self.position == other.position
    }
}

/// Queues that a walk has at hand: what it holds its vhost's lock for is as long as copying so many references takes.
const AHEAD_COUNT: usize = 256;
/// Queues that a walk passes over under one lock.
const SKIPPED_COUNT: usize = 4096;

/// Queues one after the other, taken a few at a time: it holds no lock in between, and no memory by their number. Queues that come or go
/// meanwhile are met if they are ahead.
#[derive(Debug)]
pub struct QueueWalk {
    /// Those that are not done.
    vhosts: VecDeque<Arc<Vhost>>,
    /// The last queue of the first of them that has been taken.
    last: Option<Arc<QueueHandle>>,
    ahead: VecDeque<Arc<QueueHandle>>,
}

impl QueueWalk {
    /// How many queues there are now, in all vhosts that are not done.
    #[must_use]
    pub fn queue_count(&self) -> usize {
        self.vhosts.iter().map(|vhost| vhost.queue_count()).sum()
    }

    /// Passes over so many queues, which costs less than taking them. To be called before any is taken.
    pub fn pass(&mut self, mut count: usize) {
        while count > 0
            && let Some(vhost) = self.vhosts.front()
        {
            let step = count.min(SKIPPED_COUNT);
            match vhost.queue_at(self.last.as_ref().map(|queue| queue.name()), step) {
                Ok(queue) => {
                    self.last = Some(queue);
                    count -= step;
                }
                Err(passed) => {
                    self.leave_vhost();
                    count -= passed;
                }
            }
        }
    }

    fn leave_vhost(&mut self) {
        self.vhosts.pop_front();
        self.last = None;
    }
}

impl Iterator for QueueWalk {
    type Item = QueueView;

    fn next(&mut self) -> Option<QueueView> {
        while self.ahead.is_empty() {
            let vhost = self.vhosts.front()?;
            vhost.queues_after(self.last.as_ref().map(|queue| queue.name()), AHEAD_COUNT, &mut self.ahead);
            match self.ahead.back() {
                Some(queue) => self.last = Some(queue.clone()),
                None => self.leave_vhost(),
            }
        }
        self.ahead.pop_front().map(|handle| QueueView { handle })
    }
}

/// Messages of a queue that are neither ready nor unacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SetAsideView {
    /// Those that have been given up, and have not arrived elsewhere yet.
    pub dead_letter_count: u64,
    /// Those that came back, and wait to be tried again.
    pub delayed_count: u64,
}

/// The connection that an exclusive queue belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerView {
    /// Its name.
    pub name: String,
    /// Its peer.
    pub peer: SocketAddr,
}

impl QueueView {
    /// What it is.
    #[must_use]
    pub fn definition(&self) -> &definition::Queue {
        &self.handle.definition
    }

    /// Messages that wait.
    #[must_use]
    pub fn ready_count(&self) -> u64 {
        self.handle.gauges.ready_count.get().cast_unsigned()
    }

    /// Messages handed out and not settled.
    #[must_use]
    pub fn unacked_count(&self) -> u64 {
        self.handle.gauges.unacked_count.get().cast_unsigned()
    }

    /// Bytes of the bodies of messages that wait.
    #[must_use]
    pub fn ready_bytes(&self) -> u64 {
        self.handle.gauges.ready_bytes.get().cast_unsigned()
    }

    /// Bytes of the bodies of messages handed out and not settled.
    #[must_use]
    pub fn unacked_bytes(&self) -> u64 {
        self.handle.gauges.unacked_bytes.get().cast_unsigned()
    }

    /// Its consumers.
    #[must_use]
    pub fn consumer_count(&self) -> u64 {
        self.handle.gauges.consumer_count.get().cast_unsigned()
    }

    /// How much of the time its consumers could have taken whatever came, from 0 to 1, the last second counting as much as all before;
    /// 0 without consumers.
    #[must_use]
    pub fn consumer_capacity(&self) -> f64 {
        if self.consumer_count() == 0 { 0.0 } else { self.handle.capacity.share(self.handle.clock.now_ms()) }
    }

    /// Messages that were not taken in since the broker started, being duplicates, or that others have taken the place of. None: it does
    /// not
    /// drop any.
    #[must_use]
    pub fn deduplicated_count(&self) -> Option<u64> {
        self.handle.is_keyed().then(|| self.handle.counters.deduplicated.get())
    }

    /// Messages that it has given up since the broker started: expired, too many, rejected, or failed too often.
    #[must_use]
    pub fn dropped_count(&self) -> u64 {
        self.loss_counts().all_given_up()
    }

    /// Dead letters that have come back since the broker started to where they had died before.
    #[must_use]
    pub fn came_round_count(&self) -> u64 {
        self.loss_counts().came_round
    }

    /// What it has not kept since the broker started, by the reason.
    #[must_use]
    pub fn loss_counts(&self) -> LossCounts {
        self.handle.counters.loss_counts()
    }

    /// Whether an operator has paused it.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.handle.is_paused.load(Ordering::Relaxed)
    }

    /// The policies that hold for it.
    #[must_use]
    pub fn policy(&self) -> EffectivePolicy {
        self.handle.policy.lock().clone()
    }

    /// Since when nothing has happened to it, in milliseconds since 1970; None if something has lately.
    #[must_use]
    pub fn idle_since_ms(&self) -> Option<u64> {
        let since_ms = self.handle.observed.rests_since_ms(&self.handle.numbers(), self.handle.made_at_ms)?;
        Some(self.handle.clock.shown_ms(since_ms))
    }

    /// Whether a connection other than none owns it.
    #[must_use]
    pub fn is_owned(&self) -> bool {
        self.handle.owner.is_some()
    }
}

impl Broker {
    /// How many queues there are. Costs nothing by their number.
    #[must_use]
    pub fn queue_count(&self) -> usize {
        self.vhosts.all().iter().map(|vhost| vhost.queue_count()).sum()
    }

    /// All queues of a vhost, by name; none if there is no such vhost.
    #[must_use]
    pub fn queue_views(&self, vhost: &str) -> Vec<QueueView> {
        self.walk_queues([vhost]).collect()
    }

    /// The queues of some vhosts, by vhost in the order given, and by name. None of a vhost that is not there.
    pub fn walk_queues<'a>(&self, vhosts: impl IntoIterator<Item = &'a str>) -> QueueWalk {
        let vhosts: Vec<_> = vhosts.into_iter().filter_map(|vhost| self.vhosts.get(vhost)).collect();
        QueueWalk { vhosts: vhosts.into(), last: None, ahead: VecDeque::new() }
    }

    /// All queues of a vhost, in no order: for callers that look at all of them often.
    #[must_use]
    pub fn unsorted_queue_views(&self, vhost: &str) -> Vec<QueueView> {
        let Some(vhost) = self.vhosts.get(vhost) else { return Vec::new() };
        vhost.queues().into_iter().map(|handle| QueueView { handle }).collect()
    }

    /// The queue of this name.
    #[must_use]
    pub fn queue_view(&self, vhost: &str, name: &str) -> Option<QueueView> {
        let handle = self.vhosts.get(vhost)?.queue(name.as_bytes())?;
        Some(QueueView { handle })
    }

    /// When the oldest ready message of a queue entered it, in milliseconds since 1970. None: there is none, or it lies in a segment
    /// only ([`Broker::read_oldest_ready_of`]). The queue is asked, for a moment.
    #[must_use]
    pub fn oldest_ready_of(&self, queue: &QueueView) -> Option<u64> {
        self.oldest_view_of(queue)?.published_at_ms
    }

    /// The oldest ready message of a queue, wherever it is. The queue is asked, for a moment.
    #[must_use]
    pub fn oldest_view_of(&self, queue: &QueueView) -> Option<OldestView> {
        let oldest = self.engine.shards.with_queue(&queue.handle, |entry| {
            let (position, message) = entry.queue.oldest()?;
            Some(OldestView { position, published_at_ms: message.map(|message| message.entered_at_ms()) })
        });
        oldest.flatten()
    }

    /// The timestamp of the message that is delivered next, in seconds since 1970. None: there is none, or it lies in a segment only. The
    /// queue is asked, for a moment.
    #[must_use]
    pub fn head_timestamp_of(&self, queue: &QueueView) -> Option<u64> {
        if queue.ready_count() == 0 {
            return None;
        }
        let timestamp = |entry: &mut QueueEntry| entry.queue.oldest().and_then(|(_, message)| message?.timestamp());
        self.engine.shards.with_queue(&queue.handle, timestamp).flatten()
    }

    /// When the oldest of the messages that consumers hold entered the queue, in milliseconds since 1970. None: there is none, or what is
    /// known of it lies in a segment only. The queue is asked, for a moment.
    #[must_use]
    pub fn oldest_unacked_of(&self, queue: &QueueView) -> Option<u64> {
        if queue.unacked_count() == 0 {
            return None;
        }
        let oldest = |entry: &mut QueueEntry| entry.queue.oldest_unacked().map(QueuedMessage::entered_at_ms);
        let entered_at_ms = self.engine.shards.with_queue(&queue.handle, oldest).flatten()?;
        (entered_at_ms > 0).then_some(entered_at_ms)
    }

    /// How long ago a moment was, in milliseconds.
    #[must_use]
    pub fn age_ms(&self, at_ms: u64) -> u64 {
        self.engine.clock.now_ms().saturating_sub(at_ms)
    }

    /// The same as [`Broker::oldest_ready_of`], for a message that has to be read from a segment.
    pub async fn read_oldest_ready_of(&self, queue: &QueueView, oldest: &OldestView) -> Option<u64> {
        let message = selection::first_from(self, &queue.handle, oldest.position).await?;
        Some(message.entered_at_ms())
    }

    /// What a queue has that is neither ready nor unacked. The queue is asked, for a moment, if messages may stay like this in it.
    #[must_use]
    pub fn set_aside_of(&self, queue: &QueueView) -> SetAsideView {
        let features = queue.handle.features();
        if !features.is_quorum {
            return SetAsideView::default();
        }
        let counts = self
            .engine
            .shards
            .with_queue(&queue.handle, |entry| (entry.queue.set_aside_count(), entry.queue.waiting_count()));
        let (count, delayed_count) = counts.unwrap_or_default();
        SetAsideView { dead_letter_count: count - delayed_count, delayed_count }
    }

    /// The connection that owns an exclusive queue.
    #[must_use]
    pub fn owner_of(&self, queue: &QueueView) -> Option<OwnerView> {
        let connection = self.connections.get(queue.handle.owner?)?;
        Some(OwnerView { name: connection.name(), peer: connection.peer })
    }
}
