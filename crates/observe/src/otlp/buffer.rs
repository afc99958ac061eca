//! Spans that wait for their batch: bounded, and it never holds up who puts one in.

use std::sync::Arc;

use broker::Broker;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::span::Span;

/// Spans that wait to be encoded at most.
const SPAN_COUNT_MAX: usize = 8192;
/// Spans of one request.
pub(super) const BATCH_COUNT: usize = 512;

/// Spans that wait.
pub(super) struct Buffer {
    spans: Mutex<Vec<Span>>,
    /// A batch is full, or this is the end.
    pub(super) news: Notify,
    broker: Arc<Broker>,
}

impl Buffer {
    pub(super) fn new(broker: Arc<Broker>) -> Arc<Self> {
        Arc::new(Buffer { spans: Mutex::default(), news: Notify::new(), broker })
    }

    /// Puts a span in, or counts it as dropped.
    pub(super) fn push(&self, span: Span) {
        let count = {
            let mut spans = self.spans.lock();
            if spans.len() >= SPAN_COUNT_MAX {
                self.broker.taps().spans_dropped.add(1);
                return;
            }
            spans.push(span);
            spans.len()
        };
        if count == BATCH_COUNT {
            self.news.notify_one();
        }
    }

    /// Whether there are enough for a request.
    pub(super) fn has_batch(&self) -> bool {
        self.spans.lock().len() >= BATCH_COUNT
    }

    /// The first that wait, as many as a request may have.
    pub(super) fn take(&self) -> Vec<Span> {
        let mut spans = self.spans.lock();
        let count = spans.len().min(BATCH_COUNT);
        spans.drain(..count).collect()
    }

    /// Lets go of all that wait, and gives their number.
    pub(super) fn clear(&self) -> u64 {
        std::mem::take(&mut *self.spans.lock()).len() as u64
    }

    pub(super) fn drop_count(&self, count: u64) {
        self.broker.taps().spans_dropped.add(count);
    }

    pub(super) fn sent_count(&self, count: u64) {
        self.broker.taps().spans_sent.add(count);
    }
}
