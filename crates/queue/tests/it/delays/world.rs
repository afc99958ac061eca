//! A set of waiting messages with its disk, and the model beside it: every operation is done to both.

use std::collections::{BTreeMap, BTreeSet};

use ::model::ids::{Place, QueueId, QueueSeq, SegmentId};
use ::queue::{
    Ask, Cancel, DelayId, Delays, Find, LoadOutcome, Message, MovedMessage, Page, PageNumber, PlacedMessage, Progress,
    PurgedDelays, RestoredGeneration, SearchOutcome, SettledDelays,
};

use super::Operation;
use super::disk::Disk;
use crate::fixture::Note;

/// By when it is due, then by arrival, which is its name.
type Due = (u64, u64);

#[derive(Debug)]
struct KnownKey {
    id: DelayId,
    note: Note,
    place: Option<Place>,
}

/// By generation and old segment.
type MovedBySegment = BTreeMap<(QueueId, SegmentId), Vec<MovedMessage>>;

struct Asked {
    ask: Ask,
    /// What a quick disk would say; a slow one reads later.
    read: (Vec<(QueueSeq, Note)>, u32),
}

struct Listing {
    after: Option<DelayId>,
    count_max: usize,
    /// What had changed when it was asked for.
    version: u64,
}

pub(super) struct World {
    set: Delays<Note>,
    disk: Disk,
    now: u64,
    released_at: u64,
    waiting: BTreeMap<Due, KnownKey>,
    leaving: BTreeMap<DelayId, KnownKey>,
    /// What the journal records as removed.
    gone: Vec<(QueueId, QueueSeq, QueueSeq)>,
    generations: BTreeSet<QueueId>,
    ended: BTreeSet<QueueId>,
    next_name: u64,
    next_id: u64,
    is_light: bool,
    loads: Vec<Asked>,
    seeks: Vec<(DelayId, bool)>,
    pages: BTreeMap<PageNumber, Listing>,
    version: u64,
    spills: Vec<(QueueId, Vec<PlacedMessage>)>,
    compaction: Option<(Vec<SegmentId>, MovedBySegment)>,
}

/// Some time in 2024.
const START_MS: u64 = 1_720_000_000_000;

impl World {
    pub(super) fn new(is_light: bool) -> Self {
        World {
            set: Delays::new(),
            disk: Disk::default(),
            now: START_MS,
            released_at: 0,
            waiting: BTreeMap::new(),
            leaving: BTreeMap::new(),
            gone: Vec::new(),
            generations: BTreeSet::new(),
            ended: BTreeSet::new(),
            next_name: 1,
            next_id: 7,
            is_light,
            loads: Vec::new(),
            seeks: Vec::new(),
            pages: BTreeMap::new(),
            version: 0,
            spills: Vec::new(),
            compaction: None,
        }
    }

    pub(super) fn run(&mut self, operation: Operation) {
        self.version += u64::from(!matches!(operation, Operation::Answer { .. } | Operation::Page { .. }));
        match operation {
            Operation::Insert { count, delay_ms, spread_ms, journaled } => {
                for n in 0..u64::from(count) {
                    let is_journaled = journaled >> (n % 64) & 1 == 1;
                    // Neither rising nor falling.
                    self.insert(delay_ms + n * 7919 % spread_ms, is_journaled);
                }
            }
            Operation::Advance { ms } => self.now += ms,
            Operation::StepBack { ms } => self.now -= ms,
            Operation::Release { count_max } => self.release(count_max.into()),
            Operation::Settle { pattern } => self.settle(pattern),
            Operation::PutBack { pattern } => self.put_back(pattern),
            Operation::Cancel { which, reschedule_ms } => self.cancel(which, reschedule_ms),
            Operation::Find { which } => self.find(which),
            Operation::Page { which, count_max } => self.page(which, count_max.into()),
            Operation::Purge => self.purge(),
            Operation::StartSpill { pattern, piece } => self.start_spill(pattern, piece.into()),
            Operation::EndSpill { which } => self.end_spill(which),
            Operation::Answer { which, slot_count } => self.answer(which, slot_count.into()),
            Operation::StartCompaction { which, count } => self.start_compaction(which, count.into()),
            Operation::EndCompaction => self.end_compaction(),
            Operation::Unload => self.set.unload(),
            Operation::Restart => self.restart(),
        }
        self.note_ended();
    }

    fn insert(&mut self, delay_ms: u64, is_journaled: bool) {
        let name = self.next_name;
        self.next_name += 1;
        let len = u32::try_from(name % 7).unwrap() * 1000;
        let note = if self.is_light { Note::light } else { Note::new }(name, len, is_journaled);
        let due = self.now + delay_ms;
        let next_id = &mut self.next_id;
        let id = self.set.insert(due, note.clone(), || {
            *next_id += 1;
            QueueId(*next_id)
        });
        assert!(id.due_ms() >= due, "it would be early");
        assert!(id.due_ms() <= due.max(self.released_at) + 1000, "it would be late");
        let is_gone = |record: &(QueueId, QueueSeq, QueueSeq)| {
            record.0 == id.generation && record.1 <= id.seq && id.seq <= record.2
        };
        assert!(!self.gone.iter().any(is_gone), "a record has said that {id:?} is gone");
        self.generations.insert(id.generation);
        assert!(!self.ended.contains(&id.generation), "{id:?} is of a generation that has ended");
        self.waiting.insert((id.due_ms(), name), KnownKey { id, note, place: None });
    }

    fn release(&mut self, count_max: usize) {
        self.version += 1;
        let (mut out, mut asks) = (Vec::new(), Vec::new());
        let progress = self.set.release(self.now, count_max, &mut out, &mut asks);
        self.released_at = self.now;
        asks.into_iter().for_each(|ask| self.asked(ask));
        assert!(out.len() <= count_max);
        for (id, note) in out {
            let (&(due, name), known) = self.waiting.first_key_value().expect("only what waits is released");
            assert_eq!((id, note.name()), (known.id, name), "what is released next");
            assert!(due <= self.now, "{id:?} is released too early");
            assert_eq!(note.place(), known.place);
            assert!(note.has_body());
            let known = self.waiting.pop_first().unwrap().1;
            self.leaving.insert(id, known);
        }
        let next = self.waiting.first_key_value().map(|((due, _), _)| *due);
        let is_due = next.is_some_and(|due| due <= self.now);
        match progress {
            Progress::Done => {
                assert!(!is_due, "not all that is due was released");
                assert!(self.set.wake_at_ms().is_none_or(|at| at > self.now), "it would be asked again for nothing");
                let has_load = self.loads.iter().any(|asked| asked.ask.load.from_seq.is_none());
                let wakes = self.set.wake_at_ms().is_some_and(|at| next.is_some_and(|due| at <= due));
                assert!(next.is_none() || wakes || has_load, "the next one is forgotten");
            }
            Progress::More => assert!(is_due),
            Progress::Loading => assert!(!self.loads.is_empty(), "nothing is being loaded"),
        }
    }

    fn choose_leaving(&self, pattern: u64) -> Vec<DelayId> {
        self.leaving
            .values()
            .filter(|known| pattern >> (known.note.name() % 64) & 1 == 1)
            .map(|known| known.id)
            .collect()
    }

    fn settle(&mut self, pattern: u64) {
        let chosen = self.choose_leaving(pattern);
        let mut asked = chosen.clone();
        // Neither one that waits nor one twice.
        asked.extend(self.waiting.values().next().map(|known| known.id));
        asked.extend(chosen.first());
        asked.reverse();
        let mut settled = SettledDelays::default();
        self.set.settle(asked, &mut settled);
        assert_eq!(settled.messages.iter().map(|(id, _)| *id).collect::<Vec<_>>(), chosen);
        for (id, note) in settled.messages {
            let known = self.leaving.remove(&id).unwrap();
            self.forget(&known, &note);
            let is_said = settled
                .records
                .iter()
                .any(|(generation, first, last)| *generation == id.generation && (*first..=*last).contains(&id.seq));
            assert!(is_said || !note.is_journaled(), "no record says that {id:?} is gone");
        }
        self.check_gone(&settled.records);
        let all_journalled = self.leaving.is_empty() && chosen.len() > 1;
        let generations: BTreeSet<_> = chosen.iter().map(|id| id.generation).collect();
        let first_waiting = self.set.next_due_ms().unwrap_or(u64::MAX);
        if all_journalled && chosen.iter().all(|id| id.due_ms() < first_waiting) {
            assert!(settled.records.len() <= generations.len(), "one record for each generation says it all");
        }
        self.gone.extend(settled.records);
    }

    /// Records must not remove what is here.
    fn check_gone(&self, records: &[(QueueId, QueueSeq, QueueSeq)]) {
        for (generation, first, last) in records {
            let here = self.waiting.values().chain(self.leaving.values());
            let wrong = here
                .filter(|known| known.id.generation == *generation)
                .find(|known| (*first..=*last).contains(&known.id.seq));
            assert!(wrong.is_none(), "{wrong:?} is said to be gone");
        }
    }

    fn put_back(&mut self, pattern: u64) {
        self.version += 1;
        let chosen = self.choose_leaving(pattern);
        self.set.put_back(&chosen);
        for id in chosen {
            let known = self.leaving.remove(&id).unwrap();
            self.waiting.insert((id.due_ms(), known.note.name()), known);
        }
    }

    /// A message that left: its slot is dead from now on.
    fn forget(&mut self, known: &KnownKey, note: &Note) {
        assert_eq!(note.name(), known.note.name());
        assert_eq!(note.place(), known.place, "where {} lies", note.name());
        if let Some(place) = known.place {
            self.disk.settle(place);
        }
    }

    /// Usually one that waits.
    fn choose(&self, which: u16) -> DelayId {
        let unknown = DelayId { generation: QueueId(8), seq: QueueSeq(1 << 60) };
        let all = self.waiting.values().chain(self.leaving.values());
        let count = self.waiting.len() + self.leaving.len();
        all.map(|known| known.id).chain([unknown]).nth(usize::from(which) % (count + 1)).unwrap()
    }

    fn due(&self, id: DelayId) -> Option<Due> {
        let name = self.waiting.values().find(|known| known.id == id)?.note.name();
        Some((id.due_ms(), name))
    }

    fn cancel(&mut self, which: u16, reschedule_ms: Option<u64>) {
        let id = self.choose(which);
        let mut asks = Vec::new();
        match self.set.cancel(id, &mut asks) {
            Cancel::Unknown => assert_eq!(self.due(id), None, "{id:?} waits"),
            Cancel::Taken(note) => {
                self.cancelled(id, &note);
                if let Some(delay_ms) = reschedule_ms {
                    self.insert(delay_ms, note.is_journaled());
                }
            }
            Cancel::Loading => {
                assert!(!asks.is_empty());
                self.seeks.push((id, true));
            }
        }
        asks.into_iter().for_each(|ask| self.asked(ask));
    }

    fn cancelled(&mut self, id: DelayId, note: &Note) {
        let known = self.due(id).and_then(|due| self.waiting.remove(&due)).expect("only what waits is cancelled");
        self.forget(&known, note);
        self.gone.push((id.generation, id.seq, id.seq));
    }

    fn find(&mut self, which: u16) {
        let id = self.choose(which);
        let due = self.due(id);
        let mut asks = Vec::new();
        match self.set.find(id, &mut asks) {
            Find::Unknown => assert_eq!(due, None, "{id:?} waits"),
            Find::Here(note) => assert_eq!(Some((id.due_ms(), note.name())), due),
            Find::Loading => self.seeks.push((id, false)),
        }
        asks.into_iter().for_each(|ask| self.asked(ask));
    }

    fn page(&mut self, which: u16, count_max: usize) {
        let after = (!which.is_multiple_of(3)).then(|| self.choose(which));
        let mut asks = Vec::new();
        let listing = Listing { after, count_max, version: self.version };
        match self.set.page(after, count_max, &mut asks) {
            Ok(page) => self.check_page(&listing, &page),
            Err(number) => {
                assert!(!asks.is_empty());
                assert!(self.pages.insert(number, listing).is_none());
            }
        }
        asks.into_iter().for_each(|ask| self.asked(ask));
    }

    fn check_page(&self, listing: &Listing, page: &Page<Note>) {
        assert!(page.messages.len() <= listing.count_max);
        let order = |id: &DelayId| (id.due_ms(), id.generation, id.seq);
        let after = listing.after.as_ref().map(order);
        let ids: Vec<_> = page.messages.iter().map(|(id, _)| order(id)).collect();
        assert!(ids.is_sorted_by(|left, right| left < right));
        assert!(ids.first().is_none_or(|first| after.is_none_or(|after| after < *first)));
        if listing.version == self.version && !page.is_interrupted {
            let rest =
                self.waiting.values().map(|known| order(&known.id)).filter(|id| after.is_none_or(|after| after < *id));
            let rest: Vec<_> = rest.collect();
            assert_eq!(ids, rest[..ids.len()]);
            assert_eq!(page.is_last, ids.len() == rest.len());
            assert!(page.is_last || !ids.is_empty() || listing.count_max == 0, "a page without a next one");
        }
    }

    fn purge(&mut self) {
        let mut purged = PurgedDelays::default();
        assert_eq!(self.set.purge(&mut purged), self.waiting.len() as u64);
        let mut found = purged.messages;
        for range in &purged.ranges {
            let generations: BTreeSet<_> = self.disk.segments[&range.segment]
                [range.first_slot as usize..range.end_slot as usize]
                .iter()
                .filter(|slot| slot.is_alive)
                .map(|slot| slot.id.generation)
                .collect();
            for generation in generations {
                let read = self.disk.read_range(generation, range);
                found.extend(read.into_iter().map(|(seq, note)| (DelayId { generation, seq }, note)));
            }
        }
        found.sort_unstable_by_key(|(id, note)| (id.due_ms(), note.name()));
        let expected = std::mem::take(&mut self.waiting);
        assert_eq!(found.len(), expected.len());
        for ((id, note), known) in found.iter().zip(expected.values()) {
            assert_eq!(*id, known.id);
            self.forget(known, note);
            let is_said = purged
                .records
                .iter()
                .any(|(generation, first, last)| *generation == id.generation && (*first..=*last).contains(&id.seq));
            assert!(is_said, "no record says that {id:?} is gone");
        }
        self.check_gone(&purged.records);
        self.gone.extend(purged.records);
    }

    fn start_spill(&mut self, pattern: u64, piece: usize) {
        let mut is_old = |note: &Note| pattern >> (note.name() % 64) & 1 == 1;
        let mut messages = Vec::new();
        self.set.in_memory(&mut is_old, &mut |id, note| messages.push((id, note.clone())));
        messages.sort_by_key(|(id, _)| *id);
        assert!(messages.len() as u64 <= self.set.unplaced_count());
        let all = self.waiting.values().chain(self.leaving.values());
        let mut expected: Vec<_> =
            all.filter(|known| known.place.is_none() && is_old(&known.note)).map(|known| known.id).collect();
        expected.sort_unstable();
        assert_eq!(messages.iter().map(|(id, _)| *id).collect::<Vec<_>>(), expected, "in memory");
        for is_journaled in [true, false] {
            let of_kind: Vec<_> = messages.iter().filter(|(_, note)| note.is_journaled() == is_journaled).collect();
            for in_segment in of_kind.chunks(piece) {
                let slots = in_segment.iter().map(|(id, note)| (id.generation.0 as u32, *id, note.clone())).collect();
                let segment = self.disk.write(is_journaled, slots);
                let mut placed: BTreeMap<QueueId, Vec<PlacedMessage>> = BTreeMap::new();
                for (slot, (id, _)) in (0..).zip(in_segment) {
                    let of_generation = placed.entry(id.generation).or_default();
                    of_generation.push(PlacedMessage { seq: id.seq, place: Place { segment, slot } });
                }
                self.spills.extend(placed);
            }
        }
    }

    fn known_mut(&mut self, id: DelayId) -> Option<&mut KnownKey> {
        let waiting = self.waiting.values_mut().find(|known| known.id == id);
        waiting.or(self.leaving.get_mut(&id))
    }

    fn end_spill(&mut self, which: u8) {
        if self.spills.is_empty() {
            return;
        }
        let (generation, placed) = self.spills.remove(usize::from(which) % self.spills.len());
        let mut dead = Vec::new();
        self.set.relocate(generation, &placed, &mut dead);
        let mut expected_dead = Vec::new();
        for PlacedMessage { seq, place } in placed {
            match self.known_mut(DelayId { generation, seq }).filter(|known| known.place.is_none()) {
                Some(known) => known.place = Some(place),
                None => expected_dead.push(place),
            }
        }
        assert_eq!(dead, expected_dead);
        dead.into_iter().for_each(|place| self.disk.settle(place));
    }

    fn asked(&mut self, ask: Ask) {
        assert!(ask.load.first_slot < ask.load.end_slot);
        assert!(self.loads.iter().all(|asked| asked.ask != ask), "one load twice");
        let read = self.disk.read(ask.generation, &ask.load, u32::MAX);
        self.loads.push(Asked { ask, read });
    }

    fn answer(&mut self, which: u8, slot_count: u32) {
        if self.loads.is_empty() {
            return;
        }
        let Asked { ask, read } = self.loads.remove(usize::from(which) % self.loads.len());
        let Ask { generation, load } = ask;
        let (entries, next_slot) = if which.is_multiple_of(2) || slot_count < u32::from(u16::MAX) {
            self.disk.read(generation, &load, slot_count)
        } else {
            read
        };
        let mut asks = Vec::new();
        let answered = self.set.loaded(&load, entries, next_slot, &mut asks);
        asks.into_iter().for_each(|ask| self.asked(ask));
        self.note_answer(answered);
    }

    fn note_answer(&mut self, answered: LoadOutcome<Note>) {
        let LoadOutcome { lost_count, sought, page } = answered;
        assert_eq!(lost_count, 0, "messages are missing");
        if let Some(sought) = sought {
            let at = self.seeks.iter().position(|seek| *seek == (sought.id, sought.is_cancel));
            self.seeks.remove(at.expect("it was sought"));
            match sought.found {
                SearchOutcome::Message(note) if sought.is_cancel => self.cancelled(sought.id, &note),
                SearchOutcome::Message(note) => {
                    assert_eq!(self.due(sought.id), Some((sought.id.due_ms(), note.name())))
                }
                SearchOutcome::Missing => assert_eq!(self.due(sought.id), None, "{:?} waits", sought.id),
                SearchOutcome::Interrupted => {}
            }
            self.version += 1;
        }
        if let Some((number, page)) = page {
            let listing = self.pages.remove(&number).expect("it was asked for");
            self.check_page(&listing, &page);
        }
        self.note_ended();
    }

    /// Copies what is alive in some segments into one, generation by generation and segment by segment.
    fn start_compaction(&mut self, which: u8, count: usize) {
        let is_pending = |segment: &SegmentId| {
            self.spills.iter().any(|(_, placed)| placed.iter().any(|placed| placed.place.segment == *segment))
        };
        let known: Vec<_> = self.disk.segments.keys().copied().filter(|segment| !is_pending(segment)).collect();
        if known.is_empty() || self.compaction.is_some() {
            return;
        }
        let start = usize::from(which) % known.len();
        let is_transient = known[start].is_transient();
        let chosen = known.into_iter().skip(start).filter(|segment| segment.is_transient() == is_transient);
        let from: Vec<_> = chosen.take(count).collect();
        let mut copied = Vec::new();
        for (index, segment) in (0..).zip(&from) {
            let slots = (0..).zip(&self.disk.segments[segment]).filter(|(_, slot)| slot.is_alive);
            copied.extend(slots.map(|(at, slot)| {
                let place = Place { segment: *segment, slot: at };
                ((slot.id.generation, index, slot.range), slot.id, slot.note.clone(), place)
            }));
        }
        if copied.is_empty() {
            return;
        }
        copied.sort_by_key(|(range, id, ..)| (*range, id.seq));
        let mut ranges: Vec<_> = copied.iter().map(|(range, ..)| *range).collect();
        ranges.dedup();
        let number = |range| ranges.iter().position(|other| *other == range).unwrap() as u32;
        let written = copied.iter().map(|(range, id, note, _)| (number(*range), *id, note.clone())).collect();
        let segment = self.disk.write(!is_transient, written);
        let mut moved = MovedBySegment::new();
        for (slot, (_, id, note, from)) in (0..).zip(&copied) {
            let to = Place { segment, slot };
            moved.entry((id.generation, from.segment)).or_default().push(MovedMessage {
                seq: id.seq,
                from: *from,
                to,
                len: note.len(),
            });
        }
        self.compaction = Some((from, moved));
    }

    fn end_compaction(&mut self) {
        let Some((from, all_moved)) = self.compaction.take() else { return };
        for ((generation, segment), mut moved) in all_moved {
            moved.sort_by_key(|moved| moved.seq);
            let mut dead = Vec::new();
            let (moved, settled): (Vec<_>, Vec<_>) =
                moved.into_iter().partition(|moved| self.disk.is_alive(moved.from));
            settled.into_iter().for_each(|moved| self.disk.settle(moved.to));
            assert_eq!(self.set.move_ranges(generation, &[segment], &moved, &mut dead), 0, "messages are missing");
            let mut expected_dead = Vec::new();
            for MovedMessage { seq, from, to, .. } in moved {
                match self.known_mut(DelayId { generation, seq }).filter(|known| known.place == Some(from)) {
                    Some(known) => known.place = Some(to),
                    None => expected_dead.push(to),
                }
            }
            assert_eq!(dead, expected_dead);
            dead.into_iter().for_each(|place| self.disk.settle(place));
        }
        from.iter().for_each(|segment| assert!(self.disk.segments.remove(segment).is_some()));
    }

    /// Everything in memory is lost but what the journal has; what was leaving waits again.
    fn restart(&mut self) {
        for (_, placed) in self.spills.drain(..) {
            // Of a segment that was reported in part, the rest is not known to be dead: it was not reported.
            for PlacedMessage { place, .. } in placed {
                if let Some(slots) = self.disk.segments.get_mut(&place.segment) {
                    slots[place.slot as usize].is_alive = false;
                }
            }
        }
        if let Some((_, moved)) = self.compaction.take()
            && let Some(moved) = moved.values().flatten().next()
        {
            self.disk.segments.remove(&moved.to.segment);
        }
        self.disk.segments.retain(|segment, _| !segment.is_transient());
        self.loads.clear();
        self.seeks.clear();
        self.pages.clear();
        for (id, known) in std::mem::take(&mut self.leaving) {
            self.waiting.insert((id.due_ms(), known.note.name()), known);
        }
        self.waiting.retain(|_, known| known.note.is_journaled());
        let mut ranges = self.disk.recovered();
        let mut messages: BTreeMap<QueueId, Vec<_>> = BTreeMap::new();
        for known in self.waiting.values().filter(|known| known.place.is_none()) {
            messages.entry(known.id.generation).or_default().push((known.id.seq, known.note.clone()));
        }
        let left = std::mem::take(&mut self.generations);
        self.set = Delays::restore(left.iter().map(|&generation| RestoredGeneration {
            generation,
            ranges: ranges.remove(&generation).unwrap_or_default(),
            messages: messages.remove(&generation).unwrap_or_default(),
        }));
        assert!(ranges.is_empty() && messages.is_empty());
        self.generations = left;
        self.released_at = 0;
    }

    fn note_ended(&mut self) {
        for id in self.set.take_ended() {
            assert!(self.generations.remove(&id), "{id} ended twice");
            self.ended.insert(id);
        }
    }

    pub(super) fn check(&self) {
        let set = &self.set;
        let bytes = |known: &KnownKey| u64::from(known.note.len());
        assert_eq!(set.count(), self.waiting.len() as u64, "count");
        assert_eq!(set.bytes(), self.waiting.values().map(bytes).sum::<u64>(), "bytes");
        assert_eq!(set.leaving_count(), self.leaving.len() as u64, "leaving");
        let first = self.waiting.first_key_value().map(|((due, _), _)| *due);
        assert_eq!(set.next_due_ms().is_some(), first.is_some());
        assert!(set.next_due_ms() <= first);
        let mut counts: BTreeMap<QueueId, u64> = BTreeMap::new();
        for known in self.waiting.values().chain(self.leaving.values()) {
            *counts.entry(known.id.generation).or_default() += 1;
            assert!(self.generations.contains(&known.id.generation), "{:?} has ended", known.id.generation);
        }
        for (generation, count) in set.generations() {
            assert_eq!(counts.remove(&generation).unwrap_or(0), count, "count of {generation}");
        }
        assert!(counts.is_empty());
        let places: BTreeMap<Place, DelayId> =
            self.waiting.values().filter_map(|known| Some((known.place?, known.id))).collect();
        let (mut paged, mut paged_bytes) = (BTreeSet::new(), 0);
        for (generation, range) in set.ranges() {
            let found = self.disk.read_range(generation, range);
            assert_eq!(found.len(), range.count as usize, "count of {range:?}");
            assert_eq!(found.iter().map(|(_, note)| u64::from(note.len())).sum::<u64>(), range.bytes);
            assert!(found.is_sorted_by(|left, right| left.0 < right.0));
            paged_bytes += range.bytes;
            for (seq, note) in &found {
                assert!(range.first_seq <= *seq && *seq <= range.last_seq, "{seq} in {range:?}");
                assert_eq!(places.get(&note.placed()), Some(&DelayId { generation, seq: *seq }), "{seq} in {range:?}");
                assert!(paged.insert(note.placed()), "{seq} is in two ranges");
            }
        }
        assert_eq!(set.paged_count(), paged.len() as u64);
        assert_eq!(set.paged_bytes(), paged_bytes);
    }

    /// In the end everything comes out, once and in order.
    pub(super) fn drain(&mut self) {
        self.put_back(u64::MAX);
        let mut rounds = 0;
        while !self.waiting.is_empty() || !self.loads.is_empty() {
            while !self.loads.is_empty() {
                self.answer(0, u32::MAX);
            }
            if let Some(at) = self.set.wake_at_ms() {
                self.now = self.now.max(at);
            }
            self.release(1000);
            self.settle(u64::MAX);
            self.note_ended();
            self.check();
            rounds += 1;
            assert!(rounds < 10_000, "the set is stuck with {} messages", self.waiting.len());
        }
        assert_eq!(self.set.ranges().count(), 0);
        assert!(self.seeks.is_empty() && self.pages.is_empty(), "a caller was not answered");
        assert!(self.generations.len() <= 1, "generations that have not ended: {:?}", self.generations);
        while !self.spills.is_empty() {
            self.end_spill(0);
        }
        self.end_compaction();
        assert!(self.disk.segments.values().flatten().all(|slot| !slot.is_alive), "something is alive on disk");
    }
}
