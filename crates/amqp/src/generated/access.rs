//! Class `access`: one struct for each method.
//!
//! Written by `examples/generate`. Change `protocol/amqp0-9-1.txt`, not this.

use crate::method_codec::EncodeMethod;
use crate::wire::{self, Malformed, Reader};

/// `access.request`, sent by clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request<'a> {
    /// `realm`, a shortstr in UTF-8; no longer means anything.
    pub realm: &'a [u8],
    /// `exclusive`, a bit; no longer means anything.
    pub exclusive: bool,
    /// `passive`, a bit; no longer means anything.
    pub passive: bool,
    /// `active`, a bit; no longer means anything.
    pub active: bool,
    /// `write`, a bit; no longer means anything.
    pub write: bool,
    /// `read`, a bit; no longer means anything.
    pub read: bool,
}

impl<'a> Request<'a> {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let realm = reader.utf8()?;
        let bits = reader.u8()?;
        Ok(Self {
            realm,
            exclusive: bits & 1 != 0,
            passive: bits & 2 != 0,
            active: bits & 4 != 0,
            write: bits & 8 != 0,
            read: bits & 16 != 0,
        })
    }
}

impl EncodeMethod for Request<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 30);
        wire::put_u16(out, 10);
        wire::put_short_str(out, self.realm);
        let bits = u8::from(self.exclusive)
            | u8::from(self.passive) << 1
            | u8::from(self.active) << 2
            | u8::from(self.write) << 3
            | u8::from(self.read) << 4;
        wire::put_u8(out, bits);
    }
}

/// `access.request-ok`, sent by servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestOk {
    /// `ticket`, a short; no longer means anything.
    pub ticket: u16,
}

impl RequestOk {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let ticket = reader.u16()?;
        Ok(Self { ticket })
    }
}

impl EncodeMethod for RequestOk {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 30);
        wire::put_u16(out, 11);
        wire::put_u16(out, self.ticket);
    }
}
