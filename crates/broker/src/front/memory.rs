//! What a front takes, added up when an operator asks.

use super::{Front, Protocol};
use crate::connections::{ConnectionHandle, ConnectionMemory, Opened};
use engine::outbox::Outbox;

impl<P: Protocol> Front<P> {
    /// What it takes beside itself.
    pub(crate) fn memory(&self) -> ConnectionMemory {
        let handle = size_of::<ConnectionHandle>() + size_of::<Outbox>();
        let opened = self.handle.opened.get().map_or(0, Opened::memory_len) + self.handle.observed.memory_len();
        ConnectionMemory {
            readers_len: 0,
            writers_len: (self.out.capacity() + self.deliveries.memory_len()) as u64,
            channels_len: (self.lanes.memory_len() + self.consumers.memory_len()) as u64,
            other_len: (handle + opened + self.routes.memory_len() + self.batch.memory_len()) as u64,
        }
    }
}
