//! What could not be read from segments while the store ran: which messages are lost, until an operator has taken note.
//!
//! A lost message is not settled. It stays in its file for a repair, and the next start finds it again, readable or not.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use model::ids::{QueueId, SegmentId};
use parking_lot::Mutex;

use crate::bitmap::Bitmap;
use crate::catalog::Segment;
use crate::segment::ReadError;

/// A segment in which something could not be read, as far as no operator has taken note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedSegment {
    /// The file.
    pub path: PathBuf,
    /// What was found first.
    pub what: String,
    /// When.
    pub found_at: SystemTime,
    /// How many messages of which queues are lost.
    pub lost: BTreeMap<QueueId, u64>,
}

impl DamagedSegment {
    /// How many messages are lost.
    #[must_use]
    pub fn lost_count(&self) -> u64 {
        self.lost.values().sum()
    }
}

/// Runs `(first, end)` of slots.
pub(crate) type SlotRun = (u32, u32);

/// All segments in which something could not be read.
#[derive(Debug, Default)]
pub(crate) struct Damages {
    segments: Mutex<BTreeMap<SegmentId, Damage>>,
    lost_count: AtomicU64,
}

#[derive(Debug)]
struct Damage {
    /// Each message is counted once, however often it is asked for.
    lost: Bitmap,
    /// What no operator has taken note of.
    open: Option<DamagedSegment>,
}

impl Damages {
    /// Notes what could not be read of a segment, and says how many messages are newly lost. What is settled is not.
    pub(crate) fn note(&self, segment: &Segment, path: &Path, error: &ReadError, unread: &[SlotRun]) -> u64 {
        let slot_count = segment.counts().0;
        let mut segments = self.segments.lock();
        let is_known = segments.contains_key(&segment.id);
        let damage = segments.entry(segment.id).or_insert_with(|| Damage { lost: Bitmap::new(slot_count), open: None });
        let mut lost = BTreeMap::new();
        for (first, end) in unread.iter().flat_map(|(first, end)| segment.live_runs(*first, *end)) {
            let after = segment.ranges.partition_point(|range| range.end_slot() <= first);
            for range in segment.ranges[after..].iter().take_while(|range| range.first_slot < end) {
                let count = damage.lost.set(first.max(range.first_slot), end.min(range.end_slot()));
                if count > 0 {
                    *lost.entry(range.queue).or_default() += u64::from(count);
                }
            }
        }
        let count = lost.values().sum();
        if !is_known || count > 0 {
            let open = damage.open.get_or_insert_with(|| DamagedSegment {
                path: path.to_owned(),
                what: error.to_string(),
                found_at: SystemTime::now(),
                lost: BTreeMap::new(),
            });
            lost.into_iter().for_each(|(queue, count)| *open.lost.entry(queue).or_default() += count);
        }
        self.lost_count.fetch_add(count, Ordering::Relaxed);
        drop(segments);
        if !is_known {
            tracing::error!(path = %path.display(), %error, lost = count, "segment damaged");
        }
        count
    }

    /// Messages that were lost since the start, whether an operator has taken note or not.
    pub(crate) fn lost_count(&self) -> u64 {
        self.lost_count.load(Ordering::Relaxed)
    }

    /// What no operator has taken note of, by rising id.
    pub(crate) fn open(&self) -> Vec<DamagedSegment> {
        self.segments.lock().values().filter_map(|damage| damage.open.clone()).collect()
    }

    /// Whether there is any of that.
    pub(crate) fn has_open(&self) -> bool {
        self.segments.lock().values().any(|damage| damage.open.is_some())
    }

    /// An operator has acknowledged all damage found so far; later losses are reported again. Returns what was reported.
    pub(crate) fn acknowledge(&self) -> Vec<DamagedSegment> {
        self.segments.lock().values_mut().filter_map(|damage| damage.open.take()).collect()
    }
}
