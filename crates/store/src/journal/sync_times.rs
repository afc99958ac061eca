//! How often the journal was synced, and how long that took: no persistent message is confirmed sooner.

use std::time::Duration;

use telemetry::Counter;

/// Counted by the threads that sync.
#[derive(Debug, Default)]
pub(crate) struct SyncTimes {
    count: Counter,
    nanos: Counter,
}

/// The same, as it is at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SyncCounts {
    /// Syncs since the journal was opened, also those that failed.
    pub count: u64,
    /// How long they took together.
    pub total: Duration,
}

impl SyncTimes {
    /// A sync has taken so long.
    pub(crate) fn note(&self, took: Duration) {
        self.count.add(1);
        self.nanos.add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    pub(crate) fn counts(&self) -> SyncCounts {
        SyncCounts { count: self.count.get(), total: Duration::from_nanos(self.nanos.get()) }
    }
}
