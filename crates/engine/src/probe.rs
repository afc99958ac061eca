//! Messages that are timed on their way.
//!
//! ```text
//!  connection ─► Batch: one in so many has a BatchProbe ─► queue: QueueProbe, by the message's seq ─► outbox: DeliveryProbe ─► connection
//!                        a message of it, at random
//! ```
//!
//! A message carries nothing for it: what is timed is on a short list beside the queue, by its seq, and beside the outbox. Where such a
//! list is full, the last one on it stands for those that find no place, and is the one or the other of them in proportion to what they
//! stand for: so that messages of a long queue are not left out.

use std::sync::Arc;
use std::time::{Duration, Instant};

use model::ids::QueueSeq;

use crate::limits::PROBE_COUNT;
use crate::queue_handle::QueueHandle;
use crate::queued_message::QueuedMessage;
use crate::statistics::Stage;
use crate::targets::Targets;

/// A message of a batch that is timed, and what became of it.
#[derive(Debug)]
pub struct BatchProbe {
    /// Which of the batch's publishes it is.
    pub index: usize,
    /// How many messages it stands for.
    pub weight: u64,
    /// When the batch was about to be brought to the queues.
    pub routed_at: Instant,
    /// The queue that it is timed in.
    pub queue: Option<Arc<QueueHandle>>,
    /// Whether it is to be durable.
    pub waits_for_disk: bool,
    /// Whether its publisher gets a confirm.
    pub is_confirmed: bool,
    /// What the queue gives the next message.
    pub(crate) next_seq: QueueSeq,
}

/// A message in a queue that is timed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueProbe {
    seq: QueueSeq,
    weight: u64,
    at: Instant,
}

/// A message on its way to a consumer that is timed.
#[derive(Debug)]
pub struct DeliveryProbe {
    /// The consumer, as its connection numbers them.
    pub consumer: u32,
    /// Its position in its queue.
    pub seq: QueueSeq,
    /// The queue.
    pub queue: Arc<QueueHandle>,
    /// How many messages it stands for.
    pub weight: u64,
    /// Since when it is timed.
    pub at: Instant,
}

/// Messages of one queue that are timed.
#[derive(Debug, Default)]
pub(crate) struct QueueProbes(Vec<QueueProbe>);

/// A probe that has not been met when the queue is so far beyond it is never met: its message was dropped.
const LOST_AFTER: u64 = 1 << 16;

impl QueueProbes {
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Times a message.
    pub(crate) fn push(&mut self, seq: QueueSeq, weight: u64, at: Instant) {
        let probe = QueueProbe { seq, weight, at };
        push_bounded(&mut self.0, probe, |probe| &mut probe.weight, seq.0);
    }

    /// Takes those that are among deliveries, which are by their seqs in order, or nearly.
    pub(crate) fn take_delivered<'d>(
        &mut self,
        deliveries: &'d [queue::Delivery<QueuedMessage>],
        is_ordered: bool,
        mut found: impl FnMut(QueueProbe, &'d queue::Delivery<QueuedMessage>),
    ) {
        let [first, .., last] = deliveries else {
            let Some(only) = deliveries.first() else { return };
            return self.take_among(only.seq, only.seq, deliveries, &mut found);
        };
        let (first, last) = match is_ordered {
            true => (first.seq.min(last.seq), first.seq.max(last.seq)),
            false => (QueueSeq(0), QueueSeq(u64::MAX)),
        };
        self.take_among(first, last, deliveries, &mut found);
    }

    fn take_among<'d>(
        &mut self,
        first: QueueSeq,
        last: QueueSeq,
        deliveries: &'d [queue::Delivery<QueuedMessage>],
        found: &mut impl FnMut(QueueProbe, &'d queue::Delivery<QueuedMessage>),
    ) {
        self.0.retain(|probe| {
            if probe.seq < first || last < probe.seq {
                return last.0 == u64::MAX || last.0.saturating_sub(probe.seq.0) < LOST_AFTER;
            }
            let Some(delivery) = deliveries.iter().find(|delivery| delivery.seq == probe.seq) else { return true };
            found(*probe, delivery);
            false
        });
        if self.0.is_empty() {
            self.0 = Vec::new();
        }
    }
}

impl QueueProbe {
    /// The same on its way to a consumer.
    pub(crate) fn to_consumer(self, queue: &Arc<QueueHandle>, consumer: u32) -> DeliveryProbe {
        DeliveryProbe { consumer, seq: self.seq, queue: queue.clone(), weight: self.weight, at: self.at }
    }
}

/// Adds a probe to a list that may be full: then the last one stands for both. `dice` is a number that has to do with the new one alone.
pub fn push_bounded<T>(probes: &mut Vec<T>, mut probe: T, weight_of: impl Fn(&mut T) -> &mut u64, dice: u64) {
    if probes.len() < PROBE_COUNT {
        probes.push(probe);
        return;
    }
    let Some(last) = probes.last_mut() else { return };
    let (old, new) = (*weight_of(last), *weight_of(&mut probe));
    let both = old + new;
    if spread(dice) % both.max(1) < new {
        *last = probe;
    }
    *weight_of(last) = both;
}

/// A number that looks like a random one.
fn spread(number: u64) -> u64 {
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15)) >> 20
}

impl BatchProbe {
    /// Of the message at `index` of a batch, which stands for `weight`, and is about to be brought to its queues.
    #[must_use]
    pub fn new(index: usize, weight: u64, routed_at: Instant) -> Self {
        let next_seq = QueueSeq(0);
        Self { index, weight, routed_at, queue: None, waits_for_disk: false, is_confirmed: false, next_seq }
    }

    /// Which queue of its targets it is timed in.
    pub(crate) fn queue_among<'t>(&self, targets: &'t Targets) -> Option<&'t Arc<QueueHandle>> {
        let count = targets.queues.len();
        (count > 0).then(|| &targets.queues[spread(self.index as u64 + self.weight) as usize % count])
    }
}

impl QueueHandle {
    /// A message of this queue that stands for `weight` was so long in a stage: counted for its vhost, and for the queue if it is watched.
    pub fn add_stage(&self, stage: Stage, time: Duration, weight: u64) {
        self.vhost.stages().add(stage, time, weight);
        if let Some(watched) = &*self.watched.read() {
            watched.add(stage, time, weight);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_finds_no_place_is_stood_for_in_proportion() {
        let mut last_ones = [0_u64; 2];
        for round in 0..1000_u64 {
            let mut probes: Vec<(u64, u64)> = vec![(0, 1); PROBE_COUNT - 1];
            probes.push((1, 30));
            push_bounded(&mut probes, (2, 10), |(_, weight)| weight, round);
            let (which, weight) = probes[PROBE_COUNT - 1];
            assert_eq!((probes.len(), weight), (PROBE_COUNT, 40));
            last_ones[which as usize - 1] += 1;
        }
        assert!(last_ones[1].abs_diff(250) < 60, "{last_ones:?}");
    }
}
