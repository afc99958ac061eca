//! From what happens to messages to spans: for those that belong to a trace which is sampled.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::Arc;

use amqp::content::ContentHeader;
use broker::tap::{Event, Kind, Kinds, Sink};
use parking_lot::Mutex;

use super::buffer::Buffer;
use super::span::{Span, Stage};
use super::traceparent::TraceParent;
use crate::message_traces::Record;

/// Publishes, and deliveries, that wait for what comes next; the oldest are forgotten.
const OPEN_COUNT_MAX: usize = 16_384;
const NS_PER_MS: u64 = 1_000_000;
/// A message that came longer ago than this in one read has another clock.
const READ_NS_MAX: u64 = 60_000 * NS_PER_MS;

/// A publish that is not stored, or not confirmed yet.
#[derive(Debug, Clone, Copy)]
struct OpenPublish {
    trace: TraceParent,
    id: [u8; 8],
    start_ns: u64,
    /// Routed, then stored.
    last_ns: u64,
}

/// A delivery that is not settled yet.
#[derive(Debug, Clone, Copy)]
struct OpenDelivery {
    trace: TraceParent,
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

/// What makes spans.
pub(super) struct SpanSink {
    pub(super) sample_rate: f64,
    pub(super) buffer: Arc<Buffer>,
    publishes: Mutex<Open<u64, OpenPublish>>,
    deliveries: Mutex<Open<(u64, u64), OpenDelivery>>,
}

impl SpanSink {
    pub(super) fn new(sample_rate: f64, buffer: Arc<Buffer>) -> Self {
        SpanSink { sample_rate, buffer, publishes: Mutex::default(), deliveries: Mutex::default() }
    }

    /// The trace that a message belongs to, if there are to be spans of it.
    fn trace_of(&self, event: &Event<'_>) -> Option<TraceParent> {
        let header = ContentHeader::decode(event.message.as_ref()?.header).ok()?;
        let text = header.properties.headers?.get("traceparent")?.as_bytes()?;
        TraceParent::parse(text).filter(|trace| trace.is_sampled && trace.is_within(self.sample_rate))
    }

    fn published(&self, event: &Event<'_>, trace: TraceParent) {
        let record = Record::of(event, 0);
        let received_ns = record.entered_at_ms.saturating_mul(NS_PER_MS);
        let is_near = received_ns <= record.at_ns && record.at_ns - received_ns < READ_NS_MAX;
        let start_ns = if is_near { received_ns } else { record.at_ns };
        let id = span_id();
        let times = (start_ns, record.at_ns);
        self.buffer.push(Span::new(Stage::Route, trace, span_id(), id, times).with(&record));
        if event.targets().is_none_or(|targets| targets.is_empty()) {
            let mut span = Span::new(Stage::Publish, trace, id, trace.parent_id, times).with(&record);
            span.is_error = true;
            self.buffer.push(span);
            return;
        }
        let open = OpenPublish { trace, id, start_ns, last_ns: record.at_ns };
        self.publishes.lock().put(event.publish, open);
    }

    fn stored(&self, event: &Event<'_>) {
        let Some(mut open) = self.publishes.lock().take(&event.publish) else { return };
        let record = Record::of(event, 0);
        let (trace, id, now_ns) = (open.trace, open.id, record.at_ns);
        let enqueue = Span::new(Stage::Enqueue, trace, span_id(), id, (open.last_ns, now_ns)).with(&record);
        let mut publish = Span::new(Stage::Publish, trace, id, trace.parent_id, (open.start_ns, now_ns)).with(&record);
        publish.is_error = matches!(event.what, broker::tap::What::Stored { is_refused: true });
        self.buffer.push(enqueue);
        self.buffer.push(publish);
        open.last_ns = now_ns;
        self.publishes.lock().put(event.publish, open);
    }

    fn confirmed(&self, event: &Event<'_>) {
        let Some(open) = self.publishes.lock().take(&event.publish) else { return };
        let record = Record::of(event, 0);
        let times = (open.last_ns, record.at_ns);
        self.buffer.push(Span::new(Stage::Commit, open.trace, span_id(), open.id, times).with(&record));
    }

    fn delivered(&self, event: &Event<'_>, trace: TraceParent) {
        let record = Record::of(event, 0);
        let id = span_id();
        let times = (record.entered_at_ms.saturating_mul(NS_PER_MS), record.at_ns);
        self.buffer.push(Span::new(Stage::Deliver, trace, id, trace.parent_id, times).with(&record));
        if let Some(place) = place_of(event) {
            self.deliveries.lock().put(place, OpenDelivery { trace, id, at_ns: record.at_ns });
        }
    }

    fn settled(&self, event: &Event<'_>) {
        let Some(place) = place_of(event) else { return };
        let Some(open) = self.deliveries.lock().take(&place) else { return };
        let record = Record::of(event, 0);
        let mut span = Span::new(Stage::Ack, open.trace, span_id(), open.id, (open.at_ns, record.at_ns)).with(&record);
        span.is_error = event.kind() == Kind::Rejected;
        self.buffer.push(span);
    }
}

fn place_of(event: &Event<'_>) -> Option<(u64, u64)> {
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
        ])
    }

    fn take(&self, event: &Event<'_>) {
        match event.kind() {
            Kind::Published => {
                if let Some(trace) = self.trace_of(event) {
                    self.published(event, trace);
                }
            }
            Kind::Stored => self.stored(event),
            Kind::Confirmed => self.confirmed(event),
            Kind::Delivered | Kind::Got => {
                if let Some(trace) = self.trace_of(event) {
                    self.delivered(event, trace);
                }
            }
            _ => self.settled(event),
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
