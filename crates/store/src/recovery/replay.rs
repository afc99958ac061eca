//! Applies the journal's records to what the checkpoint says.

use std::collections::{BTreeMap, HashMap, VecDeque};

use rustc_hash::{FxHashMap, FxHashSet};

use model::ids::{QueueId, QueueSeq};

use super::{OpenError, Recovered};
use crate::checkpoint::{Checkpoint, SegmentState};
use crate::file::Disk;
use crate::journal::Record;
use crate::paths::Paths;
use crate::{Content, Returns};

/// Undecided settlements that are kept before footers are read for them: bounds memory.
const UNDECIDED_COUNT_MAX: usize = 1 << 20;

/// The state as far as it has been replayed.
pub(super) struct Replay {
    pub(super) definitions: BTreeMap<Vec<u8>, Vec<u8>>,
    pub(super) queues: FxHashMap<QueueId, QueueReplay>,
    pub(super) segments: Vec<SegmentReplay>,
    was_clean: bool,
    /// Settlements that a footer must decide.
    undecided_count: usize,
}

/// One queue.
pub(super) struct QueueReplay {
    pub(super) next_seq: QueueSeq,
    pub(super) watermark: Option<QueueSeq>,
    pub(super) messages: Messages,
    pub(super) ranges: Ranges,
    pub(super) returned: BTreeMap<QueueSeq, Returns>,
    pub(super) may_expire: bool,
}

impl QueueReplay {
    fn new() -> Self {
        QueueReplay {
            next_seq: QueueSeq::FIRST,
            watermark: None,
            messages: Messages::default(),
            ranges: Ranges::default(),
            returned: BTreeMap::new(),
            may_expire: false,
        }
    }

    fn name(&mut self, seq: QueueSeq) {
        self.next_seq = self.next_seq.max(QueueSeq(seq.0.saturating_add(1)));
    }
}

/// One segment, and what its footer must decide.
pub(super) struct SegmentReplay {
    pub(super) state: SegmentState,
    /// Settled seqs by index of the range.
    pub(super) settled: HashMap<u32, Vec<(QueueSeq, QueueSeq)>>,
    /// Indexes of ranges with holes, in one of which a published message may be.
    pub(super) published: FxHashSet<u32>,
}

impl Replay {
    pub(super) fn new(checkpoint: Checkpoint) -> Self {
        let mut queues: FxHashMap<QueueId, QueueReplay> = FxHashMap::default();
        queues.reserve(checkpoint.queues.len());
        for state in checkpoint.queues {
            let queue = queues.entry(state.queue).or_insert_with(QueueReplay::new);
            (queue.next_seq, queue.watermark) = (state.next_seq, state.watermark);
            queue.may_expire = state.may_expire;
        }
        for (queue, seq, returns) in checkpoint.returned {
            queues.entry(queue).or_insert_with(QueueReplay::new).returned.insert(seq, returns);
        }
        for (index, segment) in checkpoint.segments.iter().enumerate() {
            for (range_index, range) in segment.ranges.iter().enumerate() {
                let queue = queues.entry(range.queue).or_insert_with(QueueReplay::new);
                queue.name(range.last_seq);
                queue.ranges.push(RangeRef {
                    first_seq: range.first_seq,
                    last_seq: range.last_seq,
                    segment: index as u32,
                    range: range_index as u32,
                });
            }
        }
        queues.values_mut().for_each(|queue| queue.ranges.sort());
        let segment = |state| SegmentReplay { state, settled: HashMap::new(), published: FxHashSet::default() };
        Replay {
            definitions: checkpoint.definitions,
            queues,
            segments: checkpoint.segments.into_iter().map(segment).collect(),
            was_clean: false,
            undecided_count: 0,
        }
    }

    pub(super) fn apply(&mut self, record: Record<'_>) {
        self.was_clean = matches!(record, Record::CleanShutdown);
        match record {
            Record::Publish { content, targets } => {
                for (queue, seq) in targets {
                    self.publish(queue, seq, &content);
                }
            }
            Record::Settle { queue, first, last } => self.settle(queue, first, last),
            Record::Watermark { queue, seq } => {
                let queue = self.queue(queue);
                queue.watermark = seq;
                if let Some(seq) = seq {
                    queue.name(seq);
                }
            }
            Record::DropQueue { queue } => self.drop_queue(queue),
            Record::Put { key, value } => {
                self.definitions.insert(key.to_vec(), value.to_vec());
            }
            Record::Delete { key } => {
                self.definitions.remove(key);
            }
            Record::Returned { queue, seq, returns } => {
                let queue = self.queue(queue);
                queue.name(seq);
                queue.returned.insert(seq, returns);
            }
            Record::CleanShutdown => {}
            // Some watermark may have been among what is lost.
            Record::Lost { .. } => self.queues.values_mut().for_each(|queue| queue.watermark = None),
        }
    }

    fn queue(&mut self, queue: QueueId) -> &mut QueueReplay {
        self.queues.entry(queue).or_insert_with(QueueReplay::new)
    }

    fn publish(&mut self, id: QueueId, seq: QueueSeq, content: &Content) {
        let queue = self.queues.entry(id).or_insert_with(QueueReplay::new);
        queue.name(seq);
        for found in queue.ranges.overlapping(seq, seq) {
            let segment = &mut self.segments[found.segment as usize];
            if segment.state.ranges[found.range as usize].is_contiguous() {
                return;
            }
            segment.published.insert(found.range);
        }
        queue.messages.insert(seq, content.clone());
    }

    fn settle(&mut self, id: QueueId, first: QueueSeq, last: QueueSeq) {
        let queue = self.queues.entry(id).or_insert_with(QueueReplay::new);
        queue.name(last);
        queue.messages.remove(first, last);
        while let Some((&seq, _)) = queue.returned.range(first..=last).next() {
            queue.returned.remove(&seq);
        }
        for found in queue.ranges.overlapping(first, last) {
            let is_decided = self.segments[found.segment as usize].settle(found.range, first, last);
            self.undecided_count += usize::from(!is_decided);
        }
    }

    fn drop_queue(&mut self, id: QueueId) {
        let Some(queue) = self.queues.remove(&id) else { return };
        for found in queue.ranges.all {
            self.segments[found.segment as usize].settle(found.range, QueueSeq(0), QueueSeq(u64::MAX));
        }
    }

    /// Decides settlements when many are undecided.
    pub(super) fn thin_out(&mut self, disk: &dyn Disk, paths: &Paths) -> Result<(), OpenError> {
        if self.undecided_count <= UNDECIDED_COUNT_MAX {
            return Ok(());
        }
        self.undecided_count = 0;
        self.resolve_settled(disk, paths)
    }

    /// Decides what only footers can tell.
    pub(super) fn finish(
        mut self,
        disk: &dyn Disk,
        paths: &Paths,
    ) -> Result<(Recovered, Vec<SegmentState>), OpenError> {
        let ranges = self.resolve(disk, paths)?;
        let Replay { definitions, queues, segments, was_clean, .. } = self;
        let queues = queues.into_iter().map(|(id, queue)| (id, queue.recovered())).collect();
        let mut recovered = Recovered { definitions, queues, was_clean };
        for (queue, range) in ranges {
            if let Some(queue) = recovered.queues.get_mut(&queue) {
                queue.ranges.push(range);
            }
        }
        for queue in recovered.queues.values_mut() {
            queue.ranges.sort_by_key(|recovered| (recovered.lane, recovered.range.first_seq, recovered.range.segment));
        }
        Ok((recovered, segments.into_iter().map(|segment| segment.state).collect()))
    }
}

impl SegmentReplay {
    /// Settles the seqs of a range. False: the footer must tell which slots these are.
    fn settle(&mut self, index: u32, first: QueueSeq, last: QueueSeq) -> bool {
        let range = self.state.ranges[index as usize];
        let (first, last) = (first.max(range.first_seq), last.min(range.last_seq));
        if first == range.first_seq && last == range.last_seq {
            self.state.settled.set(range.first_slot, range.end_slot());
            true
        } else if range.is_contiguous() {
            // The differences fit: they are below the range's count of slots.
            let slot = |seq: QueueSeq| range.first_slot + (seq.0 - range.first_seq.0) as u32;
            self.state.settled.set(slot(first), slot(last) + 1);
            true
        } else {
            let undecided = self.settled.entry(index).or_default();
            match undecided.last_mut() {
                Some(before) if before.1.0 + 1 == first.0 => before.1 = last,
                _ => undecided.push((first, last)),
            }
            false
        }
    }
}

/// The messages of a queue that the journal holds, by rising seq.
#[derive(Default)]
pub(super) struct Messages {
    /// `None`: settled.
    by_seq: VecDeque<(QueueSeq, Option<Content>)>,
}

impl Messages {
    fn insert(&mut self, seq: QueueSeq, content: Content) {
        // Seqs rise in the journal, so this is nearly always the end.
        let at = match self.by_seq.back() {
            Some((last, _)) if *last >= seq => self.by_seq.partition_point(|(other, _)| *other < seq),
            _ => self.by_seq.len(),
        };
        if self.by_seq.get(at).is_none_or(|(other, _)| *other != seq) {
            self.by_seq.insert(at, (seq, Some(content)));
        }
    }

    /// The message turned out to be in a segment.
    pub(super) fn forget(&mut self, seq: QueueSeq) {
        self.remove(seq, seq);
    }

    fn remove(&mut self, first: QueueSeq, last: QueueSeq) {
        let mut at = self.by_seq.partition_point(|(seq, _)| *seq < first);
        while let Some((_, content)) = self.by_seq.get_mut(at).filter(|(seq, _)| *seq <= last) {
            *content = None;
            at += 1;
        }
        while let Some((_, None)) = self.by_seq.front() {
            self.by_seq.pop_front();
        }
    }
}

impl QueueReplay {
    fn recovered(self) -> super::RecoveredQueue {
        let messages = self.messages.by_seq.into_iter();
        super::RecoveredQueue {
            next_seq: self.next_seq,
            watermark: self.watermark,
            ranges: Vec::new(),
            messages: messages.filter_map(|(seq, content)| Some((seq, content?))).collect(),
            returned: self.returned.into_iter().collect(),
            may_expire: self.may_expire,
        }
    }
}

/// Where messages of a queue are in segments.
#[derive(Debug, Clone, Copy)]
pub(super) struct RangeRef {
    first_seq: QueueSeq,
    last_seq: QueueSeq,
    segment: u32,
    range: u32,
}

/// A queue's ranges, by rising first seq. Those of different lanes overlap.
#[derive(Default)]
pub(super) struct Ranges {
    all: Vec<RangeRef>,
    /// The highest last seq of this range and all before it.
    reach: Vec<QueueSeq>,
}

impl Ranges {
    fn push(&mut self, range: RangeRef) {
        self.all.push(range);
    }

    fn sort(&mut self) {
        self.all.sort_by_key(|range| (range.first_seq, range.last_seq));
        let mut reach = QueueSeq(0);
        self.reach.clear();
        for range in &self.all {
            reach = reach.max(range.last_seq);
            self.reach.push(reach);
        }
    }

    /// The ranges that may hold one of these seqs.
    fn overlapping(&self, first: QueueSeq, last: QueueSeq) -> impl Iterator<Item = RangeRef> {
        // Nearly always a message comes after all of its queue that are in segments.
        let is_beyond = self.reach.last().is_none_or(|reach| *reach < first);
        let end = if is_beyond { 0 } else { self.all.partition_point(|range| range.first_seq <= last) };
        let start = if is_beyond { 0 } else { self.reach.partition_point(|reach| *reach < first).min(end) };
        self.all[start..end].iter().copied().filter(move |range| range.last_seq >= first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(seqs: &[(u64, u64)]) -> Ranges {
        let mut ranges = Ranges::default();
        for (index, (first, last)) in seqs.iter().enumerate() {
            let (first_seq, last_seq) = (QueueSeq(*first), QueueSeq(*last));
            ranges.push(RangeRef { first_seq, last_seq, segment: index as u32, range: 0 });
        }
        ranges.sort();
        ranges
    }

    #[track_caller]
    fn check_overlapping(ranges: &Ranges, seqs: (u64, u64), expected: &[u32]) {
        let mut found: Vec<u32> =
            ranges.overlapping(QueueSeq(seqs.0), QueueSeq(seqs.1)).map(|range| range.segment).collect();
        found.sort_unstable();
        assert_eq!(found, expected);
    }

    #[test]
    fn ranges_of_several_lanes_are_all_found() {
        let ranges = ranges(&[(1, 10), (11, 20), (5, 100), (30, 40)]);
        check_overlapping(&ranges, (1, 1), &[0]);
        check_overlapping(&ranges, (5, 5), &[0, 2]);
        check_overlapping(&ranges, (50, 60), &[2]);
        check_overlapping(&ranges, (20, 30), &[1, 2, 3]);
        check_overlapping(&ranges, (101, u64::MAX), &[]);
        check_overlapping(&Ranges::default(), (0, u64::MAX), &[]);
    }
}
