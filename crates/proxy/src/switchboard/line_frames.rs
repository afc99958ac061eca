//! Frames of upstreams: to the clients they are for, under the clients' own channel numbers and tags.

use amqp::frame::{Frame, FrameKind, decode_frame};
use amqp::limits::FRAME_LEN_FUDGE;
use amqp::method::{Method, basic, channel, connection};

use super::client::{Phase, Stage, Waits};
use super::frames::put_frames;
use super::line::{Incoming, LinePhase, Use};
use super::{ClientId, Effect, LineId, Notice, Refusal, Switchboard};
use crate::limits::CLIENT_OUTPUT_LEN_GONE;

/// Class and method of what comes most often: these are passed on without a closer look.
const DELIVER: [u8; 4] = [0, 60, 0, 60];
const GET_OK: [u8; 4] = [0, 60, 0, 71];
const ACK: [u8; 4] = [0, 60, 0, 80];
const NACK: [u8; 4] = [0, 60, 0, 120];

impl Switchboard {
    /// Looks at an upstream's frames. Gives how many bytes are done with.
    pub(super) fn line_frames(&mut self, id: LineId, bytes: &[u8]) -> usize {
        let mut at = 0;
        while !self.lines[id.0].is_over() {
            match decode_frame(&bytes[at..], self.lines[id.0].frame_len_max + FRAME_LEN_FUDGE) {
                Ok(None) => return at,
                Ok(Some((frame, len))) => {
                    let raw = &bytes[at..at + len];
                    if let Err(text) = self.line_frame(id, &frame, raw) {
                        self.line_garbled(id, text);
                    }
                    at += len;
                }
                Err(error) => self.line_garbled(id, error.to_string()),
            }
        }
        bytes.len()
    }

    fn line_garbled(&mut self, id: LineId, text: String) {
        self.lines[id.0].phase = LinePhase::Over;
        self.lines[id.0].fault = Some("it does not speak as agreed".into());
        self.effects.push(Effect::Log(Notice::Garbled { line: id, text }));
        self.line_changed(id);
    }

    fn line_frame(&mut self, id: LineId, frame: &Frame<'_>, raw: &[u8]) -> Result<(), String> {
        match (frame.kind, frame.channel) {
            (FrameKind::Heartbeat, _) => Ok(()),
            (FrameKind::Method, 0) => {
                let method = Method::decode(frame.payload).map_err(|error| error.to_string())?;
                self.line_method(id, &method, raw)
            }
            (_, 0) => Err("a content frame came on channel 0".to_owned()),
            (kind, number) => match self.lines[id.0].usage {
                Use::Own(client) => {
                    self.pass_to_client(client, number, kind, frame.payload, raw);
                    Ok(())
                }
                Use::Shared(..) => self.shared_frame(id, number, kind, frame.payload, raw),
                Use::Login(_) | Use::Check(_) | Use::None => Ok(()),
            },
        }
    }

    /// A method of channel 0.
    fn line_method(&mut self, id: LineId, method: &Method<'_>, raw: &[u8]) -> Result<(), String> {
        match self.lines[id.0].phase {
            LinePhase::Running => {}
            LinePhase::Closing { .. } => {
                match method {
                    Method::ConnectionCloseOk(_) => self.line_has_closed(id),
                    Method::ConnectionClose(_) => {
                        self.lines[id.0].send(0, &connection::CloseOk);
                        self.line_has_closed(id);
                    }
                    _ => {}
                }
                return Ok(());
            }
            LinePhase::Over | LinePhase::Dialling => return Ok(()),
            _ => return self.line_handshake_method(id, method),
        }
        match method {
            Method::ConnectionClose(close) => {
                let refusal = Refusal::of_connection(close);
                let line = &mut self.lines[id.0];
                line.send(0, &connection::CloseOk);
                line.closed_with = Some(refusal.clone());
                line.phase = LinePhase::Over;
                let open_count = line.open_count;
                if let Use::Shared(pool, _) = line.usage
                    && refusal.text().contains("number of channels opened")
                {
                    // The user may have fewer than connections permit.
                    let pool = self.pools.pool(pool);
                    pool.channel_limit = pool.channel_limit.min(open_count.saturating_sub(1)).max(1);
                }
                match self.lines[id.0].usage {
                    Use::Own(client) => self.own_line_closed(client, &refusal, &refusal.text()),
                    Use::Shared(pool, _) => self.pools.pool(pool).suspects.note(&refusal, self.now_ms),
                    _ => {}
                }
            }
            Method::ConnectionBlocked(blocked) => {
                self.lines[id.0].blocked = Some(blocked.reason.into());
                self.tell_users(id);
            }
            Method::ConnectionUnblocked(_) => {
                let line = &mut self.lines[id.0];
                line.blocked = None;
                if let Use::Shared(pool, kind) = line.usage {
                    let waiters = std::mem::take(&mut self.pools.pool(pool).lane(kind).waiters);
                    // The one who waits longest comes first.
                    self.woken.extend(waiters.into_iter().rev());
                }
                self.tell_users(id);
            }
            Method::ConnectionUpdateSecretOk(_) => {
                if let Use::Own(client) = self.lines[id.0].usage {
                    self.clients[client.0].output.end().extend_from_slice(raw);
                    self.client_changed(client);
                }
            }
            other => return Err(format!("it sends {} on channel 0", other.name())),
        }
        Ok(())
    }

    fn line_has_closed(&mut self, id: LineId) {
        let line = &mut self.lines[id.0];
        line.phase = LinePhase::Over;
        if let Use::Own(client) = line.usage {
            let ended = Refusal::new(amqp::ReplyCode::ConnectionForced, "the upstream connection was closed");
            self.own_line_lost(client, &ended);
        }
    }

    /// Tells those who have a channel on this line whether it takes publishes.
    fn tell_users(&mut self, id: LineId) {
        let line = &self.lines[id.0];
        let mut users: Vec<ClientId> = match line.usage {
            Use::Own(client) => vec![client],
            _ => line.channels.iter().flatten().filter_map(|channel| channel.owner).map(|(client, _)| client).collect(),
        };
        users.sort_unstable();
        users.dedup();
        for client in users {
            self.tell_blocked(client);
        }
    }

    /// A frame of a channel of a shared line.
    fn shared_frame(&mut self, id: LineId, at: u16, kind: FrameKind, payload: &[u8], raw: &[u8]) -> Result<(), String> {
        let line = &mut self.lines[id.0];
        let Some(there) = line.channel(at) else { return Ok(()) };
        let owner = there.owner;
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
        if there.incoming.is_some() {
            return Err("a method came within a content".to_owned());
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

    fn shared_method(&mut self, id: LineId, at: u16, method: &Method<'_>, raw: &[u8]) {
        let Some(there) = self.lines[id.0].channel(at) else { return };
        let owner = there.owner;
        match method {
            Method::ChannelOpenOk(_) | Method::ConfirmSelectOk(_) => {}
            Method::ChannelCloseOk(_) => {
                if there.is_closing {
                    self.channel_has_closed(id, at, owner);
                }
            }
            Method::ChannelClose(close) => {
                let is_closing = there.is_closing;
                self.lines[id.0].send(at, &channel::CloseOk);
                match is_closing {
                    false => self.channel_failed(id, at, owner, &Refusal::of_channel(close)),
                    // Its client has closed it, too, and hears of that alone.
                    true => self.failed_late(id, &Refusal::of_channel(close)),
                }
            }
            Method::BasicReturn(returned) => {
                there.incoming = Some(Incoming { left: None, is_answer: false });
                match owner {
                    Some((client, number)) => self.put_to_client(client, number, raw),
                    None => {
                        self.counters.late_returns += 1;
                        let (user, vhost) = self.names(id);
                        let text = String::from_utf8_lossy(returned.reply_text).into_owned();
                        self.effects.push(Effect::Log(Notice::LateReturn { user, vhost, text }));
                    }
                }
            }
            // Nothing is held up here: what it wants is what TCP does.
            Method::ChannelFlow(flow) => self.lines[id.0].send(at, &channel::FlowOk { active: flow.active }),
            Method::BasicGetOk(_) => {
                there.incoming = Some(Incoming { left: None, is_answer: true });
                if let Some((client, number)) = owner {
                    self.put_to_client(client, number, raw);
                }
            }
            _ => {
                let Some((client, number)) = owner else { return };
                let channel = self.clients[client.0].channels.get_mut(&number);
                if channel.and_then(|channel| channel.unanswered.pop_front()).unwrap_or(true) {
                    self.put_to_client(client, number, raw);
                }
                self.wake_if(client, |waits| matches!(waits, Waits::Quiet | Waits::Answer));
            }
        }
    }

    /// A content has come to its end.
    fn content_is_whole(&mut self, id: LineId, at: u16, owner: Option<(ClientId, u16)>, is_answer: bool) {
        match owner {
            Some((client, number)) => {
                if is_answer && let Some(channel) = self.clients[client.0].channels.get_mut(&number) {
                    channel.unanswered.pop_front();
                }
                self.wake_if(client, |waits| matches!(waits, Waits::Quiet | Waits::Answer));
            }
            None => self.try_to_free(id, at),
        }
    }

    /// A channel that nobody has goes back to its pool, if nothing is under way on it.
    fn try_to_free(&mut self, id: LineId, at: u16) {
        let line = &mut self.lines[id.0];
        if let Use::Shared(pool, kind) = line.usage
            && line.channel(at).is_some_and(|there| there.is_free())
        {
            self.seat_is_free(pool, kind, id, at);
        }
    }

    /// The upstream has taken responsibility for publishes, or refused it.
    fn confirm(&mut self, id: LineId, at: u16, payload: &[u8]) -> Result<(), String> {
        let method = Method::decode(payload).map_err(|error| error.to_string())?;
        let (tag, is_multiple, is_refused) = match method {
            Method::BasicAck(ack) => (ack.delivery_tag, ack.multiple, false),
            Method::BasicNack(nack) => (nack.delivery_tag, nack.multiple, true),
            _ => return Ok(()),
        };
        let now_ms = self.now_ms;
        let line = &mut self.lines[id.0];
        let Some(there) = line.channel(at) else { return Ok(()) };
        let mut count = 0;
        there.unconfirmed.settle(tag, is_multiple, |()| count += 1);
        let (owner, is_quiet) = (there.owner, there.is_quiet());
        if count > 0 && there.unconfirmed.is_empty() {
            let wait_ms = now_ms.saturating_sub(there.published_ms);
            let was_parked = there.is_parked;
            self.note_confirmed(id, wait_ms, was_parked);
        }
        match owner {
            Some((client_id, number)) => {
                let client = &mut self.clients[client_id.0];
                let tags = client.channels.get(&number).and_then(|channel| channel.tags);
                if let Some(tag) = tags.and_then(|tags| tags.of_upstream(tag)) {
                    match is_refused {
                        false => client.send(number, &basic::Ack { delivery_tag: tag, multiple: is_multiple }),
                        true => {
                            let nack = basic::Nack { delivery_tag: tag, multiple: is_multiple, requeue: false };
                            client.send(number, &nack);
                        }
                    }
                    self.client_changed(client_id);
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
    fn channel_has_closed(&mut self, id: LineId, at: u16, owner: Option<(ClientId, u16)>) {
        self.vacate(id, at);
        let Some((client_id, number)) = owner else { return };
        let client = &mut self.clients[client_id.0];
        if client.channels.get(&number).is_some_and(|channel| channel.stage == Stage::Closing) {
            client.channels.remove(&number);
            client.send(number, &channel::CloseOk);
            self.client_changed(client_id);
            self.wake_if(client_id, |waits| waits == Waits::Quiet);
        }
    }

    /// The upstream has closed a channel.
    fn channel_failed(&mut self, id: LineId, at: u16, owner: Option<(ClientId, u16)>, refusal: &Refusal) {
        self.vacate(id, at);
        let Some((client_id, number)) = owner else {
            return self.failed_late(id, refusal);
        };
        let client = &mut self.clients[client_id.0];
        let Some(channel) = client.channels.get_mut(&number) else { return };
        channel.seat = None;
        channel.unanswered.clear();
        channel.is_declared_here = false;
        if let Some(content) = channel.content.take() {
            client.held_len = client.held_len.saturating_sub(content.frames.len());
        }
        if channel.stage == Stage::Open {
            channel.stage = Stage::Closed;
            client.send(number, &refusal.to_channel());
        }
        self.tell_blocked(client_id);
        self.client_changed(client_id);
        self.wake_if(client_id, |waits| matches!(waits, Waits::Quiet | Waits::Answer | Waits::Room));
    }

    /// Something failed that nobody waits for any more.
    fn failed_late(&mut self, id: LineId, refusal: &Refusal) {
        self.counters.late_errors += 1;
        let (user, vhost) = self.names(id);
        let notice = Notice::LateError { user, vhost, code: refusal.code, text: refusal.text() };
        self.effects.push(Effect::Log(notice));
    }

    fn vacate(&mut self, id: LineId, at: u16) {
        let now_ms = self.now_ms;
        let line = &mut self.lines[id.0];
        if line.channel(at).is_some_and(|there| there.owner.is_some()) {
            line.used_count -= 1;
            if line.used_count == 0 {
                line.idle_since_ms = now_ms;
            }
        }
        line.vacate(at);
        self.line_changed(id);
        if let Use::Shared(pool, kind) = self.lines[id.0].usage {
            self.wake_waiter(pool, kind);
        }
    }

    /// Passes a frame on from a client's own line.
    fn pass_to_client(&mut self, id: ClientId, number: u16, kind: FrameKind, payload: &[u8], raw: &[u8]) {
        let client = &mut self.clients[id.0];
        if matches!(client.phase, Phase::Closing { .. } | Phase::Leaving { .. } | Phase::Parting { .. } | Phase::Over) {
            return;
        }
        if kind == FrameKind::Method
            && !matches!(payload.first_chunk::<4>(), Some(&DELIVER | &GET_OK))
            && !client.channels.is_empty()
            && let Ok(method) = Method::decode(payload)
            && self.is_of_moved_channel(id, number, &method)
        {
            return;
        }
        self.put_to_client(id, number, raw);
    }

    fn put_to_client(&mut self, id: ClientId, number: u16, raw: &[u8]) {
        let client = &mut self.clients[id.0];
        let frame_len_max = client.frame_len_max;
        put_frames(client.output.end(), raw, number, frame_len_max);
        let is_gone = client.output.len() > CLIENT_OUTPUT_LEN_GONE && client.own.is_none();
        self.client_changed(id);
        if is_gone && !self.clients[id.0].is_over() {
            self.counters.slow_clients += 1;
            self.effects.push(Effect::Log(Notice::SlowClient(id)));
            self.clients[id.0].output.clear();
            self.end_client(id);
        }
    }

    fn wake_if(&mut self, id: ClientId, is_waking: impl Fn(Waits) -> bool) {
        if is_waking(self.clients[id.0].waits) {
            self.wake(id);
        }
    }

    /// User and vhost of a line.
    pub(super) fn names(&mut self, id: LineId) -> (String, String) {
        let line = &self.lines[id.0];
        let vhost = line.vhost.as_deref().unwrap_or_default().to_owned();
        (self.pools.login(line.login).user.to_string(), vhost)
    }
}
