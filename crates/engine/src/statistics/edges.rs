//! How many messages exchanges route to queues.

use std::sync::Arc;

use telemetry::Counter;

use super::numbers::EDGE_COUNT;
use super::{ExchangeCounters, Observable, Observed};

/// The way from an exchange to a queue. Belongs to the queue.
#[derive(Debug)]
pub struct Edge {
    /// Where from.
    pub exchange: Arc<ExchangeCounters>,
    pub(crate) published: Counter,
    observed: Observed<EDGE_COUNT>,
}

impl Edge {
    /// One that nothing has passed yet.
    pub fn new(exchange: Arc<ExchangeCounters>) -> Self {
        Self { exchange, published: Counter::new(), observed: Observed::default() }
    }
}

impl Observable<EDGE_COUNT> for Edge {
    fn numbers(&self) -> [u64; EDGE_COUNT] {
        [self.published.get()]
    }

    fn observed(&self) -> &Observed<EDGE_COUNT> {
        &self.observed
    }
}
