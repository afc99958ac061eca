//! What the broker's memory is used for, by owner.
//!
//! It is added up when an operator asks: what each owner has allocated, as far as it knows. No owner counts while it works.

use super::{ConnectionView, QueueView};
use crate::broker::Broker;
use crate::connections::ConnectionMemory;
use crate::machine;

/// What a message that waits takes beside its contents, where it is known by when it is due and by its number.
const DELAYED_LEN: u64 = 128;

/// What the broker's memory is used for, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryView {
    /// Resident memory of the process.
    pub resident_len: u64,
    /// What of it is of files: the program.
    pub files_len: u64,
    /// Contents of messages.
    pub contents_len: u64,
    /// Memory that is kept for contents to come.
    pub spare_len: u64,
    /// What is known of messages in segments.
    pub segments_len: u64,
    /// What is on its way to the journal, and commits that other members are sent, without contents.
    pub journal_len: u64,
    /// Classic queues, without the contents of their messages.
    pub classic_queues_len: u64,
    /// Quorum queues, alike.
    pub quorum_queues_len: u64,
    /// Connections.
    pub connections: ConnectionMemory,
    /// Vhosts, exchanges, bindings, policies, users.
    pub definitions_len: u64,
    /// Counters of vhosts, and how long messages were in each stage.
    pub metrics_len: u64,
    /// Histories of numbers, and what is remembered of the callers.
    pub histories_len: u64,
    /// Delayed messages, without their contents.
    pub delayed_len: u64,
}

impl MemoryView {
    /// All that an owner is known of.
    #[must_use]
    pub fn known_len(&self) -> u64 {
        self.files_len
            + self.contents_len
            + self.spare_len
            + self.segments_len
            + self.journal_len
            + self.classic_queues_len
            + self.quorum_queues_len
            + self.connections.len()
            + self.definitions_len
            + self.metrics_len
            + self.histories_len
            + self.delayed_len
    }
}

impl Broker {
    /// What the memory is used for. Asks each queue that has messages or consumers, and each connection, for a moment.
    #[must_use]
    pub fn memory_view(&self) -> MemoryView {
        let stats = self.engine.store.stats();
        let mut view = MemoryView {
            resident_len: machine::resident_len().unwrap_or(0),
            files_len: machine::files_len().unwrap_or(0),
            contents_len: stats.chunk_len,
            spare_len: stats.spare_chunk_len,
            segments_len: stats.catalog_len,
            journal_len: self.engine.store.journal_memory_len(),
            metrics_len: self.engine.statistics.stages.memory_len() as u64,
            histories_len: self.engine.statistics.histories_len() as u64,
            ..MemoryView::default()
        };
        for vhost in self.vhosts.all() {
            view.definitions_len += vhost.memory_len() as u64;
            view.metrics_len += vhost.counters.memory_len() as u64;
        }
        view.definitions_len += self.users.memory_len() as u64;
        let names = self.vhost_names();
        for queue in self.walk_queues(names.iter().map(|name| name.as_str())) {
            let len = self.memory_len_of(&queue);
            let all = match queue.handle.is_quorum() {
                true => &mut view.quorum_queues_len,
                false => &mut view.classic_queues_len,
            };
            *all += len;
        }
        for connection in self.connection_views() {
            view.connections.add(&connection.memory().unwrap_or_default());
        }
        let delayed = names.iter().flat_map(|name| self.delays_views(name.as_str()));
        view.delayed_len = delayed.map(|delays| delays.count).sum::<u64>() * DELAYED_LEN;
        view
    }

    /// What a queue takes, in bytes, without the contents of its messages. One that has something is asked, for a moment.
    #[must_use]
    pub fn memory_len_of(&self, queue: &QueueView) -> u64 {
        let handle = &queue.handle;
        let is_empty = handle.counts() == [0, 0] && handle.gauges.consumer_count.get() == 0;
        let of_entry = match is_empty {
            true => Some(size_of::<engine::shard::QueueEntry>()),
            false => self.engine.shards.with_queue(handle, |entry| entry.memory_len()),
        };
        (handle.memory_len() + of_entry.unwrap_or(0)) as u64
    }
}

impl ConnectionView {
    /// What it takes; none of a connection that is at work all the time, or is ending.
    #[must_use]
    pub fn memory(&self) -> Option<ConnectionMemory> {
        self.handle.socket_probe.get()?.memory()
    }
}
