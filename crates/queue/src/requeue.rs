//! What comes back: to its place, to be tried again later, or out, when it has come back too often.

use std::collections::BTreeMap;

use model::ids::QueueSeq;

use crate::consumers::Gate;
use crate::effects::{Counts, DropReason, Effects, ReturnedMessage};
use crate::groups::{Group, Key};
use crate::limits::ENDED_WAIT_COUNT_MAX;
use crate::message::Message;
use crate::queue::Queue;
use crate::rules::{Return, retry_delay_ms};
use crate::set_aside::Why;

/// What is known of messages that have come back. Nothing in queues that do not count.
#[derive(Debug, Default)]
pub(crate) struct ReturnCounts(Option<Box<ReturnHistory>>);

#[derive(Debug, Default)]
struct ReturnHistory {
    counts: BTreeMap<QueueSeq, Counts>,
    /// Of those that waited when the process ended: until when. Those in segments are set aside again when their turn comes.
    waits: BTreeMap<QueueSeq, u64>,
}

impl ReturnCounts {
    pub(crate) fn restore(&mut self, returned: Vec<(QueueSeq, Counts, u64)>) {
        for (seq, counts, until_ms) in returned {
            self.set(seq, counts);
            if until_ms > 0 {
                self.0.get_or_insert_default().waits.insert(seq, until_ms);
            }
        }
    }

    #[inline]
    pub(crate) fn of(&self, seq: QueueSeq) -> Counts {
        self.0.as_ref().and_then(|known| known.counts.get(&seq)).copied().unwrap_or_default()
    }

    pub(crate) fn set(&mut self, seq: QueueSeq, counts: Counts) {
        if counts != Counts::default() {
            self.0.get_or_insert_default().counts.insert(seq, counts);
        }
    }

    // Always: most queues know of none, and every message passes here.
    #[inline(always)]
    pub(crate) fn forget(&mut self, seq: QueueSeq) {
        if self.0.is_some() {
            self.forget_known(seq);
        }
    }

    #[cold]
    fn forget_known(&mut self, seq: QueueSeq) {
        if let Some(known) = &mut self.0 {
            known.counts.remove(&seq);
            known.waits.remove(&seq);
            self.tidy();
        }
    }

    /// Forgets all messages but these.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(QueueSeq) -> bool) {
        if let Some(known) = &mut self.0 {
            known.counts.retain(|seq, _| is_kept(*seq));
            known.waits.retain(|seq, _| is_kept(*seq));
            self.tidy();
        }
    }

    #[inline]
    pub(crate) fn has_waits(&self) -> bool {
        self.0.as_ref().is_some_and(|known| !known.waits.is_empty())
    }

    /// Until when a message waits that waited when the process ended. Asked once.
    pub(crate) fn take_wait(&mut self, seq: QueueSeq) -> Option<u64> {
        let until_ms = self.0.as_mut()?.waits.remove(&seq);
        self.tidy();
        until_ms
    }

    /// Those that wait on after `now_ms`, as they did when the process ended.
    fn waits_after(&self, now_ms: u64) -> Vec<(QueueSeq, u64)> {
        let waits = self.0.iter().flat_map(|known| &known.waits);
        waits.map(|(seq, until_ms)| (*seq, *until_ms)).filter(|(_, until_ms)| *until_ms > now_ms).collect()
    }

    fn iter(&self) -> impl Iterator<Item = (QueueSeq, Counts)> {
        self.0.iter().flat_map(|known| known.counts.iter().map(|(seq, counts)| (*seq, *counts)))
    }

    fn wait_of(&self, seq: QueueSeq) -> Option<u64> {
        self.0.as_ref()?.waits.get(&seq).copied()
    }

    fn tidy(&mut self) {
        if self.0.as_ref().is_some_and(|known| known.counts.is_empty() && known.waits.is_empty()) {
            self.0 = None;
        }
    }
}

impl<M: Message, G: Gate> Queue<M, G> {
    /// Messages that were handed out come back: to where they were, to be redelivered next; or, as the rules say, after a time, or
    /// not at all. Seqs that are not unacked are passed over. Dispatch after it.
    pub fn requeue(&mut self, seqs: &[QueueSeq], how: Return, now_ms: u64, effects: &mut Effects<M>) {
        for &seq in seqs {
            let group = self.ready.groups.as_ref().and_then(|groups| groups.of_seq(seq));
            let Some((message, _)) = self.take_unacked(seq) else { continue };
            let Some(rules) = self.rules.as_deref().copied().filter(|rules| rules.counts_returns) else {
                self.ready.put_back(seq, message, &self.unacked);
                continue;
            };
            let mut counts = self.counts.of(seq);
            let delivers = how != Return::Undelivered;
            counts.acquired_count = counts.acquired_count.saturating_add(u32::from(delivers));
            counts.delivery_count = counts.delivery_count.saturating_add(u32::from(how == Return::Failed));
            if rules.delivery_limit.is_some_and(|limit| counts.delivery_count > limit) {
                self.counts.forget(seq);
                self.leave(seq, message, DropReason::DeliveryLimit, counts, effects);
                continue;
            }
            self.counts.set(seq, counts);
            let is_journaled = message.is_journaled();
            let delay_ms = rules.retry.and_then(|retry| retry_delay_ms(&retry, how, counts));
            let waits_until_ms = delay_ms.map_or(0, |delay_ms| now_ms.saturating_add(delay_ms));
            if delivers {
                effects.returned.push(ReturnedMessage { seq, counts, waits_until_ms, is_journaled });
            }
            if waits_until_ms > 0 {
                self.set_aside(seq, message, Why::Waiting { until_ms: waits_until_ms });
                self.close_group(seq, group);
            } else {
                self.ready.put_back(seq, message, &self.unacked);
            }
        }
        // As in RabbitMQ's classic queues what comes back counts before it is handed out again.
        if how != Return::Undelivered
            && let Some(rules) = self.rules.as_deref().copied().filter(|rules| !rules.counts_returns)
        {
            self.drop_beyond(&rules, effects);
        }
    }

    /// What comes back does so in pieces, and precedes all that is ready: nothing is handed out to consumers until as many callers have
    /// called [`Queue::end_return`].
    pub fn begin_return(&mut self) {
        self.returning_count += 1;
    }

    /// All of it is back. Dispatch after it.
    pub fn end_return(&mut self) {
        self.returning_count = self.returning_count.saturating_sub(1);
    }

    /// Keeps a message that is neither ready nor with a consumer.
    pub(crate) fn set_aside(&mut self, seq: QueueSeq, message: M, why: Why) {
        self.set_aside.get_or_insert_default().insert(seq, why, message.len());
        self.unacked.insert(seq, message, None);
    }

    /// A message of a group waits to be tried again.
    pub(crate) fn close_group(&mut self, seq: QueueSeq, group: Option<Group>) {
        if let (Some(groups), Some(group)) = (&mut self.ready.groups, group) {
            groups.start_wait(seq, group);
        }
    }

    /// Takes back a message that was set aside.
    pub(crate) fn take_aside(&mut self, seq: QueueSeq) -> Option<(M, Why)> {
        let set_aside = self.set_aside.as_mut()?;
        let why = set_aside.remove(seq)?;
        if set_aside.is_empty() {
            self.set_aside = None;
        }
        self.unacked.remove(seq).map(|(message, _)| (message, why))
    }

    /// What has waited for long enough is ready again: the first of it, and the rest is due ([`Queue::next_due`]).
    pub(crate) fn end_waits(&mut self, now_ms: u64) {
        for _ in 0..ENDED_WAIT_COUNT_MAX {
            let ended = self.set_aside.as_mut().and_then(|set_aside| set_aside.take_ended(now_ms));
            let Some(seq) = ended else { break };
            if let Some(groups) = &mut self.ready.groups {
                groups.end_wait(seq);
            }
            if let Some((message, _)) = self.unacked.remove(seq) {
                self.ready.put_back(seq, message, &self.unacked);
            }
        }
        if self.set_aside.as_ref().is_some_and(|set_aside| set_aside.is_empty()) {
            self.set_aside = None;
        }
    }

    /// After a restart, and when it is known what is in groups: what waited when the process ended waits on, and is not ready. What lies
    /// only in a segment counts as ready until it is read, for its slot is not known before.
    pub fn resume_waits(&mut self, now_ms: u64) {
        for (seq, until_ms) in self.counts.waits_after(now_ms) {
            let in_memory = self.ready.lanes_mut().find_map(|lane| lane.take_from_memory(seq));
            let Some(message) = in_memory else { continue };
            self.counts.take_wait(seq);
            self.ready.count -= 1;
            self.ready.bytes -= u64::from(message.len());
            let group = self.ready.groups.as_mut().and_then(|groups| {
                groups.forget(Key::new(message.priority(), seq));
                groups.of_message(&message)
            });
            self.set_aside(seq, message.without_body(), Why::Waiting { until_ms });
            self.close_group(seq, group);
        }
    }

    /// Every message that lasts and has come back: how often, and until when it waits, in milliseconds since 1970 or 0. What
    /// [`RestoredQueue::returned`](crate::Restored::returned) wants to know.
    pub fn returned(&self) -> impl Iterator<Item = (QueueSeq, Counts, u64)> {
        let leaving = self.set_aside.iter().flat_map(|set_aside| set_aside.leaving());
        let leaving = leaving.filter(|(_, counts)| *counts != Counts::default());
        self.counts.iter().chain(leaving).map(|(seq, counts)| {
            let waiting = match self.set_aside.as_ref().and_then(|set_aside| set_aside.get(seq)) {
                Some(Why::Waiting { until_ms }) => Some(until_ms),
                _ => self.counts.wait_of(seq),
            };
            (seq, counts, waiting.unwrap_or(0))
        })
    }
}
