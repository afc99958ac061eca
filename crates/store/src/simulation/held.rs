//! Messages whose content follows from their number, as the queues of tests hold them.

use model::ids::{Place, QueueId};
use queue::{Gate, Message};

use super::history::MessageNumber;
use crate::{Content, Random};

/// The content of a message: all follows from its number.
pub(crate) fn content_of(number: MessageNumber) -> Vec<u8> {
    let mut random = Random::new(number);
    let len = match random.below(100) {
        0..85 => random.range(8..200),
        85..96 => random.range(4096..6000),
        96..99 => random.range(9000..20_000),
        _ => 70_000,
    };
    let mut content = vec![number as u8; len as usize];
    content[..8].copy_from_slice(&number.to_le_bytes());
    content
}

/// What the queue counts for a message.
pub(crate) fn body_len_of(content: &[u8]) -> u32 {
    content.len() as u32 / 2 + 1
}

#[track_caller]
pub(crate) fn number_of(content: &[u8]) -> MessageNumber {
    let number = u64::from_le_bytes(*content.first_chunk().expect("contents begin with their number"));
    assert!(content == content_of(number), "message {number} has another content than was published");
    number
}

/// A queue's handle of a message.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) content: Option<Content>,
    pub(crate) body_len: u32,
    pub(crate) is_journaled: bool,
    pub(crate) priority: u8,
    pub(crate) place: Option<Place>,
}

impl Held {
    pub(crate) fn new(queue: QueueId, content: Content, is_journaled: bool, place: Option<Place>) -> Self {
        let body_len = body_len_of(content.bytes());
        let priority = priority_of(queue, number_of(content.bytes()));
        Held { content: Some(content), body_len, is_journaled, priority, place }
    }
}

/// Every other queue has priorities.
pub(crate) fn priority_of(queue: QueueId, number: MessageNumber) -> u8 {
    if queue.0.is_multiple_of(2) { 0 } else { (number % 3) as u8 }
}

impl Message for Held {
    fn len(&self) -> u32 {
        self.body_len
    }

    fn is_journaled(&self) -> bool {
        self.is_journaled
    }

    fn priority(&self) -> u8 {
        self.priority
    }

    fn place(&self) -> Option<Place> {
        self.place
    }

    fn set_place(&mut self, place: Place) {
        self.place = Some(place);
    }

    fn release_body(&mut self) {
        assert!(self.place.is_some(), "a body was let go that is nowhere else");
        self.content = None;
    }

    fn has_body(&self) -> bool {
        self.content.is_some()
    }
}

impl Held {
    /// What is to be written, of a message that has its body.
    #[cfg(test)]
    pub(crate) fn content(&self) -> &Content {
        self.content.as_ref().expect("a message without a place has its body")
    }
}

/// A gate that is always open.
#[derive(Debug)]
pub(crate) struct Open;

impl Gate for Open {
    fn try_acquire(&self, _len: u32) -> bool {
        true
    }
}
