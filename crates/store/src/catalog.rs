//! The segments there are, and which of their messages are settled.
//!
//! Settling is on the hot path and happens under a shard's lock: it takes the catalog's lock for reading and one
//! segment's lock for as long as setting some bits takes. No I/O happens under either.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use model::ids::{Place, QueueId, SegmentId};
use parking_lot::{Mutex, RwLock};
use queue::MovedMessage;

use crate::bitmap::Bitmap;
use crate::checkpoint::{SegmentState, SegmentView};
use crate::segment::{SegmentRange, WrittenSegment};

/// A finished segment.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) id: SegmentId,
    pub(crate) level: u8,
    pub(crate) file_len: u64,
    pub(crate) ranges: Arc<[SegmentRange]>,
    settled: Mutex<Bitmap>,
    /// All queues know where their messages in it are; before, it must not be reclaimed.
    is_placed: AtomicBool,
    /// Something in it could not be read: it is no longer copied.
    is_damaged: AtomicBool,
    /// Loads that could not be answered, by their first slot: how often.
    failures: Mutex<BTreeMap<u32, u32>>,
    has_failures: AtomicBool,
}

impl Segment {
    pub(crate) fn written(written: WrittenSegment) -> Self {
        let WrittenSegment { id, level, file_len, slot_count, ranges } = written;
        let settled = Mutex::new(Bitmap::new(slot_count));
        Segment {
            id,
            level,
            file_len,
            ranges: ranges.into(),
            settled,
            is_placed: AtomicBool::new(false),
            is_damaged: AtomicBool::new(false),
            failures: Mutex::default(),
            has_failures: AtomicBool::new(false),
        }
    }

    pub(crate) fn recovered(state: SegmentState) -> Self {
        let SegmentState { id, level, file_len, ranges, settled } = state;
        Segment {
            id,
            level,
            file_len,
            ranges: ranges.into(),
            settled: Mutex::new(settled),
            is_placed: AtomicBool::new(true),
            is_damaged: AtomicBool::new(false),
            failures: Mutex::default(),
            has_failures: AtomicBool::new(false),
        }
    }

    /// Whether it may be removed or copied.
    pub(crate) fn is_reclaimable(&self) -> bool {
        let is_ended = || self.settled.lock().is_full();
        self.is_placed.load(Ordering::Acquire) && (!self.is_damaged.load(Ordering::Relaxed) || is_ended())
    }

    /// Says whether this was not known yet.
    pub(crate) fn set_damaged(&self) -> bool {
        !self.is_damaged.swap(true, Ordering::Relaxed)
    }

    /// A load from this slot on failed. Says how often that has happened since one did not.
    pub(crate) fn note_failure(&self, first_slot: u32) -> u32 {
        let mut failures = self.failures.lock();
        self.has_failures.store(true, Ordering::Relaxed);
        let count = failures.entry(first_slot).or_default();
        *count = count.saturating_add(1);
        *count
    }

    /// A load from this slot on was answered.
    pub(crate) fn note_success(&self, first_slot: u32) {
        if self.has_failures.load(Ordering::Relaxed) {
            let mut failures = self.failures.lock();
            failures.remove(&first_slot);
            self.has_failures.store(!failures.is_empty(), Ordering::Relaxed);
        }
    }

    pub(crate) fn set_placed(&self) {
        self.is_placed.store(true, Ordering::Release);
    }

    /// The settled slots as of now.
    pub(crate) fn settled(&self) -> Bitmap {
        self.settled.lock().clone()
    }

    /// What a checkpoint says of it, settled slots as of now.
    pub(crate) fn view(&self) -> SegmentView<'_> {
        let Segment { id, level, file_len, ranges, .. } = self;
        SegmentView { id: *id, level: *level, file_len: *file_len, ranges, settled: Cow::Owned(self.settled()) }
    }

    /// The slots of `[first, end)` that are not settled, as runs.
    pub(crate) fn live_runs(&self, first: u32, end: u32) -> Vec<(u32, u32)> {
        self.settled.lock().clear_runs(first, end)
    }

    /// `(messages, messages alive)`.
    pub(crate) fn counts(&self) -> (u32, u32) {
        let settled = self.settled.lock();
        (settled.slot_count(), settled.slot_count() - settled.set_count())
    }
}

/// All segments, by id.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    segments: RwLock<BTreeMap<SegmentId, Arc<Segment>>>,
}

impl Catalog {
    pub(crate) fn insert(&self, segment: Arc<Segment>) {
        let replaced = self.segments.write().insert(segment.id, segment);
        assert!(replaced.is_none(), "two segments of one id");
    }

    /// Bytes that all that is known of segments takes.
    pub(crate) fn memory_len(&self) -> u64 {
        let of = |segment: &Arc<Segment>| {
            let settled = segment.settled.lock().memory_len();
            size_of::<Segment>() + segment.ranges.len() * size_of::<SegmentRange>() + settled
        };
        self.segments.read().values().map(of).sum::<usize>() as u64
    }

    pub(crate) fn remove(&self, id: SegmentId) {
        self.segments.write().remove(&id);
    }

    pub(crate) fn get(&self, id: SegmentId) -> Option<Arc<Segment>> {
        self.segments.read().get(&id).cloned()
    }

    /// All segments, by rising id.
    pub(crate) fn all(&self) -> Vec<Arc<Segment>> {
        self.segments.read().values().cloned().collect()
    }

    /// Marks messages as settled. Skips places in segments that no longer exist.
    pub(crate) fn settle(&self, places: &[Place]) {
        let mut runs = SlotRuns { rest: places };
        self.settle_runs(&mut || runs.next());
    }

    /// Whether there is a message in this slot that is not settled.
    pub(crate) fn is_alive(&self, place: Place) -> bool {
        self.get(place.segment).is_some_and(|segment| {
            let settled = segment.settled.lock();
            place.slot < settled.slot_count() && !settled.is_set(place.slot)
        })
    }

    /// Those whose old slot is not settled, and the new places of the others.
    pub(crate) fn split_settled(&self, moved: &[MovedMessage]) -> (Vec<MovedMessage>, Vec<Place>) {
        let (mut alive, mut settled) = (Vec::with_capacity(moved.len()), Vec::new());
        for of_segment in moved.chunk_by(|left, right| left.from.segment == right.from.segment) {
            let Some(segment) = of_segment.first().and_then(|moved| self.get(moved.from.segment)) else {
                alive.extend_from_slice(of_segment);
                continue;
            };
            let bits = segment.settled.lock();
            for moved in of_segment {
                if bits.is_set(moved.from.slot) {
                    settled.push(moved.to);
                } else {
                    alive.push(*moved);
                }
            }
        }
        (alive, settled)
    }

    /// Marks runs `(segment, first, end)` of slots as settled.
    pub(crate) fn settle_ranges(&self, ranges: impl Iterator<Item = (SegmentId, u32, u32)>) {
        let mut ranges = ranges;
        self.settle_runs(&mut || ranges.next());
    }

    fn settle_runs(&self, next: &mut dyn FnMut() -> Option<(SegmentId, u32, u32)>) {
        let Some(mut run) = next() else { return };
        let segments = self.segments.read();
        loop {
            let segment = run.0;
            let mut settled = segments.get(&segment).map(|segment| segment.settled.lock());
            loop {
                if let Some(settled) = &mut settled {
                    settled.set(run.1, run.2);
                }
                let Some(following) = next() else { return };
                run = following;
                if run.0 != segment {
                    break;
                }
            }
        }
    }

    /// Marks everything of deleted queues as settled. The ids must be sorted.
    pub(crate) fn drop_queues(&self, queues: &[QueueId]) {
        for segment in self.all() {
            let dropped = segment.ranges.iter().filter(|range| queues.binary_search(&range.queue).is_ok());
            self.settle_ranges(dropped.map(|range| (segment.id, range.first_slot, range.end_slot())));
        }
    }
}

/// Joins places that follow each other into runs of slots.
struct SlotRuns<'a> {
    rest: &'a [Place],
}

impl Iterator for SlotRuns<'_> {
    type Item = (SegmentId, u32, u32);

    fn next(&mut self) -> Option<Self::Item> {
        let (first, mut rest) = self.rest.split_first()?;
        let mut end = first.slot.saturating_add(1);
        while let Some((next, after)) = rest.split_first() {
            if next.segment != first.segment || next.slot != end {
                break;
            }
            end = end.saturating_add(1);
            rest = after;
        }
        self.rest = rest;
        Some((first.segment, first.slot, end))
    }
}

#[cfg(test)]
mod tests {
    use model::ids::QueueSeq;

    use super::*;

    fn segment(id: u32, queues: &[(u64, u32)]) -> Arc<Segment> {
        let mut first_slot = 0;
        let mut ranges = Vec::new();
        for (queue, count) in queues {
            ranges.push(SegmentRange {
                queue: QueueId(*queue),
                first_seq: QueueSeq(1),
                last_seq: QueueSeq(u64::from(*count)),
                offset: 0,
                stored_len: 0,
                body_bytes: 0,
                first_slot,
                count: *count,
                lane: 0,
            });
            first_slot += count;
        }
        let settled = Bitmap::new(first_slot);
        Arc::new(Segment::recovered(SegmentState { id: SegmentId(id), level: 0, file_len: 0, ranges, settled }))
    }

    fn catalog() -> Catalog {
        let catalog = Catalog::default();
        catalog.insert(segment(1, &[(1, 3), (2, 3)]));
        catalog.insert(segment(2, &[(2, 2)]));
        catalog
    }

    fn place(segment: u32, slot: u32) -> Place {
        Place { segment: SegmentId(segment), slot }
    }

    #[track_caller]
    fn check_live(catalog: &Catalog, live: &[(u32, &[(u32, u32)])]) {
        for (id, runs) in live {
            assert_eq!(catalog.get(SegmentId(*id)).unwrap().live_runs(0, u32::MAX), *runs, "segment {id}");
        }
    }

    #[test]
    fn places_settle_their_slots() {
        let catalog = catalog();
        catalog.settle(&[place(1, 1), place(1, 2), place(9, 0), place(2, 0), place(1, 4), place(2, 77)]);
        check_live(&catalog, &[(1, &[(0, 1), (3, 4), (5, 6)]), (2, &[(1, 2)])]);
        catalog.settle(&[place(2, 1)]);
        catalog.settle(&[place(2, 1)]);
        check_live(&catalog, &[(2, &[])]);
        catalog.settle(&[]);
    }

    #[test]
    fn a_deleted_queue_leaves_nothing_alive() {
        let catalog = catalog();
        catalog.drop_queues(&[QueueId(2), QueueId(7)]);
        check_live(&catalog, &[(1, &[(0, 3)]), (2, &[])]);
    }
}
