//! A queue with its disk and its consumers, and the model beside it: every operation is done to both.

use std::collections::BTreeSet;

use ::model::ids::{Place, QueueSeq, SegmentId};
use ::queue::{
    ConsumeError, Consumer, ConsumerId, Delivery, Get, Load, Message, Moved, PagedRange, Placed, Purged, Queue,
    Restored, Settings,
};

use super::Operation;
use super::expectation::{Known, Model, Taker};
use crate::fixture::{Disk, Door, Note, TestQueue};

pub(super) struct World {
    queue: TestQueue,
    disk: Disk,
    model: Model,
    is_light: bool,
    /// Loads that wait for an answer.
    loads: Vec<Asked>,
    spills: Vec<Vec<Placed>>,
    compaction: Option<(Vec<SegmentId>, Vec<Moved>)>,
}

struct Asked {
    load: Load,
    /// What a quick disk would say; a slow one reads later.
    read: Vec<(QueueSeq, Note)>,
    /// The queue has not given it up.
    is_valid: bool,
}

impl World {
    pub(super) fn new(is_light: bool) -> Self {
        World {
            queue: Queue::new(Settings::default()),
            disk: Disk::default(),
            model: Model { next_seq: 1, ..Model::default() },
            is_light,
            loads: Vec::new(),
            spills: Vec::new(),
            compaction: None,
        }
    }

    pub(super) fn run(&mut self, operation: Operation) {
        match operation {
            Operation::Publish { count, journalled } => self.publish(count, journalled),
            Operation::Dispatch => self.dispatch(),
            Operation::Consume { no_ack, exclusive, priority, prefetch, times } => {
                let gate = Door::open_for(times);
                self.consume(Consumer { gate, no_ack, exclusive, priority, prefetch }, times);
            }
            Operation::Cancel { which } => self.cancel(which),
            Operation::Open { which, times } => self.open(which, times),
            Operation::Get { no_ack } => self.get(no_ack),
            Operation::Settle { pattern, end } => self.settle(pattern, end),
            Operation::Requeue { pattern, end } => self.requeue(pattern, end),
            Operation::Purge => self.purge(),
            Operation::StartSpill { old_until, pattern, piece } => self.start_spill(old_until, pattern, piece),
            Operation::EndSpill { which } => self.end_spill(which),
            Operation::Answer { which, slot_count } => self.answer(which, slot_count),
            Operation::StartCompaction { which, count } => self.start_compaction(which, count),
            Operation::EndCompaction => self.end_compaction(),
            Operation::Unload => self.unload(),
            Operation::Restart { is_clean } => self.restart(is_clean),
        }
    }

    fn publish(&mut self, count: u16, journalled: u64) {
        for _ in 0..count {
            let seq = QueueSeq(self.model.next_seq);
            let is_journalled = journalled >> (seq.0 % 64) & 1 == 1;
            let len = u32::try_from(seq.0 % 7).unwrap();
            let note = if self.is_light { Note::light } else { Note::new }(seq.0 * 1000, len, is_journalled);
            assert_eq!(self.queue.publish(note.clone()), seq);
            self.model.messages.insert(seq, Known { note, place: None });
            self.model.ready.insert(seq);
            self.model.next_seq += 1;
        }
    }

    fn dispatch(&mut self) {
        let mut deliveries = Vec::new();
        let load = self.queue.dispatch(&mut deliveries);
        self.asked(load);
        for Delivery { consumer, seq, message, redelivered, no_ack } in deliveries {
            let taker = self.model.next_taker();
            assert_eq!(Some(consumer), taker, "whose turn it was for {seq}");
            assert_eq!(no_ack, self.model.consumers[&consumer].consumer.no_ack);
            let holder = (!no_ack).then_some(Some(consumer));
            let was_handed_out = self.model.hand_out(seq, &message, holder, &mut self.disk);
            assert_eq!(redelivered, was_handed_out, "redelivered flag of {seq}");
        }
        if !self.model.ready.is_empty() && self.model.is_waiting() {
            assert!(self.loads.iter().any(|asked| asked.is_valid), "the dispatch stopped for no reason");
        }
        for turns in self.model.turns.values_mut() {
            turns.retain(|id| {
                let taker = self.model.consumers.get_mut(id).unwrap();
                taker.is_parked = taker.door.take_refused();
                !taker.is_parked
            });
        }
    }

    fn consume(&mut self, consumer: Consumer<Door>, times: u32) {
        let taken = self.model.consumers.values().any(|taker| taker.consumer.exclusive);
        let is_refused = taken || consumer.exclusive && !self.model.consumers.is_empty();
        match self.queue.consume(Consumer { gate: consumer.gate.clone(), ..consumer }) {
            Ok(id) => {
                assert!(!is_refused);
                self.model.turns.entry(consumer.priority).or_default().push(id);
                let door = consumer.gate.clone();
                let taker = Taker { consumer, door, times, unacked: 0, is_parked: false };
                assert!(self.model.consumers.insert(id, taker).is_none(), "an id was given out twice");
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
        match self.queue.get(no_ack) {
            Get::Empty => assert!(self.model.ready.is_empty()),
            Get::Message(got) => {
                let holder = (!no_ack).then_some(None);
                let was_handed_out = self.model.hand_out(got.seq, &got.message, holder, &mut self.disk);
                assert_eq!(got.redelivered, was_handed_out);
                assert_eq!(got.remaining, self.model.ready.len() as u64);
            }
            Get::Loading(load) => {
                assert!(!self.model.ready.is_empty());
                self.asked(load);
                assert!(self.loads.iter().any(|asked| asked.is_valid), "the get waits for nothing");
            }
        }
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
            self.model.forget(seq, &note, &mut self.disk);
        }
    }

    fn requeue(&mut self, pattern: u64, end: u16) {
        let mut chosen = self.choose_unacked(pattern, end);
        if pattern & 1 == 0 {
            chosen.reverse();
        }
        self.queue.requeue(&chosen);
        for seq in chosen {
            let holder = self.model.unacked.remove(&seq).unwrap();
            self.model.give_credit(holder);
            self.model.ready.insert(seq);
        }
    }

    fn purge(&mut self) {
        let mut purged = Purged::default();
        assert_eq!(self.queue.purge(&mut purged), self.model.ready.len() as u64);
        let Purged { mut messages, ranges } = purged;
        for range in ranges {
            messages.extend(self.read_range(&range));
        }
        let mut found: Vec<_> = messages.iter().map(|(seq, _)| *seq).collect();
        found.sort_unstable();
        let expected: Vec<_> = std::mem::take(&mut self.model.ready).into_iter().collect();
        assert_eq!(found, expected, "purged");
        for (seq, note) in messages {
            self.model.forget(seq, &note, &mut self.disk);
        }
        self.give_up_loads(|_| true);
    }

    fn start_spill(&mut self, old_until: u16, pattern: u64, piece: u16) {
        let mut is_old =
            |note: &Note| note.name() / 1000 <= u64::from(old_until) && pattern >> (note.name() / 1000 % 64) & 1 == 1;
        let mut messages = Vec::new();
        self.queue.in_memory(&mut is_old, &mut messages);
        let seqs: Vec<_> = messages.iter().map(|(seq, _)| *seq).collect();
        assert_eq!(seqs, self.expected_in_memory(&mut is_old), "in memory");
        let (journalled, transient): (Vec<_>, Vec<_>) =
            messages.into_iter().partition(|(_, note)| note.is_journalled());
        for (is_journalled, messages) in [(true, journalled), (false, transient)] {
            for segment in messages.chunks(usize::from(piece)) {
                self.spills.push(self.disk.write(is_journalled, segment));
            }
        }
    }

    fn expected_in_memory(&self, is_old: &mut dyn FnMut(&Note) -> bool) -> Vec<QueueSeq> {
        let model = &self.model;
        let mut last_old = [QueueSeq(0); 2];
        for seq in &model.ready {
            let known = &model.messages[seq];
            if known.place.is_none() && is_old(&known.note) {
                last_old[usize::from(known.note.is_journalled())] = *seq;
            }
        }
        let mut wanted = Vec::new();
        for (seq, known) in &model.messages {
            let is_before_old = *seq <= last_old[usize::from(known.note.is_journalled())];
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
        let placed = self.spills.remove(usize::from(which) % self.spills.len());
        let mut dead = Vec::new();
        self.queue.relocate(&placed, &mut dead);
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

    fn asked(&mut self, load: Option<Load>) {
        let Some(load) = load else { return };
        let is_transient = load.segment.is_transient();
        let is_second =
            self.loads.iter().any(|asked| asked.is_valid && asked.load.segment.is_transient() == is_transient);
        assert!(!is_second, "a second load of a lane was asked for");
        assert!(load.first_slot < load.end_slot);
        let read = self.disk.read(&load, load.end_slot);
        self.loads.push(Asked { load, read, is_valid: true });
    }

    fn answer(&mut self, which: u8, slot_count: u16) {
        if self.loads.is_empty() {
            return;
        }
        let Asked { load, mut read, .. } = self.loads.remove(usize::from(which) % self.loads.len());
        let next_slot = load.first_slot.saturating_add(slot_count.into()).min(load.end_slot);
        if which.is_multiple_of(2) {
            read = self.disk.read(&load, next_slot);
        }
        read.retain(|(_, note)| note.place().unwrap().slot < next_slot);
        assert_eq!(self.queue.loaded(&load, read, next_slot), 0, "messages are missing");
    }

    fn give_up_loads(&mut self, is_given_up: impl Fn(SegmentId) -> bool) {
        for asked in &mut self.loads {
            asked.is_valid &= !is_given_up(asked.load.segment);
        }
    }

    /// Copies what is alive in some segments into one, in the order of seqs.
    fn start_compaction(&mut self, which: u8, count: u8) {
        let is_pending = |segment: &SegmentId| self.spills.iter().any(|placed| placed[0].place.segment == *segment);
        let known: Vec<_> = self.disk.segments.keys().copied().filter(|segment| !is_pending(segment)).collect();
        if known.is_empty() || self.compaction.is_some() {
            return;
        }
        let start = usize::from(which) % known.len();
        let is_transient = known[start].is_transient();
        let chosen = known.into_iter().skip(start).filter(|segment| segment.is_transient() == is_transient);
        let from: Vec<_> = chosen.take(usize::from(count)).collect();
        let mut copied = Vec::new();
        for segment in &from {
            let slots = (0..).zip(&self.disk.segments[segment]).filter(|(_, slot)| slot.is_alive);
            copied.extend(slots.map(|(at, slot)| (slot.seq, slot.note.clone(), Place { segment: *segment, slot: at })));
        }
        copied.sort_by_key(|(seq, ..)| *seq);
        let written: Vec<_> = copied.iter().map(|(seq, note, _)| (*seq, note.clone())).collect();
        let placed = self.disk.write(!is_transient, &written);
        let moved = copied.iter().zip(placed).map(|((seq, note, from), placed)| Moved {
            seq: *seq,
            from: *from,
            to: placed.place,
            len: note.len(),
        });
        self.compaction = Some((from, moved.collect()));
    }

    fn end_compaction(&mut self) {
        let Some((from, moved)) = self.compaction.take() else { return };
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
        for placed in self.spills.drain(..) {
            self.disk.segments.remove(&placed[0].place.segment);
        }
        if let Some((_, moved)) = self.compaction.take()
            && let Some(moved) = moved.first()
        {
            self.disk.segments.remove(&moved.to.segment);
        }
        self.disk.segments.retain(|segment, _| !segment.is_transient());
        self.loads.clear();
        let model = &mut self.model;
        model.consumers.clear();
        model.turns.clear();
        model.unacked.clear();
        model.messages.retain(|_, known| known.note.is_journalled());
        model.ready = model.messages.keys().copied().collect();
        if !is_clean {
            model.handed_out.extend(&model.ready);
        }
        let unplaced = model.messages.iter().filter(|(_, known)| known.place.is_none());
        let messages = unplaced.map(|(seq, known)| (*seq, known.note.clone())).collect();
        let mut ranges = Vec::new();
        for (segment, slots) in &self.disk.segments {
            let alive: Vec<_> = (0..).zip(slots).filter(|(_, slot)| slot.is_alive).collect();
            let (Some(first), Some(last)) = (alive.first(), alive.last()) else { continue };
            ranges.push(PagedRange {
                segment: *segment,
                first_slot: first.0,
                end_slot: last.0 + 1,
                count: u32::try_from(alive.len()).unwrap(),
                bytes: alive.iter().map(|(_, slot)| u64::from(slot.note.len())).sum(),
                first_seq: first.1.seq,
                last_seq: last.1.seq,
            });
        }
        let watermark = is_clean.then(|| self.queue.last_delivered());
        let next_seq = QueueSeq(model.next_seq);
        self.queue = Queue::restore(Settings::default(), Restored { next_seq, watermark, ranges, messages });
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
            let is_same_lane = |seq| model.is_journalled(seq) != range.segment.is_transient();
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
        self.requeue(u64::MAX, u16::MAX);
        let gate = Door::open();
        self.consume(Consumer { gate, no_ack: true, exclusive: true, priority: 0, prefetch: 0 }, u32::MAX);
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
        assert_eq!(self.queue.ranges().count(), 0);
        assert!(self.disk_is_dead());
    }

    fn disk_is_dead(&self) -> bool {
        let is_pending = |segment: &SegmentId| {
            self.spills.iter().any(|placed| placed[0].place.segment == *segment)
                || self.compaction.iter().flat_map(|(_, moved)| moved.first()).any(|moved| moved.to.segment == *segment)
        };
        let listed = self.disk.segments.iter().filter(|(segment, _)| !is_pending(segment));
        listed.flat_map(|(_, slots)| slots).all(|slot| !slot.is_alive)
    }
}
