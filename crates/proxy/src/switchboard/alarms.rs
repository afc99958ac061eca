//! What clients are told of alarms: that a line which they use takes no publishes.

use amqp::method::connection;

use super::client::{Client, Phase};
use super::line::Line;
use super::slots::Slots;
use super::{ClientId, Switchboard};

impl Switchboard {
    /// Whether one of the lines that a client uses takes no publishes.
    pub(super) fn is_blocked(&self, id: ClientId) -> bool {
        blocked_reason(&self.clients[id.0], &self.lines).is_some()
    }

    /// Tells a client whether one of the lines that it uses takes publishes, if that is news.
    pub(super) fn tell_blocked(&mut self, id: ClientId) {
        let Some(client) = self.clients.get_mut(id.0) else { return };
        if !client.capabilities.connection_blocked || client.phase != Phase::Running || client.ended_ms.is_some() {
            return;
        }
        let reason = blocked_reason(client, &self.lines);
        if client.is_told_blocked == reason.is_some() {
            return;
        }
        client.is_told_blocked = reason.is_some();
        match reason {
            Some(reason) => client.send(0, &connection::Blocked { reason }),
            None => client.send(0, &connection::Unblocked),
        }
        self.client_changed(id);
    }
}

/// Why one of the lines that a client uses takes no publishes, if that is so.
fn blocked_reason<'a>(client: &Client, lines: &'a Slots<Line>) -> Option<&'a [u8]> {
    let seats = client.channels.values().filter_map(|channel| channel.seat.map(|(line, _)| line));
    let mut used = seats.chain(client.own.filter(|_| client.has_moved));
    used.find_map(|line| lines.get(line.0)?.blocked.as_deref())
}
