//! Class `confirm`: one struct for each method.
//!
//! Written by `examples/generate`. Change `protocol/amqp0-9-1.txt`, not this.

use crate::method_codec::EncodeMethod;
use crate::wire::{self, Malformed, Reader};

/// `confirm.select`, sent by clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Select {
    /// `no-wait`, a bit.
    pub no_wait: bool,
}

impl Select {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let no_wait_bit = reader.u8()?;
        Ok(Self { no_wait: no_wait_bit & 1 != 0 })
    }
}

impl EncodeMethod for Select {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 85);
        wire::put_u16(out, 10);
        wire::put_u8(out, u8::from(self.no_wait));
    }
}

/// `confirm.select-ok`, sent by servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SelectOk;

impl SelectOk {
    #[inline]
    pub(crate) fn decode(_reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self)
    }
}

impl EncodeMethod for SelectOk {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 85);
        wire::put_u16(out, 11);
    }
}
