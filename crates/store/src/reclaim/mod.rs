//! Getting space back: segments that nothing in is alive go, others are copied together. See `policy` for when.
//!
//! What is copied lies in two places until the old segments go. The moment at which the new place counts is guarded by the
//! checkpointer's lock, so that no checkpoint sees half of it:
//!
//! 1. Copy what is alive to new segments, and sync them. The queues go on with the old ones.
//! 2. Lock the checkpointer. Put the new segments into the catalog, and tell each queue under its shard's lock. What it settled since
//!    (1) it settles again in the new segment; from then on it knows only that.
//! 3. When all have been told, settle everything in the old segments. Unlock.
//!
//! A crash before the next checkpoint finds the old segments named and alive, and the new ones unknown, which it deletes.
//! The old ones' files go after a checkpoint that no longer names them. Segments of transient messages need no
//! checkpoint and go at once.

mod copy;
mod policy;

use std::ops::ControlFlow;
use std::sync::Arc;

use model::ids::{QueueId, SegmentId};
pub(crate) use policy::Policy;
use policy::{Job, SegmentFacts};

use crate::Residents;
use crate::catalog::Segment;
use crate::segment::SegmentRange;
use crate::shared::{Shared, WorkError};

/// Called with the bytes that were read or written; may take its time, and may break the work off.
pub(crate) type Pace<'a> = &'a mut dyn FnMut(u64) -> ControlFlow<()>;

/// What [`Shared::reclaim_once`] did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reclaimed {
    /// So many segments had nothing alive.
    Removed(usize),
    /// So many segments were copied together into so many new ones.
    Copied {
        /// Segments that went into it.
        from: usize,
        /// Segments that came of it.
        to: usize,
    },
}

impl Shared {
    /// Does the next job of reclaiming, if there is one.
    pub(crate) fn reclaim_once(
        &self,
        residents: &dyn Residents,
        pace: Pace<'_>,
    ) -> Result<Option<Reclaimed>, WorkError> {
        // A deleted queue's messages are settled here rather than when it is deleted: that may be a walk over every segment.
        let dropped = self.books.take_dropped();
        if !dropped.is_empty() {
            self.catalog.drop_queues(&dropped);
        }
        let segments: Vec<_> = self.catalog.all().into_iter().filter(|segment| segment.is_reclaimable()).collect();
        let facts: Vec<_> = segments.iter().map(facts_of).collect();
        match self.options.reclaim.plan(&facts) {
            None => Ok(None),
            Some(Job::Remove(ended)) => {
                self.remove_ended(&ended);
                Ok(Some(Reclaimed::Removed(ended.len())))
            }
            Some(Job::Copy { from, level }) => {
                let from: Vec<_> =
                    segments.into_iter().filter(|segment| from.binary_search(&segment.id).is_ok()).collect();
                let to = self.copy(&from, level, residents, pace)?;
                Ok(Some(Reclaimed::Copied { from: from.len(), to }))
            }
        }
    }

    fn remove_ended(&self, ended: &[SegmentId]) {
        let mut checkpointer = self.checkpointer.lock();
        for id in ended {
            self.catalog.remove(*id);
            if id.is_transient() {
                self.remove_segment_file(*id);
            } else {
                self.handles.forget(*id);
                checkpointer.doomed.push(*id);
            }
        }
    }

    /// Whether segments wait for a checkpoint to be removed.
    pub(crate) fn has_doomed(&self) -> bool {
        let checkpointer = self.checkpointer.lock();
        checkpointer.doomed.iter().any(|id| !checkpointer.pinned.has_segment(*id))
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
