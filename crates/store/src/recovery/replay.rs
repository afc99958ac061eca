//! Applies the journal's records to what the checkpoint says.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use model::ids::{QueueId, QueueSeq};

use super::messages::Messages;
use super::{OpenError, RecoveredStore};
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
    pub(super) segments: Vec<SegmentState>,
    was_clean: bool,
    /// Settlements that a footer must decide.
    undecided_count: usize,
}

/// One queue.
pub(super) struct QueueReplay {
    pub(super) next_seq: QueueSeq,
    pub(super) watermark: Option<QueueSeq>,
    pub(super) messages: Messages,
    /// Where messages are in segments, no seq missing between.
    dense: Ranges,
    /// Where some are.
    sparse: Ranges,
    /// What has been settled that may be in sparse ranges: footers decide.
    pub(super) settled: SeqRuns,
    pub(super) returned: BTreeMap<QueueSeq, Returns>,
    pub(super) may_expire: bool,
}

impl QueueReplay {
    fn new() -> Self {
        QueueReplay {
            next_seq: QueueSeq::FIRST,
            watermark: None,
            messages: Messages::default(),
            dense: Ranges::default(),
            sparse: Ranges::default(),
            settled: SeqRuns::default(),
            returned: BTreeMap::new(),
            may_expire: false,
        }
    }

    fn name(&mut self, seq: QueueSeq) {
        self.next_seq = self.next_seq.max(QueueSeq(seq.0.saturating_add(1)));
    }
}

/// Settled seqs as runs `(first, last)`.
#[derive(Default)]
pub(super) struct SeqRuns {
    runs: Vec<(QueueSeq, QueueSeq)>,
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
                let ranges = if range.is_contiguous() { &mut queue.dense } else { &mut queue.sparse };
                ranges.push(RangeRef {
                    first_seq: range.first_seq,
                    last_seq: range.last_seq,
                    segment: index as u32,
                    range: range_index as u32,
                });
            }
        }
        for queue in queues.values_mut() {
            queue.dense.sort();
            queue.sparse.sort();
        }
        Replay {
            definitions: checkpoint.definitions,
            queues,
            segments: checkpoint.segments,
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
        if queue.dense.overlapping(seq, seq).next().is_none() {
            queue.messages.insert(seq, content.clone());
        }
    }

    fn settle(&mut self, id: QueueId, first: QueueSeq, last: QueueSeq) {
        let queue = self.queues.entry(id).or_insert_with(QueueReplay::new);
        queue.name(last);
        queue.messages.remove(first, last);
        while let Some((&seq, _)) = queue.returned.range(first..=last).next() {
            queue.returned.remove(&seq);
        }
        for found in queue.dense.overlapping(first, last) {
            let segment = &mut self.segments[found.segment as usize];
            let range = segment.ranges[found.range as usize];
            // The differences fit: they are below the range's count of slots.
            let slot = |seq: QueueSeq| range.first_slot + (seq.0 - range.first_seq.0) as u32;
            segment.settled.set(slot(first.max(range.first_seq)), slot(last.min(range.last_seq)) + 1);
        }
        if queue.sparse.overlapping(first, last).next().is_some() {
            self.undecided_count += usize::from(queue.settled.push(first, last));
        }
    }

    fn drop_queue(&mut self, id: QueueId) {
        let Some(queue) = self.queues.remove(&id) else { return };
        for found in queue.dense.all.into_iter().chain(queue.sparse.all) {
            let segment = &mut self.segments[found.segment as usize];
            let range = segment.ranges[found.range as usize];
            segment.settled.set(range.first_slot, range.end_slot());
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

    /// Decides what only footers show.
    pub(super) fn finish(
        mut self,
        disk: &dyn Disk,
        paths: &Paths,
    ) -> Result<(RecoveredStore, Vec<SegmentState>), OpenError> {
        let ranges = self.resolve(disk, paths)?;
        let Replay { definitions, queues, segments, was_clean, .. } = self;
        let queues = queues.into_iter().map(|(id, queue)| (id, queue.recovered())).collect();
        let mut recovered = RecoveredStore { definitions, queues, was_clean };
        for (queue, range) in ranges {
            if let Some(queue) = recovered.queues.get_mut(&queue) {
                queue.ranges.push(range);
            }
        }
        for queue in recovered.queues.values_mut() {
            queue.ranges.sort_by_key(|recovered| (recovered.lane, recovered.range.first_seq, recovered.range.segment));
        }
        Ok((recovered, segments))
    }
}

impl SeqRuns {
    /// Adds a run, to the last one if that is its neighbour. Whether there are more of them now.
    pub(super) fn push(&mut self, first: QueueSeq, last: QueueSeq) -> bool {
        match self.runs.last_mut() {
            Some(before) if before.1.0.checked_add(1) == Some(first.0) => {
                before.1 = last;
                false
            }
            _ => {
                self.runs.push((first, last));
                true
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(QueueSeq, QueueSeq)> {
        self.runs.iter()
    }

    /// Sorts them and joins what overlaps.
    pub(super) fn sort(&mut self) {
        self.runs.sort_unstable();
        self.runs.dedup_by(|next, run| {
            let is_joined = next.0.0 <= run.1.0.saturating_add(1);
            if is_joined {
                run.1 = run.1.max(next.1);
            }
            is_joined
        });
    }

    /// Of sorted runs, those that may have seqs between these.
    pub(super) fn overlapping(&self, first: QueueSeq, last: QueueSeq) -> &[(QueueSeq, QueueSeq)] {
        let start = self.runs.partition_point(|run| run.1 < first);
        let end = self.runs.partition_point(|run| run.0 <= last).max(start);
        &self.runs[start..end]
    }

    pub(super) fn clear(&mut self) {
        *self = SeqRuns::default();
    }
}

impl QueueReplay {
    fn recovered(self) -> super::RecoveredQueue {
        super::RecoveredQueue {
            next_seq: self.next_seq,
            watermark: self.watermark,
            ranges: Vec::new(),
            messages: self.messages.into_sorted(),
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
