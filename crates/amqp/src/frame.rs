//! Frames: where one ends and the next begins.
//!
//! ```text
//!  | kind u8 | channel u16 | payload_len u32 | payload … | 0xCE |
//! ```
//!
//! [`decode_frame`] looks at the front of whatever has been received and gives one frame that borrows from it, or asks
//! for more. What a payload holds is said by [`method`](crate::method) and [`content`](crate::content). Which kind may
//! follow which on a channel is the broker's business.

use crate::method_codec::EncodeMethod;

/// The last octet of every frame.
pub const FRAME_END: u8 = 0xCE;

/// Bytes of a frame before its payload.
pub const FRAME_HEAD_LEN: usize = 7;

/// Bytes of a frame that are not payload.
pub const FRAME_OVERHEAD: u32 = 8;

/// What a client says first, and what a server answers to any other first word.
pub const PROTOCOL_HEADER: [u8; 8] = *b"AMQP\x00\x00\x09\x01";

/// What clients of AMQP 0-9 say. As in RabbitMQ they are served as those of 0-9-1: for what clients do, both are one.
const PROTOCOL_HEADER_0_9: [u8; 8] = *b"AMQP\x01\x01\x00\x09";

/// What the first bytes of a connection are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Greeting {
    /// A protocol header, whole, of a version that is served. It is as long as [`PROTOCOL_HEADER`].
    Ours,
    /// The beginning of one.
    Partial,
    /// Another protocol's, or version's.
    Other,
}

/// Looks at the first bytes of a connection.
#[must_use]
pub fn read_greeting(bytes: &[u8]) -> Greeting {
    let len = bytes.len().min(PROTOCOL_HEADER.len());
    match [PROTOCOL_HEADER, PROTOCOL_HEADER_0_9].iter().any(|header| header[..len] == bytes[..len]) {
        true if len == PROTOCOL_HEADER.len() => Greeting::Ours,
        true => Greeting::Partial,
        false => Greeting::Other,
    }
}

/// A whole heartbeat frame.
pub const HEARTBEAT_FRAME: [u8; 8] = [8, 0, 0, 0, 0, 0, 0, FRAME_END];

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FrameKind {
    /// A method.
    Method = 1,
    /// The header of a message: length of its body, and properties.
    Header = 2,
    /// A part of a body.
    Body = 3,
    /// A sign of life.
    Heartbeat = 8,
}

impl FrameKind {
    #[inline]
    fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Method),
            2 => Some(Self::Header),
            3 => Some(Self::Body),
            8 => Some(Self::Heartbeat),
            _ => None,
        }
    }
}

/// One frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// What it carries.
    pub kind: FrameKind,
    /// The channel it belongs to; 0 is the connection itself.
    pub channel: u16,
    /// What it carries, as bytes.
    pub payload: &'a [u8],
}

/// Bytes that are no frame. The stream cannot be read any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The payload is longer than negotiated.
    #[error("frame payload of {payload_len} bytes is longer than {payload_len_max}")]
    TooLong {
        /// As announced by the peer.
        payload_len: u32,
        /// What would have been allowed.
        payload_len_max: u32,
    },
    /// No such kind of frame.
    #[error("unknown frame kind {kind} on channel {channel}")]
    UnknownKind {
        /// As sent by the peer.
        kind: u8,
        /// As sent by the peer.
        channel: u16,
    },
    /// A frame has to end in [`FRAME_END`].
    #[error("frame ends in {found} instead of 206")]
    BadEnd {
        /// The octet where the end should have been.
        found: u8,
    },
}

/// Decodes the frame at the front of `input`, and returns how many bytes of it that took. `Ok(None)` asks for more input.
///
/// `frame_len_max` bounds the whole frame; 0 is no bound. A frame that is too long, or of no known kind, is refused as
/// soon as its first 7 bytes are there.
#[inline]
pub fn decode_frame(input: &[u8], frame_len_max: u32) -> Result<Option<(Frame<'_>, usize)>, FrameError> {
    let Some((head, rest)) = input.split_first_chunk::<FRAME_HEAD_LEN>() else {
        return Ok(None);
    };
    let [kind, channel @ .., len0, len1, len2, len3] = *head;
    let channel = u16::from_be_bytes(channel);
    let payload_len = u32::from_be_bytes([len0, len1, len2, len3]);
    if frame_len_max != 0 && payload_len > frame_len_max.saturating_sub(FRAME_OVERHEAD) {
        let payload_len_max = frame_len_max.saturating_sub(FRAME_OVERHEAD);
        return Err(FrameError::TooLong { payload_len, payload_len_max });
    }
    let Some(kind) = FrameKind::from_code(kind) else {
        return Err(FrameError::UnknownKind { kind, channel });
    };
    let Some((payload, rest)) = rest.split_at_checked(payload_len as usize) else {
        return Ok(None);
    };
    match rest.first() {
        Some(&FRAME_END) => {
            let consumed = FRAME_HEAD_LEN + payload.len() + 1;
            Ok(Some((Frame { kind, channel, payload }, consumed)))
        }
        Some(&found) => Err(FrameError::BadEnd { found }),
        None => Ok(None),
    }
}

/// How long the frame is that `input` begins with, all in all. `None` where its head is not there in full.
#[must_use]
#[inline]
pub fn frame_len(input: &[u8]) -> Option<usize> {
    let payload_len = u32::from_be_bytes(input.get(3..FRAME_HEAD_LEN)?.try_into().ok()?);
    Some(payload_len as usize + FRAME_OVERHEAD as usize)
}

/// The bytes before a payload of this length, for writers that do not copy the payload. [`FRAME_END`] follows it.
#[inline]
#[must_use]
pub fn frame_head(kind: FrameKind, channel: u16, payload_len: u32) -> [u8; FRAME_HEAD_LEN] {
    let [channel0, channel1] = channel.to_be_bytes();
    let [len0, len1, len2, len3] = payload_len.to_be_bytes();
    [kind as u8, channel0, channel1, len0, len1, len2, len3]
}

/// Appends one frame.
#[inline]
pub fn put_frame(out: &mut Vec<u8>, frame: &Frame<'_>) {
    put_frame_with(out, frame.kind, frame.channel, |out| out.extend_from_slice(frame.payload));
}

/// Appends a method frame. `method` is a [`Method`](crate::Method) or any one method's struct.
#[inline]
pub fn put_method<M: EncodeMethod + ?Sized>(out: &mut Vec<u8>, channel: u16, method: &M) {
    put_frame_with(out, FrameKind::Method, channel, |out| method.encode_method(out));
}

/// Appends a heartbeat frame.
#[inline]
pub fn put_heartbeat(out: &mut Vec<u8>) {
    out.extend_from_slice(&HEARTBEAT_FRAME);
}

/// Appends a frame whose payload `put_payload` appends.
#[inline]
pub(crate) fn put_frame_with(out: &mut Vec<u8>, kind: FrameKind, channel: u16, put_payload: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&frame_head(kind, channel, 0));
    let payload_start = out.len();
    put_payload(out);
    let payload_len = (out.len() - payload_start) as u32;
    out[start + 3..payload_start].copy_from_slice(&payload_len.to_be_bytes());
    out.push(FRAME_END);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greeting_is_that_of_0_9_1_or_of_0_9() {
        for header in [PROTOCOL_HEADER, PROTOCOL_HEADER_0_9] {
            assert_eq!(read_greeting(&[&header[..], b"more"].concat()), Greeting::Ours);
            for len in 0..8 {
                assert_eq!(read_greeting(&header[..len]), Greeting::Partial);
            }
        }
        for other in [&b"AMQP\0\0\x09\0"[..], b"AMQP\x01\x01\x08\0", b"AMQP\0\x01", b"AMQP\x01\0", b"GET /", b"B"] {
            assert_eq!(read_greeting(other), Greeting::Other);
        }
    }

    #[track_caller]
    fn check_refused(input: &[u8], frame_len_max: u32, expected: FrameError) {
        assert_eq!(decode_frame(input, frame_len_max), Err(expected));
    }

    fn frame_of(kind: FrameKind, channel: u16, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        put_frame(&mut out, &Frame { kind, channel, payload });
        out
    }

    #[test]
    fn every_prefix_asks_for_more() {
        let bytes = frame_of(FrameKind::Body, 0x1234, b"payload");
        for len in 0..bytes.len() {
            assert_eq!(decode_frame(&bytes[..len], 4096), Ok(None), "prefix of {len} bytes");
        }
    }

    #[test]
    fn what_follows_is_left_alone() {
        let mut bytes = frame_of(FrameKind::Body, 0x1234, b"payload");
        let len = bytes.len();
        bytes.extend_from_slice(b"next");
        let frame = Frame { kind: FrameKind::Body, channel: 0x1234, payload: b"payload" };
        assert_eq!(decode_frame(&bytes, 4096), Ok(Some((frame, len))));
    }

    #[test]
    fn longest_frame_is_allowed_and_one_more_byte_is_not() {
        let longest = frame_of(FrameKind::Body, 1, &[0; 4088]);
        assert_eq!(longest.len(), 4096);
        assert!(matches!(decode_frame(&longest, 4096), Ok(Some(_))));
        let longer = frame_of(FrameKind::Body, 1, &[0; 4089]);
        check_refused(&longer[..7], 4096, FrameError::TooLong { payload_len: 4089, payload_len_max: 4088 });
        assert!(matches!(decode_frame(&longer, 0), Ok(Some(_))));
    }

    #[test]
    fn bound_below_the_overhead_leaves_no_payload() {
        check_refused(&[1, 0, 0, 0, 0, 0, 1], 3, FrameError::TooLong { payload_len: 1, payload_len_max: 0 });
    }

    #[test]
    fn unknown_kind_is_refused_before_its_payload_came() {
        check_refused(&[4, 0, 7, 0, 0, 0, 9], 4096, FrameError::UnknownKind { kind: 4, channel: 7 });
    }

    #[test]
    fn wrong_end_is_refused() {
        check_refused(&[1, 0, 0, 0, 0, 0, 1, 9, 0xCD], 4096, FrameError::BadEnd { found: 0xCD });
    }

    #[test]
    fn heartbeat_is_an_empty_frame_on_channel_0() {
        let mut out = Vec::new();
        put_heartbeat(&mut out);
        assert_eq!(out, frame_of(FrameKind::Heartbeat, 0, b""));
    }
}
