//! Where messages lose time: what a connection times of their way.
//!
//! A clock costs as much as a good part of the work for a message, so that not every batch is timed but, where many come, one in
//! [`BATCHES_EACH`] on average. How many are left out is random, so that it has nothing to do with what the client does in turns; and each
//! that is timed stands for so many. Where batches are few, each is timed. While nothing is timed, it costs a comparison for a batch.

mod timing;

use std::sync::Arc;
use std::time::Instant;

use engine::Positions;
use engine::batch::Batch;
use engine::probe::{BatchProbe, DeliveryProbe};
use engine::queue_handle::QueueHandle;
use engine::statistics::Stage;
use engine::watchers::Watchers;
use model::ids::QueueSeq;

use super::answers::Answers;
use crate::limits::{BATCH_INTERVAL_RARE, BATCHES_EACH};

/// Chooses which of many are timed.
#[derive(Debug)]
struct Sampler {
    /// How many come until the next one is timed.
    left: u32,
    /// The same, when that was chosen.
    gap: u32,
    /// How many the next one stands for.
    weight: u32,
    dice: u32,
    last_at: Option<Instant>,
}

impl Sampler {
    fn new(seed: u32) -> Self {
        Self { left: 1, gap: 1, weight: 1, dice: seed | 1, last_at: None }
    }

    /// Whether this one is timed; then [`Sampler::take`] is called.
    #[inline(always)]
    fn is_next(&mut self) -> bool {
        self.left -= 1;
        self.left == 0
    }

    /// How many this one stands for. Chooses the next.
    fn take(&mut self, now: Instant) -> u64 {
        let weight = self.weight;
        // By what has been, so that it has nothing to do with how long the next one takes.
        let interval = self.last_at.map(|last| now.saturating_duration_since(last) / self.gap);
        let is_rare = interval.is_none_or(|interval| interval >= BATCH_INTERVAL_RARE);
        self.weight = if is_rare { 1 } else { BATCHES_EACH };
        self.gap = if is_rare { 1 } else { 1 + self.roll() % (2 * BATCHES_EACH - 1) };
        (self.left, self.last_at) = (self.gap, Some(now));
        weight.into()
    }

    /// A number that looks like a random one.
    fn roll(&mut self) -> u32 {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 17;
        self.dice ^= self.dice << 5;
        self.dice
    }
}

/// A message that is in the journal and not known to be durable.
#[derive(Debug)]
struct Committing {
    position: Positions,
    since: Instant,
    weight: u64,
    queue: Option<Arc<QueueHandle>>,
    is_confirmed: bool,
}

/// A message of which a stage ends with the next write.
#[derive(Debug)]
struct Writing {
    stage: Stage,
    since: Instant,
    weight: u64,
    queue: Option<Arc<QueueHandle>>,
}

/// A delivery that is to be acknowledged.
#[derive(Debug)]
struct Unacked {
    slot: u32,
    seq: QueueSeq,
    queue: Arc<QueueHandle>,
    weight: u64,
    /// None until it is written.
    since: Option<Instant>,
}

/// What is being timed.
#[derive(Debug, Default)]
struct InFlight {
    committing: Vec<Committing>,
    /// In the outbox, or taken from there.
    delivering: Vec<DeliveryProbe>,
    writing: Vec<Writing>,
    unacked: Vec<Unacked>,
    /// What sessions follow, which is looked at when stages are.
    answers: Answers,
}

impl InFlight {
    fn is_empty(&self) -> bool {
        let InFlight { committing, delivering, writing, unacked, answers } = self;
        committing.is_empty() && delivering.is_empty() && writing.is_empty() && unacked.is_empty() && answers.is_empty()
    }
}

/// What a connection times.
#[derive(Debug)]
pub(super) struct Stages {
    published: Sampler,
    delivered: Sampler,
    in_flight: Option<Box<InFlight>>,
}

impl Stages {
    /// Of a connection; each has another `seed`.
    pub(super) fn new(seed: u64) -> Self {
        let seed = (seed.wrapping_add(1)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self { published: Sampler::new(seed as u32), delivered: Sampler::new((seed >> 32) as u32), in_flight: None }
    }

    /// Whether there is anything to look for.
    #[inline(always)]
    pub(super) fn is_timing(&self) -> bool {
        self.in_flight.is_some()
    }

    /// The same, among others that may watch.
    #[inline(always)]
    pub(super) fn watchers(&self) -> Watchers {
        Watchers::NONE.with_left(&self.in_flight)
    }

    fn in_flight(&mut self) -> &mut InFlight {
        self.in_flight.get_or_insert_default()
    }

    /// The calls that are to be answered.
    pub(super) fn answers(&mut self) -> &mut Answers {
        &mut self.in_flight().answers
    }

    /// The same, if anything is timed.
    pub(super) fn known_answers(&mut self) -> Option<&mut Answers> {
        self.in_flight.as_mut().map(|in_flight| &mut in_flight.answers)
    }

    pub(super) fn tidy(&mut self) {
        self.in_flight.take_if(|in_flight| in_flight.is_empty());
    }

    /// Whether a message is timed of the batch with publishes that is about to be brought to its queues.
    #[inline(always)]
    pub(super) fn times_next_batch(&mut self) -> bool {
        self.published.is_next()
    }

    /// Whether one is timed of the deliveries that have just been encoded.
    #[inline(always)]
    pub(super) fn times_next_deliveries(&mut self) -> bool {
        self.delivered.is_next()
    }

    /// Chooses a message of a batch, which is timed.
    pub(super) fn time_batch(&mut self, batch: &mut Batch) {
        let now = Instant::now();
        let count = batch.publishes().len();
        let weight = count as u64 * self.published.take(now);
        let index = self.published.roll() as usize % count.max(1);
        batch.set_probe(BatchProbe::new(index, weight, now));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Batches that come every so many microseconds, and how long each takes: what a sampler finds for the mean, beside the true one.
    fn check(count: u32, interval_us: u64, time_of: impl Fn(u32) -> f64) {
        let (start, mut sampler) = (Instant::now(), Sampler::new(77));
        let (mut sum, mut weights, mut truth, mut taken) = (0.0, 0.0, 0.0, 0);
        for index in 0..count {
            truth += time_of(index) / f64::from(count);
            if sampler.is_next() {
                let weight = sampler.take(start + Duration::from_micros(interval_us * u64::from(index))) as f64;
                (sum, weights, taken) = (sum + weight * time_of(index), weights + weight, taken + 1);
            }
        }
        assert!((sum / weights - truth).abs() < truth * 0.05, "{} is not {truth}", sum / weights);
        assert!((weights - f64::from(count)).abs() < f64::from(count) * 0.03, "{weights} of {count}");
        assert!(taken == count || taken < count / 10, "{taken}");
    }

    #[test]
    fn the_sample_is_like_all_whatever_comes_in_turns() {
        check(1_000_000, 10, |_| 1.0);
        for period in [2, 15, 16, 31, 64] {
            check(20_000_000, 10, |index| if index % period == 0 { 100.0 } else { 1.0 });
        }
        check(1000, 20_000, f64::from);
    }
}
