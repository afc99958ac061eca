//! The upstream connections of a pool of one kind, their free channels, and the clients that wait for either.

use std::collections::VecDeque;

use super::ids::{ClientId, UpstreamConnectionId};
use super::pace::Pace;

/// What is said over an upstream connection. What fails or is held up on one kind of upstream connections does not harm those on the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing but publishes.
    Publishes,
    /// Declarations, gets and the like, and what their clients publish: where a queue was declared it is known, on another of an upstream's
    /// nodes perhaps not yet.
    Calls,
}

#[derive(Debug, Default)]
pub(super) struct Lane {
    /// The upstream connection that is being opened.
    opening: Option<UpstreamConnectionId>,
    /// Upstream connections that are open.
    connections: Vec<UpstreamConnectionId>,
    /// How many channels are to wait for the confirms of disconnected clients.
    pace: Pace,
    /// Channels that the next client may have as they are: the last one that was used first.
    free: Vec<(UpstreamConnectionId, u16)>,
    /// Clients that wait for an upstream connection or a channel.
    waiters: VecDeque<ClientId>,
}

impl Lane {
    /// The upstream connection that is being opened.
    pub(super) fn opening(&self) -> Option<UpstreamConnectionId> {
        self.opening
    }

    pub(super) fn set_opening(&mut self, connection: UpstreamConnectionId) {
        self.opening = Some(connection);
    }

    /// The upstream connection that was being opened will not be.
    pub(super) fn drop_opening(&mut self) {
        self.opening = None;
    }

    /// The upstream connection that was being opened is open.
    pub(super) fn add(&mut self, connection: UpstreamConnectionId) {
        self.opening = None;
        self.connections.push(connection);
    }

    /// An upstream connection is lost. Whether it was being opened.
    pub(super) fn forget(&mut self, id: UpstreamConnectionId) -> bool {
        self.connections.retain(|connection| *connection != id);
        self.free.retain(|(connection, _)| *connection != id);
        self.opening.take_if(|connection| *connection == id).is_some()
    }

    /// Upstream connections that are open.
    pub(super) fn connections(&self) -> impl Iterator<Item = UpstreamConnectionId> {
        self.connections.iter().copied()
    }

    pub(super) fn upstream_connection_count(&self) -> usize {
        self.connections.len()
    }

    pub(super) fn pace(&self) -> &Pace {
        &self.pace
    }

    pub(super) fn pace_mut(&mut self) -> &mut Pace {
        &mut self.pace
    }

    /// The next client may have this channel as it is.
    pub(super) fn push_free(&mut self, connection: UpstreamConnectionId, number: u16) {
        self.free.push((connection, number));
    }

    /// A channel that may still be had as it is: the one that was used last.
    pub(super) fn pop_free(&mut self) -> Option<(UpstreamConnectionId, u16)> {
        self.free.pop()
    }

    pub(super) fn has_free(&self) -> bool {
        !self.free.is_empty()
    }

    /// Takes free channels that are idle, at most so many and not the last one. Those that were used last lie on top, so these are at the
    /// bottom.
    pub(super) fn take_idle(
        &mut self,
        count_max: usize,
        is_idle: impl Fn(UpstreamConnectionId, u16) -> bool,
    ) -> Vec<(UpstreamConnectionId, u16)> {
        let count_max = self.free.len().saturating_sub(1).min(count_max);
        let idle_count =
            self.free.iter().take(count_max).take_while(|(connection, at)| is_idle(*connection, *at)).count();
        self.free.drain(..idle_count).collect()
    }

    /// A client waits for an upstream connection or a channel.
    pub(super) fn add_waiter(&mut self, client: ClientId) {
        self.waiters.push_back(client);
    }

    /// The client that has waited longest.
    pub(super) fn pop_waiter(&mut self) -> Option<ClientId> {
        self.waiters.pop_front()
    }

    pub(super) fn take_waiters(&mut self) -> VecDeque<ClientId> {
        std::mem::take(&mut self.waiters)
    }

    pub(super) fn waiter_count(&self) -> usize {
        self.waiters.len()
    }

    /// Forgets clients that wait no more.
    pub(super) fn retain_waiters(&mut self, is_there: impl Fn(&ClientId) -> bool) {
        self.waiters.retain(is_there);
    }
}
