//! Decides what only a segment's footer can tell: which seqs of a range with holes are in it, and how long what is left alive is.
//! Each footer is read at most once, and only if there is such a question.

use rustc_hash::FxHashMap;

use model::ids::QueueId;
use queue::PagedRange;

use super::replay::{QueueReplay, Replay, SegmentReplay};
use super::{OpenError, live_extent};
use crate::checkpoint::SegmentState;
use crate::file::Disk;
use crate::paths::Paths;
use crate::residents::RecoveredRange;
use crate::segment::{Footer, ReadError, SegmentFile, SegmentRange};

impl Replay {
    /// Decides everything; returns what is alive in segments.
    pub(super) fn resolve(
        &mut self,
        disk: &dyn Disk,
        paths: &Paths,
    ) -> Result<Vec<(QueueId, RecoveredRange)>, OpenError> {
        let mut recovered = Vec::new();
        for segment in &mut self.segments {
            let has_questions = !segment.settled.is_empty() || !segment.published.is_empty();
            let footer = match has_questions || segment.has_partly_settled() {
                true => Some(segment.footer(disk, paths)?),
                false => None,
            };
            if let Some(footer) = &footer {
                segment.settle_undecided(footer);
                segment.forget_published(footer, &mut self.queues);
            }
            recovered.extend(segment.recovered(footer.as_ref()));
        }
        Ok(recovered)
    }

    /// Decides settlements only, to keep few of them.
    pub(super) fn resolve_settled(&mut self, disk: &dyn Disk, paths: &Paths) -> Result<(), OpenError> {
        for segment in self.segments.iter_mut().filter(|segment| !segment.settled.is_empty()) {
            let footer = segment.footer(disk, paths)?;
            segment.settle_undecided(&footer);
        }
        Ok(())
    }
}

impl SegmentReplay {
    fn footer(&self, disk: &dyn Disk, paths: &Paths) -> Result<Footer, OpenError> {
        let SegmentState { id, file_len, ranges, .. } = &self.state;
        let path = paths.segment(*id);
        let (file, footer) = SegmentFile::open(disk, &path, *id)?;
        if file.file_len() != *file_len || footer.ranges() != ranges.as_slice() {
            let what = "another segment than the checkpoint names";
            return Err(ReadError::Corrupt { path, offset: 0, what }.into());
        }
        Ok(footer)
    }

    fn is_partly_settled(&self, range: &SegmentRange) -> bool {
        if self.state.settled.set_count() == 0 {
            return false;
        }
        let settled_count = self.state.settled.count(range.first_slot, range.end_slot());
        settled_count > 0 && settled_count < range.count
    }

    fn has_partly_settled(&self) -> bool {
        self.state.settled.set_count() > 0 && self.state.ranges.iter().any(|range| self.is_partly_settled(range))
    }

    fn settle_undecided(&mut self, footer: &Footer) {
        for (index, mut seqs) in self.settled.drain() {
            seqs.sort_unstable();
            let mut seqs = seqs.into_iter().peekable();
            for slot in footer.slots(index as usize) {
                while seqs.next_if(|(_, last)| *last < slot.seq).is_some() {}
                if seqs.peek().is_some_and(|(first, _)| *first <= slot.seq) {
                    self.state.settled.set(slot.slot, slot.slot + 1);
                }
            }
        }
    }

    /// Messages that the journal gave and that are in this segment are not in memory.
    fn forget_published(&mut self, footer: &Footer, queues: &mut FxHashMap<QueueId, QueueReplay>) {
        for index in self.published.drain() {
            let Some(queue) = queues.get_mut(&self.state.ranges[index as usize].queue) else { continue };
            for slot in footer.slots(index as usize) {
                queue.messages.forget(slot.seq);
            }
        }
    }

    fn recovered(&self, footer: Option<&Footer>) -> impl Iterator<Item = (QueueId, RecoveredRange)> {
        self.state.ranges.iter().enumerate().filter_map(move |(index, range)| {
            let settled = &self.state.settled;
            let (first_slot, end_slot) = live_extent(settled, range.first_slot, range.end_slot())?;
            let mut recovered = PagedRange {
                segment: self.state.id,
                first_slot,
                end_slot,
                count: range.count,
                bytes: range.body_bytes,
                first_seq: range.first_seq,
                last_seq: range.last_seq,
            };
            if let Some(footer) = footer.filter(|_| self.is_partly_settled(range)) {
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
}
