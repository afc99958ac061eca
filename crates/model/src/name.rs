//! Names of exchanges, queues, vhosts and users: checked once, then cheap to clone, compare and look up by `&str`.
//!
//! RabbitMQ's rules, not AMQP's: any UTF-8 up to 255 bytes. CR and LF are dropped silently from exchange and queue names.
//! The prefix `amq.` is refused only where a thing would really be created, so that check is a function of its own.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The longest name, in bytes: what AMQP's short string can hold.
pub const NAME_LEN_MAX: usize = 255;
/// Names that begin so belong to the broker.
pub const RESERVED_PREFIX: &str = "amq.";
/// How the default exchange is called where its real name, the empty string, cannot stand: permissions and HTTP paths.
pub const DEFAULT_EXCHANGE_ALIAS: &str = "amq.default";
/// How many random bytes a generated name is made of.
pub(crate) const GENERATED_RANDOM_LEN: usize = 16;

/// A text that cannot be a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Longer than 255 bytes; only names that do not come out of a short string can be.
    #[error("{kind} name is {len} bytes long, the limit is {NAME_LEN_MAX}")]
    TooLong {
        /// What was to be named.
        kind: &'static str,
        /// Its length in bytes.
        len: usize,
    },
    /// Not UTF-8. RabbitMQ closes the connection with 501 and this text.
    #[error("Malformed UTF-8 in shortstr")]
    NotUtf8,
    /// Empty, and this kind of thing must have a name.
    #[error("{kind} name must not be empty")]
    Empty {
        /// What was to be named.
        kind: &'static str,
    },
}

/// A name that a client may not give to something new (403 ACCESS_REFUSED).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} name '{name}' contains reserved prefix 'amq.*'")]
pub struct ReservedName {
    kind: &'static str,
    name: Arc<str>,
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $strip:expr, $may_be_empty:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// What this names, as RabbitMQ's texts call it.
            pub const KIND: &'static str = $kind;

            /// Checks bytes that came from a peer, a file or the store.
            pub fn parse(bytes: &[u8]) -> Result<$name, NameError> {
                let text = std::str::from_utf8(bytes).map_err(|_| NameError::NotUtf8)?;
                let text = if $strip { stripped(text) } else { Cow::Borrowed(text) };
                if text.is_empty() && !$may_be_empty {
                    return Err(NameError::Empty { kind: $kind });
                }
                if text.len() > NAME_LEN_MAX {
                    return Err(NameError::TooLong { kind: $kind, len: text.len() });
                }
                Ok($name(Arc::from(text)))
            }

            /// The name.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The name as it is sent over the wire.
            #[must_use]
            pub fn as_bytes(&self) -> &[u8] {
                self.0.as_bytes()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
    };
}

name!(
    /// An exchange's name; the empty one is the default exchange's.
    ExchangeName, "exchange", true, true
);
name!(
    /// A queue's name. Empty only in a request, where it asks for a generated name or for the last one declared.
    QueueName, "queue", true, true
);
name!(
    /// A virtual host's name.
    VhostName, "vhost", false, false
);
name!(
    /// A user's name.
    UserName, "user", false, false
);

macro_rules! refuse_reserved {
    ($($name:ident),*) => {$(
        impl $name {
            /// Refuses names with the prefix `amq.`. Call it only when the thing would really be created: not for a
            /// passive declare, nor for one that already exists.
            pub fn refuse_reserved(&self) -> Result<(), ReservedName> {
                if !self.0.starts_with(RESERVED_PREFIX) {
                    return Ok(());
                }
                Err(ReservedName { kind: Self::KIND, name: Arc::clone(&self.0) })
            }
        }
    )*};
}

refuse_reserved!(ExchangeName, QueueName);

impl ExchangeName {
    /// Whether this is the default exchange.
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.0.is_empty()
    }
}

impl QueueName {
    /// A server-named queue's name: `amq.gen-` and 22 characters.
    #[must_use]
    pub fn generate(random: [u8; GENERATED_RANDOM_LEN]) -> QueueName {
        QueueName(Arc::from(generate("amq.gen-", random)))
    }
}

/// A consumer tag for a client that gave none: `amq.ctag-` and 22 characters.
#[must_use]
pub fn generate_consumer_tag(random: [u8; GENERATED_RANDOM_LEN]) -> String {
    generate("amq.ctag-", random)
}

/// The text without carriage returns and line feeds, as exchange and queue names are taken.
#[must_use]
pub(crate) fn stripped(text: &str) -> Cow<'_, str> {
    let is_dropped = |c| c == '\r' || c == '\n';
    if text.contains(is_dropped) { Cow::Owned(text.replace(is_dropped, "")) } else { Cow::Borrowed(text) }
}

fn generate(prefix: &str, random: [u8; GENERATED_RANDOM_LEN]) -> String {
    let mut name = String::with_capacity(prefix.len() + 22);
    name.push_str(prefix);
    URL_SAFE_NO_PAD.encode_string(random, &mut name);
    name
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[track_caller]
    fn check_queue(given: &[u8], expected: Result<&str, &str>) {
        let parsed = QueueName::parse(given).map_err(|e| e.to_string());
        assert_eq!(parsed.as_ref().map(QueueName::as_str).map_err(String::as_str), expected);
    }

    #[test]
    fn carriage_returns_and_line_feeds_are_dropped() {
        check_queue(b"a\r\nb\n", Ok("ab"));
        check_queue(b"plain", Ok("plain"));
    }

    #[test]
    fn two_hundred_and_fifty_five_bytes_are_the_limit_after_stripping() {
        check_queue(&[b'q'; 255], Ok(&"q".repeat(255)));
        check_queue(&[b'q'; 256], Err("queue name is 256 bytes long, the limit is 255"));
        let mut with_crlf = vec![b'q'; 255];
        with_crlf.extend(b"\r\n");
        check_queue(&with_crlf, Ok(&"q".repeat(255)));
    }

    #[test]
    fn bytes_that_are_not_utf8_are_refused() {
        check_queue(b"\xff", Err("Malformed UTF-8 in shortstr"));
    }

    #[test]
    fn vhosts_and_users_must_have_a_name() {
        assert_eq!(VhostName::parse(b"").unwrap_err().to_string(), "vhost name must not be empty");
        assert_eq!(UserName::parse(b"").unwrap_err().to_string(), "user name must not be empty");
        assert!(ExchangeName::parse(b"").unwrap().is_default());
    }

    #[test]
    fn vhosts_keep_their_line_ends() {
        assert_eq!(VhostName::parse(b"a\nb").unwrap().as_str(), "a\nb");
    }

    #[test]
    fn reserved_names_are_refused_with_rabbitmqs_text() {
        let exchange = ExchangeName::parse(b"amq.mine").unwrap();
        assert_eq!(
            exchange.refuse_reserved().unwrap_err().to_string(),
            "exchange name 'amq.mine' contains reserved prefix 'amq.*'"
        );
        let queue = QueueName::parse(b"amq.").unwrap();
        assert_eq!(
            queue.refuse_reserved().unwrap_err().to_string(),
            "queue name 'amq.' contains reserved prefix 'amq.*'"
        );
        assert!(QueueName::parse(b"amqp").unwrap().refuse_reserved().is_ok());
    }

    #[test]
    fn generated_names_are_url_safe_and_22_characters_long() {
        assert_eq!(QueueName::generate([0; 16]).as_str(), "amq.gen-AAAAAAAAAAAAAAAAAAAAAA");
        assert_eq!(QueueName::generate([0xff; 16]).as_str(), "amq.gen-_____________________w");
        assert_eq!(generate_consumer_tag([0xfb; 16]), "amq.ctag--_v7-_v7-_v7-_v7-_v7-w");
    }

    #[test]
    fn maps_are_read_by_borrowed_text() {
        let map = HashMap::from([(QueueName::parse(b"q").unwrap(), 1)]);
        assert_eq!(map.get("q"), Some(&1));
    }
}
