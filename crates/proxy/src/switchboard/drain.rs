//! How upstream connections and clients are brought to an end in peace: for an upstream that is to be restarted, or for the proxy's own
//! stop.

use std::borrow::Cow;
use std::rc::Rc;

use super::{ClientId, Refusal, Switchboard, UpstreamConnectionId};

impl Switchboard {
    /// No more clients get a channel on this upstream connection, and those that have nothing under way there move elsewhere. It is
    /// closed when no client is left. A client's own upstream connection stays until the client leaves.
    pub fn drain_connection(&mut self, id: UpstreamConnectionId, now_ms: u64) {
        self.now_ms = now_ms;
        if self.connections.get(id).is_some() {
            self.connections.drain(id);
            self.leave_connection(id);
            self.close_idle_connection(id);
            self.run_woken();
        }
    }

    /// Closes the connections of all clients.
    pub fn close_clients(&mut self, refusal: &Refusal, now_ms: u64) {
        self.now_ms = now_ms;
        for id in self.clients.ids() {
            self.close_client(id, refusal);
        }
        self.run_woken();
    }

    /// Closes upstream connections on which nothing is under way. Says whether that were all.
    pub fn close_connections(&mut self, now_ms: u64) -> bool {
        self.now_ms = now_ms;
        let mut is_all = true;
        for id in self.connections.ids() {
            if self.connections[id].is_unused() {
                self.close_connection(id);
            } else {
                is_all = false;
            }
        }
        is_all
    }

    /// Whose vhost an upstream connection is, once that is known.
    #[must_use]
    pub(crate) fn upstream_vhost(&self, id: UpstreamConnectionId) -> Option<Rc<str>> {
        self.connections.get(id)?.vhost().cloned()
    }

    /// Whether an upstream connection's handshake was done.
    #[must_use]
    pub(crate) fn has_connection_opened(&self, id: UpstreamConnectionId) -> bool {
        self.connections.get(id).is_some_and(|connection| connection.has_opened())
    }

    /// What the upstream did wrong, if an upstream connection was given up for that.
    #[must_use]
    pub(crate) fn upstream_fault(&self, id: UpstreamConnectionId) -> Option<Cow<'static, str>> {
        self.connections.get(id)?.fault().cloned()
    }

    /// Clients that have nothing under way on a draining upstream connection leave it: they have another when they next say something, or
    /// had something to say already.
    pub(super) fn leave_connection(&mut self, id: UpstreamConnectionId) {
        let connection = &self.connections[id];
        if !connection.is_shared() {
            return;
        }
        let users: Vec<(ClientId, u16)> = connection.channels().iter().filter_map(|there| there.owner()).collect();
        for (client, number) in users {
            if self.is_channel_quiet(client, number) {
                self.return_lease(client, number);
            }
        }
        let waiters = self.connections[id].take_waiters();
        // The client that waits longest comes first.
        self.wake_queue.extend(waiters);
    }
}
