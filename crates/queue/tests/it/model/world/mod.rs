//! A queue with its disk and its consumers, and the model beside it: every operation is done to both.

mod consumers;
mod dispatching;
mod remove;
mod restarting;
mod segments;
mod settling;

use std::collections::BTreeSet;

use ::model::ids::{Place, QueueSeq, SegmentId};
use ::queue::{
    Consumer, Credit, Load, Message, MovedMessage, PagedRange, PlacedMessage, Queue, Return, Rules, Settings,
};

use super::Operation;
use super::expectation::{KnownKey, Model};
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
    spills: Vec<(u8, Vec<PlacedMessage>)>,
    compaction: Option<(Vec<SegmentId>, Vec<MovedMessage>)>,
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
            Operation::Publish { count, journaled, priorities, ttl_ms, group_count } => {
                self.publish(count, journaled, priorities, ttl_ms, group_count);
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
            Operation::Consume { no_ack, exclusive, priority, credit, times } => {
                let gate = Door::open_for(times);
                self.consume(Consumer { gate, no_ack, exclusive, priority, credit, timeout_ms: None }, times);
            }
            Operation::Grant { which, ahead, is_draining } => self.grant(which, ahead, is_draining),
            Operation::Cancel { which } => self.cancel(which),
            Operation::Open { which, times } => self.open(which, times),
            Operation::Get { no_ack } => self.get(no_ack),
            Operation::Settle { pattern, end } => self.settle(pattern, end),
            Operation::Requeue { pattern, end, how } => self.requeue(pattern, end, how),
            Operation::Reject { pattern, end } => self.reject(pattern, end),
            Operation::Depart { pattern } => self.remove_dead_lettered(pattern),
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

    fn publish(&mut self, count: u16, journaled: u64, priorities: u8, ttl_ms: Option<u64>, group_count: u8) {
        // How many may be passed over is tested apart: what came back counts only when it is looked at.
        if self.model.ready.len() + self.model.unacked.len() + usize::from(count) > MESSAGE_COUNT_MAX {
            return;
        }
        for _ in 0..count {
            let seq = QueueSeq(self.model.next_seq);
            let is_journaled = journaled >> (seq.0 % 64) & 1 == 1;
            let len = u32::try_from(seq.0 % 7).unwrap();
            let note = if self.is_light { Note::light } else { Note::new }(seq.0 * 1000, len, is_journaled);
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
            self.model.messages.insert(seq, KnownKey { note, place: None });
            self.model.ready.insert(seq);
            self.model.next_seq += 1;
        }
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
            assert_eq!(view.unacked_count, taker.unacked);
            taker.check(view.consumer.credit);
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
            let lane = |seq| (model.is_journaled(seq), model.priority(seq));
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
            Consumer { gate, no_ack: true, exclusive: false, priority: 0, credit: Credit::UNLIMITED, timeout_ms: None },
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
        self.remove_dead_lettered(0);
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
