//! What is durable of keys, among the definitions.
//!
//! ```text
//!  whose they are | "key/" | owner u64 |              → | version u8 | while_waiting u8 | header_len u32 | header | site … |
//!  a key          | "key/" | owner u64 | number u64 | → | key u128 | expires_at_ms u64 |
//!
//!  site, a queue      | 0 u8 | queue u64 |
//!  site, an exchange  | 1 u8 | vhost_len u8 | vhost | exchange_len u8 | exchange |
//! ```
//!
//! All numbers are big-endian. An owner is an id of its own, given once: deleting the first record forgets all its keys, whatever is
//! left of them.

use model::ids::QueueId;
use queue::{MessageKey, RememberedKey};

/// What these keys begin with, among definitions.
const KEY_START: &[u8] = b"key/";
const VERSION: u8 = 1;
const OF_QUEUE: u8 = 0;
const OF_EXCHANGE: u8 = 1;

/// The queue or exchange that drops duplicates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Site {
    /// A queue.
    Queue(QueueId),
    /// An exchange.
    Exchange {
        /// Its vhost.
        vhost: Box<str>,
        /// Its name.
        exchange: Box<[u8]>,
    },
}

/// The owner of keys with an owner's id, and what they mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ownership {
    pub(super) site: Site,
    /// What the keys are made of.
    pub(super) header: Box<str>,
    pub(super) while_waiting: bool,
}

/// A record among the definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordKey {
    Owner(QueueId),
    Key { owner: QueueId, number: u64 },
}

/// Why a record of a key cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnreadableKey {
    #[error("it is malformed")]
    Malformed,
    #[error("its version is unknown")]
    Version,
}

impl Ownership {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut value = vec![VERSION, u8::from(self.while_waiting)];
        value.extend_from_slice(&(self.header.len() as u32).to_be_bytes());
        value.extend_from_slice(self.header.as_bytes());
        match &self.site {
            Site::Queue(id) => {
                value.push(OF_QUEUE);
                value.extend_from_slice(&id.0.to_be_bytes());
            }
            Site::Exchange { vhost, exchange } => {
                value.push(OF_EXCHANGE);
                for name in [vhost.as_bytes(), exchange] {
                    value.push(u8::try_from(name.len()).expect("a name has at most 255 bytes"));
                    value.extend_from_slice(name);
                }
            }
        }
        value
    }

    pub(super) fn decode(value: &[u8]) -> Result<Self, UnreadableKey> {
        match value.split_first() {
            Some((&VERSION, rest)) => Self::read(rest).ok_or(UnreadableKey::Malformed),
            Some(_) => Err(UnreadableKey::Version),
            None => Err(UnreadableKey::Malformed),
        }
    }

    fn read(rest: &[u8]) -> Option<Self> {
        let (while_waiting, rest) = rest.split_first()?;
        let (header_len, rest) = rest.split_first_chunk::<4>()?;
        let (header, rest) = rest.split_at_checked(u32::from_be_bytes(*header_len) as usize)?;
        let (kind, rest) = rest.split_first()?;
        let site = match *kind {
            OF_QUEUE => Site::Queue(QueueId(u64::from_be_bytes(rest.try_into().ok()?))),
            OF_EXCHANGE => {
                let (vhost, rest) = name(rest)?;
                let (exchange, rest) = name(rest)?;
                let vhost = std::str::from_utf8(vhost).ok()?.into();
                rest.is_empty().then(|| Site::Exchange { vhost, exchange: exchange.into() })?
            }
            _ => return None,
        };
        Some(Self { site, header: std::str::from_utf8(header).ok()?.into(), while_waiting: *while_waiting != 0 })
    }
}

impl RecordKey {
    pub(super) fn encode(self) -> Vec<u8> {
        match self {
            RecordKey::Owner(owner) => [KEY_START, &owner.0.to_be_bytes()].concat(),
            RecordKey::Key { owner, number } => [KEY_START, &owner.0.to_be_bytes(), &number.to_be_bytes()].concat(),
        }
    }

    /// What a key among the definitions is about, if it is such a one.
    pub(super) fn decode(key: &[u8]) -> Option<Self> {
        let (owner, number) = key.strip_prefix(KEY_START)?.split_first_chunk::<8>()?;
        let owner = QueueId(u64::from_be_bytes(*owner));
        if number.is_empty() {
            return Some(RecordKey::Owner(owner));
        }
        Some(RecordKey::Key { owner, number: u64::from_be_bytes(number.try_into().ok()?) })
    }
}

pub(super) fn encode_key(remembered: &RememberedKey) -> [u8; 24] {
    let mut value = [0; 24];
    value[..16].copy_from_slice(&remembered.key.0.to_be_bytes());
    value[16..].copy_from_slice(&remembered.expires_at_ms.to_be_bytes());
    value
}

pub(super) fn decode_key(number: u64, value: &[u8]) -> Result<RememberedKey, UnreadableKey> {
    let (key, expires_at_ms) = value.split_first_chunk::<16>().ok_or(UnreadableKey::Malformed)?;
    let expires_at_ms = u64::from_be_bytes(expires_at_ms.try_into().map_err(|_| UnreadableKey::Malformed)?);
    Ok(RememberedKey { number, key: MessageKey(u128::from_be_bytes(*key)), expires_at_ms, is_journaled: true })
}

fn name(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_first()?;
    rest.split_at_checked(usize::from(*len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(ownership: &Ownership) {
        let value = ownership.encode();
        assert_eq!(Ownership::decode(&value).as_ref(), Ok(ownership));
        for len in 0..value.len() {
            assert_eq!(Ownership::decode(&value[..len]), Err(UnreadableKey::Malformed), "{len}");
        }
        assert_eq!(Ownership::decode(&[&value[..], b"x"].concat()), Err(UnreadableKey::Malformed));
        assert_eq!(Ownership::decode(&[2]), Err(UnreadableKey::Version));
    }

    #[test]
    fn whose_keys_they_are_reads_back_as_kept() {
        check(&Ownership { site: Site::Queue(QueueId(7)), header: "id".into(), while_waiting: true });
        let site = Site::Exchange { vhost: "/".into(), exchange: Box::from(&b"x"[..]) };
        check(&Ownership { site, header: "".into(), while_waiting: false });
    }

    #[test]
    fn a_key_reads_back_as_kept() {
        let kept = RememberedKey { number: 9, key: MessageKey(1 << 100), expires_at_ms: 5, is_journaled: true };
        let value = encode_key(&kept);
        assert_eq!(decode_key(9, &value), Ok(kept));
        for len in 0..value.len() {
            assert_eq!(decode_key(9, &value[..len]), Err(UnreadableKey::Malformed), "{len}");
        }
        for key in [RecordKey::Owner(QueueId(3)), RecordKey::Key { owner: QueueId(3), number: u64::MAX }] {
            assert_eq!(RecordKey::decode(&key.encode()), Some(key));
        }
        assert_eq!(RecordKey::decode(b"key/x"), None);
        assert_eq!(RecordKey::decode(b"ttl/12345678"), None);
    }
}
