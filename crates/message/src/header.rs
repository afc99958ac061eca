//! The properties and headers of a message, encoded.

use std::borrow::Cow;

use amqp::content::{ContentHeader, properties_bytes};

use crate::{Format, View};

/// The properties and headers of a message, as they lie in its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header<'a> {
    format: Format,
    bytes: &'a [u8],
}

impl<'a> Header<'a> {
    /// The payload of an AMQP 0-9-1 content header frame.
    #[inline(always)]
    #[must_use]
    pub const fn amqp091(payload: &'a [u8]) -> Self {
        Header { format: Format::Amqp091, bytes: payload }
    }

    /// How it is encoded.
    #[inline(always)]
    #[must_use]
    pub fn format(self) -> Format {
        self.format
    }

    /// Its encoding.
    #[inline(always)]
    #[must_use]
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// What it says. `None` when it cannot be read, which only a damaged or foreign file can cause.
    // Always: a view is large, and a call would copy it for every message.
    #[inline(always)]
    #[must_use]
    pub fn view(self) -> Option<View<'a>> {
        match self.format {
            Format::Amqp091 => ContentHeader::decode(self.bytes).ok().map(View::from),
        }
    }

    /// The payload of an AMQP 0-9-1 content header frame that says the same.
    #[inline(always)]
    #[must_use]
    pub fn to_amqp091(self) -> Cow<'a, [u8]> {
        match self.format {
            Format::Amqp091 => Cow::Borrowed(self.bytes),
        }
    }

    /// Calls `use_it` with [`to_amqp091`](Header::to_amqp091). Where no conversion is needed there is no owner to be looked for either,
    /// which counts for a delivery.
    #[inline(always)]
    pub fn with_amqp091<T>(self, use_it: impl FnOnce(&[u8]) -> T) -> T {
        match self.format {
            Format::Amqp091 => use_it(self.bytes),
        }
    }

    /// The flags and properties of [`to_amqp091`](Header::to_amqp091), for [`amqp::content::Properties::decode`].
    #[must_use]
    pub fn to_amqp091_properties(self) -> Cow<'a, [u8]> {
        match self.to_amqp091() {
            Cow::Borrowed(payload) => Cow::Borrowed(properties_bytes(payload)),
            Cow::Owned(payload) => Cow::Owned(properties_bytes(&payload).to_vec()),
        }
    }

    /// A copy.
    #[must_use]
    pub fn to_owned(self) -> HeaderBuf {
        HeaderBuf { format: self.format, bytes: self.bytes.to_vec() }
    }
}

/// A [`Header`] in memory of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderBuf {
    format: Format,
    bytes: Vec<u8>,
}

impl HeaderBuf {
    /// The payload of an AMQP 0-9-1 content header frame.
    #[must_use]
    pub fn amqp091(payload: Vec<u8>) -> Self {
        HeaderBuf { format: Format::Amqp091, bytes: payload }
    }

    /// The same, borrowed.
    #[inline]
    #[must_use]
    pub fn as_header(&self) -> Header<'_> {
        Header { format: self.format, bytes: &self.bytes }
    }
}
