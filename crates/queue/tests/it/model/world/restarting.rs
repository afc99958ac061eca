//! The process ends, and another one starts with what lasts.

use ::model::ids::QueueSeq;
use ::queue::{Counts, Message, PagedRange, Queue, RestoredQueue, TtlHistory};

use super::World;

impl World {
    /// Everything in memory is lost but what the journal has.
    pub(super) fn restart(&mut self, is_clean: bool) {
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
        let mut returned: Vec<_> = self.queue.returned().filter(|(seq, ..)| self.model.is_journaled(*seq)).collect();
        returned.sort_unstable_by_key(|(seq, ..)| *seq);
        let model = &mut self.model;
        model.consumers.clear();
        model.drained.clear();
        model.arrivals.clear();
        model.active = None;
        model.turns.clear();
        model.unacked.clear();
        model.grouped.clear();
        let leaving = std::mem::take(&mut model.leaving).into_iter();
        model.counts.extend(leaving.map(|(seq, (_, counts))| (seq, counts)));
        model.counts.retain(|_, counts| *counts != Counts::default());
        model.messages.retain(|_, known| known.note.is_journaled());
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
        let restored = RestoredQueue { next_seq, watermark, ranges, messages, returned, may_expire };
        self.queue = Queue::restore(self.settings, restored);
        self.queue.set_rules(model.rules);
        self.queue.set_groups(model.header.as_deref());
        self.queue.restore_ttls(TtlHistory::of(ttls));
        model.fresh_from = model.next_seq;
        self.queue.resume_waits(model.now_ms);
        model.resume_waits();
    }
}
