//! Spans that wait for their batch: bounded, and putting one in never waits.

use std::sync::Arc;

use broker::Broker;
use parking_lot::Mutex;
use telemetry::{Backlog, Bound, Overflow};
use tokio::sync::Notify;

use super::span::Span;

/// Spans that wait to be encoded.
const BOUND: Bound = Bound { count_max: 8192, len_max: usize::MAX, overflow: Overflow::DropNewest };
/// Spans of one request.
pub(super) const BATCH_COUNT: usize = 512;

/// Spans that wait.
pub(super) struct Buffer {
    spans: Mutex<Backlog<Span>>,
    /// A batch is full, or this is the end.
    pub(super) news: Notify,
    broker: Arc<Broker>,
}

impl Buffer {
    pub(super) fn new(broker: Arc<Broker>) -> Arc<Self> {
        Arc::new(Buffer { spans: Mutex::new(Backlog::new(BOUND)), news: Notify::new(), broker })
    }

    /// Puts a span in, or counts it as dropped.
    pub(super) fn push(&self, span: Span) {
        let (count, missed_count) = {
            let mut spans = self.spans.lock();
            spans.push(span, 0);
            (spans.count(), spans.take_missed_count())
        };
        self.drop_count(missed_count);
        if count == BATCH_COUNT {
            self.news.notify_one();
        }
    }

    /// Whether there are enough for a request.
    pub(super) fn has_batch(&self) -> bool {
        self.spans.lock().count() >= BATCH_COUNT
    }

    /// The first that wait, as many as a request may have.
    pub(super) fn take(&self) -> Vec<Span> {
        let mut spans = self.spans.lock();
        std::iter::from_fn(|| spans.pop()).take(BATCH_COUNT).collect()
    }

    /// Lets go of all that wait, and gives their number.
    pub(super) fn clear(&self) -> u64 {
        self.spans.lock().take_all().len() as u64
    }

    pub(super) fn drop_count(&self, count: u64) {
        self.broker.taps().spans_dropped.add(count);
    }

    pub(super) fn sent_count(&self, count: u64) {
        self.broker.taps().spans_sent.add(count);
    }
}
