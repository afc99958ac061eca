//! The properties of class `basic`.
//!
//! Written by `examples/generate`. Change `protocol/amqp0-9-1.txt`, not this.

use crate::table::Table;
use crate::wire::{self, Malformed, Reader};

/// The properties of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Properties<'a> {
    /// `content-type`, a shortstr.
    pub content_type: Option<&'a [u8]>,
    /// `content-encoding`, a shortstr.
    pub content_encoding: Option<&'a [u8]>,
    /// `headers`, a table.
    pub headers: Option<Table<'a>>,
    /// `delivery-mode`, an octet.
    pub delivery_mode: Option<u8>,
    /// `priority`, an octet.
    pub priority: Option<u8>,
    /// `correlation-id`, a shortstr.
    pub correlation_id: Option<&'a [u8]>,
    /// `reply-to`, a shortstr.
    pub reply_to: Option<&'a [u8]>,
    /// `expiration`, a shortstr.
    pub expiration: Option<&'a [u8]>,
    /// `message-id`, a shortstr.
    pub message_id: Option<&'a [u8]>,
    /// `timestamp`, a longlong.
    pub timestamp: Option<u64>,
    /// `type`, a shortstr.
    pub kind: Option<&'a [u8]>,
    /// `user-id`, a shortstr.
    pub user_id: Option<&'a [u8]>,
    /// `app-id`, a shortstr.
    pub app_id: Option<&'a [u8]>,
    /// `cluster-id`, a shortstr; no longer means anything.
    pub cluster_id: Option<&'a [u8]>,
}

impl<'a> Properties<'a> {
    /// Decodes flags and properties: what a content header has after the body's length.
    #[inline(always)]
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let flags = reader.u16()?;
        let mut properties = Properties::default();
        if flags & 1 << 15 != 0 {
            properties.content_type = Some(reader.short_str()?);
        }
        if flags & 1 << 14 != 0 {
            properties.content_encoding = Some(reader.short_str()?);
        }
        if flags & 1 << 13 != 0 {
            properties.headers = Some(reader.table()?);
        }
        if flags & 1 << 12 != 0 {
            properties.delivery_mode = Some(reader.u8()?);
        }
        if flags & 1 << 11 != 0 {
            properties.priority = Some(reader.u8()?);
        }
        if flags & 1 << 10 != 0 {
            properties.correlation_id = Some(reader.short_str()?);
        }
        if flags & 1 << 9 != 0 {
            properties.reply_to = Some(reader.short_str()?);
        }
        if flags & 1 << 8 != 0 {
            properties.expiration = Some(reader.short_str()?);
        }
        if flags & 1 << 7 != 0 {
            properties.message_id = Some(reader.short_str()?);
        }
        if flags & 1 << 6 != 0 {
            properties.timestamp = Some(reader.u64()?);
        }
        if flags & 1 << 5 != 0 {
            properties.kind = Some(reader.short_str()?);
        }
        if flags & 1 << 4 != 0 {
            properties.user_id = Some(reader.short_str()?);
        }
        if flags & 1 << 3 != 0 {
            properties.app_id = Some(reader.short_str()?);
        }
        if flags & 1 << 2 != 0 {
            properties.cluster_id = Some(reader.short_str()?);
        }
        reader.close()?;
        Ok(properties)
    }

    /// Appends flags and properties.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, self.flags());
        if let Some(content_type) = self.content_type {
            wire::put_short_str(out, content_type);
        }
        if let Some(content_encoding) = self.content_encoding {
            wire::put_short_str(out, content_encoding);
        }
        if let Some(headers) = self.headers {
            wire::put_table(out, headers);
        }
        if let Some(delivery_mode) = self.delivery_mode {
            wire::put_u8(out, delivery_mode);
        }
        if let Some(priority) = self.priority {
            wire::put_u8(out, priority);
        }
        if let Some(correlation_id) = self.correlation_id {
            wire::put_short_str(out, correlation_id);
        }
        if let Some(reply_to) = self.reply_to {
            wire::put_short_str(out, reply_to);
        }
        if let Some(expiration) = self.expiration {
            wire::put_short_str(out, expiration);
        }
        if let Some(message_id) = self.message_id {
            wire::put_short_str(out, message_id);
        }
        if let Some(timestamp) = self.timestamp {
            wire::put_u64(out, timestamp);
        }
        if let Some(kind) = self.kind {
            wire::put_short_str(out, kind);
        }
        if let Some(user_id) = self.user_id {
            wire::put_short_str(out, user_id);
        }
        if let Some(app_id) = self.app_id {
            wire::put_short_str(out, app_id);
        }
        if let Some(cluster_id) = self.cluster_id {
            wire::put_short_str(out, cluster_id);
        }
    }

    #[inline]
    fn flags(&self) -> u16 {
        u16::from(self.content_type.is_some()) << 15
            | u16::from(self.content_encoding.is_some()) << 14
            | u16::from(self.headers.is_some()) << 13
            | u16::from(self.delivery_mode.is_some()) << 12
            | u16::from(self.priority.is_some()) << 11
            | u16::from(self.correlation_id.is_some()) << 10
            | u16::from(self.reply_to.is_some()) << 9
            | u16::from(self.expiration.is_some()) << 8
            | u16::from(self.message_id.is_some()) << 7
            | u16::from(self.timestamp.is_some()) << 6
            | u16::from(self.kind.is_some()) << 5
            | u16::from(self.user_id.is_some()) << 4
            | u16::from(self.app_id.is_some()) << 3
            | u16::from(self.cluster_id.is_some()) << 2
    }
}
