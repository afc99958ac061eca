//! Where the slots of an open segment lie: the little of its footer that is kept in memory for reading.

use std::sync::Arc;

use super::footer::{Footer, SegmentRange};

/// Every so many slots one offset is kept; the ones between are found by walking the slot headers.
pub(crate) const ANCHOR_SLOTS: u32 = 64;
/// Stands for an offset that was not found.
pub(super) const UNKNOWN: u64 = u64::MAX;

/// The ranges of a segment and the offset of every 64th slot.
#[derive(Debug)]
pub(crate) struct Index {
    ranges: Arc<[SegmentRange]>,
    anchors: Vec<u64>,
    end: u64,
}

impl Index {
    pub(crate) fn new(footer: &Footer, footer_offset: u64) -> Self {
        let mut anchors = Vec::new();
        for range in 0..footer.ranges().len() {
            let of_range = footer.slots(range).filter(|slot| slot.slot % ANCHOR_SLOTS == 0);
            anchors.extend(of_range.map(|slot| slot.offset));
        }
        Index { ranges: footer.ranges().into(), anchors, end: footer_offset }
    }

    /// Of a segment without a footer: these anchors were found, as far as they are known.
    pub(super) fn salvaged(ranges: Arc<[SegmentRange]>, anchors: Vec<u64>, end: u64) -> Self {
        Index { ranges, anchors, end }
    }

    /// Lets the index use an equal list of ranges that exists anyway.
    pub(super) fn share(&mut self, ranges: Arc<[SegmentRange]>) {
        self.ranges = ranges;
    }

    /// The range that holds a slot.
    pub(crate) fn range_of(&self, slot: u32) -> Option<&SegmentRange> {
        let after = self.ranges.partition_point(|range| range.first_slot <= slot);
        self.ranges.get(after.checked_sub(1)?).filter(|range| range.contains_slot(slot))
    }

    /// The closest slot at or before `slot` in its range whose offset is known, and that offset.
    pub(crate) fn anchor(&self, slot: u32) -> Option<(u32, u64)> {
        let range = self.range_of(slot)?;
        let anchor_slot = slot - slot % ANCHOR_SLOTS;
        if anchor_slot <= range.first_slot {
            return Some((range.first_slot, range.offset));
        }
        let offset = self.anchors.get((anchor_slot / ANCHOR_SLOTS) as usize)?;
        Some((anchor_slot, *offset)).filter(|(_, offset)| *offset != UNKNOWN)
    }

    /// The first slot behind this one whose offset is known, and that offset.
    pub(crate) fn anchor_after(&self, slot: u32) -> Option<(u32, u64)> {
        let next_range = self.ranges.partition_point(|range| range.first_slot <= slot);
        let next_range = self.ranges.get(next_range).map(|range| (range.first_slot, range.offset));
        let first = (slot / ANCHOR_SLOTS + 1) as usize;
        let found = self.anchors.iter().enumerate().skip(first).find(|(_, offset)| **offset != UNKNOWN);
        let found = found.map(|(at, offset)| (at as u32 * ANCHOR_SLOTS, *offset));
        next_range.into_iter().chain(found).min()
    }

    /// An offset at or behind the end of the slots before `end_slot`, close to it.
    pub(crate) fn offset_bound(&self, end_slot: u32) -> u64 {
        let anchor = self.anchors.get(end_slot.div_ceil(ANCHOR_SLOTS) as usize);
        anchor.copied().filter(|offset| *offset != UNKNOWN).unwrap_or(self.end)
    }

    /// Where the slots end and the footer begins.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Memory of its own in bytes.
    pub(crate) fn memory_len(&self) -> usize {
        self.anchors.len() * size_of::<u64>()
    }
}
