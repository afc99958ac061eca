//! What the broker reads of a message's properties and headers.

use amqp::content::{BASIC_CLASS_ID, ContentHeader, Properties};
use amqp::table::{Table, Value};

use crate::{Format, HeaderBuf};

/// `delivery_mode` of messages that survive a restart.
const PERSISTENT: u8 = 2;

/// The properties and headers of a message, read. Large: keep what is needed of it, not the view.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct View<'a> {
    /// As AMQP 0-9-1 has them, which the broker's own messages are made in.
    content: ContentHeader<'a>,
}

impl<'a> From<ContentHeader<'a>> for View<'a> {
    #[inline(always)]
    fn from(content: ContentHeader<'a>) -> Self {
        View { content }
    }
}

impl<'a> View<'a> {
    /// Of a message with these properties and so many bytes of body.
    #[must_use]
    pub fn of(properties: Properties<'a>, body_len: usize) -> Self {
        View { content: ContentHeader { class_id: BASIC_CLASS_ID, body_len: body_len as u64, properties } }
    }

    /// The format in which [`encode`](View::encode) writes it: that in which the message was published.
    #[must_use]
    pub fn format(&self) -> Format {
        Format::Amqp091
    }

    /// Whether the publisher wants it to survive a restart.
    #[inline]
    #[must_use]
    pub fn is_persistent(&self) -> bool {
        self.content.properties.delivery_mode == Some(PERSISTENT)
    }

    /// Its priority.
    #[inline]
    #[must_use]
    pub fn priority(&self) -> Option<u8> {
        self.content.properties.priority
    }

    /// Its time to live as its publisher wrote it: milliseconds in decimal, if it is one that RabbitMQ accepts.
    #[inline]
    #[must_use]
    pub fn expiration(&self) -> Option<&'a [u8]> {
        self.content.properties.expiration
    }

    /// When its publisher says that it was made, in seconds since 1970.
    #[must_use]
    pub fn timestamp(&self) -> Option<u64> {
        self.content.properties.timestamp
    }

    /// Its identifier.
    #[must_use]
    pub fn message_id(&self) -> Option<&'a [u8]> {
        self.content.properties.message_id
    }

    /// The identifier that its answer carries.
    #[must_use]
    pub fn correlation_id(&self) -> Option<&'a [u8]> {
        self.content.properties.correlation_id
    }

    /// The user that published it, according to its publisher.
    #[inline]
    #[must_use]
    pub fn user_id(&self) -> Option<&'a [u8]> {
        self.content.properties.user_id
    }

    /// Where its answer is to be sent.
    #[inline]
    #[must_use]
    pub fn reply_to(&self) -> Option<&'a [u8]> {
        self.content.properties.reply_to
    }

    /// Its headers.
    #[inline]
    #[must_use]
    pub fn headers(&self) -> Option<Table<'_>> {
        self.content.properties.headers
    }

    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<Value<'_>> {
        self.headers()?.get(name)
    }

    /// As an AMQP 0-9-1 client sees them.
    #[must_use]
    pub fn properties(&self) -> &Properties<'a> {
        &self.content.properties
    }

    /// With other headers.
    #[must_use]
    pub fn with_headers<'b>(&self, headers: Option<Table<'b>>) -> View<'b>
    where
        'a: 'b,
    {
        let properties = Properties { headers, ..self.content.properties };
        View { content: ContentHeader { properties, ..self.content } }
    }

    /// With another place for its answer.
    #[must_use]
    pub fn with_reply_to<'b>(&self, reply_to: Option<&'b [u8]>) -> View<'b>
    where
        'a: 'b,
    {
        let properties = Properties { reply_to, ..self.content.properties };
        View { content: ContentHeader { properties, ..self.content } }
    }

    /// Without a time to live.
    #[must_use]
    pub fn without_expiration(mut self) -> Self {
        self.content.properties.expiration = None;
        self
    }

    /// Encoded, in the format in which the message was published.
    #[must_use]
    pub fn encode(&self) -> HeaderBuf {
        let mut payload = Vec::with_capacity(64);
        self.content.encode(&mut payload);
        HeaderBuf::amqp091(payload)
    }
}

#[cfg(test)]
mod tests {
    use amqp::table::TableBuf;

    use super::*;

    #[test]
    fn a_view_is_read_back_as_it_was_encoded() {
        let headers = TableBuf::new().with("n", Value::I32(1));
        let properties = Properties {
            headers: Some(headers.as_table()),
            delivery_mode: Some(2),
            priority: Some(7),
            expiration: Some(b"60000"),
            reply_to: Some(b"answers"),
            message_id: Some(b"id"),
            ..Properties::default()
        };
        let view = View::of(properties, 5);
        let encoded = view.encode();
        assert_eq!(encoded.as_header().view(), Some(view));
        assert!(view.is_persistent());
        assert_eq!(view.header("n"), Some(Value::I32(1)));
        let changed = view.without_expiration().with_headers(None).with_reply_to(Some(b"elsewhere"));
        assert_eq!(
            (changed.expiration(), changed.headers(), changed.reply_to()),
            (None, None, Some(&b"elsewhere"[..]))
        );
        assert_eq!((changed.priority(), changed.message_id()), (Some(7), Some(&b"id"[..])));
    }

    #[test]
    fn persistent_is_delivery_mode_two_alone() {
        for (delivery_mode, is_persistent) in [(None, false), (Some(1), false), (Some(2), true), (Some(3), false)] {
            let view = View::of(Properties { delivery_mode, ..Properties::default() }, 0);
            assert_eq!(view.is_persistent(), is_persistent);
        }
    }
}
