//! Class `channel`: one struct for each method.
//!
//! Written by `examples/generate`. Change `protocol/amqp0-9-1.txt`, not this.

use crate::method_codec::EncodeMethod;
use crate::wire::{self, Malformed, Reader};

/// `channel.open`, sent by clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Open<'a> {
    /// `out-of-band`, a shortstr in UTF-8; no longer means anything.
    pub out_of_band: &'a [u8],
}

impl<'a> Open<'a> {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let out_of_band = reader.utf8()?;
        Ok(Self { out_of_band })
    }
}

impl EncodeMethod for Open<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 20);
        wire::put_u16(out, 10);
        wire::put_short_str(out, self.out_of_band);
    }
}

/// `channel.open-ok`, sent by servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenOk<'a> {
    /// `channel-id`, a longstr; no longer means anything.
    pub channel_id: &'a [u8],
}

impl<'a> OpenOk<'a> {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let channel_id = reader.long_str()?;
        Ok(Self { channel_id })
    }
}

impl EncodeMethod for OpenOk<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 20);
        wire::put_u16(out, 11);
        wire::put_long_str(out, self.channel_id);
    }
}

/// `channel.flow`, sent by clients and servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// `active`, a bit.
    pub active: bool,
}

impl Flow {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let active_bit = reader.u8()?;
        Ok(Self { active: active_bit & 1 != 0 })
    }
}

impl EncodeMethod for Flow {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 20);
        wire::put_u16(out, 20);
        wire::put_u8(out, u8::from(self.active));
    }
}

/// `channel.flow-ok`, sent by clients and servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowOk {
    /// `active`, a bit.
    pub active: bool,
}

impl FlowOk {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let active_bit = reader.u8()?;
        Ok(Self { active: active_bit & 1 != 0 })
    }
}

impl EncodeMethod for FlowOk {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 20);
        wire::put_u16(out, 21);
        wire::put_u8(out, u8::from(self.active));
    }
}

/// `channel.on-behalf-of`, sent by clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnBehalfOf<'a> {
    /// `client`, a shortstr.
    pub client: &'a [u8],
}

impl<'a> OnBehalfOf<'a> {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let client = reader.short_str()?;
        Ok(Self { client })
    }
}

impl EncodeMethod for OnBehalfOf<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 20);
        wire::put_u16(out, 30);
        wire::put_short_str(out, self.client);
    }
}

/// `channel.close`, sent by clients and servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Close<'a> {
    /// `reply-code`, a short.
    pub reply_code: u16,
    /// `reply-text`, a shortstr.
    pub reply_text: &'a [u8],
    /// `class-id`, a short.
    pub class_id: u16,
    /// `method-id`, a short.
    pub method_id: u16,
}

impl<'a> Close<'a> {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let reply_code = reader.u16()?;
        let reply_text = reader.short_str()?;
        let class_id = reader.u16()?;
        let method_id = reader.u16()?;
        Ok(Self { reply_code, reply_text, class_id, method_id })
    }
}

impl EncodeMethod for Close<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 20);
        wire::put_u16(out, 40);
        wire::put_u16(out, self.reply_code);
        wire::put_short_str(out, self.reply_text);
        wire::put_u16(out, self.class_id);
        wire::put_u16(out, self.method_id);
    }
}

/// `channel.close-ok`, sent by clients and servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CloseOk;

impl CloseOk {
    #[inline]
    pub(crate) fn decode(_reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self)
    }
}

impl EncodeMethod for CloseOk {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 20);
        wire::put_u16(out, 41);
    }
}
