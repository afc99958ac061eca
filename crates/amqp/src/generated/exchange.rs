//! Class `exchange`: one struct for each method.
//!
//! Written by `examples/generate`. Change `protocol/amqp0-9-1.txt`, not this.

use crate::method_codec::EncodeMethod;
use crate::table::Table;
use crate::wire::{self, Malformed, Reader};

/// `exchange.declare`, sent by clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Declare<'a> {
    /// `ticket`, a short; no longer means anything.
    pub ticket: u16,
    /// `exchange`, a shortstr in UTF-8.
    pub exchange: &'a [u8],
    /// `type`, a shortstr in UTF-8.
    pub kind: &'a [u8],
    /// `passive`, a bit.
    pub passive: bool,
    /// `durable`, a bit.
    pub durable: bool,
    /// `auto-delete`, a bit.
    pub auto_delete: bool,
    /// `internal`, a bit.
    pub internal: bool,
    /// `no-wait`, a bit.
    pub no_wait: bool,
    /// `arguments`, a table.
    pub arguments: Table<'a>,
}

impl<'a> Declare<'a> {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let ticket = reader.u16()?;
        let exchange = reader.utf8()?;
        let kind = reader.utf8()?;
        let bits = reader.u8()?;
        let arguments = reader.table()?;
        Ok(Self {
            ticket,
            exchange,
            kind,
            passive: bits & 1 != 0,
            durable: bits & 2 != 0,
            auto_delete: bits & 4 != 0,
            internal: bits & 8 != 0,
            no_wait: bits & 16 != 0,
            arguments,
        })
    }
}

impl EncodeMethod for Declare<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 40);
        wire::put_u16(out, 10);
        wire::put_u16(out, self.ticket);
        wire::put_short_str(out, self.exchange);
        wire::put_short_str(out, self.kind);
        let bits = u8::from(self.passive)
            | u8::from(self.durable) << 1
            | u8::from(self.auto_delete) << 2
            | u8::from(self.internal) << 3
            | u8::from(self.no_wait) << 4;
        wire::put_u8(out, bits);
        wire::put_table(out, self.arguments);
    }
}

/// `exchange.declare-ok`, sent by servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeclareOk;

impl DeclareOk {
    #[inline]
    pub(crate) fn decode(_reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self)
    }
}

impl EncodeMethod for DeclareOk {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 40);
        wire::put_u16(out, 11);
    }
}

/// `exchange.delete`, sent by clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delete<'a> {
    /// `ticket`, a short; no longer means anything.
    pub ticket: u16,
    /// `exchange`, a shortstr in UTF-8.
    pub exchange: &'a [u8],
    /// `if-unused`, a bit.
    pub if_unused: bool,
    /// `no-wait`, a bit.
    pub no_wait: bool,
}

impl<'a> Delete<'a> {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let ticket = reader.u16()?;
        let exchange = reader.utf8()?;
        let bits = reader.u8()?;
        Ok(Self { ticket, exchange, if_unused: bits & 1 != 0, no_wait: bits & 2 != 0 })
    }
}

impl EncodeMethod for Delete<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 40);
        wire::put_u16(out, 20);
        wire::put_u16(out, self.ticket);
        wire::put_short_str(out, self.exchange);
        wire::put_u8(out, u8::from(self.if_unused) | u8::from(self.no_wait) << 1);
    }
}

/// `exchange.delete-ok`, sent by servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeleteOk;

impl DeleteOk {
    #[inline]
    pub(crate) fn decode(_reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self)
    }
}

impl EncodeMethod for DeleteOk {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 40);
        wire::put_u16(out, 21);
    }
}

/// `exchange.bind`, sent by clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bind<'a> {
    /// `ticket`, a short; no longer means anything.
    pub ticket: u16,
    /// `destination`, a shortstr in UTF-8.
    pub destination: &'a [u8],
    /// `source`, a shortstr in UTF-8.
    pub source: &'a [u8],
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
        let destination = reader.utf8()?;
        let source = reader.utf8()?;
        let routing_key = reader.utf8()?;
        let no_wait_bit = reader.u8()?;
        let arguments = reader.table()?;
        Ok(Self { ticket, destination, source, routing_key, no_wait: no_wait_bit & 1 != 0, arguments })
    }
}

impl EncodeMethod for Bind<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 40);
        wire::put_u16(out, 30);
        wire::put_u16(out, self.ticket);
        wire::put_short_str(out, self.destination);
        wire::put_short_str(out, self.source);
        wire::put_short_str(out, self.routing_key);
        wire::put_u8(out, u8::from(self.no_wait));
        wire::put_table(out, self.arguments);
    }
}

/// `exchange.bind-ok`, sent by servers.
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
        wire::put_u16(out, 40);
        wire::put_u16(out, 31);
    }
}

/// `exchange.unbind`, sent by clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unbind<'a> {
    /// `ticket`, a short; no longer means anything.
    pub ticket: u16,
    /// `destination`, a shortstr in UTF-8.
    pub destination: &'a [u8],
    /// `source`, a shortstr in UTF-8.
    pub source: &'a [u8],
    /// `routing-key`, a shortstr in UTF-8.
    pub routing_key: &'a [u8],
    /// `no-wait`, a bit.
    pub no_wait: bool,
    /// `arguments`, a table.
    pub arguments: Table<'a>,
}

impl<'a> Unbind<'a> {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let ticket = reader.u16()?;
        let destination = reader.utf8()?;
        let source = reader.utf8()?;
        let routing_key = reader.utf8()?;
        let no_wait_bit = reader.u8()?;
        let arguments = reader.table()?;
        Ok(Self { ticket, destination, source, routing_key, no_wait: no_wait_bit & 1 != 0, arguments })
    }
}

impl EncodeMethod for Unbind<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 40);
        wire::put_u16(out, 40);
        wire::put_u16(out, self.ticket);
        wire::put_short_str(out, self.destination);
        wire::put_short_str(out, self.source);
        wire::put_short_str(out, self.routing_key);
        wire::put_u8(out, u8::from(self.no_wait));
        wire::put_table(out, self.arguments);
    }
}

/// `exchange.unbind-ok`, sent by servers.
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
        wire::put_u16(out, 40);
        wire::put_u16(out, 51);
    }
}
