//! What connections, channels and consumers count.

use engine::statistics::numbers::{CHANNEL_COUNT, CONNECTION_COUNT, CONSUMER_COUNT};
use engine::statistics::{Keeping, Observable, Observed};
use parking_lot::Mutex;
use telemetry::{LocalCounter, Sample};

use super::channel_edges::ChannelEdges;
use crate::connections::{ChannelHandle, ConnectionHandle, ConsumerHandle, Traffic};

/// The place of each of a channel's numbers (`numbers::CHANNEL`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum ChannelNumber {
    Published = 0,
    Confirmed = 1,
    Returned = 2,
    Dropped = 3,
    Got = 4,
    GotNoAck = 5,
    GotEmpty = 6,
    Delivered = 7,
    DeliveredNoAck = 8,
    Redelivered = 9,
    Acked = 10,
}

/// What a channel has done: counted by its connection's task, in memory of its own, until it may be asked for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ChannelCounts([u64; CHANNEL_COUNT]);

impl ChannelCounts {
    /// Counts `count` more.
    #[inline(always)]
    pub(crate) fn add(&mut self, number: ChannelNumber, count: u64) {
        self.0[number as usize] += count;
    }
}

/// What a channel has done, as of the end of its connection's last turn.
#[derive(Debug)]
pub(crate) struct ChannelCounters {
    numbers: [LocalCounter; CHANNEL_COUNT],
    pub(crate) edges: Mutex<ChannelEdges>,
    observed: Observed<CHANNEL_COUNT>,
}

impl Default for ChannelCounters {
    fn default() -> Self {
        Self {
            numbers: [const { LocalCounter::new() }; CHANNEL_COUNT],
            edges: Mutex::default(),
            observed: Observed::default(),
        }
    }
}

impl ChannelCounters {
    /// Writes down what the connection's task has counted.
    #[inline]
    pub(crate) fn report(&self, counts: &ChannelCounts) {
        self.numbers.iter().zip(&counts.0).for_each(|(number, count)| number.set(*count));
    }
}

impl Observable<CHANNEL_COUNT> for ChannelHandle {
    fn numbers(&self) -> [u64; CHANNEL_COUNT] {
        std::array::from_fn(|index| self.counters.numbers[index].get())
    }

    fn observed(&self) -> &Observed<CHANNEL_COUNT> {
        &self.counters.observed
    }
}

impl Observable<CONNECTION_COUNT> for ConnectionHandle {
    fn numbers(&self) -> [u64; CONNECTION_COUNT] {
        let Traffic { received_len, sent_len, received_count, sent_count } = &self.traffic;
        [received_len, sent_len, received_count, sent_count].map(LocalCounter::get)
    }

    fn observed(&self) -> &Observed<CONNECTION_COUNT> {
        &self.observed
    }

    /// Its channels and consumers are looked at with it.
    fn sample_parts(&self, now_ms: u64, keeping: &Keeping<'_>) -> bool {
        let mut has_changed = false;
        for channel in self.channels.lock().values() {
            let sample = Sample { at_ms: now_ms, numbers: channel.numbers() };
            has_changed |= channel.observed().sample(sample, keeping);
            has_changed |= channel.counters.edges.lock().sample(now_ms, keeping.before_ms);
        }
        for consumer in self.consumers.lock().values() {
            let sample = Sample { at_ms: now_ms, numbers: consumer.numbers() };
            has_changed |= consumer.observed().sample(sample, keeping);
        }
        has_changed
    }

    fn forget(&self) {
        self.observed.forget();
        self.channels.lock().values().for_each(|channel| channel.observed().forget());
    }
}

impl ConnectionHandle {
    /// It has ended: its history makes room for others'. So have those of its channels.
    pub(crate) fn end_history(&self) {
        self.observed.end();
    }
}

impl ChannelHandle {
    /// It is closed: its history makes room for others'.
    pub(crate) fn end_history(&self) {
        self.counters.observed.end();
    }
}

/// What a consumer has done: counted by its connection's task.
#[derive(Debug, Default)]
pub(crate) struct ConsumerCounters {
    /// Messages that were sent to it.
    pub(crate) delivered: LocalCounter,
    /// Those of them that had been handed out before.
    pub(crate) redelivered: LocalCounter,
    /// Messages that it has settled.
    pub(crate) acked: LocalCounter,
    observed: Observed<CONSUMER_COUNT>,
}

impl Observable<CONSUMER_COUNT> for ConsumerHandle {
    fn numbers(&self) -> [u64; CONSUMER_COUNT] {
        let ConsumerCounters { delivered, redelivered, acked, .. } = &*self.counters;
        let (with_ack, without) = if self.no_ack { (0, delivered.get()) } else { (delivered.get(), 0) };
        [with_ack, without, redelivered.get(), acked.get()]
    }

    fn observed(&self) -> &Observed<CONSUMER_COUNT> {
        &self.counters.observed
    }
}
