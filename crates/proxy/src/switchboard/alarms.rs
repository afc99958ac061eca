//! What clients are notified of in alarms: that an upstream connection which they use takes no publishes.

use amqp::method::connection;

use super::client::Client;
use super::upstream_connections::UpstreamConnections;
use super::{ClientId, Switchboard};

impl Switchboard {
    /// Whether one of the upstream connections that a client uses takes no publishes.
    pub(super) fn is_blocked(&self, id: ClientId) -> bool {
        blocked_reason(&self.clients[id], &self.connections).is_some()
    }

    /// Notifies a client whether one of the upstream connections that it uses takes publishes, if that is news.
    pub(super) fn update_blocked(&mut self, id: ClientId) {
        let Some(client) = self.clients.get_mut(id) else { return };
        if !client.capabilities().connection_blocked || !client.is_running() || client.has_ended() {
            return;
        }
        let reason = blocked_reason(client, &self.connections);
        if !client.note_blocked(reason.is_some()) {
            return;
        }
        match reason {
            Some(reason) => client.send(0, &connection::Blocked { reason }),
            None => client.send(0, &connection::Unblocked),
        }
        self.effects.client_changed(id);
    }
}

/// Why one of the upstream connections that a client uses takes no publishes, if one does not.
fn blocked_reason<'a>(client: &Client, connections: &'a UpstreamConnections) -> Option<&'a [u8]> {
    let leases = client.channels().filter_map(|channel| channel.lease().map(|(connection, _)| connection));
    let mut used = leases.chain(client.own().filter(|_| client.has_moved()));
    used.find_map(|connection| connections.get(connection)?.blocked())
}
