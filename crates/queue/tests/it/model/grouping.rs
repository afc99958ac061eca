//! What dispatch and get do in a queue with groups, found by walking over all that is ready from the front, each time.

use std::cmp::Reverse;

use ::model::ids::QueueSeq;
use ::queue::{ConsumerId, Delivery, DropReason, DroppedMessage, Get, Message};

use super::expectation::Model;
use super::world::World;
use crate::fixture::Note;

/// Which consumers may get messages of a group.
enum GroupAccess {
    Free,
    HeldBy(ConsumerId),
    Closed,
}

impl Model {
    fn group_of(&self, seq: QueueSeq) -> Option<u64> {
        self.messages[&seq].note.group_by(self.header.as_deref()?)
    }

    /// A message of a group is unacked or waits from now on.
    pub(super) fn note_group(&mut self, seq: QueueSeq) {
        self.grouped.extend(self.group_of(seq).map(|group| (seq, group)));
    }

    fn access(&self, seq: QueueSeq) -> GroupAccess {
        let group = self.group_of(seq);
        let mut access = GroupAccess::Free;
        for (other, _) in self.grouped.iter().filter(|(_, other)| Some(**other) == group) {
            access = match self.unacked.get(other) {
                Some(Some(holder)) => GroupAccess::HeldBy(*holder),
                // With a client that got it, or waiting.
                Some(None) | None => return GroupAccess::Closed,
            };
        }
        access
    }

    /// Whether a consumer may have this message now.
    pub(super) fn is_for(&self, seq: QueueSeq, id: ConsumerId) -> bool {
        match self.access(seq) {
            GroupAccess::Free => true,
            GroupAccess::HeldBy(holder) => holder == id,
            GroupAccess::Closed => false,
        }
    }

    pub(super) fn tidy_groups(&mut self) {
        let (unacked, waiting) = (&self.unacked, &self.waiting);
        self.grouped.retain(|seq, _| unacked.contains_key(seq) || waiting.contains_key(seq));
    }

    /// This consumer, if it can take a message now.
    fn taker(&mut self, id: ConsumerId) -> Option<ConsumerId> {
        let taker = self.consumers.get_mut(&id)?;
        let turns = self.turns.get_mut(&taker.consumer.priority)?;
        let at = turns.iter().position(|other| *other == id)?;
        turns.remove(at);
        if taker.times == 0 {
            assert!(taker.door.take_refused(), "{id:?} was passed over without being asked");
            taker.is_parked = true;
            return None;
        }
        taker.take();
        if taker.has_credit() {
            turns.push(id);
        }
        Some(id)
    }

    /// The message that is delivered next and, if it is `for_consumers`, to which one; else the first that may be given to any. On the way
    /// to it messages are found to wait on, as long as `goes_on`.
    fn next_by_groups(
        &mut self,
        for_consumers: bool,
        goes_on: impl Fn(&Model) -> bool,
    ) -> Option<(QueueSeq, Option<ConsumerId>)> {
        let mut order: Vec<QueueSeq> = self.ready.iter().copied().collect();
        order.sort_by_key(|seq| (Reverse(self.priority(*seq)), *seq));
        for seq in order {
            let is_anyone_there = self.turns.values().any(|turns| !turns.is_empty());
            if for_consumers && !is_anyone_there || !goes_on(self) {
                return None;
            }
            if let Some(until_ms) = self.waits_again.get(&seq).copied().filter(|until_ms| *until_ms > self.now_ms) {
                self.waits_again.remove(&seq);
                self.ready.remove(&seq);
                self.waiting.insert(seq, until_ms);
                self.note_group(seq);
                continue;
            }
            match self.access(seq) {
                GroupAccess::Free if for_consumers => return self.next_taker().map(|taker| (seq, Some(taker))),
                GroupAccess::Free => return Some((seq, None)),
                GroupAccess::HeldBy(holder) if for_consumers => {
                    if let Some(taker) = self.taker(holder) {
                        return Some((seq, Some(taker)));
                    }
                }
                GroupAccess::HeldBy(_) | GroupAccess::Closed => {}
            }
        }
        None
    }
}

impl World {
    pub(super) fn set_groups(&mut self, header: Option<&str>) {
        let is_changed = self.model.header.as_deref() != header;
        assert_eq!(self.queue.set_groups(header), is_changed);
        if is_changed {
            self.model.header = header.map(str::to_owned);
            self.model.grouped.clear();
            // Which of them have been overtaken is no longer known.
            let overtaken = self.model.ready.range(..=self.queue.last_delivered());
            self.model.may_be_redelivered.extend(overtaken);
        }
    }

    /// What has expired is dropped wherever it was met, and the heads in any case.
    pub(super) fn drop_expired_amid(&mut self, dropped: Vec<DroppedMessage<Note>>) -> Vec<DroppedMessage<Note>> {
        let (expired, rest): (Vec<_>, Vec<_>) =
            dropped.into_iter().partition(|drop| drop.reason == DropReason::Expired);
        for DroppedMessage { seq, message, reason, .. } in expired {
            let model = &mut self.model;
            assert!(model.expiry(seq).is_some_and(|at| at <= model.now_ms), "{seq} has not expired");
            assert!(message.has_body());
            assert!(model.ready.remove(&seq), "{seq} was not ready");
            model.drop_message(seq, &message, reason, &mut self.disk);
        }
        rest
    }

    /// `dropped_count`: how many have been dropped after all deliveries.
    pub(super) fn deliver_by_groups(
        &mut self,
        deliveries: Vec<Delivery<Note>>,
        is_loading: bool,
        dropped_count: usize,
    ) {
        self.model.tidy_groups();
        for Delivery { consumer, seq, message, redelivered, no_ack, counts } in deliveries {
            let model = &mut self.model;
            assert_eq!(Some((seq, Some(consumer))), model.next_by_groups(true, |_| true), "who gets which message");
            assert_eq!(no_ack, model.consumers[&consumer].consumer.no_ack);
            assert_eq!(counts, model.counts.get(&seq).copied().unwrap_or_default());
            self.hand_out_by_groups(seq, &message, (!no_ack).then_some(Some(consumer)), redelivered);
        }
        let dropped_count = if self.model.rules.keeps_dropped { dropped_count as u64 } else { 0 };
        let set_aside_count = self.queue.set_aside_count() - dropped_count;
        let goes_on =
            |model: &Model| !is_loading || set_aside_count > (model.leaving.len() + model.waiting.len()) as u64;
        assert_eq!(self.model.next_by_groups(true, goes_on), None, "the dispatch stopped for no reason");
    }

    fn hand_out_by_groups(
        &mut self,
        seq: QueueSeq,
        message: &Note,
        holder: Option<Option<ConsumerId>>,
        redelivered: bool,
    ) {
        let model = &mut self.model;
        let is_old = model.expiry(seq).is_some_and(|at| at <= model.now_ms && seq.0 < model.fresh_from);
        assert!(!is_old, "{seq} has expired");
        if holder.is_some() {
            model.note_group(seq);
        }
        let was_handed_out = model.hand_out_any(seq, message, holder, &mut self.disk);
        let is_unsure = model.may_be_redelivered.remove(&seq);
        assert!(is_unsure || redelivered == was_handed_out, "redelivered flag of {seq}");
    }

    pub(super) fn got_by_groups(&mut self, got: &Get<Note>, no_ack: bool) {
        self.model.tidy_groups();
        let set_aside_count = self.queue.set_aside_count();
        match got {
            Get::Message(got) => {
                assert_eq!(self.model.next_by_groups(false, |_| true), Some((got.seq, None)));
                assert_eq!(got.counts, self.model.counts.get(&got.seq).copied().unwrap_or_default());
                self.hand_out_by_groups(got.seq, &got.message, (!no_ack).then_some(None), got.redelivered);
            }
            Get::Empty => assert_eq!(self.model.next_by_groups(false, |_| true), None),
            Get::Loading(_) => {
                let goes_on = |model: &Model| set_aside_count > (model.leaving.len() + model.waiting.len()) as u64;
                assert_eq!(self.model.next_by_groups(false, goes_on), None);
            }
        }
    }
}
