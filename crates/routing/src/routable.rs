//! What exchanges look at in a message.

use std::iter;

use amqp::table::{Table, Value};

/// What exchanges look at in a message.
#[derive(Debug, Clone, Copy)]
pub struct Routable<'a> {
    /// The routing key.
    pub routing_key: &'a [u8],
    /// The routing keys in the headers `CC` and `BCC`.
    pub more_keys: &'a [&'a [u8]],
    /// The headers.
    pub headers: Option<Table<'a>>,
    /// The property `message_id`.
    pub message_id: Option<&'a [u8]>,
    /// The property `correlation_id`.
    pub correlation_id: Option<&'a [u8]>,
    /// The property `timestamp`.
    pub timestamp: Option<u64>,
    /// Whether it is to wait at the first exchange that delays.
    pub is_delayed: bool,
}

impl<'a> Routable<'a> {
    /// A message with nothing but a routing key.
    #[must_use]
    pub const fn by_key(routing_key: &'a [u8]) -> Self {
        Self {
            routing_key,
            more_keys: &[],
            headers: None,
            message_id: None,
            correlation_id: None,
            timestamp: None,
            is_delayed: false,
        }
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &'a [u8]> {
        iter::once(self.routing_key).chain(self.more_keys.iter().copied())
    }

    /// The header of this name: the last, if it has several.
    pub(crate) fn header(&self, name: &[u8]) -> Option<Value<'a>> {
        self.headers?.iter().filter(|(found, _)| *found == name).last().map(|(_, value)| value)
    }
}
