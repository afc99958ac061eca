//! How queues hold messages.

use std::num::NonZeroU64;

use message::Parts;
use model::arguments::QueueArguments;
use model::features::QueueFeatures;
use model::ids::{Place, SegmentId};
use model::policy::EffectivePolicy;
use store::Content;

use crate::grouping;

/// How a queue holds a message: where its content is in memory, and its place in a segment once it has one.
#[derive(Debug, Clone)]
pub struct QueuedMessage {
    /// `None` for an unacked message that a segment has: it is read again if it is requeued.
    content: Option<Content>,
    body_len: u32,
    marks: Marks,
    /// `slot` counts only where `segment` is not [`NO_SEGMENT`]; an `Option<Place>` would cost eight bytes a message.
    segment: SegmentId,
    slot: u32,
}

/// What else a queue asks of a message. A word as the fields beside it, in which every value is possible: a message is moved often, and
/// with a `bool` that would be in pieces, around the byte that distinguishes `Some` from `None`.
#[derive(Debug, Clone, Copy)]
struct Marks(u32);

impl Marks {
    const IS_JOURNALED: u32 = 1 << 8;
    const HAS_TTL: u32 = 1 << 9;

    #[inline]
    fn new(is_journaled: bool, has_ttl: bool, priority: u8) -> Self {
        let journaled = if is_journaled { Self::IS_JOURNALED } else { 0 };
        let ttl = if has_ttl { Self::HAS_TTL } else { 0 };
        Self(journaled | ttl | u32::from(priority))
    }

    #[inline]
    fn has(self, mark: u32) -> bool {
        self.0 & mark != 0
    }

    #[inline]
    fn priority(self) -> u8 {
        self.0 as u8
    }
}

const NO_SEGMENT: SegmentId = SegmentId(u32::MAX);
const _: () = assert!(size_of::<QueuedMessage>() == 32);
const HAS_CONTENT: &str = "a queue hands out and spills only what has a body";

impl QueuedMessage {
    /// One that has just come.
    #[inline]
    pub fn new(content: Content, body_len: u32, is_journaled: bool, has_ttl: bool, priority: u8) -> Self {
        let marks = Marks::new(is_journaled, has_ttl, priority);
        Self { content: Some(content), body_len, marks, segment: NO_SEGMENT, slot: 0 }
    }

    /// The content of a message that is being handed out or written to a segment.
    #[inline]
    pub fn content(&self) -> &Content {
        self.content.as_ref().expect(HAS_CONTENT)
    }

    /// The content, where it is in memory.
    pub fn known_content(&self) -> Option<&Content> {
        self.content.as_ref()
    }

    #[inline]
    pub(crate) fn into_content(self) -> Content {
        self.content.expect(HAS_CONTENT)
    }

    /// A message read back from the store. `None` when its content is not one of ours.
    pub fn restored(
        content: Content,
        is_journaled: bool,
        place: Option<Place>,
        priorities: Priorities,
    ) -> Option<Self> {
        let parts = Parts::read(content.bytes())?;
        let (body_len, has_ttl) = (parts.body.len() as u32, parts.history.ttl_ms.is_some());
        let priority =
            if priorities.max == 0 { 0 } else { priorities.of(parts.header.view().and_then(|view| view.priority())) };
        let mut held = Self::new(content, body_len, is_journaled, has_ttl, priority);
        if let Some(place) = place {
            queue::Message::set_place(&mut held, place);
        }
        Some(held)
    }

    /// The property of this name, in seconds since 1970. Asked only of a message with its content.
    pub fn timestamp(&self) -> Option<u64> {
        self.parts()?.header.view()?.timestamp()
    }

    fn parts(&self) -> Option<Parts<'_>> {
        Parts::read(self.content.as_ref()?.bytes())
    }
}

/// Which priorities a queue has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Priorities {
    /// The highest; 0: there are none.
    pub(crate) max: u8,
    /// That of messages without one.
    pub(crate) default: u8,
}

impl Priorities {
    /// Of a queue with these arguments: policies change nothing about it.
    pub fn of_arguments(arguments: &QueueArguments) -> Self {
        let features = QueueFeatures::of(arguments, &EffectivePolicy::default());
        Self { max: features.priority_max.unwrap_or(0), default: features.default_priority }
    }

    /// The priority here of a message with this property.
    #[inline]
    pub fn of(self, property: Option<u8>) -> u8 {
        property.unwrap_or(self.default).min(self.max)
    }
}

impl queue::Message for QueuedMessage {
    #[inline]
    fn len(&self) -> u32 {
        self.body_len
    }

    #[inline]
    fn delivered_len(&self) -> u32 {
        self.content.as_ref().map_or(0, Content::len)
    }

    #[inline]
    fn is_journaled(&self) -> bool {
        self.marks.has(Marks::IS_JOURNALED)
    }

    #[inline]
    fn priority(&self) -> u8 {
        self.marks.priority()
    }

    #[inline]
    fn has_ttl(&self) -> bool {
        self.marks.has(Marks::HAS_TTL)
    }

    fn ttl_ms(&self) -> Option<u64> {
        self.parts()?.history.ttl_ms
    }

    fn entered_at_ms(&self) -> u64 {
        self.parts().map_or(0, |parts| parts.published_at_ms)
    }

    fn group(&self, header: &str) -> Option<NonZeroU64> {
        grouping::group_of(self.parts()?.header, header)
    }

    #[inline]
    fn place(&self) -> Option<Place> {
        (self.segment != NO_SEGMENT).then_some(Place { segment: self.segment, slot: self.slot })
    }

    fn release_body(&mut self) {
        if self.segment != NO_SEGMENT {
            self.content = None;
        }
    }

    #[inline]
    fn without_body(&self) -> Self {
        let content = if self.segment == NO_SEGMENT { self.content.clone() } else { None };
        Self { content, ..*self }
    }

    #[inline]
    fn has_body(&self) -> bool {
        self.content.is_some()
    }

    #[inline]
    fn set_place(&mut self, place: Place) {
        assert!(place.segment != NO_SEGMENT, "a segment's number is never the mark for none");
        (self.segment, self.slot) = (place.segment, place.slot);
    }
}
