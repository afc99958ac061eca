//! The part of a backlog that lies in segments: runs of slots, not messages.

use std::collections::BTreeMap;
use std::ops::Bound;

use model::ids::{Place, QueueSeq, SegmentId};

use crate::limits::GAP_SLOTS_MAX;
use crate::tree_len::tree_len;

/// Ready messages of one queue in consecutive slots of one segment. A range may have slots between whose messages are settled, and
/// marked so in the segment: recovery makes such, and what is taken out of the middle leaves them. A load that was asked for before
/// that may still bring such a message; see [`Queue::take`](crate::Queue::take).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PagedRange {
    /// The file.
    pub segment: SegmentId,
    /// The first slot that may hold a message.
    pub first_slot: u32,
    /// The slot after the last message.
    pub end_slot: u32,
    /// How many messages.
    pub count: u32,
    /// Bytes of their bodies.
    pub bytes: u64,
    /// No message of the range has a lower seq.
    pub first_seq: QueueSeq,
    /// No message of the range has a higher seq.
    pub last_seq: QueueSeq,
}

impl PagedRange {
    /// The range of one message.
    pub(crate) fn of_one(seq: QueueSeq, place: Place, len: u32) -> Self {
        PagedRange {
            segment: place.segment,
            first_slot: place.slot,
            end_slot: place.slot.saturating_add(1),
            count: 1,
            bytes: u64::from(len),
            first_seq: seq,
            last_seq: seq,
        }
    }

    /// Whether `next` begins where this one ends.
    pub(crate) fn is_followed_by(&self, next: &PagedRange) -> bool {
        self.is_near(next) && self.end_slot == next.first_slot
    }

    /// Whether `next` follows in the same segment, near enough to be read with this one.
    fn is_near(&self, next: &PagedRange) -> bool {
        self.segment == next.segment
            && self.last_seq < next.first_seq
            && self.end_slot <= next.first_slot
            && next.first_slot - self.end_slot <= GAP_SLOTS_MAX
    }

    pub(crate) fn append(&mut self, next: &PagedRange) {
        self.end_slot = next.end_slot;
        self.count += next.count;
        self.bytes += next.bytes;
        self.last_seq = next.last_seq;
    }

    /// Whether a message of this seq may be among its messages.
    pub(crate) fn may_hold(&self, seq: QueueSeq) -> bool {
        self.first_seq <= seq && seq <= self.last_seq
    }

    fn has_slot(&self, place: Place) -> bool {
        self.segment == place.segment && self.first_slot <= place.slot && place.slot < self.end_slot
    }

    fn key(&self) -> Key {
        (self.first_seq, Place { segment: self.segment, slot: self.first_slot })
    }
}

/// Slots of one segment that are being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) segment: SegmentId,
    pub(crate) first_slot: u32,
    pub(crate) end_slot: u32,
    /// The seqs of the ranges in it.
    pub(crate) first_seq: QueueSeq,
    pub(crate) last_seq: QueueSeq,
}

impl Window {
    pub(crate) fn contains(&self, seq: QueueSeq, place: Place) -> bool {
        let slots = self.first_slot..self.end_slot;
        self.segment == place.segment && slots.contains(&place.slot) && self.first_seq <= seq && seq <= self.last_seq
    }

    fn overlaps(&self, range: &PagedRange) -> bool {
        self.segment == range.segment && range.first_slot < self.end_slot && self.first_slot < range.end_slot
    }
}

/// A place breaks the tie of two ranges whose `first_seq`s are lower bounds.
type Key = (QueueSeq, Place);

/// The ranges of one lane, lowest seq first.
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    by_seq: BTreeMap<Key, PagedRange>,
    count: u64,
    bytes: u64,
}

impl Ranges {
    /// Bytes that it takes beside itself.
    pub(crate) fn memory_len(&self) -> usize {
        tree_len::<Key, PagedRange>(self.by_seq.len())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_seq.is_empty()
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn first_seq(&self) -> Option<QueueSeq> {
        self.by_seq.first_key_value().map(|(key, _)| key.0)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &PagedRange> {
        self.by_seq.values()
    }

    /// Adds a range, as part of its neighbours where that is possible: not if what lies between is not `is_clear(after, before)`, and
    /// not in front of a range in `window`, whose answer would no longer fit. One that is there already is passed over.
    pub(crate) fn insert(
        &mut self,
        range: PagedRange,
        window: Option<&Window>,
        is_clear: impl Fn(QueueSeq, QueueSeq) -> bool,
    ) {
        if self.by_seq.contains_key(&range.key()) {
            return;
        }
        self.count += u64::from(range.count);
        self.bytes += range.bytes;
        let joins = |left: &PagedRange, right: &PagedRange| {
            let is_being_read = window.is_some_and(|window| window.overlaps(right));
            left.is_followed_by(right) && !is_being_read && is_clear(left.last_seq, right.first_seq)
        };
        let mut at = range.key();
        match self.by_seq.range_mut(..at).next_back() {
            Some((key, left)) if joins(left, &range) => {
                left.append(&range);
                at = *key;
            }
            _ => {
                self.by_seq.insert(at, range);
            }
        }
        let left = self.by_seq[&at];
        let after = (Bound::Excluded(at), Bound::Unbounded);
        let Some((&next_at, right)) = self.by_seq.range(after).next() else { return };
        if joins(&left, right) {
            let right = self.by_seq.remove(&next_at).expect("it was just seen");
            self.by_seq.get_mut(&at).expect("it was just inserted").append(&right);
        }
    }

    /// What to read next to get about `bytes_max` bytes: the first range and those that follow closely.
    pub(crate) fn first_window(&self, bytes_max: u64) -> Option<Window> {
        let mut ranges = self.by_seq.values();
        let mut whole = *ranges.next()?;
        for range in ranges {
            if whole.bytes >= bytes_max || !whole.is_near(range) {
                break;
            }
            whole.append(range);
        }
        Some(Window {
            segment: whole.segment,
            first_slot: whole.first_slot,
            end_slot: whole.end_slot,
            first_seq: whole.first_seq,
            last_seq: whole.last_seq,
        })
    }

    /// The slots of `window` before `next_slot` have been read: takes their messages out of the ranges. `entries` are what
    /// was found, by ascending slot; those that are in none of these ranges are dropped from it: between ranges lies what is in memory
    /// or unacked, and its seq may be within a range's.
    pub(crate) fn take_read<T>(
        &mut self,
        window: &Window,
        next_slot: u32,
        entries: &mut Vec<(QueueSeq, T)>,
        slot: impl Fn(&T) -> u32,
        len: impl Fn(&T) -> u32,
    ) {
        let span = (window.first_seq, Place { segment: SegmentId(0), slot: 0 })
            ..=(window.last_seq, Place { segment: SegmentId(u32::MAX), slot: u32::MAX });
        let mut keys: Vec<(u32, Key)> = self
            .by_seq
            .range(span)
            .filter(|(_, range)| range.segment == window.segment)
            .filter(|(_, range)| window.first_slot <= range.first_slot && range.first_slot < next_slot)
            .map(|(key, range)| (range.first_slot, *key))
            .collect();
        keys.sort_unstable();
        let mut taken: Vec<(QueueSeq, T)> = Vec::with_capacity(entries.len());
        let mut found = std::mem::take(entries).into_iter().peekable();
        for (_, key) in keys {
            let mut range = self.by_seq.remove(&key).expect("it was just seen");
            self.count -= u64::from(range.count);
            self.bytes -= range.bytes;
            while found.next_if(|(_, entry)| slot(entry) < range.first_slot).is_some() {}
            while let Some(entry) = found.next_if(|(_, entry)| slot(entry) < range.end_slot) {
                if !range.may_hold(entry.0) {
                    continue;
                }
                range.count = range.count.saturating_sub(1);
                range.bytes = range.bytes.saturating_sub(u64::from(len(&entry.1)));
                range.first_seq = entry.0.next();
                taken.push(entry);
            }
            let has_rest = next_slot < range.end_slot && range.count > 0 && range.first_seq <= range.last_seq;
            if has_rest {
                range.first_slot = next_slot;
                self.count += u64::from(range.count);
                self.bytes += range.bytes;
                self.by_seq.insert(range.key(), range);
            }
        }
        *entries = taken;
    }

    /// Messages in these runs `(first, end)` of slots of `window` cannot be read: takes them out of the ranges. How long they were is
    /// not known.
    pub(crate) fn lose(&mut self, window: &Window, lost: &[(u32, u32)]) {
        let overlap = |range: &PagedRange, (first, end): (u32, u32)| {
            end.min(range.end_slot)
                .min(window.end_slot)
                .saturating_sub(first.max(range.first_slot).max(window.first_slot))
        };
        for mut range in self.extract(|range| window.overlaps(range)) {
            let lost: u32 = lost.iter().map(|run| overlap(&range, *run)).sum::<u32>().min(range.count);
            if lost < range.count {
                range.bytes -= u64::try_from(u128::from(range.bytes) * u128::from(lost) / u128::from(range.count))
                    .unwrap_or(range.bytes);
                range.count -= lost;
                self.count += u64::from(range.count);
                self.bytes += range.bytes;
                self.by_seq.insert(range.key(), range);
            }
        }
    }

    /// The range that has a message of this seq in this slot, unless that is settled.
    pub(crate) fn holder_of(&self, seq: QueueSeq, place: Place) -> Option<Key> {
        let last = (seq, Place { segment: SegmentId(u32::MAX), slot: u32::MAX });
        let mut before = self.by_seq.range(..=last).rev();
        before.find(|(_, range)| range.may_hold(seq) && range.has_slot(place)).map(|(key, _)| *key)
    }

    /// Takes one message out of the range that has it. At an end the range becomes shorter, so that no load reads over taken ones.
    pub(crate) fn take_one(&mut self, seq: QueueSeq, place: Place, len: u32) {
        let Some(mut range) = self.holder_of(seq, place).and_then(|key| self.by_seq.remove(&key)) else { return };
        range.count = range.count.saturating_sub(1);
        range.bytes = range.bytes.saturating_sub(u64::from(len));
        self.count = self.count.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(u64::from(len));
        if range.count == 0 {
            return;
        }
        if place.slot == range.first_slot {
            range.first_slot += 1;
            range.first_seq = seq.next();
        } else if place.slot + 1 == range.end_slot {
            range.end_slot -= 1;
            range.last_seq = QueueSeq(seq.0 - 1);
        }
        self.by_seq.insert(range.key(), range);
    }

    /// Takes out all ranges for which `is_wanted`.
    pub(crate) fn extract(&mut self, mut is_wanted: impl FnMut(&PagedRange) -> bool) -> Vec<PagedRange> {
        let keys: Vec<Key> = self.by_seq.iter().filter(|(_, range)| is_wanted(range)).map(|(key, _)| *key).collect();
        keys.iter()
            .map(|key| {
                let range = self.by_seq.remove(key).expect("it was just seen");
                self.count -= u64::from(range.count);
                self.bytes -= range.bytes;
                range
            })
            .collect()
    }
}
