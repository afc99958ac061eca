//! How the store does, and what holds clients back.

use std::sync::atomic::Ordering;

use engine::Positions;
use store::SyncCounts;

use crate::broker::Broker;

/// The store's files and memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreView {
    /// Bytes that the journal was given since it began.
    pub journal_appended_len: u64,
    /// How many of them last.
    pub journal_durable_len: u64,
    /// Bytes of journal files in use.
    pub journal_unretired_len: u64,
    /// Memory of recent content, in bytes.
    pub chunk_len: u64,
    /// Segments, of messages that last and of others.
    pub segment_count: u64,
    /// Their bytes.
    pub segment_len: u64,
    /// Messages in segments that are not settled.
    pub segment_message_count: u64,
    /// Loads of messages that wait for a reader.
    pub waiting_load_count: u64,
    /// Messages that could not be read since the start.
    pub lost_message_count: u64,
    /// Files that are damaged and of which no operator has taken note.
    pub damaged_segment_count: u64,
}

/// What holds clients back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PressureView {
    /// Connections turned away because files or places had run out.
    pub connections_refused: u64,
    /// Connections that were closed for an error of their client.
    pub connections_failed: u64,
    /// Channels that were closed for an error of their client.
    pub channels_failed: u64,
    /// How often a connection that publishes had to wait for the store.
    pub flow_entered: u64,
    /// Publishes refused with `basic.nack`.
    pub publishes_refused: u64,
    /// Connections that pause now so that consumers can keep up.
    pub pausing_count: u64,
    /// Syncs of the journal, for which persistent messages wait.
    pub syncs: SyncCounts,
}

impl Broker {
    /// The store's files and memory.
    #[must_use]
    pub fn store_view(&self) -> StoreView {
        let stats = self.engine.store.stats();
        StoreView {
            journal_appended_len: self.engine.journal_end().journal_len(),
            journal_durable_len: Positions::from(self.engine.durable()).journal_len(),
            journal_unretired_len: stats.journal_unretired_len,
            chunk_len: stats.chunk_len,
            segment_count: stats.segment_count + stats.transient_segment_count,
            segment_len: stats.segment_len + stats.transient_segment_len,
            segment_message_count: stats.segment_message_count,
            waiting_load_count: stats.waiting_load_count,
            lost_message_count: self.engine.store.lost_count(),
            damaged_segment_count: self.engine.store.damaged_segments().len() as u64,
        }
    }

    /// What holds clients back.
    #[must_use]
    pub fn pressure_view(&self) -> PressureView {
        PressureView {
            connections_refused: self.counters.connections_refused.get(),
            connections_failed: self.counters.connections_failed.get(),
            channels_failed: self.counters.channels_failed.get(),
            flow_entered: self.counters.flow_entered.get(),
            publishes_refused: self.all_messages().refused,
            pausing_count: self.pausing.load(Ordering::Relaxed).into(),
            syncs: self.engine.store.sync_counts(),
        }
    }
}
