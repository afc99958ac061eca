//! Messages that are neither ready nor with a consumer: on their way elsewhere, or waiting to be tried again.
//!
//! The messages themselves are among the unacked ones, so that they are found when segments are written.

use std::collections::{BTreeMap, BTreeSet};

use model::ids::{Place, QueueSeq, SegmentId};

use crate::effects::{Counts, DropReason};
use crate::tree_len::tree_len;

/// No more messages expire while so many are on their way elsewhere: these are in memory.
const LEAVING_COUNT_MAX: u64 = 4096;
/// The same for their bodies, in bytes.
const LEAVING_LEN_MAX: u64 = 16 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    Leaving(DropReason, Counts),
    Waiting { until_ms: u64 },
}

#[derive(Debug, Default)]
pub(crate) struct SetAside {
    by_seq: BTreeMap<QueueSeq, (Why, u32)>,
    /// Those that wait, the first that ends first.
    ends: BTreeSet<(u64, QueueSeq)>,
    /// Those that are being read from a segment to leave, by the place that was asked for.
    reads: BTreeMap<(SegmentId, u32), QueueSeq>,
    bytes: u64,
    /// Of those that are on their way elsewhere.
    leaving_bytes: u64,
}

impl SetAside {
    /// Bytes that it takes.
    pub(crate) fn memory_len(&self) -> usize {
        size_of::<Self>()
            + tree_len::<QueueSeq, (Why, u32)>(self.by_seq.len())
            + tree_len::<(u64, QueueSeq), ()>(self.ends.len())
            + tree_len::<(SegmentId, u32), QueueSeq>(self.reads.len())
    }

    pub(crate) fn insert(&mut self, seq: QueueSeq, why: Why, len: u32) {
        self.remove(seq);
        self.bytes += u64::from(len);
        match why {
            Why::Waiting { until_ms } => drop(self.ends.insert((until_ms, seq))),
            Why::Leaving(..) => self.leaving_bytes += u64::from(len),
        }
        self.by_seq.insert(seq, (why, len));
    }

    pub(crate) fn remove(&mut self, seq: QueueSeq) -> Option<Why> {
        let (why, len) = self.by_seq.remove(&seq)?;
        self.bytes -= u64::from(len);
        match why {
            Why::Waiting { until_ms } => drop(self.ends.remove(&(until_ms, seq))),
            Why::Leaving(..) => self.leaving_bytes -= u64::from(len),
        }
        Some(why)
    }

    /// Takes out the first that has waited for long enough.
    pub(crate) fn take_ended(&mut self, now_ms: u64) -> Option<QueueSeq> {
        let (until_ms, seq) = *self.ends.first()?;
        (until_ms <= now_ms).then(|| self.remove(seq)).flatten().map(|_| seq)
    }

    /// When the first has waited for long enough.
    pub(crate) fn first_end(&self) -> Option<u64> {
        self.ends.first().map(|(until_ms, _)| *until_ms)
    }

    pub(crate) fn get(&self, seq: QueueSeq) -> Option<Why> {
        self.by_seq.get(&seq).map(|(why, _)| *why)
    }

    /// Those that are on their way elsewhere, with how often they have come back.
    pub(crate) fn leaving(&self) -> impl Iterator<Item = (QueueSeq, Counts)> {
        self.by_seq.iter().filter_map(|(seq, (why, _))| match why {
            Why::Leaving(_, counts) => Some((*seq, *counts)),
            Why::Waiting { .. } => None,
        })
    }

    /// Whether so many are on their way elsewhere that more must wait.
    pub(crate) fn has_many_leaving(&self) -> bool {
        self.count() - self.waiting_count() >= LEAVING_COUNT_MAX || self.leaving_bytes >= LEAVING_LEN_MAX
    }

    /// A message that leaves is being read.
    pub(crate) fn start_read(&mut self, place: Place, seq: QueueSeq) {
        self.reads.insert((place.segment, place.slot), seq);
    }

    /// The message that was to be read from a place.
    pub(crate) fn end_read(&mut self, place: Place) -> Option<QueueSeq> {
        self.reads.remove(&(place.segment, place.slot))
    }

    pub(crate) fn contains(&self, seq: QueueSeq) -> bool {
        self.by_seq.contains_key(&seq)
    }

    pub(crate) fn count(&self) -> u64 {
        self.by_seq.len() as u64
    }

    pub(crate) fn waiting_count(&self) -> u64 {
        self.ends.len() as u64
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_seq.is_empty()
    }
}
