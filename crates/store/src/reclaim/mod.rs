//! Getting space back: segments without live messages are removed, others are copied together. See `policy` for when.
//!
//! What is copied lies in two places until the old segments are removed. The moment at which the new place counts is guarded by the
//! checkpointer's lock, so that no checkpoint sees half of it:
//!
//! 1. Copy what is alive to new segments, and sync them. The queues keep using the old ones.
//! 2. Lock the checkpointer. Put the new segments into the catalog, and notify each queue under its shard's lock. What it settled since
//!    (1) it settles again in the new segment; from then on it knows only that.
//! 3. When all have been notified, settle everything in the old segments. Unlock.
//!
//! A crash before the next checkpoint finds the old segments named and alive, and the new ones unknown, which it deletes.
//! The old ones' files are removed after a checkpoint that no longer names them. Segments of transient messages need no checkpoint and are
//! removed at once.

mod copy;
mod policy;

use std::ops::ControlFlow;
use std::sync::Arc;

use model::ids::{QueueId, SegmentId};
pub(crate) use policy::Policy;
use policy::{Job, SegmentFacts};

use crate::QueueOwner;
use crate::catalog::Segment;
use crate::group::FileName;
use crate::segment::SegmentRange;
use crate::shared::Shared;
use crate::trace_points::COMPACT;
use crate::work_error::{WorkError, attempting};

/// Called with the bytes that were read or written; may take its time, and may break the work off.
pub(crate) type RateLimiter<'a> = &'a mut dyn FnMut(u64) -> ControlFlow<()>;

/// What [`Shared::reclaim_once`] did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReclaimReport {
    /// So many segments had nothing alive.
    Removed(usize),
    /// So many segments were copied together into so many new ones.
    Copied {
        /// Segments that were copied from.
        from: usize,
        /// Segments that were written.
        to: usize,
    },
}

impl Shared {
    /// Does the next job of reclaiming, if there is one.
    pub(crate) fn reclaim_once(
        &self,
        owner: &dyn QueueOwner,
        pace: RateLimiter<'_>,
    ) -> Result<Option<ReclaimReport>, WorkError> {
        // A deleted queue's messages are settled here rather than when it is deleted: that may be a walk over every segment.
        let dropped = self.checkpoint_delta.take_dropped();
        if !dropped.is_empty() {
            self.catalog.drop_queues(&dropped);
        }
        let segments: Vec<_> = self.catalog.all().into_iter().filter(|segment| segment.is_reclaimable()).collect();
        let facts: Vec<_> = segments.iter().map(facts_of).collect();
        match self.reclaim_policy()?.plan(&facts) {
            None => Ok(None),
            Some(Job::Remove(ended)) => {
                self.remove_ended(&ended);
                Ok(Some(ReclaimReport::Removed(ended.len())))
            }
            // There may be no room for what is alive in a single one.
            Some(Job::Copy { from, .. }) if !self.has_room_to_copy(&from, &facts)? => Ok(None),
            Some(Job::Copy { from, level }) => {
                let from: Vec<_> =
                    segments.into_iter().filter(|segment| from.binary_search(&segment.id).is_ok()).collect();
                let _call = COMPACT.enter(|arguments| {
                    arguments.number("from_count", from.len());
                });
                let to = self.copy(&from, level, owner, pace)?;
                Ok(Some(ReclaimReport::Copied { from: from.len(), to }))
            }
        }
    }

    /// On a full disk any garbage is worth a copy, as far as there is room for it.
    fn reclaim_policy(&self) -> Result<Policy, WorkError> {
        let usual = self.options.reclaim;
        if !self.is_disk_full() {
            return Ok(usual);
        }
        let copy_len_max = usual.copy_len_max.min(self.copy_room()?).min(self.options.segment_len);
        Ok(Policy { garbage_len_min: 0, copy_len_max, ..usual })
    }

    /// What a copy may take of a full disk: it fills one segment, of which a fifth may be other than messages.
    fn copy_room(&self) -> Result<u64, WorkError> {
        let room = self.reserve.room_for_segment().map_err(attempting("looking at", &self.dir.paths().reserve()))?;
        Ok(room / 5 * 4)
    }

    fn has_room_to_copy(&self, from: &[SegmentId], facts: &[SegmentFacts]) -> Result<bool, WorkError> {
        if !self.is_disk_full() {
            return Ok(true);
        }
        let chosen = facts.iter().filter(|facts| from.binary_search(&facts.id).is_ok());
        Ok(chosen.map(SegmentFacts::live_len).sum::<u64>() <= self.copy_room()?)
    }

    fn remove_ended(&self, ended: &[SegmentId]) {
        let mut checkpointer = self.checkpointer.lock();
        for id in ended {
            self.catalog.remove(*id);
            if id.is_transient() {
                self.remove_segment_file(*id);
            } else {
                self.handles.forget(*id);
                checkpointer.doom(*id);
            }
        }
    }

    /// Whether segments wait for a checkpoint to be removed.
    pub(crate) fn has_doomed(&self) -> bool {
        let checkpointer = self.checkpointer.lock();
        if !checkpointer.has_doomed(|_| false) {
            return false;
        }
        let kept = self.kept_for_others();
        checkpointer.has_doomed(|id| kept.iter().any(|files| files.has(FileName::Segment(id))))
    }
}

fn facts_of(segment: &Arc<Segment>) -> SegmentFacts {
    let (slot_count, live_count) = segment.counts();
    let queue_of = |range: Option<&SegmentRange>| range.map_or(QueueId(0), |range| range.queue);
    SegmentFacts {
        id: segment.id,
        level: segment.level,
        file_len: segment.file_len,
        slot_count,
        live_count,
        range_count: segment.ranges.len() as u32,
        // Ranges are sorted by queue, and there may be very many of them.
        first_queue: queue_of(segment.ranges.first()),
        last_queue: queue_of(segment.ranges.last()),
    }
}
