//! Class `queue`: one struct for each method.
//!
//! Written by `examples/generate`. Change `protocol/amqp0-9-1.txt`, not this.

use crate::method_codec::EncodeMethod;
use crate::table::Table;
use crate::wire::{self, Malformed, Reader};

/// `queue.declare`, sent by clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Declare<'a> {
    /// `ticket`, a short; no longer means anything.
    pub ticket: u16,
    /// `queue`, a shortstr in UTF-8.
    pub queue: &'a [u8],
    /// `passive`, a bit.
    pub passive: bool,
    /// `durable`, a bit.
    pub durable: bool,
    /// `exclusive`, a bit.
    pub exclusive: bool,
    /// `auto-delete`, a bit.
    pub auto_delete: bool,
    /// `no-wait`, a bit.
    pub no_wait: bool,
    /// `arguments`, a table.
    pub arguments: Table<'a>,
}

impl<'a> Declare<'a> {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let ticket = reader.u16()?;
        let queue = reader.utf8()?;
        let bits = reader.u8()?;
        let arguments = reader.table()?;
        Ok(Self {
            ticket,
            queue,
            passive: bits & 1 != 0,
            durable: bits & 2 != 0,
            exclusive: bits & 4 != 0,
            auto_delete: bits & 8 != 0,
            no_wait: bits & 16 != 0,
            arguments,
        })
    }
}

impl EncodeMethod for Declare<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 50);
        wire::put_u16(out, 10);
        wire::put_u16(out, self.ticket);
        wire::put_short_str(out, self.queue);
        let bits = u8::from(self.passive)
            | u8::from(self.durable) << 1
            | u8::from(self.exclusive) << 2
            | u8::from(self.auto_delete) << 3
            | u8::from(self.no_wait) << 4;
        wire::put_u8(out, bits);
        wire::put_table(out, self.arguments);
    }
}

/// `queue.declare-ok`, sent by servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeclareOk<'a> {
    /// `queue`, a shortstr.
    pub queue: &'a [u8],
    /// `message-count`, a long.
    pub message_count: u32,
    /// `consumer-count`, a long.
    pub consumer_count: u32,
}

impl<'a> DeclareOk<'a> {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let queue = reader.short_str()?;
        let message_count = reader.u32()?;
        let consumer_count = reader.u32()?;
        Ok(Self { queue, message_count, consumer_count })
    }
}

impl EncodeMethod for DeclareOk<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 50);
        wire::put_u16(out, 11);
        wire::put_short_str(out, self.queue);
        wire::put_u32(out, self.message_count);
        wire::put_u32(out, self.consumer_count);
    }
}

/// `queue.bind`, sent by clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bind<'a> {
    /// `ticket`, a short; no longer means anything.
    pub ticket: u16,
    /// `queue`, a shortstr in UTF-8.
    pub queue: &'a [u8],
    /// `exchange`, a shortstr in UTF-8.
    pub exchange: &'a [u8],
    /// `routing-key`, a shortstr in UTF-8.
    pub routing_key: &'a [u8],
    /// `no-wait`, a bit.
    pub no_wait: bool,
    /// `arguments`, a table.
    pub arguments: Table<'a>,
}

impl<'a> Bind<'a> {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let ticket = reader.u16()?;
        let queue = reader.utf8()?;
        let exchange = reader.utf8()?;
        let routing_key = reader.utf8()?;
        let no_wait_bit = reader.u8()?;
        let arguments = reader.table()?;
        Ok(Self { ticket, queue, exchange, routing_key, no_wait: no_wait_bit & 1 != 0, arguments })
    }
}

impl EncodeMethod for Bind<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 50);
        wire::put_u16(out, 20);
        wire::put_u16(out, self.ticket);
        wire::put_short_str(out, self.queue);
        wire::put_short_str(out, self.exchange);
        wire::put_short_str(out, self.routing_key);
        wire::put_u8(out, u8::from(self.no_wait));
        wire::put_table(out, self.arguments);
    }
}

/// `queue.bind-ok`, sent by servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BindOk;

impl BindOk {
    #[inline]
    pub(crate) fn decode(_reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self)
    }
}

impl EncodeMethod for BindOk {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 50);
        wire::put_u16(out, 21);
    }
}

/// `queue.purge`, sent by clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purge<'a> {
    /// `ticket`, a short; no longer means anything.
    pub ticket: u16,
    /// `queue`, a shortstr in UTF-8.
    pub queue: &'a [u8],
    /// `no-wait`, a bit.
    pub no_wait: bool,
}

impl<'a> Purge<'a> {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let ticket = reader.u16()?;
        let queue = reader.utf8()?;
        let no_wait_bit = reader.u8()?;
        Ok(Self { ticket, queue, no_wait: no_wait_bit & 1 != 0 })
    }
}

impl EncodeMethod for Purge<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 50);
        wire::put_u16(out, 30);
        wire::put_u16(out, self.ticket);
        wire::put_short_str(out, self.queue);
        wire::put_u8(out, u8::from(self.no_wait));
    }
}

/// `queue.purge-ok`, sent by servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PurgeOk {
    /// `message-count`, a long.
    pub message_count: u32,
}

impl PurgeOk {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let message_count = reader.u32()?;
        Ok(Self { message_count })
    }
}

impl EncodeMethod for PurgeOk {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 50);
        wire::put_u16(out, 31);
        wire::put_u32(out, self.message_count);
    }
}

/// `queue.delete`, sent by clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delete<'a> {
    /// `ticket`, a short; no longer means anything.
    pub ticket: u16,
    /// `queue`, a shortstr in UTF-8.
    pub queue: &'a [u8],
    /// `if-unused`, a bit.
    pub if_unused: bool,
    /// `if-empty`, a bit.
    pub if_empty: bool,
    /// `no-wait`, a bit.
    pub no_wait: bool,
}

impl<'a> Delete<'a> {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let ticket = reader.u16()?;
        let queue = reader.utf8()?;
        let bits = reader.u8()?;
        Ok(Self { ticket, queue, if_unused: bits & 1 != 0, if_empty: bits & 2 != 0, no_wait: bits & 4 != 0 })
    }
}

impl EncodeMethod for Delete<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 50);
        wire::put_u16(out, 40);
        wire::put_u16(out, self.ticket);
        wire::put_short_str(out, self.queue);
        wire::put_u8(out, u8::from(self.if_unused) | u8::from(self.if_empty) << 1 | u8::from(self.no_wait) << 2);
    }
}

/// `queue.delete-ok`, sent by servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeleteOk {
    /// `message-count`, a long.
    pub message_count: u32,
}

impl DeleteOk {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let message_count = reader.u32()?;
        Ok(Self { message_count })
    }
}

impl EncodeMethod for DeleteOk {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 50);
        wire::put_u16(out, 41);
        wire::put_u32(out, self.message_count);
    }
}

/// `queue.unbind`, sent by clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unbind<'a> {
    /// `ticket`, a short; no longer means anything.
    pub ticket: u16,
    /// `queue`, a shortstr in UTF-8.
    pub queue: &'a [u8],
    /// `exchange`, a shortstr in UTF-8.
    pub exchange: &'a [u8],
    /// `routing-key`, a shortstr in UTF-8.
    pub routing_key: &'a [u8],
    /// `arguments`, a table.
    pub arguments: Table<'a>,
}

impl<'a> Unbind<'a> {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let ticket = reader.u16()?;
        let queue = reader.utf8()?;
        let exchange = reader.utf8()?;
        let routing_key = reader.utf8()?;
        let arguments = reader.table()?;
        Ok(Self { ticket, queue, exchange, routing_key, arguments })
    }
}

impl EncodeMethod for Unbind<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 50);
        wire::put_u16(out, 50);
        wire::put_u16(out, self.ticket);
        wire::put_short_str(out, self.queue);
        wire::put_short_str(out, self.exchange);
        wire::put_short_str(out, self.routing_key);
        wire::put_table(out, self.arguments);
    }
}

/// `queue.unbind-ok`, sent by servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnbindOk;

impl UnbindOk {
    #[inline]
    pub(crate) fn decode(_reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self)
    }
}

impl EncodeMethod for UnbindOk {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 50);
        wire::put_u16(out, 51);
    }
}
