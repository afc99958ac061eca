//! Messages are written to segments, moved from one to another, and read again.

use std::collections::BTreeMap;

use ::model::ids::{Place, QueueSeq, SegmentId};
use ::queue::{DroppedMessage, Effects, Load, Message, MovedMessage, PlacedMessage};

use super::{Asked, World};
use crate::fixture::Note;
use crate::model::expectation::KnownKey;

impl World {
    pub(super) fn start_spill(&mut self, old_until: u16, pattern: u64, piece: u16) {
        let mut is_old =
            |note: &Note| note.name() / 1000 <= u64::from(old_until) && pattern >> (note.name() / 1000 % 64) & 1 == 1;
        let mut messages = Vec::new();
        self.queue.in_memory(&mut is_old, &mut messages);
        let seqs: Vec<_> = messages.iter().map(|(seq, _)| *seq).collect();
        assert_eq!(seqs, self.expected_in_memory(&mut is_old), "in memory");
        let mut lanes: BTreeMap<(u8, bool), Vec<_>> = BTreeMap::new();
        for (seq, note) in messages {
            lanes.entry((note.priority(), note.is_journaled())).or_default().push((seq, note));
        }
        for ((priority, is_journaled), messages) in lanes {
            for segment in messages.chunks(usize::from(piece)) {
                self.spills.push((priority, self.disk.write(is_journaled, segment)));
            }
        }
    }

    fn expected_in_memory(&self, is_old: &mut dyn FnMut(&Note) -> bool) -> Vec<QueueSeq> {
        let model = &self.model;
        let lane = |known: &KnownKey| (known.note.priority(), known.note.is_journaled());
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

    pub(super) fn end_spill(&mut self, which: u8) {
        if self.spills.is_empty() {
            return;
        }
        let (priority, placed) = self.spills.remove(usize::from(which) % self.spills.len());
        let mut dead = Vec::new();
        self.queue.relocate(priority, &placed, &mut dead);
        let mut expected_dead = Vec::new();
        for PlacedMessage { seq, place } in placed {
            match self.model.messages.get_mut(&seq) {
                Some(known) if known.place.is_none() => known.place = Some(place),
                _ => expected_dead.push(place),
            }
        }
        assert_eq!(dead, expected_dead);
        dead.into_iter().for_each(|place| self.disk.settle(place));
    }

    pub(super) fn asked(&mut self, loads: impl IntoIterator<Item = Load>) {
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

    pub(super) fn answer(&mut self, which: u8, slot_count: u16) {
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
        let Effects { deliveries, dropped, returned, loads, .. } = effects;
        assert!(deliveries.is_empty() && returned.is_empty());
        self.asked(loads);
        for DroppedMessage { seq, message, reason, .. } in dropped {
            // To be brought elsewhere it needs its body. If it need not be by now, a failed load is of no account.
            assert!(message.has_body() || !self.model.rules.keeps_dropped);
            assert_eq!(Some(reason), self.model.leaving.get(&seq).map(|(reason, _)| *reason));
            if !self.model.rules.keeps_dropped {
                self.model.leaving.remove(&seq);
                self.model.forget(seq, &message, &mut self.disk);
            }
        }
    }

    pub(super) fn give_up_loads(&mut self, is_given_up: impl Fn(SegmentId) -> bool) {
        for asked in &mut self.loads {
            asked.is_valid &= !is_given_up(asked.load.segment);
        }
    }

    /// Copies what is alive in some segments into one, range by range: so seqs do not rise with slots where ranges mix.
    pub(super) fn start_compaction(&mut self, which: u8, count: u8) {
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
        let moved = copied.iter().zip(placed).map(|((seq, note, from), placed)| MovedMessage {
            seq: *seq,
            from: *from,
            to: placed.place,
            len: note.len(),
        });
        let mut moved: Vec<_> = moved.collect();
        moved.sort_by_key(|moved| moved.seq);
        self.compaction = Some((from, moved));
    }

    pub(super) fn end_compaction(&mut self) {
        let Some((from, moved)) = self.compaction.take() else { return };
        // What has left since it was copied is not reported.
        let (moved, left): (Vec<_>, Vec<_>) = moved.into_iter().partition(|moved| self.disk.is_alive(moved.from));
        left.into_iter().for_each(|moved| self.disk.settle(moved.to));
        let mut dead = Vec::new();
        assert_eq!(self.queue.move_ranges(&from, &moved, &mut dead), 0, "messages are missing");
        let mut expected_dead = Vec::new();
        for MovedMessage { seq, from, to, .. } in moved {
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

    pub(super) fn unload(&mut self) {
        self.queue.unload();
        self.give_up_loads(|_| true);
    }
}
