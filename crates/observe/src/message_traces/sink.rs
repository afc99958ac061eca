//! What a trace hears: what its filter wants, copied into its mailbox.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use broker::tap::{Event, Kind, Kinds, Scope, Sink};
use parking_lot::Mutex;

use super::filter::{Filter, Verdict};
use super::mailbox::{BOUND, Mailbox};
use super::record::Record;
use super::topic;

/// Messages that are followed by their place in a queue.
const FOLLOWED_COUNT_MAX: usize = 8192;

/// A trace's ear.
pub(super) struct TraceSink {
    pub(super) kinds: Kinds,
    pub(super) filter: Filter,
    /// The keys that the firehose would have for what is wanted, where that is restricted.
    pub(super) pattern: Option<String>,
    /// So many bytes of bodies.
    pub(super) body_len_max: u64,
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) followed: Mutex<Followed>,
    /// For how long threads of the broker have worked for it, in nanoseconds.
    cost_ns: AtomicU64,
}

/// The places of messages that were wanted: of what happens there it may not be known to which message.
#[derive(Debug, Default)]
pub(super) struct Followed {
    places: HashSet<(u64, u64)>,
    order: VecDeque<(u64, u64)>,
}

impl Followed {
    fn add(&mut self, place: (u64, u64)) {
        if self.places.insert(place) {
            self.order.push_back(place);
            if self.order.len() > FOLLOWED_COUNT_MAX
                && let Some(oldest) = self.order.pop_front()
            {
                self.places.remove(&oldest);
            }
        }
    }
}

impl TraceSink {
    pub(super) fn new(kinds: Kinds, filter: Filter, pattern: Option<String>, body_len_max: u64) -> Arc<Self> {
        let (mailbox, followed) = (Arc::new(Mailbox::new(BOUND)), Mutex::default());
        Arc::new(TraceSink { kinds, filter, pattern, body_len_max, mailbox, followed, cost_ns: AtomicU64::new(0) })
    }

    /// For how long threads of the broker have worked for it.
    pub(super) fn cost(&self) -> Duration {
        Duration::from_nanos(self.cost_ns.load(Ordering::Relaxed))
    }

    fn hear(&self, event: &Event<'_>) {
        if !self.fits_pattern(&event.scope()) {
            return;
        }
        let place = event.queue.zip(event.seq).map(|(queue, seq)| (queue.id().0, seq.0));
        let is_wanted = match self.filter.looks_at(event) {
            Verdict::Wanted => {
                if let Some(place) = place.filter(|_| self.filter.asks_message()) {
                    self.followed.lock().add(place);
                }
                true
            }
            Verdict::Unwanted => false,
            Verdict::AskMessage => place.is_some_and(|place| self.followed.lock().places.contains(&place)),
        };
        if is_wanted {
            let record = Record::of(event, self.body_len_max);
            let len = record.len();
            self.mailbox.push(record, len);
        }
    }

    /// Whether the firehose would have it under a key that is wanted. It never has what comes by its own exchange.
    fn fits_pattern(&self, scope: &Scope<'_>) -> bool {
        let Some(pattern) = &self.pattern else { return true };
        let key = match (scope.kind, scope.exchange, scope.queue) {
            (_, Some(b"amq.rabbitmq.trace"), _) => return false,
            (Kind::Published, Some(exchange), _) => [b"publish.", exchange].concat(),
            (_, _, Some(queue)) => [b"deliver.", queue.name().as_bytes()].concat(),
            _ => return true,
        };
        topic::fits(pattern.as_bytes(), &key)
    }
}

impl Sink for TraceSink {
    fn kinds(&self) -> Kinds {
        self.kinds
    }

    fn wants(&self, scope: &Scope<'_>) -> bool {
        self.filter.may_want(scope) && self.fits_pattern(scope)
    }

    fn take(&self, event: &Event<'_>) {
        let began = Instant::now();
        self.hear(event);
        let cost_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.cost_ns.fetch_add(cost_ns, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_places_are_forgotten() {
        let mut followed = Followed::default();
        (0..=FOLLOWED_COUNT_MAX as u64).for_each(|seq| followed.add((1, seq)));
        assert!(!followed.places.contains(&(1, 0)) && followed.places.contains(&(1, 1)));
        assert_eq!(followed.places.len(), FOLLOWED_COUNT_MAX);
    }
}
