//! Consumers that hold messages for too long.
//!
//! Where there is a limit each delivery is noted with its time. What is settled meanwhile stays on the list until the list is mostly
//! of such; so a delivery costs next to nothing, and the list is as long as what is unacked, or twice.

use std::collections::{BTreeSet, VecDeque};

use model::ids::QueueSeq;

use crate::consumers::{Consumer, ConsumerId, Gate};
use crate::effects::Effects;
use crate::limits::TAKEN_BACK_COUNT_MAX;
use crate::limits_and_expiry::ALREADY_DUE_MS;
use crate::message::Message;
use crate::queue::Queue;
use crate::rules::Return;

/// Parts of the limit after which is looked again: a late consumer is found out that much later at most.
const LOOKS: u64 = 8;

#[derive(Debug, Clone, Copy)]
struct HeldMessage {
    at_ms: u64,
    seq: QueueSeq,
    consumer: ConsumerId,
}

/// Deliveries, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct HeldDeliveries {
    deliveries: VecDeque<HeldMessage>,
    next_look_ms: u64,
    /// What late consumers held and has not come back yet, where it is too much for one turn: the last first.
    coming_back: Vec<(ConsumerId, QueueSeq)>,
}

impl HeldDeliveries {
    /// Bytes that it takes.
    pub(crate) fn memory_len(&self) -> usize {
        let coming_back_len = self.coming_back.capacity() * size_of::<(ConsumerId, QueueSeq)>();
        size_of::<Self>() + self.deliveries.capacity() * size_of::<HeldMessage>() + coming_back_len
    }

    fn push(&mut self, held: HeldMessage, timeout_ms: u64) {
        if self.deliveries.is_empty() {
            self.next_look_ms = held.at_ms.saturating_add(timeout_ms);
        }
        self.deliveries.push_back(held);
    }

    pub(crate) fn next_look(&self) -> Option<u64> {
        if !self.coming_back.is_empty() {
            return Some(ALREADY_DUE_MS);
        }
        (!self.deliveries.is_empty()).then_some(self.next_look_ms)
    }
}

impl<M: Message, G: Gate> Queue<M, G> {
    /// Notes that a consumer got a message, where that matters.
    pub(crate) fn note_held(&mut self, seq: QueueSeq, consumer: ConsumerId, timeout_ms: u64, now_ms: u64) {
        let held_deliveries = self.held_deliveries.get_or_insert_default();
        held_deliveries.push(HeldMessage { at_ms: now_ms, seq, consumer }, timeout_ms);
        if held_deliveries.deliveries.len() as u64 > 64 + 2 * self.unacked.count() {
            let unacked = &self.unacked;
            held_deliveries.deliveries.retain(|held| unacked.holder_of(held.seq) == Some(Some(held.consumer)));
        }
    }

    /// Takes everything away from consumers that hold a message for too long, and removes them. What they held comes back unharmed, so
    /// much of it in one turn: the rest is due at once, and the queue hands out nothing until all is back. Dispatch after it.
    pub fn time_out(&mut self, now_ms: u64, effects: &mut Effects<M>) -> Vec<Consumer<G>> {
        if self.takes_back_more() {
            self.take_back_more(now_ms, effects);
            return Vec::new();
        }
        let late = self.late_consumers(now_ms);
        if late.is_empty() {
            return Vec::new();
        }
        let held = self.unacked.iter().filter_map(|(seq, _, holder)| Some((holder?, seq)));
        let mut held: Vec<(ConsumerId, QueueSeq)> = held.filter(|(holder, _)| late.contains(holder)).collect();
        held.sort_unstable_by(|a, b| b.cmp(a));
        let removed = late.into_iter().filter_map(|id| self.cancel(id)).collect();
        self.held_deliveries.get_or_insert_default().coming_back = held;
        self.begin_return();
        self.take_back_more(now_ms, effects);
        self.has_timed_out = true;
        removed
    }

    /// Whether late consumers held more than has come back.
    pub fn takes_back_more(&self) -> bool {
        self.held_deliveries.as_ref().is_some_and(|held_deliveries| !held_deliveries.coming_back.is_empty())
    }

    /// Some more of what late consumers held comes back, unless it has been settled meanwhile.
    fn take_back_more(&mut self, now_ms: u64, effects: &mut Effects<M>) {
        let Some(held_deliveries) = &mut self.held_deliveries else { return };
        let rest_count = held_deliveries.coming_back.len().saturating_sub(TAKEN_BACK_COUNT_MAX);
        let mut turn = held_deliveries.coming_back.split_off(rest_count);
        if rest_count == 0 {
            held_deliveries.coming_back = Vec::new();
            if held_deliveries.deliveries.is_empty() {
                self.held_deliveries = None;
            }
            self.end_return();
        }
        turn.retain(|(holder, seq)| self.is_held_by(*seq, Some(*holder)));
        let seqs: Vec<QueueSeq> = turn.into_iter().rev().map(|(_, seq)| seq).collect();
        self.requeue(&seqs, Return::Unharmed, now_ms, effects);
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
        let (Some(held_deliveries), Some(rules)) = (&mut self.held_deliveries, self.rules.as_deref()) else {
            return late;
        };
        if now_ms < held_deliveries.next_look_ms {
            return late;
        }
        let mut shortest_ms = rules.consumer_timeout_ms.unwrap_or(u64::MAX);
        let (unacked, consumers) = (&self.unacked, self.consumers.as_deref());
        held_deliveries.deliveries.retain(|held| unacked.holder_of(held.seq) == Some(Some(held.consumer)));
        for held in &held_deliveries.deliveries {
            let own = consumers.and_then(|consumers| consumers.get(held.consumer)?.consumer.timeout_ms);
            let Some(timeout_ms) = own.or(rules.consumer_timeout_ms) else { continue };
            shortest_ms = shortest_ms.min(timeout_ms);
            if held.at_ms.saturating_add(timeout_ms) <= now_ms {
                late.insert(held.consumer);
            }
        }
        held_deliveries.deliveries.retain(|held| !late.contains(&held.consumer));
        match held_deliveries.deliveries.front() {
            Some(first) => {
                let due_ms = first.at_ms.saturating_add(shortest_ms);
                held_deliveries.next_look_ms = due_ms.max(now_ms.saturating_add(shortest_ms / LOOKS + 1));
            }
            None => self.held_deliveries = None,
        }
        late
    }
}
