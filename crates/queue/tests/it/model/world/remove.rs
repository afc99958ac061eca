//! Operators look at messages, and take them out of the middle.

use std::collections::BTreeSet;

use ::model::ids::QueueSeq;
use ::queue::{Effects, Message, PagedRange, Position, SeenMessage, Take};

use super::World;
use crate::fixture::Note;

impl World {
    pub(super) fn look(&self, count_max: u8, bytes_max: u8) {
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
            for SeenMessage { position, message, redelivered } in looked.messages {
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

    pub(super) fn take(&mut self, pattern: u64, start: u16, end: u16) {
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
            // A caller that has read it before is not given it twice.
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
}
