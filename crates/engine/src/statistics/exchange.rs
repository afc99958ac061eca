//! What an exchange counts.

use std::sync::atomic::{AtomicBool, Ordering};

use model::name::VhostName;
use telemetry::Counter;

use super::numbers::EXCHANGE_COUNT;
use super::{Observable, Observed};

/// What has happened at an exchange. Lives as long as a route from it is known.
#[derive(Debug)]
pub struct ExchangeCounters {
    /// Its vhost.
    pub vhost: VhostName,
    /// Its name.
    pub name: Box<[u8]>,
    /// Messages that were published to it.
    pub published_in: Counter,
    /// Messages that it brought to queues, one for each queue.
    pub(crate) published_out: Counter,
    is_gone: AtomicBool,
    observed: Observed<EXCHANGE_COUNT>,
}

impl ExchangeCounters {
    /// Of an exchange that nothing has come to yet.
    pub fn new(vhost: VhostName, name: &[u8]) -> Self {
        Self {
            vhost,
            name: name.into(),
            published_in: Counter::new(),
            published_out: Counter::new(),
            is_gone: AtomicBool::new(false),
            observed: Observed::default(),
        }
    }

    /// The exchange has been deleted: another one of its name counts anew.
    pub fn end(&self) {
        self.is_gone.store(true, Ordering::Relaxed);
        self.observed.end();
    }

    /// Whether the exchange has been deleted.
    pub fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Relaxed)
    }
}

impl Observable<EXCHANGE_COUNT> for ExchangeCounters {
    fn numbers(&self) -> [u64; EXCHANGE_COUNT] {
        [self.published_in.get(), self.published_out.get()]
    }

    fn observed(&self) -> &Observed<EXCHANGE_COUNT> {
        &self.observed
    }
}
