//! What was a while ago: of queues, how many ready messages they had; of the node, how far a counter had come.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::limits::{COUNTS_PER_WINDOW, SAMPLES_PER_WINDOW};

/// Ready messages of queues, at a few times within a window and one before it. Queues without any are not in it.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    taken: VecDeque<(u64, FxHashMap<u64, u64>)>,
    /// The one that is being taken.
    is_sampling: bool,
}

impl Samples {
    /// A look at all queues begins.
    pub(crate) fn start(&mut self, now_ms: u64, window_ms: u64) {
        // The youngest that is old enough is what is compared with: those before it are no longer needed.
        while self.taken.get(1).is_some_and(|(at_ms, _)| now_ms.saturating_sub(*at_ms) >= window_ms) {
            self.taken.pop_front();
        }
        let interval_ms = window_ms / SAMPLES_PER_WINDOW;
        self.is_sampling = match self.taken.back() {
            Some((at_ms, _)) => now_ms.saturating_sub(*at_ms) >= interval_ms,
            None => true,
        };
        if self.is_sampling {
            self.taken.push_back((now_ms, FxHashMap::default()));
        }
    }

    /// Whether this look is one of those that are kept.
    pub(crate) fn is_sampling(&self) -> bool {
        self.is_sampling
    }

    pub(crate) fn add(&mut self, queue: u64, ready_count: u64) {
        if let Some((_, counts)) = self.taken.back_mut() {
            counts.insert(queue, ready_count);
        }
    }

    /// What there was a window ago, or a little before. `None`: there was no look then.
    pub(crate) fn before(&self, now_ms: u64, window_ms: u64) -> Option<PastSample<'_>> {
        let (at_ms, counts) = self.taken.front()?;
        let elapsed_ms = now_ms.saturating_sub(*at_ms);
        (elapsed_ms >= window_ms && elapsed_ms > 0).then_some(PastSample { elapsed_ms, counts })
    }
}

/// What there was a while ago.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PastSample<'a> {
    elapsed_ms: u64,
    counts: &'a FxHashMap<u64, u64>,
}

impl PastSample<'_> {
    /// How many messages a second a queue has grown by since then; 0 if not by more than `least`.
    pub(crate) fn growth(self, queue: u64, ready_count: u64, least: f64) -> f64 {
        let PastSample { elapsed_ms, counts } = self;
        let a_second = |count: f64| count * 1000.0 / elapsed_ms as f64;
        // It cannot have grown by more than it has: most queues need no look at what was.
        if a_second(ready_count as f64) <= least {
            return 0.0;
        }
        let before = counts.get(&queue).copied().unwrap_or(0);
        let growth = a_second(ready_count as f64 - before as f64);
        if growth > least { growth } else { 0.0 }
    }
}

/// A counter of the node, within a window.
#[derive(Debug, Default)]
pub(crate) struct Counts(VecDeque<(u64, u64)>);

impl Counts {
    /// By how much a counter has grown within the window, or since the first look.
    pub(crate) fn grown(&mut self, total: u64, now_ms: u64, window_ms: u64) -> CounterGrowth {
        let interval_ms = window_ms / COUNTS_PER_WINDOW;
        if self.0.back().is_none_or(|(at_ms, _)| now_ms.saturating_sub(*at_ms) >= interval_ms) {
            self.0.push_back((now_ms, total));
        }
        while self.0.get(1).is_some_and(|(at_ms, _)| now_ms.saturating_sub(*at_ms) >= window_ms) {
            self.0.pop_front();
        }
        match self.0.front() {
            Some((at_ms, before)) => CounterGrowth {
                count: total.saturating_sub(*before),
                is_whole: now_ms.saturating_sub(*at_ms) >= window_ms,
            },
            None => CounterGrowth { count: 0, is_whole: false },
        }
    }
}

/// By how much a counter has grown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CounterGrowth {
    pub(crate) count: u64,
    /// Within a whole window; otherwise it may be more.
    pub(crate) is_whole: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(samples: &mut Samples, now_ms: u64, counts: &[(u64, u64)]) {
        samples.start(now_ms, 1000);
        if samples.is_sampling() {
            counts.iter().for_each(|(queue, count)| samples.add(*queue, *count));
        }
    }

    #[test]
    fn growth_is_measured_over_the_window() {
        let mut samples = Samples::default();
        look(&mut samples, 0, &[(1, 100)]);
        let growth = |queue, ready_count, now_ms, least| {
            samples.before(now_ms, 1000).map(|before| before.growth(queue, ready_count, least))
        };
        assert_eq!(growth(1, 5000, 999, 0.0), None, "there was no look for long enough");
        assert_eq!(growth(1, 600, 1000, 0.0), Some(500.0));
        assert_eq!(growth(1, 600, 2000, 0.0), Some(250.0));
        assert_eq!(growth(2, 10, 1000, 0.0), Some(10.0), "it had nothing, or was not there");
        assert_eq!(growth(1, 50, 1000, 0.0), Some(0.0), "it shrinks");
        assert_eq!(growth(1, 600, 1000, 500.0), Some(0.0));
    }

    #[test]
    fn a_few_looks_are_kept_however_many_there_are() {
        let mut samples = Samples::default();
        for now_ms in (0..100_000).step_by(100) {
            look(&mut samples, now_ms, &[(1, now_ms)]);
            assert!(samples.taken.len() as u64 <= SAMPLES_PER_WINDOW + 2);
        }
        let growth = samples.before(100_000, 1000).unwrap().growth(1, 100_000, 0.0);
        assert_eq!(growth, 1000.0, "one message a millisecond");
    }

    #[test]
    fn a_counter_counts_what_has_come_within_the_window() {
        let mut counts = Counts::default();
        let mut grown = |total, now_ms| {
            let CounterGrowth { count, is_whole } = counts.grown(total, now_ms, 60_000);
            (count, is_whole)
        };
        assert_eq!(grown(1000, 0), (0, false), "what was before the first look does not count");
        assert_eq!(grown(1005, 10_000), (5, false));
        assert_eq!(grown(1005, 59_999), (5, false));
        assert_eq!(grown(1005, 70_000), (0, true));
        for second in 70..1000 {
            counts.grown(second, second * 1000, 60_000);
            assert!(counts.0.len() as u64 <= COUNTS_PER_WINDOW + 2);
        }
        assert_eq!(counts.grown(1000, 1_000_000, 60_000), CounterGrowth { count: 60, is_whole: true });
    }
}
