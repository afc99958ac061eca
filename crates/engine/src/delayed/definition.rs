//! The exchange whose messages a generation holds: what is durable of a set besides its messages.
//!
//! ```text
//!  key    | "delayed/" | generation u64, big-endian |
//!  value  | version u8 | vhost_len u8 | vhost | exchange_len u8 | exchange |
//! ```

use model::ids::QueueId;

/// What these keys begin with, among definitions.
const KEY_START: &[u8] = b"delayed/";
const VERSION: u8 = 1;

/// Where the messages of a generation wait.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Site {
    /// Its vhost.
    pub vhost: Box<str>,
    /// Its name.
    pub exchange: Box<[u8]>,
}

impl Site {
    /// As it is kept.
    pub fn encode(&self) -> Vec<u8> {
        let mut value = vec![VERSION];
        for name in [self.vhost.as_bytes(), &self.exchange] {
            value.push(u8::try_from(name.len()).expect("a name has at most 255 bytes"));
            value.extend_from_slice(name);
        }
        value
    }

    /// As it was kept.
    pub fn decode(value: &[u8]) -> Result<Self, UnreadableSite> {
        let (version, rest) = value.split_first().ok_or(UnreadableSite::Names)?;
        if *version != VERSION {
            return Err(UnreadableSite::Version);
        }
        let (vhost, rest) = name(rest).ok_or(UnreadableSite::Names)?;
        let (exchange, rest) = name(rest).ok_or(UnreadableSite::Names)?;
        let vhost = std::str::from_utf8(vhost).map_err(|_| UnreadableSite::Names)?;
        match rest {
            [] => Ok(Self { vhost: vhost.into(), exchange: exchange.into() }),
            _ => Err(UnreadableSite::Names),
        }
    }
}

/// Why it cannot be read whose messages a generation holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnreadableSite {
    /// The names of vhost and exchange are cut off.
    #[error("its names are malformed")]
    Names,
    /// A newer version wrote it.
    #[error("its version is unknown")]
    Version,
}

/// The key under which it is kept whose messages a generation holds.
pub fn key_of(generation: QueueId) -> Vec<u8> {
    [KEY_START, &generation.0.to_be_bytes()].concat()
}

/// The generation that this key among the definitions is about, if it is such a key.
pub fn generation_of(key: &[u8]) -> Option<QueueId> {
    let id = key.strip_prefix(KEY_START)?;
    Some(QueueId(u64::from_be_bytes(id.try_into().ok()?)))
}

fn name(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_first()?;
    rest.split_at_checked(usize::from(*len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_reads_back_as_kept() {
        let site = Site { vhost: "/".into(), exchange: Box::from(&b"x"[..]) };
        let value = site.encode();
        assert_eq!(Site::decode(&value), Ok(site.clone()));
        for len in 0..value.len() {
            assert_eq!(Site::decode(&value[..len]), Err(UnreadableSite::Names), "{len}");
        }
        assert_eq!(Site::decode(&[&value[..], b"x"].concat()), Err(UnreadableSite::Names));
        assert_eq!(Site::decode(&[2]), Err(UnreadableSite::Version));
        assert_eq!(generation_of(&key_of(QueueId(77))), Some(QueueId(77)));
        assert_eq!(generation_of(b"delayed/x"), None);
    }
}
