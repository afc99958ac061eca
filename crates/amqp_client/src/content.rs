//! What a message carries: encoded properties, and a body.

use std::fmt;

use amqp::Properties;

/// What a message carries.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Content<'a> {
    properties: &'a [u8],
    /// The body.
    pub body: &'a [u8],
}

impl<'a> Content<'a> {
    /// A content of encoded properties and a body.
    #[must_use]
    pub fn new(properties: &'a [u8], body: &'a [u8]) -> Self {
        Content { properties, body }
    }

    /// The properties, decoded. `None` if they make no sense.
    #[inline]
    #[must_use]
    pub fn properties(&self) -> Option<Properties<'a>> {
        Properties::decode(self.properties).ok()
    }

    /// The properties as they came.
    #[inline]
    #[must_use]
    pub fn properties_bytes(&self) -> &'a [u8] {
        self.properties
    }
}

impl fmt::Debug for Content<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Content {{ body_len: {}, properties: {:?} }}", self.body.len(), self.properties())
    }
}
