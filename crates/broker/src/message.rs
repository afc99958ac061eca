//! A message's content as it lies in chunks, the journal and segments, and the handle by which queues hold it.
//!
//! What a delivery needs is laid out as it will be sent, so that handing a message out is three copies and no encoding:
//!
//! ```text
//!  | version u8 | published_at_ms u64 | exchange shortstr | routing key shortstr | header_len u32 | header … | body … |
//!                                     '------ as basic.deliver has them --------'                 '- a content   '- the rest
//!                                                                                                    header's payload
//! ```
//!
//! Integers are big-endian, as in AMQP. The store carries these bytes and never looks inside.

use std::sync::Arc;

use model::ids::{Place, SegmentId};
use store::Content;

/// The layout above. A reader refuses any other.
const LAYOUT_VERSION: u8 = 1;
/// Version and time.
const FIXED_LEN: usize = 1 + 8;

/// The parts of a message that go into its content.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts<'a> {
    /// When the broker took it, in milliseconds since 1970.
    pub(crate) published_at_ms: u64,
    /// The exchange it was published to.
    pub(crate) exchange: &'a [u8],
    /// The routing key it was published with.
    pub(crate) routing_key: &'a [u8],
    /// The payload of its content header frame: class, weight, body size, flags, properties.
    pub(crate) header: &'a [u8],
    /// The body.
    pub(crate) body: &'a [u8],
}

impl<'a> Parts<'a> {
    /// How many bytes the content takes.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        FIXED_LEN + 1 + self.exchange.len() + 1 + self.routing_key.len() + 4 + self.header.len() + self.body.len()
    }

    /// The content in memory of its own, for whom no chunk must be kept alive.
    pub(crate) fn to_kept(self) -> Arc<[u8]> {
        let mut content = vec![0; self.len()];
        self.write(&mut content);
        content.into()
    }

    /// Writes the content into `out`, which is exactly [`Parts::len`] long.
    #[inline]
    pub(crate) fn write(&self, out: &mut [u8]) {
        let mut out = Filler { rest: out };
        out.put(&[LAYOUT_VERSION]);
        out.put(&self.published_at_ms.to_be_bytes());
        out.put(&[self.exchange.len() as u8]);
        out.put(self.exchange);
        out.put(&[self.routing_key.len() as u8]);
        out.put(self.routing_key);
        out.put(&(self.header.len() as u32).to_be_bytes());
        out.put_header(self.header);
        out.put(self.body);
        assert!(out.rest.is_empty(), "content is exactly as long as announced");
    }

    /// Reads a content back. `None` when the bytes are not one, which only a damaged or foreign file can cause.
    #[inline]
    pub(crate) fn read(content: &'a [u8]) -> Option<Self> {
        let (fixed, rest) = content.split_at_checked(FIXED_LEN)?;
        if fixed[0] != LAYOUT_VERSION {
            return None;
        }
        let published_at_ms = u64::from_be_bytes(fixed[1..].try_into().ok()?);
        let (exchange, rest) = short_str(rest)?;
        let (routing_key, rest) = short_str(rest)?;
        let (header_len, rest) = rest.split_at_checked(4)?;
        let header_len = u32::from_be_bytes(header_len.try_into().ok()?) as usize;
        let (header, body) = rest.split_at_checked(header_len)?;
        Some(Self { published_at_ms, exchange, routing_key, header, body })
    }
}

/// `exchange` and `routing key` of a content, back to back and each with its length, as basic.deliver wants them.
#[inline]
pub(crate) fn address_of<'a>(content: &'a [u8], parts: &Parts<'_>) -> &'a [u8] {
    let end = FIXED_LEN + 2 + parts.exchange.len() + parts.routing_key.len();
    content.get(FIXED_LEN..end).unwrap_or_default()
}

#[inline]
fn short_str(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_first()?;
    rest.split_at_checked(usize::from(*len))
}

struct Filler<'a> {
    rest: &'a mut [u8],
}

/// Where the low byte of the property flags lies in a content header's payload.
const FLAGS_AT: usize = 13;

impl Filler<'_> {
    /// Copies a header without the two property flags that mean nothing in AMQP 0-9-1: a consumer's codec may take them for something.
    #[inline]
    fn put_header(&mut self, header: &[u8]) {
        let written = std::mem::take(&mut self.rest);
        let (head, rest) = written.split_at_mut(header.len());
        head.copy_from_slice(header);
        if let Some(flags) = head.get_mut(FLAGS_AT) {
            *flags &= !3;
        }
        self.rest = rest;
    }

    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        let (head, rest) = std::mem::take(&mut self.rest).split_at_mut(bytes.len());
        head.copy_from_slice(bytes);
        self.rest = rest;
    }
}

/// How a queue holds a message: where its content is in memory, and its place in a segment once it has one.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    /// `None` for an unacked message that a segment has: it is read again if it is requeued.
    content: Option<Content>,
    body_len: u32,
    is_journalled: bool,
    /// `slot` counts only where `segment` is not [`NO_SEGMENT`]; an `Option<Place>` would cost eight bytes a message.
    segment: SegmentId,
    slot: u32,
}

const NO_SEGMENT: SegmentId = SegmentId(u32::MAX);
const _: () = assert!(size_of::<Held>() == 32);
const HAS_CONTENT: &str = "a queue hands out and spills only what has a body";

impl Held {
    #[inline]
    pub(crate) fn new(content: Content, body_len: u32, is_journalled: bool) -> Self {
        Self { content: Some(content), body_len, is_journalled, segment: NO_SEGMENT, slot: 0 }
    }

    /// The content of a message that is being handed out or written to a segment.
    #[inline]
    pub(crate) fn content(&self) -> &Content {
        self.content.as_ref().expect(HAS_CONTENT)
    }

    #[inline]
    pub(crate) fn into_content(self) -> Content {
        self.content.expect(HAS_CONTENT)
    }

    /// A message read back from the store. `None` when its content is not one of ours.
    pub(crate) fn restored(content: Content, is_journalled: bool, place: Option<Place>) -> Option<Self> {
        let body_len = Parts::read(content.bytes())?.body.len() as u32;
        let mut held = Self::new(content, body_len, is_journalled);
        if let Some(place) = place {
            queue::Message::set_place(&mut held, place);
        }
        Some(held)
    }
}

impl queue::Message for Held {
    #[inline]
    fn len(&self) -> u32 {
        self.body_len
    }

    #[inline]
    fn is_journalled(&self) -> bool {
        self.is_journalled
    }

    #[inline]
    fn place(&self) -> Option<Place> {
        (self.segment != NO_SEGMENT).then_some(Place { segment: self.segment, slot: self.slot })
    }

    fn release_body(&mut self) {
        if self.segment != NO_SEGMENT {
            self.content = None;
        }
    }

    #[inline]
    fn has_body(&self) -> bool {
        self.content.is_some()
    }

    #[inline]
    fn set_place(&mut self, place: Place) {
        assert!(place.segment != NO_SEGMENT, "a segment's number is never the mark for none");
        (self.segment, self.slot) = (place.segment, place.slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_round_trip(parts: Parts<'_>) {
        let mut content = vec![0; parts.len()];
        parts.write(&mut content);
        let read = Parts::read(&content).unwrap();
        assert_eq!(read.published_at_ms, parts.published_at_ms);
        assert_eq!(
            (read.exchange, read.routing_key, read.header, read.body),
            (parts.exchange, parts.routing_key, parts.header, parts.body)
        );
        let mut address = vec![parts.exchange.len() as u8];
        address.extend(parts.exchange);
        address.push(parts.routing_key.len() as u8);
        address.extend(parts.routing_key);
        assert_eq!(address_of(&content, &read), address);
    }

    #[test]
    fn content_reads_back_as_written() {
        check_round_trip(Parts { published_at_ms: 7, exchange: b"", routing_key: b"q", header: b"h", body: b"" });
        check_round_trip(Parts {
            published_at_ms: u64::MAX,
            exchange: &[b'e'; 255],
            routing_key: &[b'r'; 255],
            header: &[8; 1000],
            body: &[1; 5000],
        });
    }

    #[test]
    fn property_flags_without_a_meaning_are_not_passed_on() {
        let parts = Parts { published_at_ms: 1, exchange: b"", routing_key: b"q", header: &[0xff; 20], body: b"" };
        let mut content = vec![0; parts.len()];
        parts.write(&mut content);
        let header = Parts::read(&content).unwrap().header;
        assert_eq!((header[12], header[FLAGS_AT], header[14]), (0xff, 0xfc, 0xff));
    }

    #[test]
    fn damaged_content_is_refused() {
        let parts = Parts { published_at_ms: 1, exchange: b"e", routing_key: b"k", header: b"hh", body: b"" };
        let mut content = vec![0; parts.len()];
        parts.write(&mut content);
        for len in 0..content.len() {
            assert!(Parts::read(&content[..len]).is_none(), "cut to {len}");
        }
        content[0] = 2;
        assert!(Parts::read(&content).is_none());
    }
}
