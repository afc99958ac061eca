//! What leaves without being acked: rejected, expired, too much, or come back too often.
//!
//! As in RabbitMQ only heads expire: of each priority the oldest, and in quorum queues the first of what came back. Where rules say so,
//! what leaves is set aside until its owner has brought it elsewhere; so it is never nowhere.

use model::ids::{Place, QueueSeq};

use crate::consumers::Gate;
use crate::effects::{Counts, DropReason, DroppedMessage, Effects};
use crate::lane::{Load, Source};
use crate::limits::DROPPED_COUNT_MAX;
use crate::message::Message;
use crate::queue::Queue;
use crate::ready::Front;
use crate::rules::Rules;
use crate::set_aside::Why;

/// When that is due which could have been done already, in milliseconds since 1970. 0 is never.
pub(crate) const ALREADY_DUE_MS: u64 = 1;

impl<M: Message, G: Gate> Queue<M, G> {
    /// Rejects messages that were handed out, so that no consumer gets them again; `has_failed`: that counts as a failure. Seqs that are
    /// not unacked are passed over. Dispatch after it.
    pub fn reject(&mut self, seqs: &[QueueSeq], has_failed: bool, effects: &mut Effects<M>) {
        for &seq in seqs {
            let Some((message, _)) = self.take_unacked(seq) else { continue };
            let mut counts = self.counts.of(seq);
            counts.delivery_count = counts.delivery_count.saturating_add(u32::from(has_failed));
            counts.acquired_count = counts.acquired_count.saturating_add(u32::from(has_failed));
            self.counts.forget(seq);
            self.leave(seq, message, DropReason::Rejected, counts, effects);
        }
    }

    /// Messages that were set aside when they were dropped are elsewhere now: appends them to `settled`.
    pub fn remove_dead_lettered(&mut self, seqs: &[QueueSeq], settled: &mut Vec<(QueueSeq, M)>) {
        for &seq in seqs {
            if let Some((message, _)) = self.take_aside(seq) {
                settled.push((seq, message));
            }
        }
    }

    /// Messages that were set aside when they were dropped could not be brought elsewhere: drops them once more.
    pub fn retry_dead_letters(&mut self, seqs: &[QueueSeq], effects: &mut Effects<M>) {
        for &seq in seqs {
            if let Some((message, Why::Leaving(reason, counts))) = self.take_aside(seq) {
                self.leave(seq, message, reason, counts, effects);
            }
        }
    }

    /// Whether a message with a body of `len` bytes is to be refused, because it would be too much. Dispatch before it, if what is ready
    /// might just as well be on its way.
    #[inline]
    pub fn refuses(&self, len: u32) -> bool {
        let Some(rules) = self.rules.as_deref().filter(|rules| rules.refuses_beyond) else { return false };
        rules.length_max.is_some_and(|length_max| self.ready.count + 1 > length_max)
            || rules.bytes_max.is_some_and(|bytes_max| self.ready.bytes + u64::from(len) > bytes_max)
    }

    /// When something has to be done by dispatching, in milliseconds since 1970. It may turn out that there is nothing to do.
    pub fn next_due(&self) -> Option<u64> {
        let first_end = self.set_aside.as_ref().and_then(|set_aside| set_aside.first_end());
        let first_expiry = if self.may_expire && !self.has_many_leaving() {
            // What is being read is looked at when it is there.
            let heads = self.ready.expiring().filter(|front| !self.is_read(front));
            heads.filter_map(|front| self.expiry_at(&front)).filter(|at_ms| *at_ms < u64::MAX).min()
        } else {
            None
        };
        let rest = self.drops_more.then_some(ALREADY_DUE_MS);
        let next_look = self.held_deliveries.as_ref().and_then(|held_deliveries| held_deliveries.next_look());
        [first_end, first_expiry, rest, next_look, self.expires_at()].into_iter().flatten().min()
    }

    /// Whether it matters to the queue what time it is.
    #[inline]
    pub fn is_timed(&self) -> bool {
        self.may_expire || self.rules.is_some() || self.set_aside.is_some() || self.counts.has_waits()
    }

    /// A client uses the queue: it expires later.
    pub fn note_used(&mut self, now_ms: u64) {
        self.used_at_ms = self.used_at_ms.max(now_ms);
    }

    /// When the queue itself is at its end unless it is used until then, in milliseconds since 1970.
    pub fn expires_at(&self) -> Option<u64> {
        let expires_after_ms = self.rules.as_deref()?.expires_after_ms?;
        self.is_unused().then(|| self.used_at_ms.saturating_add(expires_after_ms))
    }

    /// Whether expired messages wait for others to have been brought elsewhere.
    fn has_many_leaving(&self) -> bool {
        self.set_aside.as_ref().is_some_and(|set_aside| set_aside.has_many_leaving())
    }

    /// Whether as many messages have been dropped as may be at once. The rest is due ([`Queue::next_due`]), and nothing behind it is
    /// handed out
    /// before.
    #[inline]
    pub(crate) fn has_dropped_enough(effects: &Effects<M>) -> bool {
        effects.dropped.len().max(effects.leaving.len()) >= DROPPED_COUNT_MAX
    }

    /// Whether heads are to be dropped, for there are too many messages or bytes.
    fn is_beyond(&self, rules: &Rules) -> bool {
        !rules.refuses_beyond
            && (rules.length_max.is_some_and(|max| self.ready.count > max)
                || rules.bytes_max.is_some_and(|max| self.ready.bytes > max))
    }

    fn keeps_dropped(&self) -> bool {
        self.rules.as_deref().is_some_and(|rules| rules.keeps_dropped)
    }

    /// The message leaves, whyever.
    pub(crate) fn leave(
        &mut self,
        seq: QueueSeq,
        message: M,
        reason: DropReason,
        counts: Counts,
        effects: &mut Effects<M>,
    ) {
        if !self.keeps_dropped() {
            effects.dropped.push(DroppedMessage { seq, message, reason, counts });
            return;
        }
        effects.leaving.push(seq);
        self.set_aside(seq, message.without_body(), Why::Leaving(reason, counts));
        match message.place().filter(|_| !message.has_body()) {
            // To be brought elsewhere it needs its body.
            Some(place) => self.read_dead_letter(seq, place, message.priority(), effects),
            None => effects.dropped.push(DroppedMessage { seq, message, reason, counts }),
        }
    }

    fn read_dead_letter(&mut self, seq: QueueSeq, place: Place, priority: u8, effects: &mut Effects<M>) {
        if let Some(set_aside) = &mut self.set_aside {
            set_aside.start_read(place, seq);
        }
        effects.loads.push(Load::single(place, priority));
    }

    /// Whether a message is on its way elsewhere.
    pub fn is_leaving(&self, seq: QueueSeq) -> bool {
        let why = self.set_aside.as_ref().and_then(|set_aside| set_aside.get(seq));
        matches!(why, Some(Why::Leaving(..)))
    }

    /// The answer to the load of one message that leaves. Says whether it is lost: 1 or 0.
    pub(crate) fn dead_letter_loaded(
        &mut self,
        load: &Load,
        entries: Vec<(QueueSeq, M)>,
        next_slot: u32,
        effects: &mut Effects<M>,
    ) -> u64 {
        let asked = Place { segment: load.segment, slot: load.first_slot };
        let Some(set_aside) = &mut self.set_aside else { return 0 };
        let Some(seq) = set_aside.end_read(asked) else { return 0 };
        let Some(Why::Leaving(reason, counts)) = set_aside.get(seq) else { return 0 };
        if let Some((seq, message)) = entries.into_iter().find(|(found, _)| *found == seq) {
            if !self.keeps_dropped() {
                // The rules have changed meanwhile: it is no longer brought elsewhere.
                self.take_aside(seq);
            }
            effects.dropped.push(DroppedMessage { seq, message, reason, counts });
            return 0;
        }
        let Some(message) = self.unacked.get_mut(seq) else { return 0 };
        let (place, priority) = (message.place(), message.priority());
        match place {
            // It still lies here and was passed over.
            Some(place) if place == asked && next_slot > load.first_slot => u64::from(self.take_aside(seq).is_some()),
            // The read failed, or the message has been moved meanwhile.
            Some(place) => {
                self.read_dead_letter(seq, place, priority, effects);
                0
            }
            None => 0,
        }
    }

    /// Whether the message at a front, which is in memory, is not to be handed out: it has expired, or waits. It has been put aside
    /// then.
    pub(crate) fn passes_over(&mut self, front: &Front, now_ms: u64, effects: &mut Effects<M>) -> bool {
        let seq = front.head.seq;
        if let Some(until_ms) = self.counts.take_wait(seq).filter(|until_ms| *until_ms > now_ms) {
            let message = self.ready.take(front);
            let group = self.ready.groups.as_ref().and_then(|groups| groups.of_message(&message));
            self.set_aside(seq, message.without_body(), Why::Waiting { until_ms });
            self.close_group(seq, group);
            return true;
        }
        // What has come since the last dispatch may go at once, however short its time is.
        let has_expired = seq < self.fresh_from && self.expiry_at(front).is_some_and(|at_ms| at_ms <= now_ms);
        if has_expired {
            self.drop_front(front, DropReason::Expired, effects);
        }
        has_expired
    }

    /// Drops heads that have expired or are too much.
    pub(crate) fn drop_head_if_due(&mut self, now_ms: u64, effects: &mut Effects<M>) {
        if self.may_expire {
            if let Some(rules) = self.rules.as_deref().copied() {
                self.drop_what_never_fits(&rules, effects);
            }
            self.drop_expired(now_ms, effects);
        }
        if let Some(rules) = self.rules.as_deref().copied()
            && self.drop_beyond(&rules, effects)
            && self.may_expire
        {
            self.ask_for_expiries(effects);
        }
        self.drops_more = Self::has_dropped_enough(effects);
        if self.ready.count == 0 && self.unacked.count() == 0 {
            self.ttls.forget_before(self.next_seq);
            self.may_expire = !self.ttls.is_endless();
        }
    }

    /// As in RabbitMQ a message that never fits is dropped when it comes, before it can expire, however short its time is.
    fn drop_what_never_fits(&mut self, rules: &Rules, effects: &mut Effects<M>) {
        let fits_never =
            |len: u32| rules.length_max == Some(0) || rules.bytes_max.is_some_and(|max| u64::from(len) > max);
        while !rules.refuses_beyond && !Self::has_dropped_enough(effects) {
            let Some(front) = self.ready.front() else { break };
            if matches!(front.head.source, Source::Paged | Source::ReturnedAt) || !fits_never(front.head.len) {
                break;
            }
            self.drop_front(&front, DropReason::MaxLength, effects);
        }
    }

    pub(crate) fn drop_expired(&mut self, now_ms: u64, effects: &mut Effects<M>) {
        self.ready.forget_gone_returns();
        while !self.has_many_leaving() && !Self::has_dropped_enough(effects) {
            let is_due = |front: &Front| self.expiry_at(front).is_none_or(|at_ms| at_ms <= now_ms);
            let Some(front) = self.ready.expiring().find(|front| !self.is_read(front) && is_due(front)) else { break };
            if front.head.source != Source::Paged {
                self.drop_front(&front, DropReason::Expired, effects);
                continue;
            }
            let Some(load) = self.ready.lane_at(&front).ask(false) else { break };
            effects.loads.push(load);
        }
    }

    /// Has those heads read of which it is not known when they expire.
    fn ask_for_expiries(&mut self, effects: &mut Effects<M>) {
        let is_unknown = |front: &Front| !self.is_read(front) && self.expiry_at(front).is_none();
        let unknown: Vec<Front> = self.ready.expiring().filter(is_unknown).collect();
        effects.loads.extend(unknown.iter().filter_map(|front| self.ready.lane_at(front).ask(false)));
    }

    /// Says whether something was dropped.
    pub(crate) fn drop_beyond(&mut self, rules: &Rules, effects: &mut Effects<M>) -> bool {
        let count = self.ready.count;
        while self.is_beyond(rules) && !Self::has_dropped_enough(effects) {
            let Some(front) = self.ready.front() else { break };
            if front.head.source == Source::Paged {
                effects.loads.extend(self.ready.lane_at(&front).ask(true));
                break;
            }
            self.drop_front(&front, DropReason::MaxLength, effects);
        }
        self.ready.count < count
    }

    fn drop_front(&mut self, front: &Front, reason: DropReason, effects: &mut Effects<M>) {
        let (seq, message) = (front.head.seq, self.ready.take(front));
        let counts = self.counts.of(seq);
        self.counts.forget(seq);
        self.leave(seq, message, reason, counts, effects);
    }

    /// When the head of a lane expires; `None` if it must be read to know.
    fn expiry_at(&self, front: &Front) -> Option<u64> {
        match self.ready.peek(front) {
            Some(message) => Some(self.ttls.expiry_of(front.head.seq, message)),
            None => self.ready.lane_seen(front).remembered_expiry(front.head.seq),
        }
    }

    /// Whether the lane at a front is being read.
    fn is_read(&self, front: &Front) -> bool {
        front.head.source == Source::Paged && self.ready.lane_seen(front).is_loading()
    }

    /// Remembers when heads expire that may be in segments soon, so that they need not be read to know.
    pub(crate) fn remember_expiries(&mut self) {
        if !self.may_expire {
            return;
        }
        let known: Vec<(Front, u64)> =
            self.ready.heads().filter_map(|front| Some((front, self.expiry_at(&front)?))).collect();
        for (front, at_ms) in known {
            self.ready.lane_at(&front).remember_expiry(front.head.seq, at_ms);
        }
    }
}
