//! What a queue counts.

use std::sync::{Arc, OnceLock};

use queue::DropReason;
use telemetry::{Buckets, Histogram, LocalCounter, SharedHistogram};

use super::losses::{LossCounts, QueueLosses, place_of};
use super::numbers::QUEUE_COUNT;
use super::{DeathStrategy, Observable, Observed, SIZE_COUNT, SIZES, WAIT_COUNT, WAITS};
use crate::queue_handle::QueueHandle;

/// What has happened on a queue, as RabbitMQ's `message_stats` count it. All of it under the queue's lock.
#[derive(Debug, Default)]
pub struct QueueCounters {
    /// Messages that were routed here and taken in.
    pub(crate) published: LocalCounter,
    /// Messages handed to consumers that acknowledge, redeliveries included.
    pub(crate) delivered: LocalCounter,
    /// Messages handed to consumers that do not.
    pub(crate) delivered_no_ack: LocalCounter,
    /// Messages that were got and are to be acknowledged.
    pub(crate) got: LocalCounter,
    /// Messages that were got and are not.
    pub(crate) got_no_ack: LocalCounter,
    /// Gets that found nothing.
    pub(crate) got_empty: LocalCounter,
    /// Messages handed out again.
    pub(crate) redelivered: LocalCounter,
    /// Messages acknowledged.
    pub(crate) acked: LocalCounter,
    /// Messages that were read from segments.
    pub(crate) read: LocalCounter,
    /// Messages that were written to the journal.
    pub(crate) written: LocalCounter,
    /// Messages that were not taken in, being duplicates, or that others have taken the place of.
    pub deduplicated: LocalCounter,
    losses: OnceLock<Box<QueueLosses>>,
    histograms: OnceLock<Box<QueueHistograms>>,
}

/// How large a queue's messages were, and how long they waited.
#[derive(Debug, Default)]
pub(crate) struct QueueHistograms {
    /// Bytes of the bodies of messages that were taken in.
    sizes: Histogram<SIZE_COUNT>,
    /// Milliseconds from when messages came into the queue until they were on their way to a consumer.
    waits: SharedHistogram<WAIT_COUNT>,
}

impl QueueCounters {
    /// So many messages with bodies of `len` bytes have been taken in. `measures`: whether sizes are counted.
    fn publish(&self, len: u32, count: u64, measures: bool) {
        self.published.add(count);
        if measures {
            self.histograms().sizes.add(SIZES.bucket_of(len.into()), count, count * u64::from(len));
        }
    }

    /// Not there before the first message: most queues of very many are empty.
    fn histograms(&self) -> &QueueHistograms {
        self.histograms.get_or_init(Box::default)
    }

    /// Bytes that it takes beside itself.
    pub(crate) fn memory_len(&self) -> usize {
        self.histograms.get().map_or(0, |_| size_of::<QueueHistograms>())
            + self.losses.get().map_or(0, |_| size_of::<QueueLosses>())
    }

    pub(crate) fn losses(&self) -> &QueueLosses {
        self.losses.get_or_init(Box::default)
    }

    /// Dead letters that came back since the last look at what has changed, which this one ends.
    pub(crate) fn came_round_since_last_look(&self) -> u64 {
        self.losses.get().map_or(0, |losses| losses.look_at_round())
    }

    /// What the queue has not kept since the broker started.
    pub fn loss_counts(&self) -> LossCounts {
        self.losses.get().map_or_else(LossCounts::default, |losses| losses.counts())
    }

    /// How large messages were that came in.
    pub fn sizes(&self) -> Buckets<SIZE_COUNT> {
        self.histograms.get().map_or_else(Buckets::default, |histograms| histograms.sizes.counts())
    }

    /// How long messages waited that have left, in milliseconds.
    pub fn waits(&self) -> Buckets<WAIT_COUNT> {
        self.histograms.get().map_or_else(Buckets::default, |histograms| histograms.waits.counts())
    }

    /// Counts how long messages have waited that are on their way at `now_ms`.
    pub fn waited(&self, run: &WaitRun, now_ms: u64) {
        if run.count > 0 {
            // A message that came after now, by another clock, has not waited.
            let sum_ms = (run.count * now_ms).saturating_sub(run.sum_ms);
            self.histograms().waits.add_at(run.bucket, run.count, sum_ms);
        }
    }
}

/// Messages that come into one queue, all as long, one after the other: counted together.
#[derive(Debug, Default)]
pub(crate) struct ArrivalRun {
    queue: Option<Arc<QueueHandle>>,
    len: u32,
    count: u64,
    written_count: u64,
}

impl ArrivalRun {
    /// A message has been taken in, under the queue's lock. [`ArrivalRun::end`] comes under the same lock.
    #[inline(always)]
    pub(crate) fn note(&mut self, queue: &Arc<QueueHandle>, len: u32, is_written: bool, measures: bool) {
        let is_same = self.queue.as_ref().is_some_and(|last| Arc::ptr_eq(last, queue));
        if !is_same || self.len != len {
            self.end(measures);
            (self.queue, self.len) = (Some(queue.clone()), len);
        }
        self.count += 1;
        self.written_count += u64::from(is_written);
    }

    /// Counts what has come.
    pub(crate) fn end(&mut self, measures: bool) {
        let Some(queue) = self.queue.take() else { return };
        queue.counters.publish(self.len, std::mem::take(&mut self.count), measures);
        queue.counters.written.add(std::mem::take(&mut self.written_count));
    }
}

/// Messages of one queue that have waited about as long: counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WaitRun {
    /// Those that came at this time, in milliseconds since 1970, or up to so much later.
    from_ms: u64,
    span_ms: u64,
    bucket: usize,
    count: u64,
    /// Of the times at which they came.
    sum_ms: u64,
}

impl WaitRun {
    /// Of messages that came at about the same time, if it is `now_ms`.
    pub fn around(published_at_ms: u64, now_ms: u64) -> WaitRun {
        let bounds = WAITS.bounds();
        let bucket = WAITS.bucket_of(now_ms.saturating_sub(published_at_ms));
        let from_ms = bounds.get(bucket).map_or(0, |most_ms| now_ms.saturating_sub(*most_ms));
        let to_ms = bucket.checked_sub(1).map_or(u64::MAX, |before| now_ms.saturating_sub(bounds[before] + 1));
        WaitRun { from_ms, span_ms: to_ms.saturating_sub(from_ms), bucket, count: 0, sum_ms: 0 }
    }

    /// Counts one more, unless it has waited for a rather different time.
    #[inline(always)]
    pub fn takes(&mut self, published_at_ms: u64) -> bool {
        let is_like = published_at_ms.wrapping_sub(self.from_ms) <= self.span_ms;
        if is_like {
            self.count += 1;
            self.sum_ms = self.sum_ms.wrapping_add(published_at_ms);
        }
        is_like
    }
}

/// What happens to a queue's messages, under its lock: counted for the queue, and for its vhost.
impl QueueHandle {
    /// A message has been taken in. `measures`: whether sizes are counted.
    pub(crate) fn count_published(&self, len: u32, is_written: bool, measures: bool) {
        self.counters.publish(len, 1, measures);
        if is_written {
            self.counters.written.add(1);
        }
    }

    /// So many have been handed to consumers, of which so many need no ack, and so many had been handed out before.
    pub(crate) fn count_delivered(&self, count: u64, no_ack_count: u64, redelivered_count: u64) {
        let (counters, handed) = (&self.counters, self.vhost.stripe().handed(self.is_quorum()));
        for (tally, counter, count) in [
            (&counters.delivered, &handed.delivered, count - no_ack_count),
            (&counters.delivered_no_ack, &handed.delivered_no_ack, no_ack_count),
            (&counters.redelivered, &handed.redelivered, redelivered_count),
        ] {
            if count > 0 {
                tally.add(count);
                counter.add(count);
            }
        }
    }

    /// One has been got.
    pub(crate) fn count_got(&self, no_ack: bool, is_redelivered: bool) {
        let (counters, handed) = (&self.counters, self.vhost.stripe().handed(self.is_quorum()));
        let (tally, counter) = match no_ack {
            true => (&counters.got_no_ack, &handed.got_no_ack),
            false => (&counters.got, &handed.got),
        };
        tally.add(1);
        counter.add(1);
        if is_redelivered {
            counters.redelivered.add(1);
            handed.redelivered.add(1);
        }
    }

    /// There was none to get.
    pub(crate) fn count_got_empty(&self) {
        self.counters.got_empty.add(1);
        self.vhost.stripe().handed(self.is_quorum()).got_empty.add(1);
    }

    /// So many have been acknowledged.
    pub(crate) fn count_acked(&self, count: u64) {
        if count > 0 {
            self.counters.acked.add(count);
            self.vhost.stripe().handed(self.is_quorum()).acked.add(count);
        }
    }

    /// One has been given up.
    pub(crate) fn count_died(&self, reason: DropReason) {
        self.counters.losses().given_up[place_of(reason)].add(1);
        let strategy = match &self.features().dead_letter {
            None => DeathStrategy::Disabled,
            Some(dead_letter) if dead_letter.is_at_least_once => DeathStrategy::AtLeastOnce,
            Some(_) => DeathStrategy::AtMostOnce,
        };
        self.vhost.stripe().handed(self.is_quorum()).died(reason, strategy);
    }

    /// A publish has been refused.
    pub(crate) fn count_refused(&self) {
        self.counters.losses().refused.add(1);
    }

    /// So many have been read from segments.
    pub(crate) fn count_read(&self, count: u64) {
        self.counters.read.add(count);
        self.vhost.stripe().read.add(count);
    }
}

impl Observable<QUEUE_COUNT> for QueueHandle {
    fn numbers(&self) -> [u64; QUEUE_COUNT] {
        let QueueCounters {
            published,
            delivered,
            delivered_no_ack,
            got,
            got_no_ack,
            got_empty,
            redelivered,
            acked,
            read,
            written,
            ..
        } = &self.counters;
        let [ready_count, unacked_count] = self.counts();
        [
            published.get(),
            got.get(),
            got_no_ack.get(),
            got_empty.get(),
            delivered.get(),
            delivered_no_ack.get(),
            redelivered.get(),
            acked.get(),
            read.get(),
            written.get(),
            ready_count,
            unacked_count,
        ]
    }

    fn observed(&self) -> &Observed<QUEUE_COUNT> {
        &self.observed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_waited_about_as_long_are_counted_together() {
        let counters = QueueCounters::default();
        let now_ms = 1_000_000;
        let mut run = WaitRun::around(now_ms, now_ms);
        // The last one came later than now.
        for published_at_ms in
            [0, 1, 0, 3, 4, 700, 2].map(|waited_ms| now_ms - waited_ms).into_iter().chain([now_ms + 5])
        {
            if !run.takes(published_at_ms) {
                counters.waited(&run, now_ms);
                run = WaitRun::around(published_at_ms, now_ms);
                assert!(run.takes(published_at_ms));
            }
        }
        counters.waited(&run, now_ms);
        let waits = counters.waits();
        assert_eq!((waits.count(), waits.sum), (8, 710));
        assert_eq!(waits.counts[..6], [4, 3, 0, 0, 0, 1]);
    }

    #[test]
    fn a_run_takes_who_would_be_in_its_bucket() {
        let now_ms = 200_000_000;
        let waits = || WAITS.bounds().iter().flat_map(|bound| [bound - 1, *bound, bound + 1]).chain([0, 199_999_999]);
        for one in waits() {
            for other in waits() {
                let takes = WaitRun::around(now_ms - one, now_ms).takes(now_ms - other);
                assert_eq!(takes, WAITS.bucket_of(one) == WAITS.bucket_of(other), "{one} {other}");
            }
        }
    }

    #[test]
    fn sizes_are_counted_where_that_is_wanted() {
        let counters = QueueCounters::default();
        counters.publish(100, 2, true);
        counters.publish(5000, 1, true);
        counters.publish(7, 1, false);
        assert_eq!(counters.published.get(), 4);
        assert_eq!((counters.sizes().count(), counters.sizes().sum), (3, 5200));
    }
}
