//! Where a channel publishes: how much to which exchanges, and to which queues.

use std::sync::Arc;

use engine::queue_handle::QueueHandle;
use engine::statistics::ExchangeCounters;
use engine::statistics::numbers::EDGE_COUNT;
use telemetry::{RecentSamples, Sample};

use crate::limits::CHANNEL_EDGE_COUNT_MAX;

/// takes the place of the one to which it has not published for longest.
/// Where a channel publishes: the exchanges, and the queues that get it. Of those that it has published to, so many; another then
#[derive(Debug, Default)]
pub(crate) struct ChannelEdges {
    pub(crate) exchanges: Places<ExchangeCounters>,
    pub(crate) queues: Places<QueueHandle>,
}

/// Places that a channel publishes to.
#[derive(Debug)]
pub(crate) struct Places<T> {
    places: Vec<Place<T>>,
    /// Which was the last.
    last: usize,
    /// How often another one was the last.
    turn_count: u64,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Place<T> {
    pub(crate) target: Arc<T>,
    pub(crate) published: u64,
    /// The last of these turns that was its own.
    turn: u64,
    pace: Option<RecentSamples<EDGE_COUNT>>,
}

impl<T> Place<T> {
    /// Messages a second.
    pub(crate) fn rate(&self) -> f64 {
        self.pace.as_ref().map_or(0.0, |pace| pace.rates()[0])
    }
}

/// What may be deleted while a channel knows it.
pub(crate) trait Target {
    /// Whether it is known to be deleted.
    fn is_gone(&self) -> bool;
}

impl Target for ExchangeCounters {
    fn is_gone(&self) -> bool {
        ExchangeCounters::is_gone(self)
    }
}

impl Target for QueueHandle {
    /// A deleted queue is not found by its name.
    fn is_gone(&self) -> bool {
        false
    }
}

impl<T> Default for Places<T> {
    fn default() -> Self {
        Self { places: Vec::new(), last: 0, turn_count: 0 }
    }
}

impl<T: Target> Places<T> {
    fn note(&mut self, target: &Arc<T>, count: u64) {
        let is_it = |place: &Place<T>| Arc::ptr_eq(&place.target, target);
        if !self.places.get(self.last).is_some_and(is_it) {
            self.last = match self.places.iter().position(is_it) {
                Some(index) => index,
                None => self.insert(target),
            };
            self.turn_count += 1;
            self.places[self.last].turn = self.turn_count;
        }
        self.places[self.last].published += count;
    }

    fn insert(&mut self, target: &Arc<T>) -> usize {
        // One of the same name may be among the deleted ones.
        self.places.retain(|place| !place.target.is_gone());
        if self.places.len() >= CHANNEL_EDGE_COUNT_MAX {
            let oldest = self.places.iter().map(|place| place.turn).min();
            self.places.retain(|place| Some(place.turn) != oldest);
        }
        self.places.push(Place { target: target.clone(), published: 0, turn: 0, pace: None });
        self.places.len() - 1
    }

    /// All that are there still.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Place<T>> {
        self.places.iter().filter(|place| !place.target.is_gone())
    }

    fn sample(&mut self, now_ms: u64, before_ms: u64) -> bool {
        let mut has_changed = false;
        for place in &mut self.places {
            let sample = Sample { at_ms: now_ms, numbers: [place.published] };
            let before = Sample { at_ms: before_ms, numbers: [0] };
            let pace = place.pace.get_or_insert_with(|| RecentSamples::new(before));
            pace.rest_until(before_ms);
            has_changed |= pace.push(sample);
        }
        has_changed
    }
}

impl ChannelEdges {
    /// So many messages have been published to an exchange, and came to these queues.
    pub(crate) fn note(&mut self, exchange: Option<&Arc<ExchangeCounters>>, queues: &[Arc<QueueHandle>], count: u64) {
        if let Some(exchange) = exchange {
            self.exchanges.note(exchange, count);
        }
        // A channel that publishes to very many queues at once publishes to the exchange.
        if queues.len() <= CHANNEL_EDGE_COUNT_MAX / 4 {
            queues.iter().for_each(|queue| self.queues.note(queue, count));
        }
    }

    /// Looks at all, for the first time since `before_ms`. Says whether any has changed.
    pub(crate) fn sample(&mut self, now_ms: u64, before_ms: u64) -> bool {
        self.exchanges.sample(now_ms, before_ms) | self.queues.sample(now_ms, before_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Target for u8 {
        fn is_gone(&self) -> bool {
            *self == u8::MAX
        }
    }

    #[test]
    fn a_channel_knows_so_many_places_and_counts_each() {
        let places: Vec<Arc<u8>> = (0..=CHANNEL_EDGE_COUNT_MAX as u8).map(Arc::new).collect();
        let (last, most) = places.split_last().unwrap();
        let mut known = Places::default();
        for place in most.iter().chain(most) {
            known.note(place, 2);
        }
        assert!(known.iter().all(|place| place.published == 4));
        known.note(last, 7);
        assert_eq!(known.iter().count(), CHANNEL_EDGE_COUNT_MAX);
        assert_eq!(known.iter().filter(|place| place.published == 7).count(), 1);
        assert!(!known.iter().any(|place| *place.target == 0), "the first makes room");
    }

    // Places made room in turn, the busiest among them.
    #[test]
    fn the_place_that_was_published_to_longest_ago_makes_room() {
        let places: Vec<Arc<u8>> = (0..CHANNEL_EDGE_COUNT_MAX as u8).map(Arc::new).collect();
        let mut known = Places::default();
        places.iter().for_each(|place| known.note(place, 1));
        known.note(&places[0], 1000);
        for newcomer in 100..120 {
            known.note(&Arc::new(newcomer), 1);
            known.note(&places[0], 1);
        }
        let of = |number| known.iter().find(|place| *place.target == number).map(|place| place.published);
        assert_eq!(of(0), Some(1021));
        assert_eq!((of(1), of(20), of(21), of(119)), (None, None, Some(1), Some(1)));
    }

    #[test]
    fn rates_are_those_of_the_last_two_looks() {
        let (mut known, place) = (Places::default(), Arc::new(1));
        known.note(&place, 50);
        assert!(known.sample(5000, 0));
        assert_eq!(known.iter().next().unwrap().rate(), 10.0);
        assert!(!known.sample(10_000, 5000));
        assert_eq!(known.iter().next().unwrap().rate(), 0.0);
    }
}
