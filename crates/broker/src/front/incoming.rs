//! A message as its publisher hands it over.

use message::{Header, History, Parts};

/// A publish in full, wherever its parts lie.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Incoming<'a> {
    /// The exchange that it is published to.
    pub(crate) exchange: &'a [u8],
    /// Its routing key.
    pub(crate) routing_key: &'a [u8],
    /// Whether the publisher has it back if no queue takes it.
    pub(crate) is_mandatory: bool,
    /// Its properties and headers.
    pub(crate) header: Header<'a>,
    /// Its body.
    pub(crate) body: &'a [u8],
}

impl<'a> Incoming<'a> {
    /// As it is stored.
    pub(super) fn parts(&self, published_at_ms: u64, history: History<'a>) -> Parts<'a> {
        let Self { exchange, routing_key, header, body, .. } = *self;
        Parts { published_at_ms, history, exchange, routing_key, header, body }
    }
}
