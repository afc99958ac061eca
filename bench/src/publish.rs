//! Publishes, encoded before they are needed.

use crate::wire::{self, CHANNEL, FRAME_BODY, FRAME_HEADER, FRAME_LEN_MAX, FRAME_METHOD, FRAME_OVERHEAD, Payload};

/// The first bytes of a body can carry a number.
pub(crate) const STAMP_LEN: usize = 8;

/// One encoded publish: method, header and body frames.
pub(crate) struct Publish {
    bytes: Vec<u8>,
    body_at: usize,
}

impl Publish {
    /// To the default exchange. The body has to fit into one frame.
    pub(crate) fn encode(queue: &str, body_len: usize, is_persistent: bool) -> Publish {
        Publish::encode_for("", queue, body_len, is_persistent)
    }

    /// To any exchange, under any key.
    pub(crate) fn encode_for(exchange: &str, routing_key: &str, body_len: usize, is_persistent: bool) -> Publish {
        Publish::encode_with_headers(exchange, routing_key, body_len, is_persistent, 0)
    }

    /// With so many headers of 100 bytes.
    pub(crate) fn encode_with_headers(
        exchange: &str,
        routing_key: &str,
        body_len: usize,
        is_persistent: bool,
        header_count: usize,
    ) -> Publish {
        assert!(body_len + FRAME_OVERHEAD <= FRAME_LEN_MAX as usize, "the body is larger than a frame");
        let mut bytes = Vec::new();
        let method = Payload::method(60, 40).u16(0).short(exchange).short(routing_key).u8(0);
        method.put(FRAME_METHOD, CHANNEL, &mut bytes);
        const HEADERS: u16 = 1 << 13;
        const DELIVERY_MODE: u16 = 1 << 12;
        let flags = if header_count > 0 { HEADERS } else { 0 } | if is_persistent { DELIVERY_MODE } else { 0 };
        let mut header = Payload::method(60, 0).u64(body_len as u64).u16(flags);
        if header_count > 0 {
            let fields = (0..header_count).fold(Payload::empty(), |fields, number| {
                fields.short(&format!("x-header-{number:04}")).u8(b'S').long(&[b'.'; 81])
            });
            header = header.long(fields.bytes());
        }
        header = if is_persistent { header.u8(2) } else { header };
        header.put(FRAME_HEADER, CHANNEL, &mut bytes);
        let body_at = bytes.len() + wire::FRAME_PREFIX_LEN;
        if body_len > 0 {
            wire::put_frame(&mut bytes, FRAME_BODY, CHANNEL, &vec![b'.'; body_len]);
        }
        Publish { bytes, body_at }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes of this many, back to back.
    pub(crate) fn repeated(&self, count: usize) -> Vec<u8> {
        self.bytes.repeat(count)
    }

    /// Appends one whose body begins with this number.
    pub(crate) fn put_stamped(&self, stamp: u64, out: &mut Vec<u8>) {
        let body_at = out.len() + self.body_at;
        out.extend_from_slice(&self.bytes);
        out[body_at..body_at + STAMP_LEN].copy_from_slice(&stamp.to_be_bytes());
    }
}

/// The number that a body begins with.
pub(crate) fn stamp_of(body: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(*body.first_chunk::<STAMP_LEN>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamped_publish_differs_only_in_its_stamp() {
        let publish = Publish::encode("q", 10, true);
        let mut out = vec![0; 3];
        publish.put_stamped(7, &mut out);
        assert_eq!(out.len(), 3 + publish.bytes().len());
        assert_eq!(stamp_of(&out[3 + publish.body_at..]), Some(7));
        assert!(out.ends_with(b"..\xce"));
        assert_eq!(publish.repeated(3).len(), 3 * publish.bytes().len());
    }
}
