//! A message on a queue, as its queue knows it.
//!
//! ```text
//!  | kept at, milliseconds since 1970, u64 | frames, as they came |      numbers are little-endian
//! ```

use model::ids::Place;
use queue::{Gate, Message};
use store::Content;

/// Bytes before the frames.
pub(super) const KEPT_AT_LEN: usize = 8;

/// When a content was kept, in milliseconds since 1970.
pub(super) fn kept_at_ms(content: &[u8]) -> u64 {
    content.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// A message on a queue.
#[derive(Debug, Clone)]
pub(super) struct StoredMessage {
    /// None where it is only in a segment.
    content: Option<Content>,
    len: u32,
    place: Option<Place>,
}

impl StoredMessage {
    pub(super) fn new(content: Content, place: Option<Place>) -> Self {
        StoredMessage { len: content.len(), content: Some(content), place }
    }

    pub(super) fn content(&self) -> Option<&Content> {
        self.content.as_ref()
    }
}

impl Message for StoredMessage {
    fn len(&self) -> u32 {
        self.len
    }

    fn is_journaled(&self) -> bool {
        true
    }

    fn place(&self) -> Option<Place> {
        self.place
    }

    fn set_place(&mut self, place: Place) {
        self.place = Some(place);
    }

    fn release_body(&mut self) {
        if self.place.is_some() {
            self.content = None;
        }
    }

    fn has_body(&self) -> bool {
        self.content.is_some()
    }
}

/// Shelves have no consumers: what is on them is asked for.
#[derive(Debug)]
pub(super) enum NoConsumer {}

impl Gate for NoConsumer {
    fn try_acquire(&self, _len: u32) -> bool {
        match *self {}
    }
}
