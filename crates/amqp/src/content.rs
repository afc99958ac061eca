//! Content: what follows `basic.publish`, `basic.deliver`, `basic.return` and `basic.get-ok`.
//!
//! ```text
//!  header frame   | class_id u16 | weight u16 = 0 | body_len u64 | flags u16 | property … |
//!  body frame     | bytes |                           as many as it takes to reach body_len
//! ```
//!
//! Bit 15 of the flags stands for the first property, bit 14 for the second, and so on; those present follow in the same
//! order. RabbitMQ ignores bits 1 and 0, and so do we. There is no second word of flags (which bit 0 would announce): 14
//! properties fit into one.
//!
//! A broker that passes a message on need not decode its properties again: [`properties_bytes`] and
//! [`put_header_encoded`] carry them as they came.

pub use crate::generated::properties::Properties;

use crate::frame::{FRAME_END, FRAME_OVERHEAD, FrameKind, frame_head, put_frame_with};
use crate::wire::{self, Malformed, Reader};

/// The class of all methods with content.
pub const BASIC_CLASS_ID: u16 = 60;

/// Bytes of a header frame's payload before the properties.
const FIXED_LEN: usize = 12;

/// The payload of a header frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContentHeader<'a> {
    /// The class of the method that it follows: always [`BASIC_CLASS_ID`] when decoded.
    pub class_id: u16,
    /// Bytes in all body frames that follow.
    pub body_len: u64,
    /// The message's properties.
    pub properties: Properties<'a>,
}

/// Why a payload is no content header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContentError {
    /// Only methods of class `basic` have content.
    #[error("class {0} has no content")]
    UnknownClass(u16),
    /// The weight has to be 0.
    #[error("content header has weight {0} instead of 0")]
    Weight(u16),
    /// The properties cannot be read.
    #[error("content header: {0}")]
    Malformed(#[from] Malformed),
}

impl<'a> ContentHeader<'a> {
    /// Decodes the payload of a header frame.
    // Always: it is large, and a call would copy it twice for every message.
    #[inline(always)]
    pub fn decode(payload: &'a [u8]) -> Result<Self, ContentError> {
        let mut reader = Reader::new(payload);
        let class_id = reader.u16().map_err(Malformed::from)?;
        let weight = reader.u16().map_err(Malformed::from)?;
        let body_len = reader.u64().map_err(Malformed::from)?;
        if class_id != BASIC_CLASS_ID {
            return Err(ContentError::UnknownClass(class_id));
        }
        if weight != 0 {
            return Err(ContentError::Weight(weight));
        }
        let properties = Properties::decode(reader.rest())?;
        Ok(ContentHeader { class_id, body_len, properties })
    }

    /// Appends the payload of a header frame.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_fixed(out, self.class_id, self.body_len);
        self.properties.encode(out);
    }
}

/// The flags and properties in the payload of a header frame, as bytes; empty if the payload is too short to have any.
#[inline]
#[must_use]
pub fn properties_bytes(payload: &[u8]) -> &[u8] {
    payload.get(FIXED_LEN..).unwrap_or(&[])
}

/// Appends a header frame.
#[inline]
pub fn put_header(out: &mut Vec<u8>, channel: u16, header: &ContentHeader<'_>) {
    put_frame_with(out, FrameKind::Header, channel, |out| header.encode(out));
}

/// Appends a header frame of class `basic` with properties that are encoded already: [`properties_bytes`] of a header
/// that was decoded, or what [`Properties::encode`] gave.
///
/// The two flags that mean nothing are cleared, since a consumer's codec may take them for something.
#[inline]
pub fn put_header_encoded(out: &mut Vec<u8>, channel: u16, body_len: u64, properties: &[u8]) {
    put_frame_with(out, FrameKind::Header, channel, |out| {
        put_fixed(out, BASIC_CLASS_ID, body_len);
        let flags_at = out.len();
        out.extend_from_slice(properties);
        if let Some(low_flags) = out.get_mut(flags_at + 1) {
            *low_flags &= !0b11;
        }
    });
}

/// Appends as many body frames as it takes for `body`, none if it is empty. `frame_len_max` bounds a whole frame; 0 is
/// no bound.
#[inline]
pub fn put_body_frames(out: &mut Vec<u8>, channel: u16, body: &[u8], frame_len_max: u32) {
    for part in body.chunks(body_part_len_max(frame_len_max)) {
        out.extend_from_slice(&frame_head(FrameKind::Body, channel, part.len() as u32));
        out.extend_from_slice(part);
        out.push(FRAME_END);
    }
}

/// How many bytes [`put_body_frames`] appends, without the rest of the content.
#[inline]
#[must_use]
pub fn body_frames_len(body_len: usize, frame_len_max: u32) -> usize {
    body_len + body_len.div_ceil(body_part_len_max(frame_len_max)) * FRAME_OVERHEAD as usize
}

/// How much of a body one frame carries: at least one byte, for a bound that makes no sense.
#[inline]
#[must_use]
pub fn body_part_len_max(frame_len_max: u32) -> usize {
    let frame_len_max = if frame_len_max == 0 { u32::MAX } else { frame_len_max };
    frame_len_max.saturating_sub(FRAME_OVERHEAD).max(1) as usize
}

#[inline]
fn put_fixed(out: &mut Vec<u8>, class_id: u16, body_len: u64) {
    wire::put_u16(out, class_id);
    wire::put_u16(out, 0);
    wire::put_u64(out, body_len);
}
