//! Publishes over shared upstream connections: sent on when they are whole.
//!
//! The usual one lies in the client's input in full, method, header and body one after the other, and is copied from there in one go.
//! Another is gathered frame by frame.

use amqp::ReplyCode;
use amqp::content::{ContentError, ContentHeader};
use amqp::frame::{Frame, FrameKind, decode_frame};
use amqp::limits::FRAME_LEN_FUDGE;
use amqp::method::decode_publish;
use amqp::server::{ContentProgress, Violation};

use super::channel::Content;
use super::frame_outcome::FrameOutcome;
use super::lane::Kind;
use super::spooling::PublishRoute;
use super::wait::Waits;
use super::{ClientId, Refusal, Switchboard, UpstreamConnectionId};
use crate::limits::HELD_LEN_MAX;

/// What a frame of a gathered publish came to.
pub(super) enum ContentOutcome {
    /// As of any frame.
    FrameOutcome(FrameOutcome),
    /// It waits, and comes again.
    NotYet(Content),
    /// It needs an upstream connection of the client's own: it is longer than what is held, or what an upstream might close a connection
    /// for.
    Own(Content),
}

impl Switchboard {
    /// A publish that lies in the input in full. `None` when it does not, or when anything about it is unusual.
    #[inline]
    pub(super) fn whole_publish(
        &mut self,
        id: ClientId,
        frame: &Frame<'_>,
        raw: &[u8],
        rest: &[u8],
    ) -> Option<FrameOutcome> {
        let publish = decode_publish(frame.payload)?;
        let client = &self.clients[id];
        let frame_len_max = client.frame_len_max() + FRAME_LEN_FUDGE;
        let (header, header_len) = decode_frame(rest, frame_len_max).ok()??;
        if header.kind != FrameKind::Header || header.channel != frame.channel || publish.immediate {
            return None;
        }
        let body_len = sharable(header.payload).ok()??;
        let mut len = header_len;
        let mut body_left = body_len;
        while body_left > 0 {
            let (body, body_frame_len) = decode_frame(&rest[len..], frame_len_max).ok()??;
            if body.kind != FrameKind::Body || body.channel != frame.channel {
                return None;
            }
            body_left = body_left.checked_sub(body.payload.len() as u64)?;
            len += body_frame_len;
        }
        Some(match self.place_publish(id, frame.channel, header_len, &[raw, &rest[..len]]) {
            FrameOutcome::Done(_) => FrameOutcome::Done(len),
            other => other,
        })
    }

    /// Sends or keeps a whole publish, which came in these parts.
    #[inline]
    fn place_publish(&mut self, id: ClientId, number: u16, header_len: usize, parts: &[&[u8]]) -> FrameOutcome {
        if self.spool.is_there() {
            match self.way(id, number) {
                PublishRoute::UpstreamConnection => {}
                PublishRoute::Spool => {
                    return self.keep(id, number, parts).map_or(FrameOutcome::NotYet, |()| FrameOutcome::Done(0));
                }
                PublishRoute::Behind(Waits::Quiet) => return self.wait_for(id, Waits::Quiet),
                PublishRoute::Behind(what) => return self.wait_for_spool(id, what),
            }
        }
        let Some((connection_id, at)) = self.lease_with_room(id, number, Kind::Publishes) else {
            return FrameOutcome::NotYet;
        };
        if let Err(refusal) = self.check_len(connection_id, header_len) {
            return FrameOutcome::Refused(refusal);
        }
        self.forward_publish(id, number, connection_id, at, parts);
        FrameOutcome::Done(0)
    }

    /// A frame of a publish that is gathered. `content` was taken out of its channel.
    pub(super) fn content_frame(
        &mut self,
        id: ClientId,
        frame: &Frame<'_>,
        raw: &[u8],
        mut content: Content,
    ) -> ContentOutcome {
        let progress = match progress_after(content.progress(), frame) {
            Ok(Some(progress)) => progress,
            Ok(None) => return ContentOutcome::Own(content),
            Err(violation) => {
                let refusal = Refusal { class_id: 60, method_id: 40, ..violation.into() };
                return ContentOutcome::FrameOutcome(FrameOutcome::Refused(refusal));
            }
        };
        let held_len = self.clients[id].held_len() as u64;
        if held_len + progress.body_left().unwrap_or(0) > HELD_LEN_MAX {
            return ContentOutcome::Own(content);
        }
        if progress.is_complete() {
            let header_len = content.header_len().unwrap_or(raw.len());
            return match self.place_publish(id, frame.channel, header_len, &[content.frames(), raw]) {
                FrameOutcome::NotYet => ContentOutcome::NotYet(content),
                taken => {
                    self.clients[id].let_go(content.frames().len());
                    ContentOutcome::FrameOutcome(taken)
                }
            };
        }
        content.push(raw, progress);
        self.clients[id].hold(frame.channel, content, raw.len());
        ContentOutcome::FrameOutcome(FrameOutcome::Done(0))
    }

    /// Whether an upstream connection's upstream takes a frame of this length that cannot be cut.
    pub(super) fn check_len(&self, connection: UpstreamConnectionId, len: usize) -> Result<(), Refusal> {
        let len_max = self.connections[connection].frame_len_max() as usize;
        if len <= len_max {
            return Ok(());
        }
        let text = format!("frame of {len} bytes is longer than the upstream's maximum of {len_max}");
        Err(Refusal::new(ReplyCode::FrameError, &text))
    }

    /// A channel on an upstream connection whose output has room. `None`: the client waits.
    pub(super) fn lease_with_room(
        &mut self,
        id: ClientId,
        number: u16,
        kind: Kind,
    ) -> Option<(UpstreamConnectionId, u16)> {
        let (connection_id, at) = self.lease_channel(id, number, kind)?;
        let connection = &mut self.connections[connection_id];
        if connection.has_room() {
            return Some((connection_id, at));
        }
        self.wait_for_room(id, connection_id);
        None
    }

    /// Writes a whole publish, which came in these parts.
    fn forward_publish(
        &mut self,
        id: ClientId,
        number: u16,
        connection_id: UpstreamConnectionId,
        at: u16,
        parts: &[&[u8]],
    ) {
        let now_ms = self.now_ms;
        let connection = &mut self.connections[connection_id];
        for part in parts {
            connection.send_frames(at, part);
        }
        if let Some(channel) = connection.channel_mut(at) {
            channel.note_published(now_ms);
        }
        if let Some(channel) = self.clients[id].channel_mut(number) {
            channel.note_published();
        }
        self.counters.published += 1;
        self.effects.upstream_changed(connection_id);
    }
}

/// How much has come with this frame; `None` where it is a header that cannot go over a shared upstream connection.
fn progress_after(progress: ContentProgress, frame: &Frame<'_>) -> Result<Option<ContentProgress>, Violation> {
    progress.check(frame.kind)?;
    if frame.kind == FrameKind::Body {
        return progress.after_body(frame.payload.len()).map(Some);
    }
    let body_len = sharable(frame.payload).map_err(|error| Violation::content_header(error, ReplyCode::FrameError))?;
    Ok(body_len.map(ContentProgress::with_header))
}

/// The length of the body that a header announces; `None` where an upstream may close a connection for the header, and only it knows.
fn sharable(header: &[u8]) -> Result<Option<u64>, ContentError> {
    let header = ContentHeader::decode(header)?;
    let is_odd = header.properties.headers.is_some_and(|headers| headers.has_odd_number());
    Ok((!is_odd).then_some(header.body_len))
}
