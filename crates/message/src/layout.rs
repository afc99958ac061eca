//! A message's content as it lies in chunks, the journal and segments.
//!
//! What a delivery needs is laid out as it will be sent, so that handing a message out is three copies and no encoding:
//!
//! ```text
//!  | version u8 | published_at_ms u64 | history … | exchange shortstr | routing key shortstr | header_len u32 | header … | body … |
//!                                                 '------ as basic.deliver has them --------'                 '- a content   '- the rest
//!                                                                                                                 header's payload
//!  version 1: no history. Version 2:
//!  | ttl_ms u64, u64::MAX for none | delivery_count u32 | acquired_count u32 | flags u8 | hidden_len u32 | hidden … |
//! ```
//!
//! Integers are big-endian, as in AMQP. The store carries these bytes and never looks inside. `hidden` are the routing keys of a `BCC`
//! header, each a shortstr; of the flags the lowest says that dead-letter headers are the broker's own, the next one
//! that a dead-letter routing key has taken the place of all other keys.

use std::sync::Arc;

use queue::Counts;

use crate::{Format, Header};

/// The layout of most messages.
const PLAIN: u8 = 1;
/// The layout of those with a history.
const WITH_HISTORY: u8 = 2;
/// Version and time.
const FIXED_LEN: usize = 1 + 8;
/// A history but for its hidden keys.
const HISTORY_FIXED_LEN: usize = 8 + 4 + 4 + 1 + 4;
const HAS_DIED: u8 = 1;
const HAS_LOST_COPIES: u8 = 2;

/// A message's content where an exchange keeps it: on its own, not in a chunk.
pub type StoredContent = Arc<[u8]>;

/// The parts of a message that go into its content.
#[derive(Debug, Clone, Copy)]
pub struct Parts<'a> {
    /// When it entered its queues, in milliseconds since 1970.
    pub published_at_ms: u64,
    /// What else is known of it that clients do not see.
    pub history: History<'a>,
    /// The exchange it was published to.
    pub exchange: &'a [u8],
    /// The routing key it was published with.
    pub routing_key: &'a [u8],
    /// Its properties and headers.
    pub header: Header<'a>,
    /// The body.
    pub body: &'a [u8],
}

/// What is known of a message besides what clients see of it. Most have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct History<'a> {
    /// Its own time to live.
    pub ttl_ms: Option<u64>,
    /// How often it had come back to other queues, before it was dead-lettered.
    pub counts: Counts,
    /// It was dead-lettered, and its headers say where.
    pub has_died: bool,
    /// A dead-letter routing key has taken the place of all of its own: `CC` no longer means anything.
    pub has_lost_copies: bool,
    /// The routing keys that its publisher hid from consumers (`BCC`), each a shortstr.
    pub hidden_keys: &'a [u8],
}

impl<'a> History<'a> {
    /// The hidden routing keys.
    pub fn hidden_keys(&self) -> impl Iterator<Item = &'a [u8]> {
        let mut rest = self.hidden_keys;
        std::iter::from_fn(move || {
            let (key, after) = short_str(rest)?;
            rest = after;
            Some(key)
        })
    }

    #[inline(always)]
    fn len(&self) -> usize {
        if *self == History::default() { 0 } else { HISTORY_FIXED_LEN + self.hidden_keys.len() }
    }

    #[cold]
    fn write(&self, out: &mut Filler<'_>) {
        out.put(&self.ttl_ms.unwrap_or(u64::MAX).to_be_bytes());
        out.put(&self.counts.delivery_count.to_be_bytes());
        out.put(&self.counts.acquired_count.to_be_bytes());
        let died = if self.has_died { HAS_DIED } else { 0 };
        let lost_copies = if self.has_lost_copies { HAS_LOST_COPIES } else { 0 };
        out.put(&[died | lost_copies]);
        out.put(&(self.hidden_keys.len() as u32).to_be_bytes());
        out.put(self.hidden_keys);
    }

    /// How long it is in this content.
    #[inline]
    fn stored_len(&self, content: &[u8]) -> usize {
        if content.first() == Some(&WITH_HISTORY) { HISTORY_FIXED_LEN + self.hidden_keys.len() } else { 0 }
    }

    #[cold]
    fn read(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (fixed, rest) = bytes.split_first_chunk::<HISTORY_FIXED_LEN>()?;
        let (ttl_ms, rest_of_fixed) = fixed.split_first_chunk::<8>()?;
        let (delivery_count, rest_of_fixed) = rest_of_fixed.split_first_chunk::<4>()?;
        let (acquired_count, rest_of_fixed) = rest_of_fixed.split_first_chunk::<4>()?;
        let [flags, hidden_len @ ..] = rest_of_fixed else { return None };
        let hidden_len = u32::from_be_bytes(hidden_len.try_into().ok()?);
        let (hidden_keys, rest) = rest.split_at_checked(hidden_len as usize)?;
        let counts = Counts {
            delivery_count: u32::from_be_bytes(*delivery_count),
            acquired_count: u32::from_be_bytes(*acquired_count),
        };
        let ttl_ms = Some(u64::from_be_bytes(*ttl_ms)).filter(|ttl_ms| *ttl_ms != u64::MAX);
        let (has_died, has_lost_copies) = (flags & HAS_DIED != 0, flags & HAS_LOST_COPIES != 0);
        Some((Self { ttl_ms, counts, has_died, has_lost_copies, hidden_keys }, rest))
    }
}

impl<'a> Parts<'a> {
    /// How many bytes the content takes.
    #[inline(always)]
    #[expect(clippy::len_without_is_empty, reason = "a content is never empty")]
    pub fn len(&self) -> usize {
        let address_len = 1 + self.exchange.len() + 1 + self.routing_key.len();
        FIXED_LEN + self.history.len() + address_len + 4 + self.header.bytes().len() + self.body.len()
    }

    /// The content in memory of its own, so that it keeps no chunk alive.
    pub fn to_kept(self) -> StoredContent {
        kept(self.len(), |out| self.write(out))
    }

    /// Writes the content into `out`, which is exactly [`Parts::len`] long.
    #[inline(always)]
    pub fn write(&self, out: &mut [u8]) {
        let Format::Amqp091 = self.header.format();
        let mut out = Filler { rest: out };
        let has_history = self.history.len() > 0;
        out.put(&[if has_history { WITH_HISTORY } else { PLAIN }]);
        out.put(&self.published_at_ms.to_be_bytes());
        if has_history {
            self.history.write(&mut out);
        }
        out.put(&[self.exchange.len() as u8]);
        out.put(self.exchange);
        out.put(&[self.routing_key.len() as u8]);
        out.put(self.routing_key);
        out.put(&(self.header.bytes().len() as u32).to_be_bytes());
        out.put_header(self.header.bytes());
        out.put(self.body);
        assert!(out.rest.is_empty(), "content is exactly as long as announced");
    }

    /// Where the header lies in what was written.
    pub fn header_in<'b>(&self, content: &'b mut [u8]) -> &'b mut [u8] {
        let end = self.len() - self.body.len();
        &mut content[end - self.header.bytes().len()..end]
    }

    /// Reads a content back. `None` when the bytes are not one, which only a damaged or foreign file can cause.
    #[inline(always)]
    pub fn read(content: &'a [u8]) -> Option<Self> {
        let (fixed, rest) = content.split_at_checked(FIXED_LEN)?;
        let published_at_ms = u64::from_be_bytes(fixed[1..].try_into().ok()?);
        let (history, rest) = match fixed[0] {
            PLAIN => (History::default(), rest),
            WITH_HISTORY => History::read(rest)?,
            _ => return None,
        };
        let (exchange, rest) = short_str(rest)?;
        let (routing_key, rest) = short_str(rest)?;
        let (header_len, rest) = rest.split_at_checked(4)?;
        let header_len = u32::from_be_bytes(header_len.try_into().ok()?) as usize;
        let (header, body) = rest.split_at_checked(header_len)?;
        let header = Header::amqp091(header);
        Some(Self { published_at_ms, history, exchange, routing_key, header, body })
    }
}

/// A content of this length in memory of its own, as `write` writes it.
pub fn kept(len: usize, write: impl FnOnce(&mut [u8])) -> StoredContent {
    let mut content = vec![0; len];
    write(&mut content);
    content.into()
}

/// `exchange` and `routing key` of a content, back to back and each with its length, as basic.deliver wants them.
#[inline(always)]
pub fn address_of<'a>(content: &'a [u8], parts: &Parts<'_>) -> &'a [u8] {
    let start = FIXED_LEN + parts.history.stored_len(content);
    let end = start + 2 + parts.exchange.len() + parts.routing_key.len();
    content.get(start..end).unwrap_or_default()
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check_round_trip(parts: Parts<'_>) {
        let mut content = vec![0; parts.len()];
        parts.write(&mut content);
        let read = Parts::read(&content).unwrap();
        assert_eq!((read.published_at_ms, read.history), (parts.published_at_ms, parts.history));
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
        let history = History::default();
        check_round_trip(Parts {
            published_at_ms: 7,
            history,
            exchange: b"",
            routing_key: b"q",
            header: Header::amqp091(b"h"),
            body: b"",
        });
        let history = History {
            ttl_ms: Some(0),
            counts: Counts { delivery_count: 3, acquired_count: u32::MAX },
            has_died: true,
            has_lost_copies: true,
            hidden_keys: b"\x01a\x00\x02bc",
        };
        assert_eq!(history.hidden_keys().collect::<Vec<_>>(), [&b"a"[..], b"", b"bc"]);
        let long = Parts {
            published_at_ms: u64::MAX,
            history,
            exchange: &[b'e'; 255],
            routing_key: &[b'r'; 255],
            header: Header::amqp091(&[8; 1000]),
            body: &[1; 5000],
        };
        check_round_trip(long);
        check_round_trip(Parts { history: History { has_died: true, ..History::default() }, ..long });
        check_round_trip(Parts { history: History { ttl_ms: Some(1), ..History::default() }, ..long });
    }

    #[test]
    fn property_flags_without_a_meaning_are_not_passed_on() {
        let (history, header) = (History::default(), Header::amqp091(&[0xff; 20]));
        let parts = Parts { published_at_ms: 1, history, exchange: b"", routing_key: b"q", header, body: b"" };
        let mut content = vec![0; parts.len()];
        parts.write(&mut content);
        let header = Parts::read(&content).unwrap().header.bytes();
        assert_eq!((header[12], header[FLAGS_AT], header[14]), (0xff, 0xfc, 0xff));
    }

    #[test]
    fn damaged_content_is_refused() {
        let dead = History { has_died: true, hidden_keys: b"\x01a", ..History::default() };
        for history in [History::default(), dead] {
            let parts = Parts {
                published_at_ms: 1,
                history,
                exchange: b"e",
                routing_key: b"k",
                header: Header::amqp091(b"hh"),
                body: b"",
            };
            let mut content = vec![0; parts.len()];
            parts.write(&mut content);
            for len in 0..content.len() {
                assert!(Parts::read(&content[..len]).is_none(), "cut to {len}");
            }
            content[0] = 3;
            assert!(Parts::read(&content).is_none());
        }
    }

    fn bytes(len_max: usize) -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(any::<u8>(), 0..len_max)
    }

    proptest! {
        #[test]
        fn any_message_reads_back_as_written(
            published_at_ms in any::<u64>(),
            ttl_ms in proptest::option::of(0..u64::MAX),
            (delivery_count, acquired_count) in any::<(u32, u32)>(),
            (has_died, has_lost_copies) in any::<(bool, bool)>(),
            (exchange, routing_key) in (bytes(256), bytes(256)),
            (hidden, header, body) in (".{0,20}", bytes(40), bytes(40)),
        ) {
            let hidden_keys = [&[hidden.len() as u8], hidden.as_bytes()].concat();
            let counts = Counts { delivery_count, acquired_count };
            let history = History { ttl_ms, counts, has_died, has_lost_copies, hidden_keys: &hidden_keys };
            // What means nothing in the flags is not kept.
            let mut header = header;
            if let Some(flags) = header.get_mut(FLAGS_AT) {
                *flags &= !3;
            }
            let header = Header::amqp091(&header);
            let (exchange, routing_key, body) = (&exchange[..], &routing_key[..], &body[..]);
            check_round_trip(Parts { published_at_ms, history, exchange, routing_key, header, body });
        }

        #[test]
        fn no_bytes_end_the_process(content in bytes(80)) {
            if let Some(parts) = Parts::read(&content) {
                let _ = (parts.header.view(), address_of(&content, &parts), parts.history.hidden_keys().count());
            }
        }
    }
}
