//! Encodings of properties and headers.

/// How a message's properties and headers are encoded.
///
/// The first byte of a content says it: 1 and 2 are AMQP 0-9-1 ([`crate::Parts`]). A further format takes a number of its own there, so
/// that contents of before stay as they are, and an older broker refuses what it cannot read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// The payload of an AMQP 0-9-1 content header frame: class, weight, body length, flags, properties.
    Amqp091,
}
