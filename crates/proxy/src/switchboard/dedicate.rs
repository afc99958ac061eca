//! A client gets an upstream connection of its own, and its channels go there.
//!
//! It waits until nothing is under way for it on shared upstream connections, so that no answer and no confirm is lost. From then on frames
//! pass as they are, both ways: what the upstream says of them concerns no other client. Only what was begun on shared upstream connections
//! is still looked after: the confirms that a client has counted there, and the queue that an empty name means.

use amqp::frame::{Frame, FrameKind};
use amqp::method::{Method, basic, channel, confirm};

use super::channel::{Channel, Stage};
use super::frame_outcome::FrameOutcome;
use super::queue_names::name_queue;
use super::upstream_connection::{ConnectionUse, UpstreamConnection};
use super::wait::Waits;
use super::{ClientId, Switchboard, UpstreamConnectionId};

impl Switchboard {
    /// Whether a client is on an upstream connection of its own. If not, everything is done that it gets there, and it waits.
    pub(super) fn dedicate_connection(&mut self, id: ClientId) -> bool {
        if self.clients[id].has_moved() {
            return true;
        }
        if self.is_client_held_back(id) {
            self.wait_for_spool(id, Waits::SpoolEnd);
            return false;
        }
        let Some(connection) = self.own_connection(id) else {
            self.wait_for(id, Waits::OwnConnection);
            return false;
        };
        self.clients[id].stop_waiting();
        if !self.is_client_quiet(id) {
            self.wait_for(id, Waits::Quiet);
            return false;
        }
        self.counters.moved += 1;
        let mut channels = self.clients[id].take_channels();
        for (number, channel) in &mut channels {
            if let Some((shared, at)) = channel.return_lease() {
                self.release_lease(shared, at);
            }
            if channel.stage() == Stage::Open {
                reopen(&mut self.connections[connection], *number, channel);
            }
        }
        self.clients[id].move_channels(channels);
        self.update_blocked(id);
        self.effects.upstream_changed(connection);
        true
    }

    /// The client's own upstream connection, once it is open.
    fn own_connection(&mut self, id: ClientId) -> Option<UpstreamConnectionId> {
        let client = &self.clients[id];
        if let Some(connection) = client.own() {
            return self.connections[connection].is_running().then_some(connection);
        }
        let now_ms = self.now_ms;
        let (login, vhost) = (client.login()?, client.vhost().cloned());
        if self.may_dial() {
            let connection = self.dial(UpstreamConnection::new(ConnectionUse::Own(id), login, vhost, now_ms));
            self.clients[id].set_own(connection);
        } else {
            // The client looks again with the next tick. It is not to be in its own way.
            self.return_quiet_leases(id);
            self.close_unused_connection(None);
        }
        None
    }

    /// A frame of a channel of a client that has an upstream connection of its own.
    pub(super) fn own_connection_frame(&mut self, id: ClientId, frame: &Frame<'_>, raw: &[u8]) -> FrameOutcome {
        let Some(connection_id) = self.clients[id].own() else { return FrameOutcome::Done(0) };
        if !self.connections[connection_id].has_room() {
            self.wait_for_room(id, connection_id);
            return FrameOutcome::NotYet;
        }
        let (client, connection) = (&mut self.clients[id], &mut self.connections[connection_id]);
        if let Some(channel) = client.channel_mut(frame.channel) {
            if channel.stage() == Stage::Closed {
                return self.closed_channel_frame(id, frame);
            }
            if frame.kind == FrameKind::Method
                && channel.may_mean_another_queue()
                && let Ok(mut method) = Method::decode(frame.payload)
                && let Some(name) = channel.remembered_queue(&method)
            {
                name_queue(&mut method, &name);
                connection.send(frame.channel, &method);
                self.effects.upstream_changed(connection_id);
                return FrameOutcome::Done(0);
            }
        }
        connection.send_frames(frame.channel, raw);
        self.effects.upstream_changed(connection_id);
        FrameOutcome::Done(0)
    }

    /// A method that comes over a client's own upstream connection for a channel that was on a shared one. Whether it is not to be passed
    /// on.
    pub(super) fn is_of_moved_channel(&mut self, id: ClientId, number: u16, method: &Method<'_>) -> bool {
        let client = &mut self.clients[id];
        let Some(channel) = client.channel_mut(number) else { return false };
        match method {
            Method::ChannelOpenOk(_) | Method::BasicQosOk(_) if channel.swallow() => true,
            Method::ChannelClose(_) | Method::ChannelCloseOk(_) => {
                client.forget_channel(number);
                false
            }
            Method::BasicAck(ack) => {
                let Some(tag) = channel.tags().and_then(|tags| tags.of_upstream(ack.delivery_tag)) else {
                    return false;
                };
                client.send(number, &basic::Ack { delivery_tag: tag, ..*ack });
                self.effects.client_changed(id);
                true
            }
            Method::BasicNack(nack) => {
                let Some(tag) = channel.tags().and_then(|tags| tags.of_upstream(nack.delivery_tag)) else {
                    return false;
                };
                client.send(number, &basic::Nack { delivery_tag: tag, ..*nack });
                self.effects.client_changed(id);
                true
            }
            _ => false,
        }
    }
}

/// Brings a channel that nothing is under way on to where it was.
fn reopen(connection: &mut UpstreamConnection, number: u16, channel: &mut Channel) {
    let (is_confirming, qos, content) = channel.reopen();
    connection.send(number, &channel::Open::default());
    if is_confirming {
        connection.send(number, &confirm::Select { no_wait: true });
    }
    if let Some(qos) = qos {
        connection.send(number, &qos);
    }
    if let Some(content) = content {
        connection.send_frames(number, content.frames());
    }
}
