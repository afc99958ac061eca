//! A queue with its disk and its consumers, and the model beside it: every operation is done to both.

use std::collections::{BTreeMap, BTreeSet};

use ::model::features::{BackOff, DelayedRetry, RetryOf};
use ::model::ids::{Place, QueueSeq, SegmentId};
use ::queue::{
    ConsumeError, Consumer, ConsumerId, Counts, Delivery, DropReason, Dropped, Effects, Get, Load, Message, Moved,
    PagedRange, Placed, Position, Purged, Queue, Restored, Return, Returned, Rules, Seen, Settings, Take, TtlHistory,
};

use super::Operation;
use super::expectation::{Known, Model, Taker};
use crate::fixture::{Disk, Door, Note, TestQueue};

/// As many messages as there may be: no more than may be passed over.
const MESSAGE_COUNT_MAX: usize = 1024;

pub(super) struct World {
    pub(super) queue: TestQueue,
    pub(super) disk: Disk,
    pub(super) model: Model,
    settings: Settings,
    is_light: bool,
    /// Loads that wait for an answer.
    loads: Vec<Asked>,
    spills: Vec<(u8, Vec<Placed>)>,
    compaction: Option<(Vec<SegmentId>, Vec<Moved>)>,
}

struct Asked {
    load: Load,
    /// What a quick disk would say; a slow one reads later.
    read: Vec<(QueueSeq, Note)>,
    /// The queue has not given it up.
    is_valid: bool,
    /// It is of one message that leaves.
    is_single: bool,
}

impl World {
    pub(super) fn new(is_light: bool, is_single_active: bool, is_quorum: bool) -> Self {
        let settings = Settings { single_active_consumer: is_single_active, is_quorum, ..Settings::default() };
        World {
            queue: Queue::new(settings),
            disk: Disk::default(),
            model: Model { next_seq: 1, fresh_from: 1, now_ms: 1000, is_single_active, ..Model::default() },
            settings,
            is_light,
            loads: Vec::new(),
            spills: Vec::new(),
            compaction: None,
        }
    }

    pub(super) fn run(&mut self, operation: Operation) {
        match operation {
            Operation::Publish { count, journalled, priorities, ttl_ms, group_count } => {
                self.publish(count, journalled, priorities, ttl_ms, group_count);
            }
            Operation::SetGroups { header } => self.set_groups(header),
            Operation::Pass { ms } => self.model.now_ms += ms,
            Operation::SetRules(rules) => {
                self.queue.set_rules(rules);
                assert_eq!(self.queue.rules(), rules);
                self.model.rules = rules;
            }
            Operation::SetTtl { ttl_ms } => {
                let current = self.model.ttls.last().and_then(|(_, ttl_ms)| *ttl_ms);
                assert_eq!(self.queue.set_ttl(ttl_ms), current != ttl_ms);
                self.model.ttls.push((QueueSeq(self.model.next_seq), ttl_ms));
            }
            Operation::Dispatch => self.dispatch(),
            Operation::Consume { no_ack, exclusive, priority, prefetch, times } => {
                let gate = Door::open_for(times);
                self.consume(Consumer { gate, no_ack, exclusive, priority, prefetch, timeout_ms: None }, times);
            }
            Operation::Cancel { which } => self.cancel(which),
            Operation::Open { which, times } => self.open(which, times),
            Operation::Get { no_ack } => self.get(no_ack),
            Operation::Settle { pattern, end } => self.settle(pattern, end),
            Operation::Requeue { pattern, end, how } => self.requeue(pattern, end, how),
            Operation::Reject { pattern, end } => self.reject(pattern, end),
            Operation::Depart { pattern } => self.depart(pattern),
            Operation::Purge => self.purge(),
            Operation::Look { count_max, bytes_max } => self.look(count_max, bytes_max),
            Operation::Take { pattern, start, end } => self.take(pattern, start, end),
            Operation::StartSpill { old_until, pattern, piece } => self.start_spill(old_until, pattern, piece),
            Operation::EndSpill { which } => self.end_spill(which),
            Operation::Answer { which, slot_count } => self.answer(which, slot_count),
            Operation::StartCompaction { which, count } => self.start_compaction(which, count),
            Operation::EndCompaction => self.end_compaction(),
            Operation::Unload => self.unload(),
            Operation::Restart { is_clean } => self.restart(is_clean),
        }
    }

    fn publish(&mut self, count: u16, journalled: u64, priorities: u8, ttl_ms: Option<u64>, group_count: u8) {
        // How many may be passed over is tested apart: what came back counts only when it is looked at.
        if self.model.ready.len() + self.model.unacked.len() + usize::from(count) > MESSAGE_COUNT_MAX {
            return;
        }
        for _ in 0..count {
            let seq = QueueSeq(self.model.next_seq);
            let is_journalled = journalled >> (seq.0 % 64) & 1 == 1;
            let len = u32::try_from(seq.0 % 7).unwrap();
            let note = if self.is_light { Note::light } else { Note::new }(seq.0 * 1000, len, is_journalled);
            let note = note.of_priority(seq.0 as u8 & priorities).with_ttl(ttl_ms, self.model.now_ms);
            // Those of remainder 0 are in none.
            let group = (seq.0 * 7 / 3).checked_rem(group_count.into()).filter(|group| *group > 0);
            let note = note.in_group(group);
            let is_refused = self.model.rules.refuses_beyond && {
                let (count, bytes) = (self.model.ready.len() as u64, self.model.bytes(&self.model.ready));
                self.model.rules.length_max.is_some_and(|max| count + 1 > max)
                    || self.model.rules.bytes_max.is_some_and(|max| bytes + u64::from(len) > max)
            };
            assert_eq!(self.queue.refuses(len), is_refused);
            if is_refused {
                continue;
            }
            assert_eq!(self.queue.publish(note.clone()), seq);
            self.model.messages.insert(seq, Known { note, place: None });
            self.model.ready.insert(seq);
            self.model.next_seq += 1;
        }
    }

    fn dispatch(&mut self) {
        let mut effects = Effects::default();
        self.queue.dispatch(self.model.now_ms, &mut effects);
        self.end_waits();
        let Effects { deliveries, dropped, returned, loads } = effects;
        assert_eq!(returned, []);
        self.asked(loads);
        let is_loading = self.loads.iter().any(|asked| asked.is_valid);
        if self.model.header.is_some() {
            let dropped = self.drop_expired_amid(dropped);
            self.deliver_by_groups(deliveries, is_loading, dropped.len());
            self.end_dispatch(&mut dropped.into_iter(), is_loading);
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
    }

    fn end_dispatch(&mut self, dropped: &mut impl Iterator<Item = Dropped<Note>>, is_loading: bool) {
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
    fn pass_over(
        &mut self,
        dropped: &mut std::iter::Peekable<impl Iterator<Item = Dropped<Note>>>,
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
    fn drop_heads(&mut self, dropped: &mut impl Iterator<Item = Dropped<Note>>, is_loading: bool, has_limits: bool) {
        let mut has_limited = false;
        for Dropped { seq, message, reason, .. } in dropped {
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
                    has_limited = true;
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

    fn consume(&mut self, consumer: Consumer<Door>, times: u32) {
        let taken = self.model.consumers.values().any(|taker| taker.consumer.exclusive);
        let is_first = self.model.consumers.is_empty() && !self.model.is_single_active;
        let is_refused = taken || consumer.exclusive && !is_first;
        match self.queue.consume(Consumer { gate: consumer.gate.clone(), ..consumer }) {
            Ok(id) => {
                assert!(!is_refused);
                let priority = consumer.priority;
                let door = consumer.gate.clone();
                let taker = Taker { consumer, door, times, unacked: 0, is_parked: false };
                assert!(self.model.consumers.insert(id, taker).is_none(), "an id was given out twice");
                self.model.arrivals.push(id);
                if self.model.is_single_active {
                    self.model.choose_active();
                } else {
                    self.model.turns.entry(priority).or_default().push(id);
                }
            }
            Err(ConsumeError::InExclusiveUse) => assert!(is_refused),
        }
    }

    fn which_consumer(&self, which: u8) -> Option<ConsumerId> {
        let mut ids: Vec<_> = self.model.consumers.keys().copied().collect();
        ids.sort_unstable();
        (!ids.is_empty()).then(|| ids[usize::from(which) % ids.len()])
    }

    fn cancel(&mut self, which: u8) {
        let Some(id) = self.which_consumer(which) else { return };
        assert!(self.queue.cancel(id).is_some());
        assert!(self.queue.cancel(id).is_none());
        self.model.consumers.remove(&id);
        self.model.turns.values_mut().for_each(|turns| turns.retain(|other| *other != id));
        self.model.arrivals.retain(|other| *other != id);
        if self.model.active == Some(id) {
            self.model.active = None;
            self.model.choose_active();
        }
        assert_eq!(self.queue.active_consumer(), self.model.active);
        if self.model.consumers.is_empty() {
            self.give_up_loads(|_| true);
        }
    }

    fn open(&mut self, which: u8, times: u32) {
        let Some(id) = self.which_consumer(which) else { return };
        let taker = self.model.consumers.get_mut(&id).unwrap();
        taker.door.set(times);
        taker.times = times;
        self.queue.resume(id);
        if std::mem::take(&mut taker.is_parked) {
            self.model.turns.entry(taker.consumer.priority).or_default().push(id);
        }
    }

    fn get(&mut self, no_ack: bool) {
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

    fn settle(&mut self, pattern: u64, end: u16) {
        let chosen = self.choose_unacked(pattern, end);
        let mut asked = chosen.clone();
        // Neither a seq that never was nor one that is not unacked is anybody's.
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

    fn requeue(&mut self, pattern: u64, end: u16, how: Return) {
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
            let is_journalled = model.is_journalled(seq);
            if how != Return::Undelivered {
                assert_eq!(returned.next(), Some(Returned { seq, counts, waits_until_ms, is_journalled }));
            }
            if waits_until_ms > 0 {
                model.waiting.insert(seq, waits_until_ms);
            } else {
                model.ready.insert(seq);
            }
        }
        assert_eq!((dropped.next(), returned.next()), (None, None));
    }

    /// A message that was unacked has been dropped. One whose body is in a segment is told of only when that has been read, if it is
    /// to be kept.
    fn dropped_with_body(&mut self, seq: QueueSeq, reason: DropReason, dropped: Option<Dropped<Note>>) {
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

    fn reject(&mut self, pattern: u64, end: u16) {
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

    fn depart(&mut self, pattern: u64) {
        let (failed, gone): (Vec<_>, Vec<_>) =
            self.model.leaving.keys().copied().partition(|seq| pattern >> (seq.0 % 64) & 1 == 1);
        let mut departed = Vec::new();
        self.queue.depart(&gone, &mut departed);
        assert_eq!(departed.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), gone);
        for (seq, note) in departed {
            self.model.leaving.remove(&seq);
            self.model.forget(seq, &note, &mut self.disk);
        }
        let mut effects = Effects::default();
        let keeps_dropped = self.model.rules.keeps_dropped;
        self.queue.drop_again(&failed, &mut effects);
        self.asked(effects.loads);
        for Dropped { seq, message, reason, .. } in effects.dropped {
            assert_eq!(Some(reason), self.model.leaving.get(&seq).map(|(reason, _)| *reason));
            if !keeps_dropped {
                self.model.leaving.remove(&seq);
                self.model.forget(seq, &message, &mut self.disk);
            }
        }
    }

    fn purge(&mut self) {
        let mut purged = Purged::default();
        assert_eq!(self.queue.purge(&mut purged), self.model.ready.len() as u64);
        let Purged { mut messages, ranges, kept } = purged;
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

    fn look(&self, count_max: u8, bytes_max: u8) {
        let mut expected: Vec<_> = self.model.ready.iter().copied().collect();
        expected.sort_by_key(|seq| (std::cmp::Reverse(self.model.priority(*seq)), *seq));
        let found = self.look_from(Position::FIRST, count_max, bytes_max);
        assert_eq!(found, expected, "looked at");
        let at = usize::from(bytes_max) % (expected.len() + 1);
        if let Some(seq) = expected.get(at) {
            let from = Position { priority: self.model.priority(*seq), seq: *seq };
            assert_eq!(self.look_from(from, count_max, bytes_max), expected[at..]);
        }
        let from_end = self.look_from(self.queue.position_from_end(count_max.into()), count_max, bytes_max);
        assert!(from_end.len() <= count_max.into(), "{} are too many", from_end.len());
        assert!(expected.ends_with(&from_end));
        if self.queue.ranges().next().is_none() {
            assert_eq!(from_end.len(), expected.len().min(count_max.into()));
        }
    }

    fn look_from(&self, from: Position, count_max: u8, bytes_max: u8) -> Vec<QueueSeq> {
        let (mut found, mut next) = (Vec::new(), Some(from));
        while let Some(from) = next {
            let Some(mut look) = self.queue.look(from, count_max.into(), bytes_max.into()) else { break };
            while let Some(load) = look.next_load() {
                let next_slot = load.end_slot.min(load.first_slot + u32::from(bytes_max));
                let mut entries = self.disk.read(&load, next_slot);
                entries.retain(|(seq, _)| load.from_seq.is_none_or(|from| from <= *seq));
                look.loaded(entries, next_slot).unwrap();
            }
            let looked = look.end();
            for Seen { position, message, redelivered } in looked.messages {
                assert!(message.has_body());
                assert_eq!(message.name(), self.model.messages[&position.seq].note.name());
                assert_eq!(message.place(), self.model.messages[&position.seq].place);
                assert_eq!(position.priority, self.model.priority(position.seq));
                let is_unsure = self.model.may_be_redelivered.contains(&position.seq);
                let was_handed_out = self.model.handed_out.contains(&position.seq);
                assert!(is_unsure || redelivered == was_handed_out, "redelivered flag of {}", position.seq);
                found.push(position.seq);
            }
            assert_ne!(looked.next, Some(from), "it does not get on");
            next = looked.next;
        }
        found
    }

    fn take(&mut self, pattern: u64, start: u16, end: u16) {
        let among = self.model.ready.iter().copied().skip(start.into()).take(usize::from(end - start));
        let mut chosen: Vec<_> = among.filter(|seq| pattern >> (seq.0 % 64) & 1 == 1).collect();
        if pattern & 2 == 0 {
            chosen.reverse();
        }
        for seq in chosen {
            let (message, read) = self.take_one(seq);
            assert_eq!(message.name(), self.model.messages[&seq].note.name());
            self.model.ready.remove(&seq);
            self.model.counts.remove(&seq);
            self.model.forget(seq, &message, &mut self.disk);
            // Who has read it before is not given it twice.
            for read in [None, read] {
                let again = self.queue.take(seq, read.as_ref(), |place| self.disk.is_alive(place));
                assert!(!matches!(again, Take::Taken(_)), "{seq} was taken twice");
            }
        }
        self.give_up_loads_in_vain();
        let held: Vec<_> = self.model.unacked.keys().chain(self.model.leaving.keys()).copied().collect();
        for seq in held.into_iter().take(3).chain([QueueSeq(self.model.next_seq)]) {
            let read = self.model.messages.get(&seq).and_then(|known| Some(known.note.read_at(known.place?)));
            assert_eq!(self.queue.take(seq, read.as_ref(), |place| self.disk.is_alive(place)), Take::Missing);
            assert_eq!(self.queue.is_ready(seq), Some(false));
        }
    }

    /// Messages have been taken: what was to be read of lanes that have no ranges left is given up.
    fn give_up_loads_in_vain(&mut self) {
        let lane = |range: &PagedRange| (range.segment.is_transient(), self.read_range(range)[0].1.priority());
        let lanes: BTreeSet<_> = self.queue.ranges().map(lane).collect();
        for asked in &mut self.loads {
            asked.is_valid &= lanes.contains(&(asked.load.segment.is_transient(), asked.load.lane));
        }
    }

    /// Takes one that is ready; also as it was read, if it was.
    fn take_one(&mut self, seq: QueueSeq) -> (Note, Option<Note>) {
        let found = self.queue.is_ready(seq);
        assert_ne!(found, Some(false), "{seq} is ready");
        let loads = match self.queue.take(seq, None, |_| panic!("nothing was read")) {
            Take::Taken(message) => return (message, None),
            Take::Unread(loads) => loads,
            Take::Missing => panic!("{seq} is ready"),
        };
        assert_eq!(found, None, "it lies in a segment only");
        let read: Vec<_> = loads
            .iter()
            .filter_map(|load| {
                assert!(load.is_look() && load.from_seq == Some(seq));
                assert_eq!(self.queue.loaded(load, Vec::new(), load.end_slot, &mut Effects::default()), 0);
                let read = self.disk.read(load, load.end_slot);
                read.into_iter().find(|(found, note)| *found == seq && note.priority() == load.lane)
            })
            .collect();
        let [(_, note)] = read.as_slice() else { panic!("{seq} lies in {} places", read.len()) };
        match self.queue.take(seq, Some(note), |place| self.disk.is_alive(place)) {
            Take::Taken(message) => (message, Some(note.clone())),
            other => panic!("{seq} was read: {other:?}"),
        }
    }

    fn start_spill(&mut self, old_until: u16, pattern: u64, piece: u16) {
        let mut is_old =
            |note: &Note| note.name() / 1000 <= u64::from(old_until) && pattern >> (note.name() / 1000 % 64) & 1 == 1;
        let mut messages = Vec::new();
        self.queue.in_memory(&mut is_old, &mut messages);
        let seqs: Vec<_> = messages.iter().map(|(seq, _)| *seq).collect();
        assert_eq!(seqs, self.expected_in_memory(&mut is_old), "in memory");
        let mut lanes: BTreeMap<(u8, bool), Vec<_>> = BTreeMap::new();
        for (seq, note) in messages {
            lanes.entry((note.priority(), note.is_journalled())).or_default().push((seq, note));
        }
        for ((priority, is_journalled), messages) in lanes {
            for segment in messages.chunks(usize::from(piece)) {
                self.spills.push((priority, self.disk.write(is_journalled, segment)));
            }
        }
    }

    fn expected_in_memory(&self, is_old: &mut dyn FnMut(&Note) -> bool) -> Vec<QueueSeq> {
        let model = &self.model;
        let lane = |known: &Known| (known.note.priority(), known.note.is_journalled());
        let mut last_old: BTreeMap<_, QueueSeq> = BTreeMap::new();
        for seq in &model.ready {
            let known = &model.messages[seq];
            if known.place.is_none() && is_old(&known.note) {
                last_old.insert(lane(known), *seq);
            }
        }
        let mut wanted = Vec::new();
        for (seq, known) in &model.messages {
            let is_before_old = last_old.get(&lane(known)).is_some_and(|last| seq <= last);
            let is_wanted = if model.ready.contains(seq) { is_before_old } else { is_old(&known.note) };
            if known.place.is_none() && is_wanted {
                wanted.push(*seq);
            }
        }
        wanted
    }

    fn end_spill(&mut self, which: u8) {
        if self.spills.is_empty() {
            return;
        }
        let (priority, placed) = self.spills.remove(usize::from(which) % self.spills.len());
        let mut dead = Vec::new();
        self.queue.relocate(priority, &placed, &mut dead);
        let mut expected_dead = Vec::new();
        for Placed { seq, place } in placed {
            match self.model.messages.get_mut(&seq) {
                Some(known) if known.place.is_none() => known.place = Some(place),
                _ => expected_dead.push(place),
            }
        }
        assert_eq!(dead, expected_dead);
        dead.into_iter().for_each(|place| self.disk.settle(place));
    }

    fn asked(&mut self, loads: impl IntoIterator<Item = Load>) {
        for load in loads {
            let is_transient = load.segment.is_transient();
            let is_single = self.is_for_leaver(&load);
            let is_same =
                |asked: &&Asked| asked.load.lane == load.lane && asked.load.segment.is_transient() == is_transient;
            let is_second =
                self.loads.iter().filter(|asked| asked.is_valid && !asked.is_single).any(|asked| is_same(&asked));
            assert!(is_single || !is_second, "a second load of a lane was asked for");
            assert!(load.first_slot < load.end_slot);
            let read = self.disk.read(&load, load.end_slot);
            self.loads.push(Asked { load, read, is_valid: !is_single, is_single });
        }
    }

    /// Whether the load is of one message that leaves.
    fn is_for_leaver(&self, load: &Load) -> bool {
        let place = Place { segment: load.segment, slot: load.first_slot };
        let is_ready = self.model.ready.iter().any(|seq| {
            self.model.messages[seq].place.is_some_and(|at| at.segment == place.segment && load.first_slot <= at.slot)
        });
        load.end_slot == load.first_slot + 1 && load.bytes_max == 1 || !is_ready
    }

    fn answer(&mut self, which: u8, slot_count: u16) {
        if self.loads.is_empty() {
            return;
        }
        let Asked { load, mut read, is_single, .. } = self.loads.remove(usize::from(which) % self.loads.len());
        let next_slot = load.first_slot.saturating_add(slot_count.into()).min(load.end_slot);
        let is_moved = !self.disk.segments.contains_key(&load.segment);
        if which.is_multiple_of(2) || is_single && !is_moved {
            read = self.disk.read(&load, next_slot);
        }
        let next_slot = if is_single && is_moved { load.first_slot } else { next_slot };
        read.retain(|(_, note)| note.place().unwrap().slot < next_slot);
        let mut effects = Effects::default();
        assert_eq!(self.queue.loaded(&load, read, next_slot, &mut effects), 0, "messages are missing");
        let Effects { deliveries, dropped, returned, loads } = effects;
        assert!(deliveries.is_empty() && returned.is_empty());
        self.asked(loads);
        for Dropped { seq, message, reason, .. } in dropped {
            // Whoever brings it elsewhere needs its body. If nobody does by now, a failed load is of no account.
            assert!(message.has_body() || !self.model.rules.keeps_dropped);
            assert_eq!(Some(reason), self.model.leaving.get(&seq).map(|(reason, _)| *reason));
            if !self.model.rules.keeps_dropped {
                self.model.leaving.remove(&seq);
                self.model.forget(seq, &message, &mut self.disk);
            }
        }
    }

    fn give_up_loads(&mut self, is_given_up: impl Fn(SegmentId) -> bool) {
        for asked in &mut self.loads {
            asked.is_valid &= !is_given_up(asked.load.segment);
        }
    }

    /// Copies what is alive in some segments into one, range by range: so seqs do not rise with slots where ranges mix.
    fn start_compaction(&mut self, which: u8, count: u8) {
        let is_pending =
            |segment: &SegmentId| self.spills.iter().any(|(_, placed)| placed[0].place.segment == *segment);
        let known: Vec<_> = self.disk.segments.keys().copied().filter(|segment| !is_pending(segment)).collect();
        if known.is_empty() || self.compaction.is_some() {
            return;
        }
        let start = usize::from(which) % known.len();
        let is_transient = known[start].is_transient();
        let chosen = known.into_iter().skip(start).filter(|segment| segment.is_transient() == is_transient);
        let from: Vec<_> = chosen.take(usize::from(count)).collect();
        let mut runs: Vec<_> =
            from.iter().flat_map(|segment| self.disk.runs(*segment).map(|run| (*segment, run))).collect();
        // Lane by lane, as the store writes them.
        runs.sort_by_key(|(_, run)| (run[0].1.note.priority(), run[0].1.seq));
        let mut copied = Vec::new();
        for (segment, run) in runs {
            let alive = run.into_iter().filter(|(_, slot)| slot.is_alive);
            copied.extend(alive.map(|(at, slot)| (slot.seq, slot.note.clone(), Place { segment, slot: at })));
        }
        let written: Vec<_> = copied.iter().map(|(seq, note, _)| (*seq, note.clone())).collect();
        let placed = self.disk.write(!is_transient, &written);
        let moved = copied.iter().zip(placed).map(|((seq, note, from), placed)| Moved {
            seq: *seq,
            from: *from,
            to: placed.place,
            len: note.len(),
        });
        let mut moved: Vec<_> = moved.collect();
        moved.sort_by_key(|moved| moved.seq);
        self.compaction = Some((from, moved));
    }

    fn end_compaction(&mut self) {
        let Some((from, moved)) = self.compaction.take() else { return };
        // What has left since it was copied is not told.
        let (moved, left): (Vec<_>, Vec<_>) = moved.into_iter().partition(|moved| self.disk.is_alive(moved.from));
        left.into_iter().for_each(|moved| self.disk.settle(moved.to));
        let mut dead = Vec::new();
        assert_eq!(self.queue.move_ranges(&from, &moved, &mut dead), 0, "messages are missing");
        let mut expected_dead = Vec::new();
        for Moved { seq, from, to, .. } in moved {
            match self.model.messages.get_mut(&seq) {
                Some(known) if known.place == Some(from) => known.place = Some(to),
                _ => expected_dead.push(to),
            }
        }
        assert_eq!(dead, expected_dead);
        dead.into_iter().for_each(|place| self.disk.settle(place));
        from.iter().for_each(|segment| assert!(self.disk.segments.remove(segment).is_some()));
        self.give_up_loads(|segment| from.contains(&segment));
    }

    fn unload(&mut self) {
        self.queue.unload();
        self.give_up_loads(|_| true);
    }

    /// Everything in memory is lost but what the journal has.
    fn restart(&mut self, is_clean: bool) {
        for (_, placed) in self.spills.drain(..) {
            self.disk.segments.remove(&placed[0].place.segment);
        }
        if let Some((_, moved)) = self.compaction.take()
            && let Some(moved) = moved.first()
        {
            self.disk.segments.remove(&moved.to.segment);
        }
        self.disk.segments.retain(|segment, _| !segment.is_transient());
        self.loads.clear();
        let mut returned: Vec<_> = self.queue.returned().filter(|(seq, ..)| self.model.is_journalled(*seq)).collect();
        returned.sort_unstable_by_key(|(seq, ..)| *seq);
        let model = &mut self.model;
        model.consumers.clear();
        model.arrivals.clear();
        model.active = None;
        model.turns.clear();
        model.unacked.clear();
        model.grouped.clear();
        let leaving = std::mem::take(&mut model.leaving).into_iter();
        model.counts.extend(leaving.map(|(seq, (_, counts))| (seq, counts)));
        model.counts.retain(|_, counts| *counts != Counts::default());
        model.messages.retain(|_, known| known.note.is_journalled());
        model.counts.retain(|seq, _| model.messages.contains_key(seq));
        model.waiting.retain(|seq, _| model.messages.contains_key(seq));
        model.waits_again.retain(|seq, _| model.messages.contains_key(seq));
        model.waits_again.append(&mut model.waiting);
        // What has waited for long enough may or may not have been noticed.
        let now_ms = model.now_ms;
        let still = |until_ms: u64| if until_ms > now_ms { until_ms } else { 0 };
        let wait_of = |seq| still(model.waits_again.get(seq).copied().unwrap_or(0));
        let expected: Vec<_> = model.counts.iter().map(|(seq, counts)| (*seq, *counts, wait_of(seq))).collect();
        let mut found: Vec<_> =
            returned.iter().map(|(seq, counts, until_ms)| (*seq, *counts, still(*until_ms))).collect();
        found.sort_by_key(|(seq, ..)| *seq);
        assert_eq!(found, expected, "what had come back");
        // Those in segments are ready at first, and set aside when their turn comes.
        model.ready = model.messages.keys().copied().collect();
        let watermark = if is_clean { self.queue.last_delivered() } else { QueueSeq(model.next_seq) };
        model.handed_out.extend(model.ready.range(..=watermark));
        let unplaced = model.messages.iter().filter(|(_, known)| known.place.is_none());
        let messages = unplaced.map(|(seq, known)| (*seq, known.note.clone())).collect();
        let mut ranges = Vec::new();
        for segment in self.disk.segments.keys() {
            for run in self.disk.runs(*segment) {
                let alive: Vec<_> = run.into_iter().filter(|(_, slot)| slot.is_alive).collect();
                let (Some(first), Some(last)) = (alive.first(), alive.last()) else { continue };
                let range = PagedRange {
                    segment: *segment,
                    first_slot: first.0,
                    end_slot: last.0 + 1,
                    count: u32::try_from(alive.len()).unwrap(),
                    bytes: alive.iter().map(|(_, slot)| u64::from(slot.note.len())).sum(),
                    first_seq: first.1.seq,
                    last_seq: last.1.seq,
                };
                ranges.push((first.1.note.priority(), range));
            }
        }
        let watermark = is_clean.then(|| self.queue.last_delivered());
        let next_seq = QueueSeq(model.next_seq);
        let may_expire = self.queue.may_expire();
        let ttls = self.queue.ttls().changes().to_vec();
        let restored = Restored { next_seq, watermark, ranges, messages, returned, may_expire };
        self.queue = Queue::restore(self.settings, restored);
        self.queue.set_rules(model.rules);
        self.queue.set_groups(model.header.as_deref());
        self.queue.restore_ttls(TtlHistory::of(ttls));
        model.fresh_from = model.next_seq;
        self.queue.resume_waits(model.now_ms);
        model.resume_waits();
    }

    fn read_range(&self, range: &PagedRange) -> Vec<(QueueSeq, Note)> {
        let slots = &self.disk.segments[&range.segment];
        (range.first_slot..range.end_slot)
            .map(|slot| (slot, &slots[slot as usize]))
            .filter(|(_, found)| found.is_alive)
            .map(|(slot, found)| (found.seq, found.note.read_at(Place { segment: range.segment, slot })))
            .collect()
    }

    pub(super) fn check(&self) {
        let (queue, model) = (&self.queue, &self.model);
        assert_eq!(queue.next_seq(), QueueSeq(model.next_seq));
        assert_eq!(queue.ready_count(), model.ready.len() as u64, "ready count");
        assert_eq!(queue.ready_bytes(), model.bytes(&model.ready), "ready bytes");
        assert_eq!(queue.unacked_count(), model.unacked.len() as u64, "unacked count");
        assert_eq!(queue.unacked_bytes(), model.bytes(model.unacked.keys()), "unacked bytes");
        assert_eq!(queue.consumer_count() as usize, model.consumers.len());
        let mut unacked: Vec<_> = queue.unacked().map(|(seq, note, holder)| (seq, holder, note.place())).collect();
        unacked.sort_unstable();
        assert_eq!(queue.set_aside_count() as usize, model.leaving.len() + model.waiting.len(), "set aside");
        let expected = model.unacked.iter().map(|(seq, holder)| (*seq, *holder, model.messages[seq].place));
        assert_eq!(unacked, expected.collect::<Vec<_>>(), "unacked");
        for view in queue.consumers() {
            let taker = &model.consumers[&view.id];
            assert_eq!(view.unacked_count, u32::from(taker.unacked));
            let limit = taker.consumer.prefetch;
            assert!(limit == 0 || view.unacked_count <= limit.into(), "more than the prefetch was handed out");
        }
        let mut in_ranges = BTreeSet::new();
        for range in queue.ranges() {
            let found = self.read_range(range);
            assert_eq!(found.len(), range.count as usize, "count of {range:?}");
            assert_eq!(found.iter().map(|(_, note)| u64::from(note.len())).sum::<u64>(), range.bytes);
            for (seq, note) in &found {
                assert!(range.first_seq <= *seq && *seq <= range.last_seq, "{seq} in {range:?}");
                assert_eq!(note.place(), model.messages[seq].place);
                assert!(model.ready.contains(seq), "{seq} in {range:?} is not ready");
                assert!(in_ranges.insert(*seq), "{seq} is in two ranges");
            }
            let mut inside = model.unacked.range(range.first_seq..=range.last_seq).map(|(seq, _)| *seq);
            let lane = |seq| (model.is_journalled(seq), model.priority(seq));
            let of_range = found.first().map(|(seq, _)| lane(*seq));
            let is_same_lane = |seq| Some(lane(seq)) == of_range;
            assert!(!inside.any(is_same_lane), "an unacked message lies inside {range:?}");
        }
        assert_eq!(queue.paged_count(), in_ranges.len() as u64);
        assert_eq!(queue.paged_bytes(), model.bytes(&in_ranges));
    }

    /// In the end everything comes out, once and in order.
    pub(super) fn drain(&mut self) {
        while !self.model.consumers.is_empty() {
            self.cancel(0);
        }
        self.unload();
        self.model.rules = Rules::default();
        self.queue.set_rules(Rules::default());
        self.requeue(u64::MAX, u16::MAX, Return::Failed);
        self.model.now_ms += 1000;
        self.model.waits_again.clear();
        let gate = Door::open();
        self.consume(
            Consumer { gate, no_ack: true, exclusive: false, priority: 0, prefetch: 0, timeout_ms: None },
            u32::MAX,
        );
        // Also where nothing is ready what has waited for long enough comes out.
        self.dispatch();
        while !self.model.ready.is_empty() {
            let (before, load_count) = (self.model.ready.len(), self.loads.len());
            self.dispatch();
            self.check();
            let is_moving = self.model.ready.len() < before || self.loads.len() > load_count || load_count > 0;
            assert!(is_moving, "the queue is stuck with {before} messages");
            if !self.loads.is_empty() {
                self.answer(0, u16::MAX);
            }
        }
        self.depart(0);
        assert_eq!(self.queue.ranges().count(), 0);
        assert!(self.disk_is_dead());
    }

    fn disk_is_dead(&self) -> bool {
        let is_pending = |segment: &SegmentId| {
            self.spills.iter().any(|(_, placed)| placed[0].place.segment == *segment)
                || self.compaction.iter().flat_map(|(_, moved)| moved.first()).any(|moved| moved.to.segment == *segment)
        };
        let listed = self.disk.segments.iter().filter(|(segment, _)| !is_pending(segment));
        listed.flat_map(|(_, slots)| slots).all(|slot| !slot.is_alive)
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
