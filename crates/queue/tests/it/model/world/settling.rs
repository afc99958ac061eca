//! What consumers and getters do with messages.

use ::model::features::{BackOff, DelayedRetry, RetryOf};
use ::model::ids::QueueSeq;
use ::queue::{Counts, DropReason, DroppedMessage, Effects, Get, Message, PurgedMessages, Return, ReturnedMessage};

use super::World;
use crate::fixture::Note;

impl World {
    pub(super) fn get(&mut self, no_ack: bool) {
        let mut effects = Effects::default();
        let got = self.queue.get(no_ack, self.model.now_ms, &mut effects);
        assert!(effects.deliveries.is_empty() && effects.returned.is_empty());
        self.asked(effects.loads);
        if self.model.header.is_some() {
            assert_eq!(self.drop_expired_amid(effects.dropped), []);
            if let Get::Loading(load) = &got {
                self.asked(load.clone());
                assert!(self.loads.iter().any(|asked| asked.is_valid), "the get waits for nothing");
            }
            self.got_by_groups(&got, no_ack);
            return;
        }
        let mut dropped = effects.dropped.into_iter().peekable();
        self.pass_over(&mut dropped, if let Get::Message(got) = &got { Some(got.seq) } else { None });
        match got {
            Get::Empty => assert!(self.model.ready.is_empty()),
            Get::Message(got) => {
                let holder = (!no_ack).then_some(None);
                let seq = got.seq;
                assert_eq!(got.counts, self.model.counts.get(&seq).copied().unwrap_or_default());
                let was_handed_out = self.model.hand_out(seq, &got.message, holder, &mut self.disk);
                assert!(self.model.may_be_redelivered.remove(&seq) || got.redelivered == was_handed_out);
                let is_loading = self.loads.iter().any(|asked| asked.is_valid);
                self.drop_heads(&mut dropped, is_loading, false);
                assert_eq!(got.remaining, self.model.ready.len() as u64);
            }
            Get::Loading(load) => {
                assert!(!self.model.ready.is_empty());
                self.asked(load);
                assert!(self.loads.iter().any(|asked| asked.is_valid), "the get waits for nothing");
            }
        }
        assert_eq!(dropped.next(), None);
    }

    fn choose_unacked(&self, pattern: u64, end: u16) -> Vec<QueueSeq> {
        let chosen = self.model.unacked.keys().take(end.into()).copied();
        chosen.filter(|seq| pattern >> (seq.0 % 64) & 1 == 1).collect()
    }

    pub(super) fn settle(&mut self, pattern: u64, end: u16) {
        let chosen = self.choose_unacked(pattern, end);
        let mut asked = chosen.clone();
        // Neither a seq that never was nor one that is not unacked has a holder.
        asked.push(QueueSeq(self.model.next_seq + 3));
        asked.extend(self.model.ready.first());
        asked.extend(chosen.first());
        let mut settled = Vec::new();
        self.queue.settle(&asked, &mut settled);
        assert_eq!(settled.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), chosen);
        for (seq, note) in settled {
            let holder = self.model.unacked.remove(&seq).unwrap();
            self.model.give_credit(holder);
            self.model.counts.remove(&seq);
            self.model.forget(seq, &note, &mut self.disk);
        }
    }

    pub(super) fn requeue(&mut self, pattern: u64, end: u16, how: Return) {
        let mut chosen = self.choose_unacked(pattern, end);
        if pattern & 1 == 0 {
            chosen.reverse();
        }
        let mut effects = Effects::default();
        self.queue.requeue(&chosen, how, self.model.now_ms, &mut effects);
        self.asked(effects.loads);
        let mut dropped = effects.dropped.into_iter().peekable();
        let mut returned = effects.returned.into_iter();
        for seq in chosen {
            let model = &mut self.model;
            let holder = model.unacked.remove(&seq).unwrap();
            model.give_credit(holder);
            if !model.rules.counts_returns {
                model.ready.insert(seq);
                continue;
            }
            let mut counts = model.counts.get(&seq).copied().unwrap_or_default();
            counts.acquired_count += u32::from(how != Return::Undelivered);
            counts.delivery_count += u32::from(how == Return::Failed);
            if model.rules.delivery_limit.is_some_and(|limit| counts.delivery_count > limit) {
                model.counts.insert(seq, counts);
                self.dropped_with_body(seq, DropReason::DeliveryLimit, dropped.next_if(|drop| drop.seq == seq));
                continue;
            }
            if counts != Counts::default() {
                model.counts.insert(seq, counts);
            }
            let waits_until_ms = model.rules.retry.and_then(|retry| delay(&retry, how, counts));
            let waits_until_ms = waits_until_ms.map_or(0, |delay| model.now_ms + delay);
            let is_journaled = model.is_journaled(seq);
            if how != Return::Undelivered {
                assert_eq!(returned.next(), Some(ReturnedMessage { seq, counts, waits_until_ms, is_journaled }));
            }
            if waits_until_ms > 0 {
                model.waiting.insert(seq, waits_until_ms);
            } else {
                model.ready.insert(seq);
            }
        }
        if how != Return::Undelivered && !self.model.rules.counts_returns {
            // Heads that are in a segment go when they have been read.
            self.drop_heads(&mut dropped, true, false);
        }
        assert_eq!((dropped.next(), returned.next()), (None, None));
    }

    /// A message that was unacked has been dropped. One whose body is in a segment is reported only when that has been read, if it is to be
    /// kept.
    fn dropped_with_body(&mut self, seq: QueueSeq, reason: DropReason, dropped: Option<DroppedMessage<Note>>) {
        if let Some(dropped) = &dropped {
            assert_eq!(dropped.reason, reason);
            assert_eq!(dropped.message.name(), self.model.messages[&seq].note.name());
        }
        if self.model.rules.keeps_dropped {
            assert!(dropped.is_none_or(|dropped| dropped.message.has_body()));
            let counts = self.model.counts.remove(&seq).unwrap_or_default();
            self.model.leaving.insert(seq, (reason, counts));
        } else {
            let message = dropped.expect("it is gone at once").message;
            self.model.drop_message(seq, &message, reason, &mut self.disk);
        }
    }

    pub(super) fn reject(&mut self, pattern: u64, end: u16) {
        let chosen = self.choose_unacked(pattern, end);
        let mut effects = Effects::default();
        let has_failed = pattern.is_multiple_of(3);
        self.queue.reject(&chosen, has_failed, &mut effects);
        self.asked(effects.loads);
        let mut dropped = effects.dropped.into_iter().peekable();
        for seq in chosen {
            let holder = self.model.unacked.remove(&seq).unwrap();
            self.model.give_credit(holder);
            let counts = self.model.counts.entry(seq).or_default();
            counts.delivery_count += u32::from(has_failed);
            counts.acquired_count += u32::from(has_failed);
            self.dropped_with_body(seq, DropReason::Rejected, dropped.next_if(|drop| drop.seq == seq));
        }
        assert_eq!(dropped.next(), None);
    }

    pub(super) fn remove_dead_lettered(&mut self, pattern: u64) {
        let (failed, gone): (Vec<_>, Vec<_>) =
            self.model.leaving.keys().copied().partition(|seq| pattern >> (seq.0 % 64) & 1 == 1);
        let mut departed = Vec::new();
        self.queue.remove_dead_lettered(&gone, &mut departed);
        assert_eq!(departed.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), gone);
        for (seq, note) in departed {
            self.model.leaving.remove(&seq);
            self.model.forget(seq, &note, &mut self.disk);
        }
        let mut effects = Effects::default();
        let keeps_dropped = self.model.rules.keeps_dropped;
        self.queue.retry_dead_letters(&failed, &mut effects);
        self.asked(effects.loads);
        for DroppedMessage { seq, message, reason, .. } in effects.dropped {
            assert_eq!(Some(reason), self.model.leaving.get(&seq).map(|(reason, _)| *reason));
            if !keeps_dropped {
                self.model.leaving.remove(&seq);
                self.model.forget(seq, &message, &mut self.disk);
            }
        }
    }

    pub(super) fn purge(&mut self) {
        let mut purged = PurgedMessages::default();
        assert_eq!(self.queue.purge(&mut purged), self.model.ready.len() as u64);
        let PurgedMessages { mut messages, ranges, kept } = purged;
        for range in ranges {
            messages.extend(self.read_range(&range));
        }
        let mut found: Vec<_> = messages.iter().map(|(seq, _)| *seq).collect();
        found.sort_unstable();
        let expected: Vec<_> = std::mem::take(&mut self.model.ready).into_iter().collect();
        assert_eq!(found, expected, "purged");
        let others: Vec<_> = self.model.messages.keys().copied().filter(|seq| !found.contains(seq)).collect();
        assert_eq!(kept, others, "kept");
        for (seq, note) in messages {
            self.model.counts.remove(&seq);
            self.model.forget(seq, &note, &mut self.disk);
        }
        self.give_up_loads(|_| true);
    }
}

/// How long a message waits that has come back.
fn delay(retry: &DelayedRetry, how: Return, counts: Counts) -> Option<u64> {
    let applies = match (how, retry.applies_to) {
        (Return::Undelivered, _) | (Return::Failed, RetryOf::Returned) | (Return::Unharmed, RetryOf::Failed) => false,
        (Return::Failed | Return::Unharmed, _) => true,
    };
    let factor = match retry.back_off {
        BackOff::Linear => u64::from(counts.delivery_count.max(1)),
        BackOff::Exponential => 2_u64.pow(counts.acquired_count.clamp(1, 40) - 1),
    };
    let delay = (retry.min_ms * factor).min(retry.max_ms.unwrap_or(u64::MAX));
    (applies && delay > 0).then_some(delay)
}
