//! What can be chosen about a store.

use std::path::PathBuf;
use std::time::Duration;

use crate::journal;
use crate::reclaim::Policy;

/// What can be chosen about a store.
#[derive(Debug, Clone)]
pub struct Options {
    /// The data directory.
    pub dir: PathBuf,
    /// About the journal. Its `unretired_len_max` also bounds what a start has to replay.
    pub journal: journal::Options,
    /// Memory for recent content beyond which [`Store::is_congested`], besides the chunk that each writer is writing.
    pub chunk_len_max: u64,
    /// No message is longer. One that does not fit a journal file needs a longer one, on a full disk too.
    pub message_len_max: u64,
    /// Length at which a segment ends.
    pub segment_len: u64,
    /// Whether room is kept for when the disk is full.
    pub is_reserve_kept: bool,
    /// Bytes a second that reclaiming may copy.
    pub reclaim_rate_per_s: u64,
    /// How long it takes until every segment has been read once, to find damage; `None`: only what is asked for is read.
    pub scrub_interval: Option<Duration>,
    /// Bytes a second that a backup may copy.
    pub backup_rate_per_s: u64,
    /// How eagerly space is reclaimed.
    pub(crate) reclaim: Policy,
}

impl Options {
    /// The defaults.
    #[must_use]
    pub fn new(dir: PathBuf) -> Self {
        Options {
            dir,
            journal: journal::Options::default(),
            chunk_len_max: 40 << 20,
            message_len_max: 16 << 20,
            segment_len: 64 << 20,
            is_reserve_kept: true,
            reclaim_rate_per_s: 64 << 20,
            scrub_interval: Some(Duration::from_secs(7 * 24 * 60 * 60)),
            backup_rate_per_s: 256 << 20,
            reclaim: Policy::default(),
        }
    }
}
