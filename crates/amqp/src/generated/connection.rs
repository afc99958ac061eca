//! Class `connection`: one struct for each method.
//!
//! Written by `examples/generate`. Change `protocol/amqp0-9-1.txt`, not this.

use crate::method_codec::EncodeMethod;
use crate::table::Table;
use crate::wire::{self, Malformed, Reader};

/// `connection.start`, sent by servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Start<'a> {
    /// `version-major`, an octet.
    pub version_major: u8,
    /// `version-minor`, an octet.
    pub version_minor: u8,
    /// `server-properties`, a table.
    pub server_properties: Table<'a>,
    /// `mechanisms`, a longstr.
    pub mechanisms: &'a [u8],
    /// `locales`, a longstr.
    pub locales: &'a [u8],
}

impl<'a> Start<'a> {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let version_major = reader.u8()?;
        let version_minor = reader.u8()?;
        let server_properties = reader.table()?;
        let mechanisms = reader.long_str()?;
        let locales = reader.long_str()?;
        Ok(Self { version_major, version_minor, server_properties, mechanisms, locales })
    }
}

impl EncodeMethod for Start<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 10);
        wire::put_u16(out, 10);
        wire::put_u8(out, self.version_major);
        wire::put_u8(out, self.version_minor);
        wire::put_table(out, self.server_properties);
        wire::put_long_str(out, self.mechanisms);
        wire::put_long_str(out, self.locales);
    }
}

/// `connection.start-ok`, sent by clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StartOk<'a> {
    /// `client-properties`, a table.
    pub client_properties: Table<'a>,
    /// `mechanism`, a shortstr in UTF-8.
    pub mechanism: &'a [u8],
    /// `response`, a longstr.
    pub response: &'a [u8],
    /// `locale`, a shortstr in UTF-8.
    pub locale: &'a [u8],
}

impl<'a> StartOk<'a> {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let client_properties = reader.table()?;
        let mechanism = reader.utf8()?;
        let response = reader.long_str()?;
        let locale = reader.utf8()?;
        Ok(Self { client_properties, mechanism, response, locale })
    }
}

impl EncodeMethod for StartOk<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 10);
        wire::put_u16(out, 11);
        wire::put_table(out, self.client_properties);
        wire::put_short_str(out, self.mechanism);
        wire::put_long_str(out, self.response);
        wire::put_short_str(out, self.locale);
    }
}

/// `connection.secure`, sent by servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Secure<'a> {
    /// `challenge`, a longstr.
    pub challenge: &'a [u8],
}

impl<'a> Secure<'a> {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let challenge = reader.long_str()?;
        Ok(Self { challenge })
    }
}

impl EncodeMethod for Secure<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 10);
        wire::put_u16(out, 20);
        wire::put_long_str(out, self.challenge);
    }
}

/// `connection.secure-ok`, sent by clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SecureOk<'a> {
    /// `response`, a longstr.
    pub response: &'a [u8],
}

impl<'a> SecureOk<'a> {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let response = reader.long_str()?;
        Ok(Self { response })
    }
}

impl EncodeMethod for SecureOk<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 10);
        wire::put_u16(out, 21);
        wire::put_long_str(out, self.response);
    }
}

/// `connection.tune`, sent by servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tune {
    /// `channel-max`, a short.
    pub channel_max: u16,
    /// `frame-max`, a long.
    pub frame_max: u32,
    /// `heartbeat`, a short.
    pub heartbeat: u16,
}

impl Tune {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let channel_max = reader.u16()?;
        let frame_max = reader.u32()?;
        let heartbeat = reader.u16()?;
        Ok(Self { channel_max, frame_max, heartbeat })
    }
}

impl EncodeMethod for Tune {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 10);
        wire::put_u16(out, 30);
        wire::put_u16(out, self.channel_max);
        wire::put_u32(out, self.frame_max);
        wire::put_u16(out, self.heartbeat);
    }
}

/// `connection.tune-ok`, sent by clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TuneOk {
    /// `channel-max`, a short.
    pub channel_max: u16,
    /// `frame-max`, a long.
    pub frame_max: u32,
    /// `heartbeat`, a short.
    pub heartbeat: u16,
}

impl TuneOk {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let channel_max = reader.u16()?;
        let frame_max = reader.u32()?;
        let heartbeat = reader.u16()?;
        Ok(Self { channel_max, frame_max, heartbeat })
    }
}

impl EncodeMethod for TuneOk {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 10);
        wire::put_u16(out, 31);
        wire::put_u16(out, self.channel_max);
        wire::put_u32(out, self.frame_max);
        wire::put_u16(out, self.heartbeat);
    }
}

/// `connection.open`, sent by clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Open<'a> {
    /// `virtual-host`, a shortstr in UTF-8.
    pub virtual_host: &'a [u8],
    /// `capabilities`, a shortstr in UTF-8; no longer means anything.
    pub capabilities: &'a [u8],
    /// `insist`, a bit; no longer means anything.
    pub insist: bool,
}

impl<'a> Open<'a> {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let virtual_host = reader.utf8()?;
        let capabilities = reader.utf8()?;
        let insist_bit = reader.u8()?;
        Ok(Self { virtual_host, capabilities, insist: insist_bit & 1 != 0 })
    }
}

impl EncodeMethod for Open<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 10);
        wire::put_u16(out, 40);
        wire::put_short_str(out, self.virtual_host);
        wire::put_short_str(out, self.capabilities);
        wire::put_u8(out, u8::from(self.insist));
    }
}

/// `connection.open-ok`, sent by servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenOk<'a> {
    /// `known-hosts`, a shortstr; no longer means anything.
    pub known_hosts: &'a [u8],
}

impl<'a> OpenOk<'a> {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let known_hosts = reader.short_str()?;
        Ok(Self { known_hosts })
    }
}

impl EncodeMethod for OpenOk<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 10);
        wire::put_u16(out, 41);
        wire::put_short_str(out, self.known_hosts);
    }
}

/// `connection.close`, sent by clients and servers.
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
        wire::put_u16(out, 10);
        wire::put_u16(out, 50);
        wire::put_u16(out, self.reply_code);
        wire::put_short_str(out, self.reply_text);
        wire::put_u16(out, self.class_id);
        wire::put_u16(out, self.method_id);
    }
}

/// `connection.close-ok`, sent by clients and servers.
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
        wire::put_u16(out, 10);
        wire::put_u16(out, 51);
    }
}

/// `connection.blocked`, sent by servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocked<'a> {
    /// `reason`, a shortstr.
    pub reason: &'a [u8],
}

impl<'a> Blocked<'a> {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let reason = reader.short_str()?;
        Ok(Self { reason })
    }
}

impl EncodeMethod for Blocked<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 10);
        wire::put_u16(out, 60);
        wire::put_short_str(out, self.reason);
    }
}

/// `connection.unblocked`, sent by servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unblocked;

impl Unblocked {
    #[inline]
    pub(crate) fn decode(_reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self)
    }
}

impl EncodeMethod for Unblocked {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 10);
        wire::put_u16(out, 61);
    }
}

/// `connection.update-secret`, sent by clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpdateSecret<'a> {
    /// `new-secret`, a longstr.
    pub new_secret: &'a [u8],
    /// `reason`, a shortstr in UTF-8.
    pub reason: &'a [u8],
}

impl<'a> UpdateSecret<'a> {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let new_secret = reader.long_str()?;
        let reason = reader.utf8()?;
        Ok(Self { new_secret, reason })
    }
}

impl EncodeMethod for UpdateSecret<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 10);
        wire::put_u16(out, 70);
        wire::put_long_str(out, self.new_secret);
        wire::put_short_str(out, self.reason);
    }
}

/// `connection.update-secret-ok`, sent by servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpdateSecretOk;

impl UpdateSecretOk {
    #[inline]
    pub(crate) fn decode(_reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self)
    }
}

impl EncodeMethod for UpdateSecretOk {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 10);
        wire::put_u16(out, 71);
    }
}
