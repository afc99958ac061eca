//! A channel: what AMQP keeps for it between two methods. No rules here; they are in the files named after what a client
//! asks for ([`crate::publish`], [`crate::consume`], [`crate::settle`], …).

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use model::ids::{JournalPosition, QueueSeq};
use routing::Epoch;

use crate::connections::ChannelHandle;
use crate::publish::{Assembly, CompletePublish};
use crate::statistics::ChannelCounts;
use crate::tx::Transaction;
use crate::usage::Seat;
use engine::gate::ChannelLimit;
use engine::targets::Targets;

/// An open channel, or one that was told to close and has not answered yet.
#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) number: u16,
    /// The server closed it: all but close and close-ok is ignored.
    pub(crate) is_closing: bool,
    /// A publish whose content has not arrived in full.
    pub(crate) assembly: Option<Box<Assembly>>,
    pub(crate) last_route: Option<Box<LastRoute>>,
    pub(crate) confirms: Option<Confirms>,
    pub(crate) tx: Option<Box<Transaction>>,
    pub(crate) next_delivery_tag: u64,
    pub(crate) unacked: Unacked,
    /// `basic.qos` without `global`: for consumers that come after it. 0 is no limit.
    pub(crate) prefetch: u16,
    pub(crate) limit: Arc<ChannelLimit>,
    /// The session's number of each consumer, by tag.
    pub(crate) consumers: HashMap<Box<[u8]>, u32>,
    /// The queue that an empty name means.
    pub(crate) last_queue: Option<Arc<str>>,
    pub(crate) reply_consumer: Option<ReplyConsumer>,
    /// Its place among its user's channels, while it is open.
    pub(crate) seat: Option<Seat>,
    /// What it has done.
    pub(crate) counts: ChannelCounts,
    /// What listings know of it.
    pub(crate) handle: Arc<ChannelHandle>,
    /// Whether that has to be written down again.
    pub(crate) is_changed: bool,
}

impl Channel {
    pub(crate) fn new(number: u16) -> Self {
        Self {
            number,
            is_closing: false,
            assembly: None,
            last_route: None,
            confirms: None,
            tx: None,
            next_delivery_tag: 1,
            unacked: Unacked::default(),
            prefetch: 0,
            limit: Arc::default(),
            consumers: HashMap::new(),
            last_queue: None,
            reply_consumer: None,
            seat: None,
            counts: ChannelCounts::default(),
            handle: ChannelHandle::new(number),
            is_changed: false,
        }
    }

    /// Writes down how things stand, for listings.
    pub(crate) fn report(&mut self) {
        self.is_changed = false;
        let handle = &self.handle;
        let set = |gauge: &telemetry::Gauge, count: usize| gauge.set(count as i64);
        set(&handle.unacked_count, self.unacked.len());
        set(&handle.unconfirmed_count, self.confirms.as_ref().map_or(0, Confirms::unconfirmed_count));
        let (publishes, acks) = self.tx.as_ref().map_or((0, 0), |tx| tx.counts());
        set(&handle.uncommitted_count, publishes);
        set(&handle.uncommitted_ack_count, acks);
        set(&handle.consumer_count, self.consumers.len() + usize::from(self.reply_consumer.is_some()));
        set(&handle.prefetch_count, usize::from(self.prefetch));
        set(&handle.global_prefetch_count, self.limit.limit() as usize);
        handle.counters.report(&self.counts);
        handle.is_confirming.store(self.confirms.is_some(), Ordering::Relaxed);
        handle.is_transactional.store(self.tx.is_some(), Ordering::Relaxed);
    }

    /// Notes where it has published.
    pub(crate) fn note_places(&self, targets: &Targets, count: u32) {
        let exchange = targets.counted.as_ref().map(|counted| &counted.exchange);
        self.handle.counters.edges.lock().note(exchange, &targets.queues, count.into());
    }

    /// The tag of the next delivery.
    #[inline]
    pub(crate) fn take_delivery_tag(&mut self) -> u64 {
        let tag = self.next_delivery_tag;
        self.next_delivery_tag += 1;
        tag
    }
}

/// A consumer of `amq.rabbitmq.reply-to`.
#[derive(Debug)]
pub(crate) struct ReplyConsumer {
    pub(crate) tag: Box<[u8]>,
    /// What replaces `reply-to` in requests that this channel publishes.
    pub(crate) address: Arc<str>,
}

/// The route of the channel's last publish: most channels publish to one place.
#[derive(Debug)]
pub(crate) struct LastRoute {
    epoch: Epoch,
    is_delayed: bool,
    exchange: Vec<u8>,
    routing_key: Vec<u8>,
    pub(crate) targets: Arc<Targets>,
}

impl LastRoute {
    /// Where a message goes, in the place of another's route, whose room it takes.
    pub(crate) fn remember(
        place: &mut Option<Box<Self>>,
        epoch: Epoch,
        whole: &CompletePublish<'_>,
        is_delayed: bool,
        targets: &Arc<Targets>,
    ) {
        let (exchange, routing_key) = (whole.exchange, whole.routing_key);
        match place {
            Some(last) => {
                (last.epoch, last.is_delayed) = (epoch, is_delayed);
                last.exchange.clear();
                last.exchange.extend_from_slice(exchange);
                last.routing_key.clear();
                last.routing_key.extend_from_slice(routing_key);
                last.targets.clone_from(targets);
            }
            None => {
                let (exchange, routing_key) = (exchange.to_vec(), routing_key.to_vec());
                *place = Some(Box::new(Self { epoch, is_delayed, exchange, routing_key, targets: targets.clone() }));
            }
        }
    }

    /// Whether a message goes the same way.
    #[inline(always)]
    pub(crate) fn is_for(&self, epoch: Epoch, whole: &CompletePublish<'_>, is_delayed: bool) -> bool {
        self.epoch == epoch
            && self.is_delayed == is_delayed
            && *self.exchange == *whole.exchange
            && *self.routing_key == *whole.routing_key
    }
}

/// Deliveries that the client has not settled, in the order of their tags.
///
/// A settled one leaves a tombstone until it reaches the front, or until tombstones are the majority.
#[derive(Debug, Default)]
pub(crate) struct Unacked {
    deliveries: VecDeque<UnackedDelivery>,
    dead_count: usize,
}

/// One of them. `link` is the session's number of the consumer or getter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnackedDelivery {
    pub(crate) tag: u64,
    pub(crate) seq: QueueSeq,
    pub(crate) link: u32,
}

const DEAD: u32 = u32::MAX;
const _: () = assert!(size_of::<UnackedDelivery>() == 24);

impl Unacked {
    pub(crate) fn push(&mut self, delivery: UnackedDelivery) {
        debug_assert!(self.deliveries.back().is_none_or(|last| last.tag < delivery.tag));
        self.deliveries.push_back(delivery);
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.deliveries.len() - self.dead_count
    }

    /// Takes the delivery with this tag.
    pub(crate) fn take(&mut self, tag: u64) -> Option<UnackedDelivery> {
        let index = match self.deliveries.front() {
            Some(first) if first.tag == tag => 0,
            _ => self.deliveries.binary_search_by_key(&tag, |delivery| delivery.tag).ok()?,
        };
        let delivery = self.deliveries[index];
        if delivery.link == DEAD {
            return None;
        }
        self.deliveries[index].link = DEAD;
        self.dead_count += 1;
        self.tidy();
        Some(delivery)
    }

    /// Takes all up to and including `tag`, all there are for 0. False when `tag` is not among them.
    pub(crate) fn take_up_to(&mut self, tag: u64, taken: &mut Vec<UnackedDelivery>) -> bool {
        let end = if tag == 0 {
            self.deliveries.len()
        } else {
            match self.deliveries.binary_search_by_key(&tag, |delivery| delivery.tag) {
                Ok(index) if self.deliveries[index].link != DEAD => index + 1,
                _ => return false,
            }
        };
        for delivery in self.deliveries.drain(..end) {
            match delivery.link {
                DEAD => self.dead_count -= 1,
                _ => taken.push(delivery),
            }
        }
        self.tidy();
        true
    }

    fn tidy(&mut self) {
        while self.deliveries.front().is_some_and(|first| first.link == DEAD) {
            self.deliveries.pop_front();
            self.dead_count -= 1;
        }
        if self.dead_count > 32 && self.dead_count > self.deliveries.len() / 2 {
            self.deliveries.retain(|delivery| delivery.link != DEAD);
            self.dead_count = 0;
        }
        if self.deliveries.is_empty() && self.deliveries.capacity() > 1024 {
            self.deliveries = VecDeque::new();
        }
    }
}

/// Confirm mode: what has been published and not confirmed.
#[derive(Debug)]
pub(crate) struct Confirms {
    /// The number of the next publish; the first is 1.
    next_seq: u64,
    /// Publishes that wait for the journal, with where they are durable. Both grow.
    waiting: VecDeque<(u64, JournalPosition)>,
    /// Publishes that need not wait, since the last [`Confirms::write`].
    ready: Vec<u64>,
    /// Publishes that a queue has refused, since then.
    refused: Vec<u64>,
}

impl Confirms {
    pub(crate) fn new() -> Self {
        Self { next_seq: 1, waiting: VecDeque::new(), ready: Vec::new(), refused: Vec::new() }
    }

    /// Numbers a publish.
    #[inline]
    pub(crate) fn take_seq(&mut self) -> u64 {
        let seq = self.next_seq;
        self.next_seq += 1;
        seq
    }

    /// The publish is done, once the journal is durable up to `position` if there is one.
    #[inline]
    pub(crate) fn complete(&mut self, seq: u64, position: Option<JournalPosition>) {
        match position {
            None => self.ready.push(seq),
            Some(position) => self.waiting.push_back((seq, position)),
        }
    }

    /// A queue has refused the publish.
    pub(crate) fn refuse(&mut self, seq: u64) {
        self.refused.push(seq);
    }

    /// The publishes that were refused since they were last asked for.
    pub(crate) fn take_refused(&mut self) -> impl Iterator<Item = u64> + '_ {
        self.refused.drain(..)
    }

    /// How many publishes have not been confirmed.
    pub(crate) fn unconfirmed_count(&self) -> usize {
        self.waiting.len() + self.ready.len() + self.refused.len()
    }

    /// Where the oldest waiting publish is durable.
    pub(crate) fn waits_for(&self) -> Option<JournalPosition> {
        self.waiting.front().map(|&(_, position)| position)
    }

    /// Confirms all that can be: calls `ack(seq, multiple)`. Says how many publishes that were.
    ///
    /// `multiple` confirms everything before it, so it is used only where nothing before it still waits.
    pub(crate) fn write(&mut self, durable: JournalPosition, mut ack: impl FnMut(u64, bool)) -> u64 {
        let mut last_durable = None;
        let mut count = 0;
        while let Some(&(seq, position)) = self.waiting.front()
            && position <= durable
        {
            last_durable = Some(seq);
            count += 1;
            self.waiting.pop_front();
        }
        // A publish that no queue took was done before those of its batch.
        self.ready.sort_unstable();
        let first_waiting = self.waiting.front().map_or(u64::MAX, |&(seq, _)| seq);
        let split = self.ready.partition_point(|&seq| seq < first_waiting);
        let (before, after) = self.ready.split_at(split);
        let last = before.last().copied().max(last_durable);
        if let Some(last) = last {
            ack(last, count + before.len() > 1);
        }
        for &seq in after {
            ack(seq, false);
        }
        let confirmed = count + self.ready.len();
        self.ready.clear();
        confirmed as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(tag: u64) -> UnackedDelivery {
        UnackedDelivery { tag, seq: QueueSeq(tag), link: 0 }
    }

    #[test]
    fn unacked_are_taken_once_in_any_order() {
        let mut unacked = Unacked::default();
        (1..=100).for_each(|tag| unacked.push(delivery(tag)));
        for tag in (2..=100).rev() {
            assert_eq!(unacked.take(tag), Some(delivery(tag)));
            assert_eq!(unacked.take(tag), None);
        }
        assert_eq!(unacked.deliveries.len() - unacked.dead_count, 1);
        assert_eq!(unacked.take(1), Some(delivery(1)));
        assert_eq!(unacked.deliveries.len() - unacked.dead_count, 0);
    }

    #[test]
    fn multiple_takes_what_is_left_up_to_the_tag() {
        let mut unacked = Unacked::default();
        (1..=5).for_each(|tag| unacked.push(delivery(tag)));
        unacked.take(2);
        let mut taken = Vec::new();
        assert!(!unacked.take_up_to(9, &mut taken));
        assert!(!unacked.take_up_to(2, &mut taken));
        assert!(unacked.take_up_to(3, &mut taken));
        assert_eq!(taken, [delivery(1), delivery(3)]);
        taken.clear();
        assert!(unacked.take_up_to(0, &mut taken));
        assert_eq!(taken, [delivery(4), delivery(5)]);
    }

    #[track_caller]
    fn check_confirms(done: &[(u64, Option<u64>)], durable: u64, expected: &[(u64, bool)]) {
        let mut confirms = Confirms::new();
        for &(seq, position) in done {
            confirms.complete(seq, position.map(JournalPosition));
        }
        let mut acks = Vec::new();
        confirms.write(JournalPosition(durable), |seq, multiple| acks.push((seq, multiple)));
        assert_eq!(acks, expected);
    }

    #[test]
    fn confirms_are_joined_unless_something_before_them_waits() {
        check_confirms(&[(1, None)], 0, &[(1, false)]);
        check_confirms(&[(1, None), (2, None)], 0, &[(2, true)]);
        check_confirms(&[(1, Some(10)), (2, None), (3, None)], 0, &[(2, false), (3, false)]);
        check_confirms(&[(1, Some(10)), (2, None), (3, Some(20)), (4, None)], 10, &[(2, true), (4, false)]);
        check_confirms(&[(1, Some(10)), (2, Some(10)), (3, Some(20))], 10, &[(2, true)]);
    }

    #[test]
    fn confirms_may_be_completed_out_of_order() {
        check_confirms(&[(2, None), (1, None), (3, None)], 0, &[(3, true)]);
        check_confirms(&[(2, None), (1, Some(10)), (3, None)], 0, &[(2, false), (3, false)]);
    }
}
