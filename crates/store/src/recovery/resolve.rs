//! Decides what only a segment's footer shows: which seqs of a range with holes are in it, and how long what is left alive is.
//! Each footer is read at most once, and only if there is such a question.

use rustc_hash::FxHashMap;

use model::ids::{QueueId, QueueSeq};
use queue::PagedRange;

use super::replay::{QueueReplay, Replay};
use super::{OpenError, live_extent, open_segment};
use crate::checkpoint::SegmentState;
use crate::file::Disk;
use crate::paths::Paths;
use crate::queue_owner::RecoveredRange;
use crate::segment::{Footer, SegmentRange};

impl Replay {
    /// Decides everything; returns what is alive in segments.
    pub(super) fn resolve(
        &mut self,
        disk: &dyn Disk,
        paths: &Paths,
    ) -> Result<Vec<(QueueId, RecoveredRange)>, OpenError> {
        for queue in self.queues.values_mut() {
            queue.messages.sort();
            queue.settled.sort();
        }
        let mut recovered = Vec::new();
        for segment in &mut self.segments {
            let mut footer = None;
            if settle_undecided(segment, &self.queues) || has_published(segment, &self.queues) {
                let read = open_segment(disk, paths, segment)?;
                settle_by_footer(segment, &read, &self.queues);
                forget_published(segment, &read, &mut self.queues);
                footer = Some(read);
            }
            if footer.is_none() && has_partly_settled(segment) {
                footer = Some(open_segment(disk, paths, segment)?);
            }
            recovered.extend(recovered_ranges(segment, footer.as_ref()));
        }
        Ok(recovered)
    }

    /// Decides settlements only, to keep few of them.
    pub(super) fn resolve_settled(&mut self, disk: &dyn Disk, paths: &Paths) -> Result<(), OpenError> {
        self.queues.values_mut().for_each(|queue| queue.settled.sort());
        for segment in &mut self.segments {
            if settle_undecided(segment, &self.queues) {
                let footer = open_segment(disk, paths, segment)?;
                settle_by_footer(segment, &footer, &self.queues);
            }
        }
        self.queues.values_mut().for_each(|queue| queue.settled.clear());
        Ok(())
    }
}

type Queues = FxHashMap<QueueId, QueueReplay>;

/// The runs of settled seqs of which some may be in a range that has holes.
fn undecided<'a>(range: &SegmentRange, queues: &'a Queues) -> &'a [(QueueSeq, QueueSeq)] {
    match queues.get(&range.queue) {
        Some(queue) if !queue.settled.is_empty() && !range.is_contiguous() => {
            queue.settled.overlapping(range.first_seq, range.last_seq)
        }
        _ => &[],
    }
}

/// Settles ranges as a whole where that is right. Whether there are others.
fn settle_undecided(segment: &mut SegmentState, queues: &Queues) -> bool {
    let mut has_others = false;
    for range in &segment.ranges {
        match undecided(range, queues) {
            [] => {}
            [(first, last)] if *first <= range.first_seq && range.last_seq <= *last => {
                segment.settled.set(range.first_slot, range.end_slot());
            }
            // What nothing is alive in has no questions.
            _ => has_others |= segment.settled.next_clear(range.first_slot, range.end_slot()).is_some(),
        }
    }
    has_others
}

fn settle_by_footer(segment: &mut SegmentState, footer: &Footer, queues: &Queues) {
    for (index, range) in segment.ranges.iter().enumerate() {
        let mut runs = undecided(range, queues);
        if runs.is_empty() {
            continue;
        }
        for slot in footer.slots(index) {
            while runs.first().is_some_and(|(_, last)| *last < slot.seq) {
                runs = &runs[1..];
            }
            let Some((first, _)) = runs.first() else { break };
            if *first <= slot.seq {
                segment.settled.set(slot.slot, slot.slot + 1);
            }
        }
    }
}

/// Whether a message that the journal gave may be in a range that has holes.
fn may_have_published(range: &SegmentRange, queues: &Queues) -> bool {
    let queue = queues.get(&range.queue).filter(|_| !range.is_contiguous());
    queue.is_some_and(|queue| queue.messages.has_some(range.first_seq, range.last_seq))
}

fn has_published(segment: &SegmentState, queues: &Queues) -> bool {
    segment.ranges.iter().any(|range| may_have_published(range, queues))
}

/// Messages that the journal gave and that are in this segment are not in memory.
fn forget_published(segment: &SegmentState, footer: &Footer, queues: &mut Queues) {
    for (index, range) in segment.ranges.iter().enumerate() {
        if may_have_published(range, queues)
            && let Some(queue) = queues.get_mut(&range.queue)
        {
            queue.messages.forget(footer.slots(index).map(|slot| slot.seq));
        }
    }
}

fn is_partly_settled(segment: &SegmentState, range: &SegmentRange) -> bool {
    if segment.settled.set_count() == 0 {
        return false;
    }
    let settled_count = segment.settled.count(range.first_slot, range.end_slot());
    settled_count > 0 && settled_count < range.count
}

fn has_partly_settled(segment: &SegmentState) -> bool {
    segment.settled.set_count() > 0 && segment.ranges.iter().any(|range| is_partly_settled(segment, range))
}

/// What is alive in a segment.
fn recovered_ranges(
    segment: &SegmentState,
    footer: Option<&Footer>,
) -> impl Iterator<Item = (QueueId, RecoveredRange)> {
    segment.ranges.iter().enumerate().filter_map(move |(index, range)| {
        let settled = &segment.settled;
        let (first_slot, end_slot) = live_extent(settled, range.first_slot, range.end_slot())?;
        let mut recovered = PagedRange {
            segment: segment.id,
            first_slot,
            end_slot,
            count: range.count,
            bytes: range.body_bytes,
            first_seq: range.first_seq,
            last_seq: range.last_seq,
        };
        if let Some(footer) = footer.filter(|_| is_partly_settled(segment, range)) {
            let mut alive = footer.slots(index).filter(|slot| !settled.is_set(slot.slot)).peekable();
            recovered.first_seq = alive.peek().map_or(range.first_seq, |slot| slot.seq);
            (recovered.count, recovered.bytes) = (0, 0);
            for slot in alive {
                recovered.count += 1;
                recovered.bytes += u64::from(slot.body_len);
                recovered.last_seq = slot.seq;
            }
        }
        Some((range.queue, RecoveredRange { lane: range.lane, range: recovered }))
    })
}
