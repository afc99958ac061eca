//! Frames of clients: what they are, and which rules look at them.

use amqp::frame::{Frame, FrameKind, Greeting, PROTOCOL_HEADER, decode_frame};
use amqp::handshake::ServerHandshake;
use amqp::limits::FRAME_LEN_FUDGE;
use amqp::method::{Method, channel};
use amqp::server::{Violation, check_heartbeat};

use super::channel::{Content, Stage};
use super::client::Phase;
use super::frame_outcome::FrameOutcome;
use super::publish::ContentOutcome;
use super::wait::Waits;
use super::{ClientId, Refusal, Switchboard};

impl Switchboard {
    /// Looks again at what a client has said before.
    pub(super) fn run_client(&mut self, id: ClientId) {
        let input = self.clients[id].take_input();
        let taken = self.client_frames(id, input.rest());
        let client = &mut self.clients[id];
        client.put_input(input, taken);
        if client.has_said_all() {
            self.end_client(id);
        }
        self.effects.client_changed(id);
    }

    /// Looks at a client's frames, as many as may be looked at. Gives how many bytes are done with.
    pub(super) fn client_frames(&mut self, id: ClientId, bytes: &[u8]) -> usize {
        let mut at = 0;
        while self.clients[id].is_ready() {
            match self.client_bytes(id, &bytes[at..]) {
                Some(len) => at += len,
                None => break,
            }
        }
        // A client that is over has nothing more to say.
        if self.clients[id].is_over() { bytes.len() } else { at }
    }

    /// Takes what is at the front. `None`: there is not enough, or it waits.
    fn client_bytes(&mut self, id: ClientId, bytes: &[u8]) -> Option<usize> {
        let client = &self.clients[id];
        if client.phase() == Phase::Handshake(ServerHandshake::Header) {
            return self.protocol_header(id, bytes);
        }
        match decode_frame(bytes, client.frame_len_max() + FRAME_LEN_FUDGE) {
            Ok(None) => None,
            Ok(Some((frame, len))) => {
                let (raw, rest) = bytes.split_at(len);
                match self.client_frame(id, &frame, raw, rest) {
                    FrameOutcome::Done(more) => {
                        let client = &mut self.clients[id];
                        if client.is_running() {
                            client.stop_waiting();
                        }
                        Some(len + more)
                    }
                    FrameOutcome::NotYet => None,
                    FrameOutcome::Refused(refusal) => {
                        self.close_client(id, &refusal);
                        Some(len)
                    }
                }
            }
            Err(_) if matches!(client.phase(), Phase::Parting { .. }) => Some(bytes.len()),
            // It was asked to close, and can no longer be understood.
            Err(_) if matches!(client.phase(), Phase::Closing { .. }) => {
                self.end_client(id);
                Some(bytes.len())
            }
            Err(error) => {
                self.close_client(id, &Violation::from(error).into());
                Some(bytes.len())
            }
        }
    }

    fn protocol_header(&mut self, id: ClientId, bytes: &[u8]) -> Option<usize> {
        match self.clients[id].greet(bytes) {
            Greeting::Ours => {
                self.start_client(id);
                Some(PROTOCOL_HEADER.len())
            }
            Greeting::Partial => None,
            Greeting::Other => {
                self.end_client(id);
                Some(bytes.len())
            }
        }
    }

    fn client_frame(&mut self, id: ClientId, frame: &Frame<'_>, raw: &[u8], rest: &[u8]) -> FrameOutcome {
        let client = &self.clients[id];
        match client.phase() {
            Phase::Running if frame.kind == FrameKind::Heartbeat => heartbeat(frame),
            Phase::Running if frame.channel != 0 && client.has_moved() => self.own_connection_frame(id, frame, raw),
            Phase::Running if frame.channel != 0 => self.channel_frame(id, frame, raw, rest),
            Phase::Closing { .. } | Phase::Parting { .. } => {
                self.closing_client_frame(id, frame);
                FrameOutcome::Done(0)
            }
            _ => match (frame.kind, frame.channel) {
                (FrameKind::Heartbeat, _) => heartbeat(frame),
                (FrameKind::Method, 0) => match Method::decode(frame.payload) {
                    Ok(method) if client.phase() == Phase::Running => self.connection_method(id, &method, frame, raw),
                    Ok(method) => self.handshake_method(id, &method),
                    Err(error) => FrameOutcome::Refused(Refusal::undecodable(error)),
                },
                (FrameKind::Method, _) => FrameOutcome::refused(Violation::channel_in_handshake("method")),
                (_, 0) => FrameOutcome::refused(Violation::content_on_channel_0()),
                _ => FrameOutcome::refused(Violation::content_in_handshake()),
            },
        }
    }

    fn closing_client_frame(&mut self, id: ClientId, frame: &Frame<'_>) {
        if (frame.kind, frame.channel) != (FrameKind::Method, 0) {
            return;
        }
        match Method::decode(frame.payload) {
            Ok(Method::ConnectionCloseOk(_)) => self.end_client(id),
            Ok(Method::ConnectionClose(_)) => self.part_from_client(id),
            _ => {}
        }
    }

    /// A method of channel 0 of an open connection.
    fn connection_method(&mut self, id: ClientId, method: &Method<'_>, frame: &Frame<'_>, raw: &[u8]) -> FrameOutcome {
        match method {
            Method::ConnectionClose(_) => {
                self.client_leaves(id);
                FrameOutcome::Done(0)
            }
            Method::ConnectionUpdateSecret(update) if self.renews_token(id, update.new_secret) => {
                self.renew_token(id, update.new_secret)
            }
            // What any other is worth is the upstream's to say, and concerns this client alone.
            Method::ConnectionUpdateSecret(_) if self.dedicate_connection(id) => {
                self.own_connection_frame(id, frame, raw)
            }
            Method::ConnectionUpdateSecret(_) => FrameOutcome::NotYet,
            // Answers to what was not asked: RabbitMQ does not mind either.
            Method::ConnectionCloseOk(_) => FrameOutcome::Done(0),
            other => FrameOutcome::Refused(Refusal::from(Violation::method_while_running()).of_method(other)),
        }
    }

    /// A frame of a channel of a client that uses shared upstream connections.
    fn channel_frame(&mut self, id: ClientId, frame: &Frame<'_>, raw: &[u8], rest: &[u8]) -> FrameOutcome {
        let client = &mut self.clients[id];
        let number = frame.channel;
        let Some(channel) = client.channel_mut(number) else {
            return self.unopened_channel_frame(id, frame);
        };
        match channel.stage() {
            Stage::Open => {}
            Stage::Closed => return self.closed_channel_frame(id, frame),
            // What follows a close means nothing, until there is an answer.
            Stage::Closing => return FrameOutcome::Done(0),
        }
        if let Some(content) = channel.take_content() {
            return match self.content_frame(id, frame, raw, content) {
                ContentOutcome::FrameOutcome(taken) => taken,
                ContentOutcome::NotYet(content) => {
                    self.clients[id].hold(number, content, 0);
                    FrameOutcome::NotYet
                }
                ContentOutcome::Own(content) => {
                    self.clients[id].hold(number, content, 0);
                    if self.dedicate_connection(id) {
                        self.own_connection_frame(id, frame, raw)
                    } else {
                        FrameOutcome::NotYet
                    }
                }
            };
        }
        if frame.kind != FrameKind::Method {
            return FrameOutcome::refused(Violation::content_without_method());
        }
        if let Some(taken) = self.whole_publish(id, frame, raw, rest) {
            return taken;
        }
        match Method::decode(frame.payload) {
            Ok(Method::BasicPublish(publish)) if !publish.immediate => {
                self.clients[id].hold(number, Content::begin(raw), raw.len());
                FrameOutcome::Done(0)
            }
            Ok(method) => self.call(id, number, &method, frame, raw),
            Err(error) => FrameOutcome::Refused(Refusal::undecodable(error)),
        }
    }

    fn unopened_channel_frame(&mut self, id: ClientId, frame: &Frame<'_>) -> FrameOutcome {
        let method = match frame.kind {
            FrameKind::Method => Method::decode(frame.payload),
            _ => return FrameOutcome::refused(Violation::channel_not_open()),
        };
        match method {
            Ok(Method::ChannelOpen(_)) => {
                let client = &mut self.clients[id];
                let (count, channel_max) = (client.channel_count(), client.channel_max());
                if frame.channel > channel_max || count >= usize::from(channel_max) {
                    return FrameOutcome::refused(Violation::too_many_channels(count, channel_max));
                }
                client.open_channel(frame.channel);
                client.send(frame.channel, &channel::OpenOk::default());
                FrameOutcome::Done(0)
            }
            Ok(method) => FrameOutcome::Refused(Refusal::from(Violation::channel_not_open()).of_method(&method)),
            Err(error) => FrameOutcome::Refused(Refusal::undecodable(error)),
        }
    }

    /// A frame of a channel of which the client was notified that it is closed.
    pub(super) fn closed_channel_frame(&mut self, id: ClientId, frame: &Frame<'_>) -> FrameOutcome {
        if frame.kind == FrameKind::Method {
            let client = &mut self.clients[id];
            match Method::decode(frame.payload) {
                Ok(Method::ChannelCloseOk(_)) => {
                    client.forget_channel(frame.channel);
                }
                Ok(Method::ChannelClose(_)) => client.send(frame.channel, &channel::CloseOk),
                _ => {}
            }
        }
        FrameOutcome::Done(0)
    }

    /// The client looks at its frame again when something has come for it.
    pub(super) fn wait_for(&mut self, id: ClientId, what: Waits) -> FrameOutcome {
        self.clients[id].wait_for(what, self.now_ms);
        FrameOutcome::NotYet
    }
}

fn heartbeat(frame: &Frame<'_>) -> FrameOutcome {
    check_heartbeat(frame).map_or_else(FrameOutcome::refused, |()| FrameOutcome::Done(0))
}
