//! Messages are handed out, or given up because they are old or too much.

use ::model::ids::QueueSeq;
use ::queue::{Delivery, DropReason, DroppedMessage, Effects, Message};

use super::World;
use crate::fixture::Note;

impl World {
    pub(super) fn dispatch(&mut self) {
        let mut effects = Effects::default();
        self.queue.dispatch(self.model.now_ms, &mut effects);
        self.end_waits();
        let Effects { deliveries, dropped, returned, loads, drained, .. } = effects;
        assert_eq!(returned, []);
        self.asked(loads);
        let is_loading = self.loads.iter().any(|asked| asked.is_valid);
        if self.model.header.is_some() {
            let dropped = self.drop_expired_amid(dropped);
            self.deliver_by_groups(deliveries, is_loading, dropped.len());
            self.end_dispatch(&mut dropped.into_iter(), is_loading);
            self.end_drains(drained, is_loading);
            return;
        }
        let mut dropped = dropped.into_iter().peekable();
        for Delivery { consumer, seq, message, redelivered, no_ack, counts } in deliveries {
            self.pass_over(&mut dropped, Some(seq));
            let taker = self.model.next_taker();
            assert_eq!(Some(consumer), taker, "whose turn it was for {seq}");
            assert_eq!(no_ack, self.model.consumers[&consumer].consumer.no_ack);
            let holder = (!no_ack).then_some(Some(consumer));
            assert_eq!(counts, self.model.counts.get(&seq).copied().unwrap_or_default());
            let was_handed_out = self.model.hand_out(seq, &message, holder, &mut self.disk);
            let is_unsure = self.model.may_be_redelivered.remove(&seq);
            assert!(is_unsure || redelivered == was_handed_out, "redelivered flag of {seq}");
        }
        self.pass_over(&mut dropped, None);
        if !self.model.ready.is_empty() && self.model.is_waiting() {
            assert!(is_loading, "the dispatch stopped for no reason");
        }
        self.end_dispatch(&mut dropped, is_loading);
        self.end_drains(drained, is_loading);
    }

    fn end_dispatch(&mut self, dropped: &mut impl Iterator<Item = DroppedMessage<Note>>, is_loading: bool) {
        self.drop_heads(dropped, is_loading, true);
        assert_eq!(dropped.next(), None);
        self.model.fresh_from = self.model.next_seq;
        for turns in self.model.turns.values_mut() {
            turns.retain(|id| {
                let taker = self.model.consumers.get_mut(id).unwrap();
                taker.is_parked = taker.door.take_refused();
                !taker.is_parked
            });
        }
        let first_due = self.first_due();
        assert!(self.queue.next_due().is_none_or(|at_ms| first_due.is_some_and(|first| at_ms >= first)));
        if !is_loading {
            assert_eq!(self.queue.next_due(), first_due, "when to dispatch again");
        }
    }

    fn end_waits(&mut self) {
        let now_ms = self.model.now_ms;
        let ended: Vec<_> =
            self.model.waiting.iter().filter(|(_, until)| **until <= now_ms).map(|(seq, _)| *seq).collect();
        for seq in ended {
            self.model.waiting.remove(&seq);
            self.model.ready.insert(seq);
        }
    }

    /// The head, and the next one, and so on up to `next`, have been dropped rather than handed out, since they had expired; or wait on.
    pub(super) fn pass_over(
        &mut self,
        dropped: &mut std::iter::Peekable<impl Iterator<Item = DroppedMessage<Note>>>,
        next: Option<QueueSeq>,
    ) {
        while let Some(seq) = self.model.head().filter(|seq| Some(*seq) != next) {
            let model = &mut self.model;
            let (expiry, now_ms) = (model.expiry(seq), model.now_ms);
            let is_old = expiry.is_some_and(|at| at <= now_ms && seq.0 < model.fresh_from);
            let drop = dropped.next_if(|drop| is_old && drop.seq == seq && drop.reason == DropReason::Expired);
            if let Some(drop) = drop {
                model.ready.remove(&seq);
                model.drop_message(seq, &drop.message, drop.reason, &mut self.disk);
            } else {
                let set_aside_count = model.leaving.len() + model.waiting.len();
                let is_passed = next.is_some() || dropped.peek().is_some();
                if !(is_passed || self.queue.set_aside_count() > set_aside_count as u64) || !model.wait_again() {
                    break;
                }
            }
        }
    }

    /// Heads have been dropped because they had expired or were too much.
    pub(super) fn drop_heads(
        &mut self,
        dropped: &mut impl Iterator<Item = DroppedMessage<Note>>,
        is_loading: bool,
        has_limits: bool,
    ) {
        let mut has_limited = false;
        for DroppedMessage { seq, message, reason, .. } in dropped {
            let model = &mut self.model;
            match reason {
                DropReason::Expired => {
                    assert!(!has_limited, "what has expired is dropped first");
                    assert!(model.heads().contains(&seq), "only heads expire");
                    assert!(model.expiry(seq).is_some_and(|at| at <= model.now_ms), "{seq} has not expired");
                }
                DropReason::MaxLength => {
                    assert!(model.is_beyond(), "{seq} is not too much");
                    assert_eq!(model.head(), Some(seq));
                    has_limited = has_limited || !model.fits_never(seq);
                }
                DropReason::Rejected | DropReason::DeliveryLimit => panic!("{seq} was not returned"),
            }
            model.ready.remove(&seq);
            assert!(message.has_body());
            model.drop_message(seq, &message, reason, &mut self.disk);
        }
        if !is_loading {
            let model = &self.model;
            let mut expired =
                model.heads().into_iter().filter(|seq| model.expiry(*seq).is_some_and(|at| at <= model.now_ms));
            // What was dropped for being too much uncovers what may be dropped the next time.
            assert!(has_limited || expired.next().is_none(), "an expired head is still there");
            assert!(!has_limits || !model.is_beyond(), "too much is still there");
        }
    }

    /// When something has to be done by dispatching.
    fn first_due(&self) -> Option<u64> {
        let model = &self.model;
        let expiries = model.heads().into_iter().filter_map(|seq| model.expiry(seq));
        let unused = model.rules.expires_after_ms.filter(|_| model.consumers.is_empty());
        expiries.chain(model.waiting.values().copied()).chain(unused).min()
    }
}
