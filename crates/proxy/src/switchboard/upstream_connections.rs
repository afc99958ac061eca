//! All upstream connections of a thread, and how many of them count among those that there may be.

use std::ops::{Index, IndexMut};

use super::ids::UpstreamConnectionId;
use super::slots::Slots;
use super::upstream_connection::UpstreamConnection;

#[derive(Debug)]
pub(super) struct UpstreamConnections {
    connections: Slots<UpstreamConnectionId, UpstreamConnection>,
    /// Upstream connections that may be replaced before they are closed.
    uncounted: usize,
}

impl UpstreamConnections {
    pub(super) fn new() -> Self {
        UpstreamConnections { connections: Slots::new(), uncounted: 0 }
    }

    pub(super) fn insert(&mut self, connection: UpstreamConnection) -> UpstreamConnectionId {
        self.connections.insert(connection)
    }

    pub(super) fn remove(&mut self, id: UpstreamConnectionId) {
        if self.connections.remove(id).is_some_and(|connection| connection.is_uncounted()) {
            self.uncounted -= 1;
        }
    }

    /// No more clients get a channel on this one, and it counts no longer.
    pub(super) fn drain(&mut self, id: UpstreamConnectionId) {
        if self.connections[id].drain() {
            self.uncounted += 1;
        }
    }

    #[inline]
    pub(super) fn get(&self, id: UpstreamConnectionId) -> Option<&UpstreamConnection> {
        self.connections.get(id)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: UpstreamConnectionId) -> Option<&mut UpstreamConnection> {
        self.connections.get_mut(id)
    }

    pub(super) fn len(&self) -> usize {
        self.connections.len()
    }

    /// How many count among those that there may be.
    pub(super) fn counted_len(&self) -> usize {
        self.connections.len() - self.uncounted
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (UpstreamConnectionId, &UpstreamConnection)> {
        self.connections.iter()
    }

    /// All ids at this moment, for work that may add or remove some.
    pub(super) fn ids(&self) -> Vec<UpstreamConnectionId> {
        self.connections.ids()
    }
}

impl Index<UpstreamConnectionId> for UpstreamConnections {
    type Output = UpstreamConnection;

    #[inline]
    fn index(&self, id: UpstreamConnectionId) -> &UpstreamConnection {
        &self.connections[id]
    }
}

impl IndexMut<UpstreamConnectionId> for UpstreamConnections {
    #[inline]
    fn index_mut(&mut self, id: UpstreamConnectionId) -> &mut UpstreamConnection {
        &mut self.connections[id]
    }
}
