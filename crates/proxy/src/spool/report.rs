//! What operators see of the spool.

/// What has happened so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Publishes that were kept.
    pub kept: u64,
    /// Those that were sent on, and confirmed.
    pub sent_on: u64,
    /// Those that the upstream refused.
    pub refused: u64,
    /// Those that became too old.
    pub expired: u64,
    /// Those that operators dropped.
    pub dropped: u64,
    /// How often a publisher had to wait for space.
    pub full: u64,
}

/// A queue, for operators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpoolQueueReport {
    /// The user that published.
    pub user: String,
    /// Where to.
    pub vhost: String,
    /// How many messages are kept.
    pub count: u64,
    /// Their bytes.
    pub len: u64,
    /// Whether they are being sent on.
    pub is_sending: bool,
    /// Why they could not be, last.
    pub last_error: Option<String>,
}

/// The spool, for operators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The maximum size of stored messages in bytes.
    pub len_max: u64,
    /// Bytes that were not handed to the operating system yet: a kill of the process would lose them.
    pub unwritten_len: u64,
    /// Why nothing more can be kept, if that has failed.
    pub failure: Option<String>,
    /// What has happened.
    pub counters: Counters,
    /// Shelves with something on them.
    pub spool_queues: Vec<SpoolQueueReport>,
}

impl Report {
    /// Messages that are kept.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.spool_queues.iter().map(|spool_queue| spool_queue.count).sum()
    }

    /// Their bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.spool_queues.iter().map(|spool_queue| spool_queue.len).sum()
    }

    /// Whether nothing is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }
}
