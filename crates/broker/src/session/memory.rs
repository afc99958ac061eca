//! What a session takes, added up when an operator asks.

use super::Session;
use super::channel::Channel;
use super::confirms::Confirms;
use super::consumer_slots::ConsumerSlot;
use super::unacked::UnackedDelivery;
use crate::connections::{ChannelHandle, ConnectionHandle, ConnectionMemory, ConsumerHandle, Opened};
use crate::statistics::{ConsumerCounters, Observable as _};
use engine::gate::ChannelLimit;
use engine::outbox::{Outbox, Outgoing};

impl Session {
    /// What it takes beside itself.
    pub(crate) fn memory(&self) -> ConnectionMemory {
        let handle = size_of::<ConnectionHandle>() + size_of::<Outbox>();
        let opened = self.handle.opened.get().map_or(0, Opened::memory_len) + self.handle.observed.memory_len();
        ConnectionMemory {
            readers_len: 0,
            writers_len: (self.out.capacity() + self.deliveries.memory_len()) as u64,
            channels_len: (self.channels.memory_len() + self.consumers.memory_len()) as u64,
            other_len: (handle + opened + self.routes.memory_len() + self.batch.memory_len()) as u64,
        }
    }
}

impl Channel {
    /// Bytes that it takes.
    pub(super) fn memory_len(&self) -> usize {
        let confirms = self.confirms.as_ref().map_or(0, Confirms::memory_len);
        let names = self.consumers.capacity() * size_of::<(Box<[u8]>, u32)>();
        size_of::<Self>()
            + size_of::<ChannelHandle>()
            + self.handle.observed().memory_len()
            + size_of::<ChannelLimit>()
            + self.unacked.capacity() * size_of::<UnackedDelivery>()
            + confirms
            + names
    }
}

/// What each consumer takes beside its place among the others: what listings know of it, its tag, its counters.
pub(super) const CONSUMER_LEN: usize =
    size_of::<ConsumerHandle>() + size_of::<ConsumerCounters>() + size_of::<ConsumerSlot>() + 64;

/// What so many deliveries take that are on their way.
pub(super) fn deliveries_len(count: usize) -> usize {
    count * size_of::<Outgoing>()
}
