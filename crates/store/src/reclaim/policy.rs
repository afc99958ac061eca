//! Which segments to reclaim next: a decision over a few numbers of each. Pure, so that every rule is a test.
//!
//! 1. Fully settled segments are removed.
//! 2. Once settled messages take more than half as much room as live ones (and more than a floor), the emptiest segments are
//!    copied together. A backlog that is merely being consumed front to back never gets there: its segments
//!    end by themselves.
//! 3. Segments whose ranges are short are merged by tiers: when so many of one level overlap (hold messages of the
//!    same queues), they become one run of the next level, cut by queues into segments that do not overlap. Each message is
//!    copied once a level, and a queue has at most a few ranges a level.

use model::ids::{QueueId, SegmentId};

use crate::segment::SLOT_COUNT_MAX;

/// A range shorter than this costs a seek for little: its segment is worth merging.
const RANGE_LEN_MIN: u64 = 256 << 10;

/// One copy reads from so many segments: each has its buffers.
const SOURCE_COUNT_MAX: usize = 32;

/// One copy handles so many messages. All of them may be written to one segment: its length is looked at from range to range only.
const COPY_COUNT_MAX: u64 = 1 << 22;
const _: () = assert!(COPY_COUNT_MAX <= SLOT_COUNT_MAX as u64, "a segment has no more slots");

/// What the decision needs to know of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentFacts {
    pub(crate) id: SegmentId,
    pub(crate) level: u8,
    pub(crate) file_len: u64,
    pub(crate) slot_count: u32,
    pub(crate) live_count: u32,
    pub(crate) range_count: u32,
    pub(crate) first_queue: QueueId,
    pub(crate) last_queue: QueueId,
}

impl SegmentFacts {
    /// Bytes of live messages, near enough: they are taken to be as long as the settled ones.
    pub(super) fn live_len(&self) -> u64 {
        if self.slot_count == 0 {
            return 0;
        }
        (u128::from(self.file_len) * u128::from(self.live_count) / u128::from(self.slot_count)) as u64
    }

    fn garbage_len(&self) -> u64 {
        self.file_len - self.live_len()
    }

    fn has_short_ranges(&self) -> bool {
        self.live_len() / u64::from(self.range_count.max(1)) < RANGE_LEN_MIN
    }

    fn spans(&self, queue: QueueId) -> bool {
        (self.first_queue..=self.last_queue).contains(&queue)
    }
}

/// How eagerly space is reclaimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Policy {
    /// Less garbage than this is never worth copying.
    pub(crate) garbage_len_min: u64,
    /// So many overlapping segments of a level are merged.
    pub(crate) fanout: usize,
    /// One copy handles about so many live bytes,
    pub(crate) copy_len_max: u64,
    /// and so many live messages.
    pub(crate) copy_count_max: u64,
}

impl Default for Policy {
    fn default() -> Self {
        Policy { garbage_len_min: 256 << 20, fanout: 8, copy_len_max: 512 << 20, copy_count_max: COPY_COUNT_MAX }
    }
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Job {
    /// Nothing in these is alive.
    Remove(Vec<SegmentId>),
    /// Copy what is alive in these into new segments of this level.
    Copy { from: Vec<SegmentId>, level: u8 },
}

impl Policy {
    /// The next job, if there is any. Segments that last and others never share one, except for removal.
    pub(crate) fn plan(&self, segments: &[SegmentFacts]) -> Option<Job> {
        let ended: Vec<_> =
            segments.iter().filter(|segment| segment.live_count == 0).map(|segment| segment.id).collect();
        if !ended.is_empty() {
            return Some(Job::Remove(ended));
        }
        let (transient, journaled): (Vec<_>, Vec<_>) =
            segments.iter().copied().partition(|facts| facts.id.is_transient());
        [journaled, transient].iter().find_map(|kind| self.plan_garbage(kind).or_else(|| self.plan_merge(kind)))
    }

    fn plan_garbage(&self, segments: &[SegmentFacts]) -> Option<Job> {
        let garbage: u64 = segments.iter().map(SegmentFacts::garbage_len).sum();
        let live: u64 = segments.iter().map(SegmentFacts::live_len).sum();
        if garbage <= self.garbage_len_min.max(live / 2) {
            return None;
        }
        let mut emptiest: Vec<_> =
            segments.iter().filter(|segment| segment.garbage_len() >= segment.live_len()).collect();
        emptiest.sort_by_key(|segment| (segment.live_len() * 1000 / segment.file_len.max(1), segment.id));
        let chosen = self.first_that_fit(emptiest.into_iter());
        let level = chosen.iter().map(|segment| segment.level).max()?;
        // Copying one alone is worth it too: at least half of it is freed.
        Some(Job::Copy { from: ids(&chosen), level })
    }

    fn plan_merge(&self, segments: &[SegmentFacts]) -> Option<Job> {
        let short: Vec<_> = segments.iter().filter(|segment| segment.has_short_ranges()).collect();
        let mut levels: Vec<u8> = short.iter().map(|segment| segment.level).collect();
        levels.sort_unstable();
        levels.dedup();
        levels.into_iter().find_map(|level| {
            let of_level: Vec<_> = short.iter().copied().filter(|segment| segment.level == level).collect();
            let overlapping = deepest(&of_level);
            if overlapping.len() < self.fanout {
                return None;
            }
            let chosen = self.first_that_fit(overlapping.into_iter());
            (chosen.len() > 1).then(|| Job::Copy { from: ids(&chosen), level: level.saturating_add(1) })
        })
    }

    /// As many from the front as one copy may handle, at least one.
    fn first_that_fit<'a>(&self, segments: impl Iterator<Item = &'a SegmentFacts>) -> Vec<&'a SegmentFacts> {
        let (mut len, mut count) = (0, 0);
        let mut chosen = Vec::new();
        for segment in segments {
            len += segment.live_len();
            count += u64::from(segment.live_count);
            let is_enough = len > self.copy_len_max || count > self.copy_count_max || chosen.len() == SOURCE_COUNT_MAX;
            if !chosen.is_empty() && is_enough {
                break;
            }
            chosen.push(segment);
        }
        chosen
    }
}

fn ids(segments: &[&SegmentFacts]) -> Vec<SegmentId> {
    let mut ids: Vec<_> = segments.iter().map(|segment| segment.id).collect();
    ids.sort_unstable();
    ids
}

/// The segments that hold messages around the queue that most of them hold messages around, oldest first.
fn deepest<'a>(segments: &[&'a SegmentFacts]) -> Vec<&'a SegmentFacts> {
    // The depth changes only where a segment begins.
    let at = segments.iter().map(|segment| segment.first_queue).max_by_key(|queue| {
        (segments.iter().filter(|segment| segment.spans(*queue)).count(), std::cmp::Reverse(*queue))
    });
    let Some(at) = at else { return Vec::new() };
    segments.iter().copied().filter(|segment| segment.spans(at)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn full(id: u32) -> SegmentFacts {
        SegmentFacts {
            id: SegmentId(id),
            level: 0,
            file_len: 64 * MIB,
            slot_count: 1000,
            live_count: 1000,
            range_count: 1,
            first_queue: QueueId(1),
            last_queue: QueueId(1),
        }
    }

    fn of_many_queues(id: u32, level: u8, first_queue: u64, last_queue: u64) -> SegmentFacts {
        let (first_queue, last_queue) = (QueueId(first_queue), QueueId(last_queue));
        SegmentFacts { level, range_count: 100_000, first_queue, last_queue, ..full(id) }
    }

    fn live(id: u32, live_count: u32) -> SegmentFacts {
        SegmentFacts { live_count, ..full(id) }
    }

    #[track_caller]
    fn check_plan(segments: &[SegmentFacts], job: Option<Job>) {
        assert_eq!(Policy::default().plan(segments), job);
    }

    fn copy(from: &[u32], level: u8) -> Option<Job> {
        Some(Job::Copy { from: from.iter().copied().map(SegmentId).collect(), level })
    }

    #[test]
    fn all_settled_segments_go_first() {
        check_plan(&[live(1, 0), live(2, 1), live(3, 0)], Some(Job::Remove(vec![SegmentId(1), SegmentId(3)])));
    }

    #[test]
    fn a_backlog_in_few_queues_is_never_copied() {
        check_plan(&(1..200).map(full).collect::<Vec<_>>(), None);
    }

    #[test]
    fn a_backlog_consumed_from_its_front_is_never_copied() {
        check_plan(&[live(1, 10), full(2), full(3)], None);
        check_plan(&[live(1, 10)], None);
    }

    #[test]
    fn mostly_settled_segments_are_copied_together() {
        let stuck: Vec<_> = (1..=10).map(|id| live(id, 10)).chain([full(11)]).collect();
        check_plan(&stuck, copy(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 0));
    }

    #[test]
    fn half_live_segments_wait_until_they_are_a_third_of_all() {
        let some: Vec<_> = (1..=10).map(|id| live(id, 500)).collect();
        assert!(Policy::default().plan(&some).is_some());
        let beside_much: Vec<_> = some.into_iter().chain((11..30).map(full)).collect();
        check_plan(&beside_much, None);
    }

    #[test]
    fn one_copy_handles_a_bounded_amount() {
        let policy = Policy { copy_len_max: 15 * MIB, ..Policy::default() };
        let segments: Vec<_> = (1..=50).map(|id| live(id, 100 + id)).collect();
        assert_eq!(policy.plan(&segments), copy(&[1, 2], 0));
    }

    #[test]
    fn segments_of_many_queues_are_merged_by_tiers() {
        let seven: Vec<_> = (1..=7).map(|id| of_many_queues(id, 0, 1, 100_000)).collect();
        check_plan(&seven, None);
        let eight: Vec<_> = (1..=8).map(|id| of_many_queues(id, 0, 1, 100_000)).collect();
        check_plan(&eight, copy(&[1, 2, 3, 4, 5, 6, 7, 8], 1));
    }

    #[test]
    fn segments_of_other_queues_are_not_merged() {
        let side_by_side: Vec<_> =
            (1..=20).map(|id| of_many_queues(id, 1, u64::from(id) * 10, u64::from(id) * 10 + 9)).collect();
        check_plan(&side_by_side, None);
        let mut overlapping = side_by_side;
        overlapping.extend((21..=27).map(|id| of_many_queues(id, 1, 35, 45)));
        check_plan(&overlapping, copy(&[3, 21, 22, 23, 24, 25, 26, 27], 2));
    }

    #[test]
    fn transient_segments_are_not_mixed_with_others() {
        let mut segments: Vec<_> = (1..=5).map(|id| of_many_queues(id, 0, 1, 100_000)).collect();
        segments.extend(
            (1..=5).map(|id| SegmentFacts { id: SegmentId::transient(id), ..of_many_queues(id, 0, 1, 100_000) }),
        );
        check_plan(&segments, None);
    }

    #[test]
    fn merging_ends() {
        // Eighty spills of a hundred thousand queues; each merge is replaced by what it makes.
        let mut segments = Vec::new();
        let mut next_id = 1;
        let mut copied = 0;
        for _ in 0..512 {
            segments.push(of_many_queues(next_id, 0, 1, 100_000));
            next_id += 1;
            while let Some(Job::Copy { from, level }) = Policy::default().plan(&segments) {
                let merged: Vec<_> = segments.extract_if(.., |segment| from.contains(&segment.id)).collect();
                let first = merged.iter().map(|segment| segment.first_queue.0).min().unwrap();
                let last = merged.iter().map(|segment| segment.last_queue.0).max().unwrap();
                let width = (last - first + 1).div_ceil(merged.len() as u64);
                for part_first in (first..=last).step_by(width as usize) {
                    segments.push(of_many_queues(next_id, level, part_first, last.min(part_first + width - 1)));
                    next_id += 1;
                }
                copied += from.len();
            }
        }
        assert!(copied <= 512 * 4, "{copied} segments copied for 512 written");
        let deepest =
            (1..100).map(|queue| segments.iter().filter(|segment| segment.spans(QueueId(queue * 1000))).count());
        let deepest = deepest.max().unwrap();
        assert!(deepest <= 8 * 4, "a queue has {deepest} ranges");
    }
}
