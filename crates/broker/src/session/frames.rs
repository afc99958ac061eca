//! Frames are taken apart: which are methods, which are content, which are nothing that may come now.

use amqp::frame::{Frame, FrameKind, Greeting, PROTOCOL_HEADER, decode_frame};
use amqp::handshake::ServerHandshake;
use amqp::limits::FRAME_LEN_FUDGE;
use amqp::method::{Method, decode_publish};
use amqp::server::{Violation, check_heartbeat};
use engine::BATCH_COUNT;
use engine::lane::LaneNumber;
use message::Header;

use super::{Session, Site};
use crate::front::{Incoming, Phase};
use crate::limits::END_TIMEOUT;
use crate::publish_properties::is_body_len_allowed;
use crate::session::channel::Channel;
use crate::session::exception::{Exception, Handled};

impl Session {
    /// Takes whole frames from the front of `bytes`, as many as it may, and returns how many bytes that were.
    pub(super) fn receive_frames(&mut self, bytes: &[u8], now_ms: u64) -> usize {
        self.front.begin_receiving(now_ms);
        let mut at = 0;
        if self.handshake == ServerHandshake::Header {
            let Some(consumed) = self.protocol_header(bytes) else { return 0 };
            at = consumed;
        }
        self.front.look_at_publishing();
        let mut last_len = 0;
        while self.front.wants_input() {
            match decode_frame(&bytes[at..], self.front.agreed().frame_len_max + FRAME_LEN_FUDGE) {
                Ok(Some((frame, len))) => {
                    last_len = len + self.frame(&frame, &bytes[at + len..]);
                    at += last_len;
                    if self.front.batched_publish_count() >= BATCH_COUNT {
                        self.front.apply_batch();
                    }
                }
                Ok(None) => break,
                Err(_) if matches!(self.front.phase(), Phase::Closing { .. }) => {
                    // The client has been notified, and can no longer be understood.
                    self.front.end_output(END_TIMEOUT);
                    return bytes.len();
                }
                Err(_) if matches!(self.front.phase(), Phase::Parting { .. }) => return bytes.len(),
                Err(error) => {
                    self.fail_connection(&<Box<Exception>>::from(Violation::from(error)), Site::default());
                    return bytes.len();
                }
            }
        }
        if self.front.is_followed() {
            (at, last_len) = self.receive_definitions(bytes, at);
        }
        if self.front.comes_again() {
            // The last frame comes again when there is an answer, when all alarms are over, or when the store has caught up.
            at -= last_len;
        }
        self.front.apply_batch();
        self.front.write_confirms();
        at
    }

    /// Receives what defines something behind what did, whose answer waits for the journal: then many at once share a sync. Their answers
    /// leave after that one, and so does whatever else they cause to be said. Anything else waits until all have left. Gives how much has
    /// been received by then, and the length of the last.
    #[cold]
    fn receive_definitions(&mut self, bytes: &[u8], mut at: usize) -> (usize, usize) {
        let mut last_len = 0;
        while self.front.is_followed() && self.front.is_running() {
            match decode_frame(&bytes[at..], self.front.agreed().frame_len_max + FRAME_LEN_FUDGE) {
                Ok(Some((frame, len))) if is_definition(&frame) => {
                    let start = self.front.output().len();
                    self.single_frame(&frame);
                    self.front.forget_answers();
                    self.front.hold_output(start);
                    last_len = len;
                    at += len;
                }
                Ok(None) => break,
                _ => self.front.end_following(),
            }
        }
        (at, last_len)
    }

    fn protocol_header(&mut self, bytes: &[u8]) -> Option<usize> {
        match self.handshake.greet(bytes, self.front.out()) {
            Greeting::Ours => {
                self.start();
                Some(PROTOCOL_HEADER.len())
            }
            Greeting::Partial => None,
            Greeting::Other => {
                self.front.end_output(END_TIMEOUT);
                Some(bytes.len())
            }
        }
    }

    /// Handles one frame. `rest` is what follows it; gives how much of that belonged to it, too.
    #[inline]
    fn frame(&mut self, frame: &Frame<'_>, rest: &[u8]) -> usize {
        let len = self.handle_frame(frame, rest);
        self.front.forget_answers();
        len
    }

    #[inline]
    fn handle_frame(&mut self, frame: &Frame<'_>, rest: &[u8]) -> usize {
        if self.front.is_running() && frame.kind == FrameKind::Method && frame.channel != 0 {
            match self.try_whole_publish(frame, rest) {
                Some(Ok(len)) => return len,
                Some(Err((exception, len))) => {
                    let site = Site { channel: frame.channel, class_id: 60, method_id: 40 };
                    if !self.front.waits_for_answer() {
                        self.fail(&exception, site);
                    }
                    return len;
                }
                None if self.front.is_held_back() => return 0,
                None => {}
            }
        }
        self.single_frame(frame);
        0
    }

    /// Handles a single frame, with none of those that follow it.
    fn single_frame(&mut self, frame: &Frame<'_>) {
        let (result, site) = match frame.kind {
            FrameKind::Method => self.method_frame(frame),
            FrameKind::Header | FrameKind::Body => {
                let site = Site { channel: frame.channel, class_id: 60, method_id: 40 };
                (self.content_frame(frame), site)
            }
            FrameKind::Heartbeat => (check_heartbeat(frame).map_err(Into::into), Site::default()),
        };
        if let Err(exception) = result
            && !self.front.waits_for_answer()
        {
            self.fail(&exception, site);
        }
    }

    /// A publish that lies in the buffer in full. `None` when it does not, or when anything about it is unusual.
    #[inline]
    fn try_whole_publish(&mut self, frame: &Frame<'_>, rest: &[u8]) -> Option<Result<usize, (Box<Exception>, usize)>> {
        let publish = decode_publish(frame.payload)?;
        let frame_len_max = self.front.agreed().frame_len_max + FRAME_LEN_FUDGE;
        let (header, header_len) = decode_frame(rest, frame_len_max).ok()??;
        let is_basic = header.payload.starts_with(&[0, 60]);
        if header.kind != FrameKind::Header || header.channel != frame.channel || !is_basic {
            return None;
        }
        let body_len = u64::from_be_bytes(header.payload.get(4..12)?.try_into().ok()?);
        let (body, len) = if body_len == 0 {
            (&[][..], header_len)
        } else {
            let (body, len) = decode_frame(&rest[header_len..], frame_len_max).ok()??;
            if body.kind != FrameKind::Body || body.channel != frame.channel || body.payload.len() as u64 != body_len {
                return None;
            }
            (body.payload, header_len + len)
        };
        if !is_body_len_allowed(body_len, self.front.broker().options.message_len_max) || publish.immediate {
            return None;
        }
        let mut channel = self.front.take_lane(LaneNumber(frame.channel))?;
        if channel.state.is_closing || channel.state.assembly.is_some() {
            self.front.put_lane(channel);
            return None;
        }
        let message = Incoming {
            exchange: publish.exchange,
            routing_key: publish.routing_key,
            is_mandatory: publish.mandatory,
            header: Header::amqp091(header.payload),
            body,
        };
        if self.front.checks_publishes() {
            return self.publish_checked(channel, &message, len);
        }
        let result = self.publish(&mut channel, &message);
        self.front.put_lane(channel);
        Some(result.map(|()| len).map_err(|exception| (exception, len)))
    }

    /// A whole publish, which takes `len` bytes behind its method, of a read whose publishes are checked: `None` if it has to wait.
    #[cold]
    fn publish_checked(
        &mut self,
        mut channel: Box<Channel>,
        message: &Incoming<'_>,
        len: usize,
    ) -> Option<Result<usize, (Box<Exception>, usize)>> {
        let is_held = self.front.hold_publish();
        let result = match telemetry::trace::is_active() {
            _ if is_held => None,
            false => Some(self.publish(&mut channel, message)),
            true => Some(self.traced_publish(&mut channel, message)),
        };
        self.front.put_lane(channel);
        Some(result?.map(|()| len).map_err(|exception| (exception, len)))
    }

    fn method_frame(&mut self, frame: &Frame<'_>) -> (Handled<()>, Site) {
        let method = match Method::decode(frame.payload) {
            Ok(method) => method,
            Err(error) => {
                let site = Site { channel: 0, class_id: error.class_id(), method_id: error.method_id() };
                return (Err(Violation::from(error).into()), site);
            }
        };
        let site = Site { channel: frame.channel, class_id: method.class_id(), method_id: method.method_id() };
        let result = match (self.front.phase(), frame.channel) {
            (Phase::Running, 0) => self.connection_method(method),
            (Phase::Running, number) => self.channel_method(number, method),
            (Phase::Opening, 0) => self.handshake_method(method),
            (Phase::Opening, _) => Err(Violation::channel_in_handshake(method.name()).into()),
            (Phase::Closing { .. } | Phase::Parting { .. }, 0) => {
                match method {
                    Method::ConnectionCloseOk(_) => self.front.end_output(END_TIMEOUT),
                    Method::ConnectionClose(_) => self.part(),
                    _ => {}
                }
                Ok(())
            }
            (Phase::Closing { .. } | Phase::Parting { .. } | Phase::Refused { .. } | Phase::Closed { .. }, _) => Ok(()),
        };
        (result, site)
    }

    fn content_frame(&mut self, frame: &Frame<'_>) -> Handled<()> {
        if !self.front.is_running() {
            return match self.front.phase() {
                Phase::Opening => Err(Violation::content_in_handshake().into()),
                _ => Ok(()),
            };
        }
        if frame.channel == 0 {
            return Err(Violation::content_on_channel_0().into());
        }
        let Some(mut channel) = self.front.take_lane(LaneNumber(frame.channel)) else {
            return Err(Violation::channel_not_open().into());
        };
        let result = self.content_of(&mut channel, frame);
        self.front.put_lane(channel);
        result
    }

    fn content_of(&mut self, channel: &mut Channel, frame: &Frame<'_>) -> Handled<()> {
        if channel.state.is_closing {
            return Ok(());
        }
        let Some(mut assembly) = channel.state.assembly.take() else {
            return Err(Violation::content_without_method().into());
        };
        let before = assembly.progress();
        before.check(frame.kind)?;
        match frame.kind {
            FrameKind::Header => assembly.header(frame.payload, self.front.broker().options.message_len_max)?,
            _ => assembly.body(frame.payload)?,
        }
        if !assembly.is_complete() {
            channel.state.assembly = Some(assembly);
            return Ok(());
        }
        let result = match telemetry::trace::is_active() {
            false => self.publish(channel, &assembly.message()),
            true => self.traced_publish(channel, &assembly.message()),
        };
        if result.is_err() && self.front.waits_for_answer() {
            // Its last frame comes again.
            assembly.undo(before);
            channel.state.assembly = Some(assembly);
            return Ok(());
        }
        result
    }
}

/// Whether it is a method of exchanges or of queues.
fn is_definition(frame: &Frame<'_>) -> bool {
    let is_of_theirs = frame.payload.starts_with(&[0, 40]) || frame.payload.starts_with(&[0, 50]);
    frame.kind == FrameKind::Method && frame.channel != 0 && is_of_theirs
}
