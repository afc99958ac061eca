//! Consumers that hold messages for too long.
//!
//! Where there is a limit each delivery is noted with its time. What is settled meanwhile stays on the list until the list is mostly
//! of such; so a delivery costs next to nothing, and the list is as long as what is unacked, or twice.

use std::collections::{BTreeSet, VecDeque};

use model::ids::QueueSeq;

use crate::consumers::{Consumer, ConsumerId, Gate};
use crate::effects::Effects;
use crate::message::Message;
use crate::queue::Queue;
use crate::rules::Return;

/// Parts of the limit after which is looked again: who is late is found out that much later at most.
const LOOKS: u64 = 8;

#[derive(Debug, Clone, Copy)]
struct HeldMessage {
    at_ms: u64,
    seq: QueueSeq,
    consumer: ConsumerId,
}

/// Deliveries, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Holdings {
    deliveries: VecDeque<HeldMessage>,
    next_look_ms: u64,
}

impl Holdings {
    /// Bytes that it takes.
    pub(crate) fn memory_len(&self) -> usize {
        size_of::<Self>() + self.deliveries.capacity() * size_of::<HeldMessage>()
    }

    fn push(&mut self, held: HeldMessage, timeout_ms: u64) {
        if self.deliveries.is_empty() {
            self.next_look_ms = held.at_ms.saturating_add(timeout_ms);
        }
        self.deliveries.push_back(held);
    }

    pub(crate) fn next_look(&self) -> Option<u64> {
        (!self.deliveries.is_empty()).then_some(self.next_look_ms)
    }
}

impl<M: Message, G: Gate> Queue<M, G> {
    /// Notes that a consumer got a message, where that matters.
    pub(crate) fn note_held(&mut self, seq: QueueSeq, consumer: ConsumerId, timeout_ms: u64, now_ms: u64) {
        let holdings = self.holdings.get_or_insert_default();
        holdings.push(HeldMessage { at_ms: now_ms, seq, consumer }, timeout_ms);
        if holdings.deliveries.len() as u64 > 64 + 2 * self.unacked.count() {
            let unacked = &self.unacked;
            holdings.deliveries.retain(|held| unacked.holder_of(held.seq) == Some(Some(held.consumer)));
        }
    }

    /// Takes everything away from consumers that hold a message for too long, and removes them. What they held has come back unharmed.
    /// Dispatch after it.
    pub fn time_out(&mut self, now_ms: u64, effects: &mut Effects<M>) -> Vec<Consumer<G>> {
        let late = self.late_consumers(now_ms);
        if late.is_empty() {
            return Vec::new();
        }
        let held = self.unacked.iter().filter_map(|(seq, _, holder)| Some((holder?, seq)));
        let mut held: Vec<(ConsumerId, QueueSeq)> = held.filter(|(holder, _)| late.contains(holder)).collect();
        held.sort_unstable();
        let removed = late.into_iter().filter_map(|id| self.cancel(id)).collect();
        let seqs: Vec<QueueSeq> = held.into_iter().map(|(_, seq)| seq).collect();
        self.requeue(&seqs, Return::Unharmed, now_ms, effects);
        self.has_timed_out = true;
        removed
    }

    /// Whether a consumer was late once: it may settle what others have by now.
    pub fn has_timed_out(&self) -> bool {
        self.has_timed_out
    }

    /// Whether a consumer holds a message; `None` is the client that got it.
    pub fn is_held_by(&self, seq: QueueSeq, holder: Option<ConsumerId>) -> bool {
        self.unacked.holder_of(seq) == Some(holder)
    }

    fn late_consumers(&mut self, now_ms: u64) -> BTreeSet<ConsumerId> {
        let mut late = BTreeSet::new();
        let (Some(holdings), Some(rules)) = (&mut self.holdings, self.rules.as_deref()) else { return late };
        if now_ms < holdings.next_look_ms {
            return late;
        }
        let mut shortest_ms = rules.consumer_timeout_ms.unwrap_or(u64::MAX);
        let (unacked, consumers) = (&self.unacked, self.consumers.as_deref());
        holdings.deliveries.retain(|held| unacked.holder_of(held.seq) == Some(Some(held.consumer)));
        for held in &holdings.deliveries {
            let own = consumers.and_then(|consumers| consumers.get(held.consumer)?.consumer.timeout_ms);
            let Some(timeout_ms) = own.or(rules.consumer_timeout_ms) else { continue };
            shortest_ms = shortest_ms.min(timeout_ms);
            if held.at_ms.saturating_add(timeout_ms) <= now_ms {
                late.insert(held.consumer);
            }
        }
        holdings.deliveries.retain(|held| !late.contains(&held.consumer));
        match holdings.deliveries.front() {
            Some(first) => {
                let due_ms = first.at_ms.saturating_add(shortest_ms);
                holdings.next_look_ms = due_ms.max(now_ms.saturating_add(shortest_ms / LOOKS + 1));
            }
            None => self.holdings = None,
        }
        late
    }
}
