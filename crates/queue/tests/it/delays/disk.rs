//! Segments of waiting messages, and which of their slots are alive.

use std::collections::BTreeMap;

use ::model::ids::{Place, QueueId, QueueSeq, SegmentId};
use ::queue::{DelayId, Load, Message, PagedRange};

use crate::fixture::Note;

#[derive(Debug, Default)]
pub(super) struct Disk {
    pub(super) segments: BTreeMap<SegmentId, Vec<Slot>>,
    next_segment: u32,
}

#[derive(Debug, Clone)]
pub(super) struct Slot {
    pub(super) id: DelayId,
    pub(super) note: Note,
    pub(super) is_alive: bool,
    /// Slots of one range are by rising seq.
    pub(super) range: u32,
}

impl Disk {
    /// Writes a segment; slots of one range have equal numbers.
    pub(super) fn write(&mut self, is_journaled: bool, messages: Vec<(u32, DelayId, Note)>) -> SegmentId {
        self.next_segment += 1;
        let number = self.next_segment;
        let segment = if is_journaled { SegmentId(number) } else { SegmentId::transient(number) };
        let slots = messages.into_iter().map(|(range, id, note)| Slot { id, note, is_alive: true, range });
        self.segments.insert(segment, slots.collect());
        segment
    }

    pub(super) fn is_alive(&self, place: Place) -> bool {
        self.segments.get(&place.segment).is_some_and(|slots| slots[place.slot as usize].is_alive)
    }

    /// What a reader answers: up to so many slots, or messages if they are sought by seq.
    pub(super) fn read(&self, generation: QueueId, load: &Load, count_max: u32) -> (Vec<(QueueSeq, Note)>, u32) {
        let Some(slots) = self.segments.get(&load.segment) else { return (Vec::new(), load.first_slot) };
        if count_max == 0 {
            return (Vec::new(), load.first_slot);
        }
        let end = match load.from_seq {
            Some(_) => load.end_slot,
            None => load.first_slot.saturating_add(count_max).min(load.end_slot),
        };
        let alive =
            (load.first_slot..end).map(|slot| (slot, &slots[slot as usize])).filter(|(_, found)| found.is_alive);
        let alive = alive.filter(|(_, found)| found.id.generation == generation);
        let wanted = alive.filter(|(_, found)| load.from_seq.is_none_or(|from| from <= found.id.seq));
        let place = |slot| Place { segment: load.segment, slot };
        let mut read: Vec<_> = wanted.map(|(slot, found)| (found.id.seq, found.note.read_at(place(slot)))).collect();
        if load.from_seq.is_some() && read.len() > count_max as usize {
            read.truncate(count_max as usize);
            let end = read.last().map_or(end, |(_, note)| note.placed().slot + 1);
            return (read, end);
        }
        (read, end)
    }

    /// What is alive of a generation in these slots.
    pub(super) fn read_range(&self, generation: QueueId, range: &PagedRange) -> Vec<(QueueSeq, Note)> {
        let slots = &self.segments[&range.segment];
        (range.first_slot..range.end_slot)
            .map(|slot| (slot, &slots[slot as usize]))
            .filter(|(_, found)| found.is_alive && found.id.generation == generation)
            .map(|(slot, found)| (found.id.seq, found.note.read_at(Place { segment: range.segment, slot })))
            .collect()
    }

    #[track_caller]
    pub(super) fn settle(&mut self, place: Place) {
        let slot = &mut self.segments.get_mut(&place.segment).expect("the segment exists")[place.slot as usize];
        assert!(slot.is_alive, "{place} is settled twice");
        slot.is_alive = false;
    }

    /// As recovery says it: each range without the dead slots at its ends.
    pub(super) fn recovered(&self) -> BTreeMap<QueueId, Vec<PagedRange>> {
        let mut recovered: BTreeMap<(QueueId, SegmentId, u32), PagedRange> = BTreeMap::new();
        for (&segment, slots) in &self.segments {
            for (slot, found) in (0..).zip(slots).filter(|(_, slot)| slot.is_alive) {
                let range = recovered.entry((found.id.generation, segment, found.range)).or_insert(PagedRange {
                    segment,
                    first_slot: slot,
                    end_slot: slot,
                    count: 0,
                    bytes: 0,
                    first_seq: found.id.seq,
                    last_seq: found.id.seq,
                });
                range.end_slot = slot + 1;
                range.last_seq = found.id.seq;
                range.count += 1;
                range.bytes += u64::from(found.note.len());
            }
        }
        let mut by_generation: BTreeMap<QueueId, Vec<PagedRange>> = BTreeMap::new();
        for ((generation, ..), range) in recovered {
            by_generation.entry(generation).or_default().push(range);
        }
        by_generation
    }
}
