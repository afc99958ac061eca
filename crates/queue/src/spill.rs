//! The way of a queue's messages from memory to segments, and from one segment to another.
//!
//! The store writes what [`Queue::in_memory`] gave it while the queue continues, then reports with [`Queue::relocate`] where everything
//! lies. What was settled meanwhile has been written in vain: its place is dead. The caller marks dead places in their
//! segment before anything else can be loaded from it (under the same lock).

use model::ids::{Place, QueueSeq, SegmentId};

use crate::consumers::Gate;
use crate::message::{Message, MovedMessage, PlacedMessage};
use crate::queue::Queue;
use crate::ranges::PagedRange;

impl<M: Message, G: Gate> Queue<M, G> {
    /// Appends to `out`, by seq, every message that is in memory, has no place, and is old; those ready ones that come
    /// before an old one of their lane go with it, so that what is in segments stays in runs.
    pub fn in_memory(&self, is_old: &mut dyn FnMut(&M) -> bool, out: &mut Vec<(QueueSeq, M)>) {
        let start = out.len();
        for lane in self.ready.lanes() {
            lane.collect_old(is_old, out);
        }
        let unacked = self.unacked.iter().filter(|(_, message, _)| message.place().is_none() && is_old(message));
        out.extend(unacked.map(|(seq, message, _)| (seq, message.clone())));
        out[start..].sort_unstable_by_key(|(seq, _)| *seq);
    }

    /// These messages of one priority, by seq, have been written to segments. Ready ones leave memory, unacked ones get their place.
    /// Places of those
    /// that are no longer here are appended to `dead`.
    pub fn relocate(&mut self, priority: u8, placed: &[PlacedMessage], dead: &mut Vec<Place>) {
        self.remember_expiries();
        let mut run: Option<PagedRange> = None;
        let has_unacked = self.unacked.count() > 0;
        for &PlacedMessage { seq, place } in placed {
            let is_unacked = has_unacked && self.unacked.get_mut(seq).is_some();
            if is_unacked {
                self.place_unacked(seq, place, dead);
                continue;
            }
            let lane = self.ready.lane(priority, !place.segment.is_transient());
            let Some(message) = lane.take_unplaced(seq) else {
                dead.push(place);
                continue;
            };
            let range = PagedRange::of_one(seq, place, message.len());
            match &mut run {
                // Nothing can lie between neighbours, so they need no look at what else is here.
                Some(run) if run.last_seq.next() == seq && run.is_followed_by(&range) => run.append(&range),
                _ => self.page_run(priority, run.replace(range)),
            }
        }
        self.page_run(priority, run);
    }

    /// Compaction has copied what was alive in the segments `from`: `moved` are this queue's messages among it, by seq. Places of those
    /// that are no longer here are appended to `dead`. Answers with the number of messages that were in ranges of these
    /// segments and are not in `moved`: they are lost.
    pub fn move_ranges(&mut self, from: &[SegmentId], moved: &[MovedMessage], dead: &mut Vec<Place>) -> u64 {
        self.move_count = self.move_count.wrapping_add(1);
        let (mut missing_count, mut lost_bytes) = (0, 0);
        let mut runs: Vec<PagedRange> = Vec::new();
        let mut is_paged = vec![false; moved.len()];
        for lane in self.ready.lanes_mut() {
            let mut ranges = lane.take_ranges(|segment| from.contains(&segment));
            if ranges.is_empty() {
                continue;
            }
            ranges.sort_by_key(|range| (range.segment, range.first_slot));
            let before = counts(&ranges);
            for (message, is_paged) in
                moved.iter().zip(&mut is_paged).filter(|(message, _)| is_within(&ranges, message))
            {
                *is_paged = true;
                let range = PagedRange::of_one(message.seq, message.to, message.len);
                match runs.last_mut() {
                    Some(run) if run.last_seq.next() == message.seq && run.is_followed_by(&range) => run.append(&range),
                    _ => runs.push(range),
                }
            }
            let after = counts(&runs);
            missing_count += before.0.saturating_sub(after.0);
            lost_bytes += before.1.saturating_sub(after.1);
            for run in runs.drain(..) {
                lane.page(run, &self.unacked);
            }
        }
        self.ready.recount((missing_count, lost_bytes), (0, 0));
        for (message, _) in moved.iter().zip(is_paged).filter(|(_, is_paged)| !is_paged) {
            self.move_in_memory(message, dead);
        }
        missing_count
    }

    fn place_unacked(&mut self, seq: QueueSeq, place: Place, dead: &mut Vec<Place>) {
        match self.unacked.get_mut(seq) {
            Some(message) if message.place().is_none() => {
                message.set_place(place);
                message.release_body();
            }
            _ => dead.push(place),
        }
    }

    fn move_in_memory(&mut self, moved: &MovedMessage, dead: &mut Vec<Place>) {
        let mut lanes = self.ready.lanes_of_mut(!moved.from.segment.is_transient());
        let message = match self.unacked.get_mut(moved.seq) {
            Some(message) => Some(message),
            None => lanes.find_map(|lane| lane.placed_mut(moved.seq)),
        };
        match message {
            Some(message) if message.place() == Some(moved.from) => message.set_place(moved.to),
            _ => dead.push(moved.to),
        }
    }

    fn page_run(&mut self, priority: u8, run: Option<PagedRange>) {
        if let Some(run) = run {
            self.ready.page(priority, run, &self.unacked);
        }
    }
}

/// Messages in ranges, and the bytes of their bodies.
fn counts(ranges: &[PagedRange]) -> (u64, u64) {
    ranges.iter().fold((0, 0), |sum, range| (sum.0 + u64::from(range.count), sum.1 + range.bytes))
}

/// Whether one of the ranges, sorted by place, holds the message.
fn is_within(ranges: &[PagedRange], moved: &MovedMessage) -> bool {
    let after =
        ranges.partition_point(|range| (range.segment, range.first_slot) <= (moved.from.segment, moved.from.slot));
    let Some(range) = after.checked_sub(1).map(|at| &ranges[at]) else { return false };
    range.segment == moved.from.segment && moved.from.slot < range.end_slot
}
