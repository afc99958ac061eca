//! Reads all segments once in a while, slowly, so that damage is known before a consumer meets it.
//!
//! What it finds is noted and nothing else: queues learn of it when they ask. Nothing waits for it: a segment that is compacted or
//! removed meanwhile is left at once.

use std::ops::ControlFlow;
use std::sync::Arc;

use model::ids::SegmentId;

use crate::catalog::Segment;
use crate::damages::SlotRun;
use crate::load::ATTEMPT_COUNT_MAX;
use crate::reclaim::RateLimiter;
use crate::segment::{ANCHOR_SLOTS, Footer, ReadAhead, SLOT_LEN, SegmentFile, SlotReader};
use crate::shared::Shared;
use crate::trace_points::SCRUB;

/// After so many bytes it is looked whether the segment is still there.
const PIECE_LEN: u64 = 1 << 20;

/// What a round of scrubbing did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScrubReport {
    /// Segments that were read.
    pub segment_count: u64,
    /// Messages that nothing had found to be lost before.
    pub lost_count: u64,
}

/// Why a segment is left.
struct SegmentSkipped;

impl Shared {
    /// Reads every segment that there is now, beginning with the first whose id is not below `start` and ending before it.
    pub(crate) fn scrub(&self, start: SegmentId, pace: RateLimiter<'_>) -> ScrubReport {
        let mut ids: Vec<SegmentId> = self.catalog.all().iter().map(|segment| segment.id).collect();
        let at = ids.partition_point(|id| *id < start);
        ids.rotate_left(at);
        let before = self.damages.lost_count();
        let mut scrubbed = ScrubReport::default();
        let mut reader = SlotReader::default();
        for id in ids {
            // A segment that no longer exists is not missed.
            let Some(segment) = self.catalog.get(id) else { continue };
            if self.scrub_segment(&segment, &mut reader, pace).is_ok() {
                scrubbed.segment_count += 1;
            } else if self.closing.has_begun() {
                break;
            }
        }
        scrubbed.lost_count = self.damages.lost_count() - before;
        scrubbed
    }

    fn scrub_segment(
        &self,
        segment: &Arc<Segment>,
        reader: &mut SlotReader,
        pace: RateLimiter<'_>,
    ) -> Result<(), SegmentSkipped> {
        let _call = SCRUB.enter(|arguments| {
            arguments.number("segment", segment.id.0);
        });
        let path = self.dir.paths().segment(segment.id);
        let slot_count = segment.counts().0;
        // Opened anew: header and footer are to be read, too.
        let (file, footer) = match self.handles.look(segment) {
            Ok(opened) => opened,
            Err(error) if error.is_permanent() && !self.is_ended(segment) => {
                self.damages.note(segment, &path, &error, &[(0, slot_count)]);
                return Ok(());
            }
            Err(_) => return Err(SegmentSkipped),
        };
        if let Some(flaw) = file.flaw() {
            self.damages.note(segment, &path, &flaw.error, &[]);
        }
        *reader = SlotReader::default();
        let mut at = 0;
        while at < slot_count {
            let runs = segment.live_runs(at, slot_count);
            let (mut len, mut reached) = (0, slot_count);
            let outcome = reader.read(&file, &runs, ReadAhead::File, &mut |message| {
                len += (SLOT_LEN + message.content.len()) as u64;
                reached = message.slot + 1;
                if len < PIECE_LEN { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            at = match outcome {
                Ok(()) if len < PIECE_LEN => slot_count,
                Ok(()) => reached,
                Err((_, error)) if !error.is_permanent() => return Err(SegmentSkipped),
                Err((slot, error)) => {
                    let (lost, next) = examine(reader, &file, footer.as_ref(), &runs, slot);
                    if !lost.is_empty() && !self.is_ended(segment) {
                        self.damages.note(segment, &path, &error, &lost);
                    }
                    next
                }
            };
            if pace(len).is_break() || self.is_ended(segment) {
                return Err(SegmentSkipped);
            }
        }
        Ok(())
    }

    /// Whether no queue needs the segment now.
    fn is_ended(&self, segment: &Segment) -> bool {
        self.catalog.get(segment.id).is_none() || segment.counts().1 == 0
    }
}

/// Which slots cannot be read where reading came to an end, and where to go on.
fn examine(
    reader: &mut SlotReader,
    file: &SegmentFile,
    footer: Option<&Footer>,
    runs: &[SlotRun],
    first: u32,
) -> (Vec<SlotRun>, u32) {
    let end = runs.last().map_or(first, |(_, end)| *end);
    let Some(footer) = footer else {
        let next = reader.next_readable(file, first, end);
        let lost = runs.iter().map(|(start, end)| (*start.max(&first), *end.min(&next)));
        return (lost.filter(|(first, end)| first < end).collect(), next);
    };
    let next = (first - first % ANCHOR_SLOTS + ANCHOR_SLOTS).min(end);
    let is_wanted = |slot: u32| (first..next).contains(&slot) && runs.iter().any(|(a, b)| (*a..*b).contains(&slot));
    let mut lost = Vec::new();
    for (index, range) in footer.ranges().iter().enumerate() {
        if range.first_slot >= next || range.end_slot() <= first {
            continue;
        }
        for slot in footer.slots(index).filter(|slot| is_wanted(slot.slot)) {
            if reader.read_again_at(file, slot.slot, slot.offset, ATTEMPT_COUNT_MAX).is_err() {
                lost.push((slot.slot, slot.slot + 1));
            }
        }
    }
    (lost, next)
}
