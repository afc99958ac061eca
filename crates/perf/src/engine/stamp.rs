//! What a message says of itself.
//!
//! The body begins as PerfTest's does, big-endian, so that each understands the other's messages:
//!
//! ```text
//!  | sequence u32 | sent u64 | zeros … |
//! ```
//!
//! Its publisher, and how late it was, stand in the property `cluster-id`, which means nothing to brokers: the
//! publisher's number in hexadecimal, and after a dot by how many nanoseconds it was sent after it was due. Bodies are
//! then as they are with PerfTest, down to the smallest. Where the body is not ours, its sequence follows after another dot.

use amqp_client::Content;

/// Bytes of a body that are taken.
pub(crate) const STAMP_LEN: usize = 12;

/// Sequence and time of a body.
#[inline]
pub(crate) fn put_stamp(body: &mut [u8], sequence: u32, sent: u64) {
    if let Some((head, _)) = body.split_first_chunk_mut::<STAMP_LEN>() {
        let [s0, s1, s2, s3] = sequence.to_be_bytes();
        let [t0, t1, t2, t3, t4, t5, t6, t7] = sent.to_be_bytes();
        *head = [s0, s1, s2, s3, t0, t1, t2, t3, t4, t5, t6, t7];
    }
}

/// Sequence and time of a body; `None` if it is too short.
#[inline]
pub(crate) fn stamp(body: &[u8]) -> Option<(u32, u64)> {
    let (head, _) = body.split_first_chunk::<STAMP_LEN>()?;
    let [s0, s1, s2, s3, time @ ..] = *head;
    Some((u32::from_be_bytes([s0, s1, s2, s3]), u64::from_be_bytes(time)))
}

/// What a message that came says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReceivedStamp {
    /// When it was sent.
    pub(crate) sent: Option<u64>,
    /// Its publisher, and how late it was.
    pub(crate) origin: Option<Origin>,
    /// Its number.
    pub(crate) sequence: Option<u32>,
}

impl ReceivedStamp {
    pub(crate) fn of(content: &Content<'_>) -> Self {
        let properties = content.properties();
        let from_header = || {
            let value = properties?.headers?.get("timestamp")?;
            value.as_i64().map(i64::unsigned_abs)
        };
        let stamp = stamp(content.body);
        // A body that is not ours has its time in a header, if anywhere.
        let sent = match properties.is_some_and(|properties| properties.headers.is_some()) {
            true => from_header().or(stamp.map(|(_, sent)| sent)),
            false => stamp.map(|(_, sent)| sent),
        };
        let origin = properties.and_then(|properties| properties.cluster_id).and_then(Origin::parse);
        ReceivedStamp {
            sent,
            origin,
            sequence: origin.and_then(|origin| origin.sequence).or(stamp.map(|(sequence, _)| sequence)),
        }
    }
}

/// The publisher of messages that are measured, but whose sequence is not followed: simulated users'.
pub(crate) const NO_PUBLISHER: u32 = u32::MAX;

/// The publisher of a message, and how late it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The publisher's number in this run.
    pub(crate) publisher: u32,
    /// Nanoseconds from when it was due until it was sent.
    pub(crate) late_ns: u64,
    /// The message's number, where the body does not say it.
    pub(crate) sequence: Option<u32>,
}

impl Origin {
    /// Appends it as a short string.
    #[inline]
    pub(crate) fn put(self, out: &mut Vec<u8>) {
        let len_at = out.len();
        out.push(0);
        put_hex(out, self.publisher.into());
        if self.late_ns > 0 || self.sequence.is_some() {
            out.push(b'.');
            put_hex(out, self.late_ns);
        }
        if let Some(sequence) = self.sequence {
            out.push(b'.');
            put_hex(out, sequence.into());
        }
        out[len_at] = (out.len() - len_at - 1) as u8;
    }

    /// Reads it; `None` if another program wrote it.
    #[inline]
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let mut publisher = 0_u64;
        let mut digits = text.iter();
        for byte in digits.by_ref() {
            if *byte == b'.' {
                let publisher = u32::try_from(publisher).ok()?;
                let rest = digits.as_slice();
                let Some(dot) = rest.iter().position(|byte| *byte == b'.') else {
                    return Some(Origin { publisher, late_ns: hex(rest)?, sequence: None });
                };
                let sequence = hex(&rest[dot + 1..]).and_then(|sequence| u32::try_from(sequence).ok())?;
                return Some(Origin { publisher, late_ns: hex(&rest[..dot])?, sequence: Some(sequence) });
            }
            publisher = publisher.checked_mul(16)? + u64::from(digit(*byte)?);
        }
        let publisher = u32::try_from(publisher).ok().filter(|_| !text.is_empty())?;
        Some(Origin { publisher, late_ns: 0, sequence: None })
    }
}

fn put_hex(out: &mut Vec<u8>, number: u64) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit_count = (u64::BITS - number.leading_zeros()).div_ceil(4).max(1);
    for at in (0..digit_count).rev() {
        out.push(DIGITS[(number >> (4 * at)) as usize & 15]);
    }
}

fn hex(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 16 {
        return None;
    }
    text.iter().try_fold(0, |number, byte| Some(number << 4 | u64::from(digit(*byte)?)))
}

#[inline]
fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bodies_begin_as_those_of_perftest() {
        let mut body = [9; 14];
        put_stamp(&mut body, 0x0102_0304, 0x0506_0708_090a_0b0c);
        assert_eq!(body, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 9, 9]);
        assert_eq!(stamp(&body), Some((0x0102_0304, 0x0506_0708_090a_0b0c)));
        assert_eq!(stamp(&body[..11]), None);
    }

    #[test]
    fn punctual_message_says_only_whose_it_is() {
        let mut out = Vec::new();
        Origin { publisher: 0x1f, late_ns: 0, sequence: None }.put(&mut out);
        assert_eq!(out, b"\x021f");
    }

    #[test]
    fn somebody_elses_property_is_no_origin() {
        for text in [
            "",
            ".",
            "x",
            "1.",
            "1.x",
            ".1x",
            "rabbit",
            "100000000",
            "1.00000000000000000",
            "1..",
            "1.2.",
            "1..2",
            "1.2.3.4",
            "1.2.100000000",
        ] {
            assert_eq!(Origin::parse(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn origin_survives_the_way(publisher: u32, late_ns: u64, sequence: Option<u32>) {
            let origin = Origin { publisher, late_ns, sequence };
            let mut out = Vec::new();
            origin.put(&mut out);
            prop_assert_eq!(usize::from(out[0]), out.len() - 1);
            prop_assert_eq!(Origin::parse(&out[1..]), Some(origin));
        }
    }
}
