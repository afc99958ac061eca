//! From what happens to messages to spans: for those that belong to a trace which is sampled.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::Arc;

use broker::tap::{Event, Kind, Kinds, Sink, What};
use parking_lot::Mutex;

use super::buffer::Buffer;
use super::span::{Span, Stage};
use super::trace::Trace;
use crate::message_traces::Record;

/// Publishes, and deliveries, that wait for what comes next; the oldest are forgotten.
const OPEN_COUNT_MAX: usize = 16_384;
const NS_PER_MS: u64 = 1_000_000;
/// A message that came longer ago than this in one read has another clock.
const READ_NS_MAX: u64 = 60_000 * NS_PER_MS;

/// A publish that is not stored, or not confirmed yet.
#[derive(Debug, Clone)]
struct OpenPublish {
    trace: Trace,
    id: [u8; 8],
    start_ns: u64,
    /// Routed, then stored.
    last_ns: u64,
}

/// A delivery that is not settled yet.
#[derive(Debug, Clone)]
struct OpenDelivery {
    trace: Trace,
    id: [u8; 8],
    at_ns: u64,
}

/// A message that its queue has given up: the span that reports it, and its end.
#[derive(Debug, Clone, Copy)]
struct GivenUp {
    id: [u8; 8],
    at_ns: u64,
}

/// The last so many.
#[derive(Debug)]
struct Open<K, V> {
    by_key: HashMap<K, V>,
    order: VecDeque<K>,
}

impl<K, V> Default for Open<K, V> {
    fn default() -> Self {
        Open { by_key: HashMap::new(), order: VecDeque::new() }
    }
}

impl<K: Copy + Eq + Hash, V> Open<K, V> {
    fn put(&mut self, key: K, value: V) {
        if self.by_key.insert(key, value).is_none() {
            self.order.push_back(key);
        }
        while self.order.len() > OPEN_COUNT_MAX {
            if let Some(oldest) = self.order.pop_front() {
                self.by_key.remove(&oldest);
            }
        }
    }

    fn take(&mut self, key: &K) -> Option<V> {
        self.by_key.remove(key)
    }
}

/// A message in a queue: the queue's id, and the message's position.
type Place = (u64, u64);

/// What makes spans.
pub(super) struct SpanSink {
    pub(super) sample_rate: f64,
    pub(super) buffer: Arc<Buffer>,
    publishes: Mutex<Open<u64, OpenPublish>>,
    deliveries: Mutex<Open<Place, OpenDelivery>>,
    given_up: Mutex<Open<Place, GivenUp>>,
}

impl SpanSink {
    pub(super) fn new(sample_rate: f64, buffer: Arc<Buffer>) -> Self {
        let (publishes, deliveries, given_up) = Default::default();
        SpanSink { sample_rate, buffer, publishes, deliveries, given_up }
    }

    /// The trace that a message belongs to, if there are to be spans of it.
    fn trace_of(&self, event: &Event<'_>) -> Option<Trace> {
        Trace::of(event).filter(|trace| trace.parent.is_sampled && trace.parent.is_within(self.sample_rate))
    }

    fn published(&self, event: &Event<'_>, trace: Trace) {
        let record = Record::of(event, 0);
        let received_ns = record.entered_at_ms.saturating_mul(NS_PER_MS);
        let is_near = received_ns <= record.at_ns && record.at_ns - received_ns < READ_NS_MAX;
        let start_ns = if is_near { received_ns } else { record.at_ns };
        let id = span_id();
        let times = (start_ns, record.at_ns);
        self.buffer.push(Span::new(Stage::Route, &trace, span_id(), id, times).with(&record));
        if event.targets().is_none_or(|targets| targets.is_empty()) {
            let mut span = Span::new(Stage::Publish, &trace, id, trace.parent.parent_id, times).with(&record);
            // A direct reply is in no queue, and names the address that it went to.
            span.is_error = record.routed_queues.is_none_or(|queues| queues.is_empty());
            self.buffer.push(span);
            return;
        }
        let open = OpenPublish { trace, id, start_ns, last_ns: record.at_ns };
        self.publishes.lock().put(event.publish, open);
    }

    fn stored(&self, event: &Event<'_>, is_refused: bool) {
        let Some(mut open) = self.publishes.lock().take(&event.publish) else { return };
        let record = Record::of(event, 0);
        let (trace, id, now_ns) = (&open.trace, open.id, record.at_ns);
        let enqueue = Span::new(Stage::Enqueue, trace, span_id(), id, (open.last_ns, now_ns)).with(&record);
        let times = (open.start_ns, now_ns);
        let mut publish = Span::new(Stage::Publish, trace, id, trace.parent.parent_id, times).with(&record);
        publish.is_error = is_refused;
        self.buffer.push(enqueue);
        self.buffer.push(publish);
        open.last_ns = now_ns;
        self.publishes.lock().put(event.publish, open);
    }

    fn confirmed(&self, event: &Event<'_>) {
        let Some(open) = self.publishes.lock().take(&event.publish) else { return };
        let record = Record::of(event, 0);
        let times = (open.last_ns, record.at_ns);
        self.buffer.push(Span::new(Stage::Commit, &open.trace, span_id(), open.id, times).with(&record));
    }

    fn delivered(&self, event: &Event<'_>, trace: Trace) {
        let record = Record::of(event, 0);
        let id = span_id();
        let span = Span::new(Stage::Deliver, &trace, id, trace.parent.parent_id, times_of(&record)).with(&record);
        self.buffer.push(span);
        if let Some(place) = place_of(event) {
            self.deliveries.lock().put(place, OpenDelivery { trace, id, at_ns: record.at_ns });
        }
    }

    /// A consumer has settled a delivery, or given it back.
    fn settled(&self, event: &Event<'_>, stage: Stage) {
        let Some(place) = place_of(event) else { return };
        let Some(open) = self.deliveries.lock().take(&place) else { return };
        let record = Record::of(event, 0);
        let id = span_id();
        let mut span = Span::new(stage, &open.trace, id, open.id, (open.at_ns, record.at_ns)).with(&record);
        if event.kind() == Kind::Rejected {
            span.is_error = true;
            self.given_up.lock().put(place, GivenUp { id, at_ns: record.at_ns });
        }
        self.buffer.push(span);
    }

    /// A queue gives a message up.
    fn given_up(&self, event: &Event<'_>, trace: &Trace, stage: Stage) {
        let record = Record::of(event, 0);
        let id = span_id();
        let mut span = Span::new(stage, trace, id, trace.parent.parent_id, times_of(&record)).with(&record);
        span.is_error = true;
        self.buffer.push(span);
        if let Some(place) = place_of(event) {
            self.given_up.lock().put(place, GivenUp { id, at_ns: record.at_ns });
        }
    }

    fn dead_lettered(&self, event: &Event<'_>, trace: &Trace) {
        let record = Record::of(event, 0);
        let given_up = place_of(event).and_then(|place| self.given_up.lock().take(&place));
        // A message that never was in the queue has no place there.
        let GivenUp { id: parent_id, at_ns } =
            given_up.unwrap_or(GivenUp { id: trace.parent.parent_id, at_ns: record.at_ns });
        let times = (at_ns, record.at_ns);
        let mut span = Span::new(Stage::DeadLetter, trace, span_id(), parent_id, times).with(&record);
        span.is_error = event.targets().is_none_or(|targets| targets.is_empty());
        self.buffer.push(span);
    }

    /// A message has waited at an exchange.
    fn released(&self, event: &Event<'_>, trace: &Trace) {
        let record = Record::of(event, 0);
        let times = times_of(&record);
        let mut span = Span::new(Stage::Delay, trace, span_id(), trace.parent.parent_id, times).with(&record);
        span.is_error = event.targets().is_none_or(|targets| targets.is_empty());
        self.buffer.push(span);
    }
}

/// Since the message came to where it was, until now.
fn times_of(record: &Record) -> (u64, u64) {
    (record.entered_at_ms.saturating_mul(NS_PER_MS), record.at_ns)
}

fn place_of(event: &Event<'_>) -> Option<Place> {
    Some((event.queue?.id().0, event.seq?.0))
}

/// A number that most likely no other span has, and not zero.
fn span_id() -> [u8; 8] {
    fastrand::u64(1..).to_be_bytes()
}

impl Sink for SpanSink {
    fn kinds(&self) -> Kinds {
        Kinds::of(&[
            Kind::Published,
            Kind::Stored,
            Kind::Confirmed,
            Kind::Delivered,
            Kind::Got,
            Kind::Acked,
            Kind::Rejected,
            Kind::Requeued,
            Kind::Expired,
            Kind::Dropped,
            Kind::DeadLettered,
            Kind::Released,
        ])
    }

    fn take(&self, event: &Event<'_>) {
        // What is known by its place or its number asks no header.
        match event.what {
            What::Stored { is_refused } => self.stored(event, is_refused),
            What::Confirmed => self.confirmed(event),
            What::Acked | What::Rejected => self.settled(event, Stage::Ack),
            What::Requeued => self.settled(event, Stage::Requeue),
            _ => {
                let Some(trace) = self.trace_of(event) else { return };
                match event.kind() {
                    Kind::Published => self.published(event, trace),
                    Kind::Delivered | Kind::Got => self.delivered(event, trace),
                    Kind::Expired => self.given_up(event, &trace, Stage::Expire),
                    Kind::Dropped => self.given_up(event, &trace, Stage::Drop),
                    Kind::DeadLettered => self.dead_lettered(event, &trace),
                    Kind::Released => self.released(event, &trace),
                    _ => {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_forgotten() {
        let mut open = Open::default();
        (0..=OPEN_COUNT_MAX as u64).for_each(|key| open.put(key, ()));
        assert_eq!((open.take(&0), open.take(&1)), (None, Some(())));
    }

    #[test]
    fn ids_are_never_zero() {
        (0..1000).for_each(|_| assert_ne!(span_id(), [0; 8]));
    }
}
