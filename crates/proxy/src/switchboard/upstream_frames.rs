//! Frames of upstreams: to the clients they are for, under the clients' own channel numbers and tags.

use amqp::frame::{Frame, FrameKind, decode_frame};
use amqp::limits::FRAME_LEN_FUDGE;
use amqp::method::{Method, basic, channel, connection};

use super::channel::Stage;
use super::client::Phase;
use super::frames::put_frames;
use super::upstream_connection::{ConnectionUse, UpstreamPhase};
use super::wait::Waits;
use super::{ClientId, Notice, Refusal, Switchboard, UpstreamConnectionId};
use crate::limits::CLIENT_OUTPUT_LEN_GONE;

/// Class and method of what comes most often: these are passed on without a closer look.
const DELIVER: [u8; 4] = [0, 60, 0, 60];
const GET_OK: [u8; 4] = [0, 60, 0, 71];
const ACK: [u8; 4] = [0, 60, 0, 80];
const NACK: [u8; 4] = [0, 60, 0, 120];

impl Switchboard {
    /// Looks at an upstream's frames. Gives how many bytes are done with.
    pub(super) fn upstream_frames(&mut self, id: UpstreamConnectionId, bytes: &[u8]) -> usize {
        let mut at = 0;
        while !self.connections[id].is_over() {
            match decode_frame(&bytes[at..], self.connections[id].frame_len_max() + FRAME_LEN_FUDGE) {
                Ok(None) => return at,
                Ok(Some((frame, len))) => {
                    let raw = &bytes[at..at + len];
                    if let Err(text) = self.upstream_frame(id, &frame, raw) {
                        self.upstream_garbled(id, text);
                    }
                    at += len;
                }
                Err(error) => self.upstream_garbled(id, error.to_string()),
            }
        }
        bytes.len()
    }

    fn upstream_garbled(&mut self, id: UpstreamConnectionId, text: String) {
        self.connections[id].give_up(Some("it violates the protocol".into()));
        self.effects.log(Notice::Garbled { connection: id, text });
        self.effects.upstream_changed(id);
    }

    fn upstream_frame(&mut self, id: UpstreamConnectionId, frame: &Frame<'_>, raw: &[u8]) -> Result<(), String> {
        match (frame.kind, frame.channel) {
            (FrameKind::Heartbeat, _) => Ok(()),
            (FrameKind::Method, 0) => {
                let method = Method::decode(frame.payload).map_err(|error| error.to_string())?;
                self.upstream_method(id, &method, raw)
            }
            (_, 0) => Err("a content frame came on channel 0".to_owned()),
            (kind, number) => match self.connections[id].usage() {
                ConnectionUse::Own(client) => {
                    self.pass_to_client(client, number, kind, frame.payload, raw);
                    Ok(())
                }
                ConnectionUse::Shared(..) => self.shared_frame(id, number, kind, frame.payload, raw),
                ConnectionUse::Login(_) | ConnectionUse::Check(_) | ConnectionUse::None => Ok(()),
            },
        }
    }

    /// A method of channel 0.
    fn upstream_method(&mut self, id: UpstreamConnectionId, method: &Method<'_>, raw: &[u8]) -> Result<(), String> {
        match self.connections[id].phase() {
            UpstreamPhase::Running => {}
            UpstreamPhase::Closing { .. } => {
                match method {
                    Method::ConnectionCloseOk(_) => self.upstream_has_closed(id),
                    Method::ConnectionClose(_) => {
                        self.connections[id].send(0, &connection::CloseOk);
                        self.upstream_has_closed(id);
                    }
                    _ => {}
                }
                return Ok(());
            }
            UpstreamPhase::Over | UpstreamPhase::Dialling => return Ok(()),
            _ => return self.upstream_handshake_method(id, method),
        }
        match method {
            Method::ConnectionClose(close) => {
                let refusal = Refusal::of_connection(close);
                let connection = &mut self.connections[id];
                connection.send(0, &connection::CloseOk);
                connection.close_with(refusal.clone());
                connection.enter(UpstreamPhase::Over);
                let open_count = connection.channels().open_count();
                if let ConnectionUse::Shared(pool, _) = connection.usage()
                    && refusal.text().contains("number of channels opened")
                {
                    // The user may have fewer than connections permit.
                    self.pools.pool(pool).limit_channels(open_count.saturating_sub(1).max(1));
                }
                match self.connections[id].usage() {
                    ConnectionUse::Own(client) => self.own_connection_closed(client, &refusal, &refusal.text()),
                    ConnectionUse::Shared(pool, _) => {
                        self.pools.pool(pool).poisoned_queues_mut().note(&refusal, self.now_ms)
                    }
                    _ => {}
                }
            }
            Method::ConnectionBlocked(blocked) => {
                self.connections[id].set_blocked(Some(blocked.reason));
                self.update_blocked_clients(id);
            }
            Method::ConnectionUnblocked(_) => {
                let connection = &mut self.connections[id];
                connection.set_blocked(None);
                if let ConnectionUse::Shared(pool, kind) = connection.usage() {
                    let waiters = self.pools.pool(pool).lane(kind).take_waiters();
                    // The client that waits longest comes first.
                    self.wake_queue.extend(waiters);
                }
                self.update_blocked_clients(id);
            }
            Method::ConnectionUpdateSecretOk(_) => {
                if let ConnectionUse::Own(client) = self.connections[id].usage() {
                    self.clients[client].output_mut().end().extend_from_slice(raw);
                    self.effects.client_changed(client);
                }
            }
            other => return Err(format!("it sends {} on channel 0", other.name())),
        }
        Ok(())
    }

    fn upstream_has_closed(&mut self, id: UpstreamConnectionId) {
        let connection = &mut self.connections[id];
        connection.enter(UpstreamPhase::Over);
        if let ConnectionUse::Own(client) = connection.usage() {
            let ended = Refusal::new(amqp::ReplyCode::ConnectionForced, "the upstream connection was closed");
            self.own_connection_lost(client, &ended);
        }
    }

    /// Notifies the clients that have a channel on this upstream connection whether it takes publishes.
    fn update_blocked_clients(&mut self, id: UpstreamConnectionId) {
        let connection = &self.connections[id];
        let mut users: Vec<ClientId> = match connection.usage() {
            ConnectionUse::Own(client) => vec![client],
            _ => connection.channels().iter().filter_map(|channel| channel.owner()).map(|(client, _)| client).collect(),
        };
        users.sort_unstable();
        users.dedup();
        for client in users {
            self.update_blocked(client);
        }
    }

    /// A frame of a channel of a shared upstream connection.
    fn shared_frame(
        &mut self,
        id: UpstreamConnectionId,
        at: u16,
        kind: FrameKind,
        payload: &[u8],
        raw: &[u8],
    ) -> Result<(), String> {
        let connection = &mut self.connections[id];
        let Some(there) = connection.channel_mut(at) else { return Ok(()) };
        let owner = there.owner();
        if kind != FrameKind::Method {
            let is_whole = there.incoming_frame(kind, payload)?;
            if let Some((client, number)) = owner {
                self.put_to_client(client, number, raw);
            }
            if let Some(is_answer) = is_whole {
                self.content_is_whole(id, at, owner, is_answer);
            }
            return Ok(());
        }
        if there.has_incoming() {
            return Err("a method arrived within a content".to_owned());
        }
        match payload.first_chunk::<4>() {
            Some(&ACK | &NACK) => self.confirm(id, at, payload),
            Some(&DELIVER) => Err("it delivers to a channel that consumes nothing".to_owned()),
            _ => {
                let method = Method::decode(payload).map_err(|error| error.to_string())?;
                self.shared_method(id, at, &method, raw);
                Ok(())
            }
        }
    }

    fn shared_method(&mut self, id: UpstreamConnectionId, at: u16, method: &Method<'_>, raw: &[u8]) {
        let Some(there) = self.connections[id].channel_mut(at) else { return };
        let owner = there.owner();
        match method {
            Method::ChannelOpenOk(_) | Method::ConfirmSelectOk(_) => {}
            Method::ChannelCloseOk(_) => {
                if there.is_closing() {
                    self.channel_has_closed(id, at, owner);
                }
            }
            Method::ChannelClose(close) => {
                let is_closing = there.is_closing();
                self.connections[id].send(at, &channel::CloseOk);
                match is_closing {
                    false => self.channel_failed(id, at, owner, &Refusal::of_channel(close)),
                    // Its client has closed it, too, and hears of that alone.
                    true => self.failed_late(id, &Refusal::of_channel(close)),
                }
            }
            Method::BasicReturn(returned) => {
                there.begin_incoming(false);
                match owner {
                    Some((client, number)) => self.put_to_client(client, number, raw),
                    None => {
                        self.counters.late_returns += 1;
                        let (user, vhost) = self.names(id);
                        let text = String::from_utf8_lossy(returned.reply_text).into_owned();
                        self.effects.log(Notice::LateReturn { user, vhost, text });
                    }
                }
            }
            // Nothing is held up here: what it wants is what TCP does.
            Method::ChannelFlow(flow) => self.connections[id].send(at, &channel::FlowOk { active: flow.active }),
            Method::BasicGetOk(_) => {
                there.begin_incoming(true);
                if let Some((client, number)) = owner {
                    self.put_to_client(client, number, raw);
                }
            }
            _ => {
                let Some((client, number)) = owner else { return };
                let channel = self.clients[client].channel_mut(number);
                if channel.is_none_or(|channel| channel.take_answer()) {
                    self.put_to_client(client, number, raw);
                }
                self.wake_if(client, |waits| matches!(waits, Waits::Quiet | Waits::Answer));
            }
        }
    }

    /// A content has come to its end.
    fn content_is_whole(&mut self, id: UpstreamConnectionId, at: u16, owner: Option<(ClientId, u16)>, is_answer: bool) {
        match owner {
            Some((client, number)) => {
                if is_answer && let Some(channel) = self.clients[client].channel_mut(number) {
                    channel.take_answer();
                }
                self.wake_if(client, |waits| matches!(waits, Waits::Quiet | Waits::Answer));
            }
            None => self.try_to_free(id, at),
        }
    }

    /// Returns a channel that no client has to its pool, if nothing is under way on it.
    fn try_to_free(&mut self, id: UpstreamConnectionId, at: u16) {
        let connection = &mut self.connections[id];
        if let ConnectionUse::Shared(pool, kind) = connection.usage()
            && connection.channel(at).is_some_and(|there| there.is_free())
        {
            self.channel_is_free(pool, kind, id, at);
        }
    }

    /// The upstream has taken responsibility for publishes, or refused it.
    fn confirm(&mut self, id: UpstreamConnectionId, at: u16, payload: &[u8]) -> Result<(), String> {
        let method = Method::decode(payload).map_err(|error| error.to_string())?;
        let (tag, is_multiple, is_refused) = match method {
            Method::BasicAck(ack) => (ack.delivery_tag, ack.multiple, false),
            Method::BasicNack(nack) => (nack.delivery_tag, nack.multiple, true),
            _ => return Ok(()),
        };
        let now_ms = self.now_ms;
        let connection = &mut self.connections[id];
        let Some(there) = connection.channel_mut(at) else { return Ok(()) };
        let (count, wait_ms) = there.settle(tag, is_multiple, now_ms);
        let (owner, is_quiet, was_parked) = (there.owner(), there.is_quiet(), there.is_parked());
        if let Some(wait_ms) = wait_ms {
            self.note_confirmed(id, wait_ms, was_parked);
        }
        match owner {
            Some((client_id, number)) => {
                let client = &mut self.clients[client_id];
                let tags = client.channel(number).and_then(|channel| channel.tags());
                if let Some(tag) = tags.and_then(|tags| tags.of_upstream(tag)) {
                    match is_refused {
                        false => client.send(number, &basic::Ack { delivery_tag: tag, multiple: is_multiple }),
                        true => {
                            let nack = basic::Nack { delivery_tag: tag, multiple: is_multiple, requeue: false };
                            client.send(number, &nack);
                        }
                    }
                    self.effects.client_changed(client_id);
                }
                if is_quiet {
                    self.wake_if(client_id, |waits| waits == Waits::Quiet);
                }
            }
            None => {
                self.counters.late_nacks += if is_refused { count } else { 0 };
                self.try_to_free(id, at);
            }
        }
        Ok(())
    }

    /// Both sides have closed a channel: its number may be used again.
    fn channel_has_closed(&mut self, id: UpstreamConnectionId, at: u16, owner: Option<(ClientId, u16)>) {
        self.vacate(id, at);
        let Some((client_id, number)) = owner else { return };
        let client = &mut self.clients[client_id];
        if client.channel(number).is_some_and(|channel| channel.stage() == Stage::Closing) {
            client.forget_channel(number);
            client.send(number, &channel::CloseOk);
            self.effects.client_changed(client_id);
            self.wake_if(client_id, |waits| waits == Waits::Quiet);
        }
    }

    /// The upstream has closed a channel.
    fn channel_failed(&mut self, id: UpstreamConnectionId, at: u16, owner: Option<(ClientId, u16)>, refusal: &Refusal) {
        self.vacate(id, at);
        let Some((client_id, number)) = owner else {
            return self.failed_late(id, refusal);
        };
        let client = &mut self.clients[client_id];
        let Some(channel) = client.channel_mut(number) else { return };
        let (held_len, was_open) = channel.fail();
        client.let_go(held_len);
        if was_open {
            client.send(number, &refusal.to_channel());
        }
        self.update_blocked(client_id);
        self.effects.client_changed(client_id);
        self.wake_if(client_id, |waits| matches!(waits, Waits::Quiet | Waits::Answer | Waits::Room));
    }

    /// A publish failed whose client has disconnected.
    fn failed_late(&mut self, id: UpstreamConnectionId, refusal: &Refusal) {
        self.counters.late_errors += 1;
        let (user, vhost) = self.names(id);
        let notice = Notice::LateError { user, vhost, code: refusal.code, text: refusal.text() };
        self.effects.log(notice);
    }

    fn vacate(&mut self, id: UpstreamConnectionId, at: u16) {
        let now_ms = self.now_ms;
        self.connections[id].channels_mut().vacate(at, now_ms);
        self.effects.upstream_changed(id);
        if let ConnectionUse::Shared(pool, kind) = self.connections[id].usage() {
            self.wake_waiter(pool, kind);
        }
    }

    /// Passes a frame on from a client's own upstream connection.
    fn pass_to_client(&mut self, id: ClientId, number: u16, kind: FrameKind, payload: &[u8], raw: &[u8]) {
        let client = &mut self.clients[id];
        if matches!(client.phase(), Phase::Closing { .. } | Phase::Leaving { .. } | Phase::Parting { .. } | Phase::Over)
        {
            return;
        }
        if kind == FrameKind::Method
            && !matches!(payload.first_chunk::<4>(), Some(&DELIVER | &GET_OK))
            && client.channel_count() > 0
            && let Ok(method) = Method::decode(payload)
            && self.is_of_moved_channel(id, number, &method)
        {
            return;
        }
        self.put_to_client(id, number, raw);
    }

    fn put_to_client(&mut self, id: ClientId, number: u16, raw: &[u8]) {
        let client = &mut self.clients[id];
        let frame_len_max = client.frame_len_max();
        put_frames(client.output_mut().end(), raw, number, frame_len_max);
        let is_gone = client.output().len() > CLIENT_OUTPUT_LEN_GONE && client.own().is_none();
        self.effects.client_changed(id);
        if is_gone && !self.clients[id].is_over() {
            self.counters.slow_clients += 1;
            self.effects.log(Notice::SlowClient(id));
            self.clients[id].output_mut().clear();
            self.end_client(id);
        }
    }

    fn wake_if(&mut self, id: ClientId, is_waking: impl Fn(Waits) -> bool) {
        if is_waking(self.clients[id].waits()) {
            self.wake_queue.push(id);
        }
    }

    /// User and vhost of an upstream connection.
    pub(super) fn names(&mut self, id: UpstreamConnectionId) -> (String, String) {
        let connection = &self.connections[id];
        let vhost = connection.vhost().map(ToString::to_string).unwrap_or_default();
        (self.pools.login(connection.login()).user().to_string(), vhost)
    }
}
