//! A message that is ready to go to its queues: what came in, and what became of it.

use std::sync::Arc;

use queue::MessageKey;
use store::Content;

use crate::deduplication::MessageKeys;
use crate::lane::LaneNumber;
use crate::queue_handle::QueueHandle;
use crate::queued_message::QueuedMessage;

/// How queues are to keep a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PublishOptions {
    /// Whether it outlives a restart in durable queues that do not keep all.
    pub is_persistent: bool,
    /// Its own time to live.
    pub ttl_ms: Option<u64>,
    /// Its property `priority`.
    pub priority: Option<u8>,
    /// Until when it waits where it comes to an exchange that delays, in milliseconds since 1970; 0: it does not wait.
    pub due_ms: u64,
}

impl PublishOptions {
    /// Whether it waits at exchanges that delay.
    #[must_use]
    pub fn is_delayed(&self) -> bool {
        self.due_ms > 0
    }
}

/// A message on its way to its queues.
#[derive(Debug)]
pub struct Publish {
    /// Until it is taken by the only queue that wants it.
    content: Option<Content>,
    /// Bytes of its body.
    pub body_len: u32,
    /// Index of its route in the batch.
    pub(crate) route: u32,
    /// Until when it waits where its targets delay it, in milliseconds since 1970.
    pub(crate) due_ms: u64,
    /// The publish's number on a lane that confirms, else 0.
    pub confirm_seq: u64,
    /// The lane that it came on.
    pub lane: LaneNumber,
    /// The property.
    priority: Option<u8>,
    /// Whether it outlives a restart in durable queues that do not keep all.
    pub is_persistent: bool,
    pub(crate) has_ttl: bool,
    /// What became of it. Known once it has been put into its queues.
    pub outcome: PublishOutcome,
    /// What duplicates of it are known by, where that matters.
    pub(crate) keys: Option<Box<MessageKeys>>,
}

/// What became of a message at its queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PublishOutcome {
    /// Whether its confirm waits for the disk.
    pub waits_for_disk: bool,
    /// Whether some queue has refused it.
    pub is_refused: bool,
    /// Whether it was dropped for one that may not be durable yet.
    pub(crate) awaits_original: bool,
}

const HAS_CONTENT: &str = "a message's content is taken last";

impl Publish {
    /// One that no publisher waits for to be confirmed.
    #[inline(always)]
    #[must_use]
    pub fn new(content: Content, body_len: usize, options: PublishOptions) -> Self {
        Self {
            content: Some(content),
            body_len: body_len as u32,
            route: 0,
            due_ms: options.due_ms,
            confirm_seq: 0,
            lane: LaneNumber::NONE,
            priority: options.priority,
            is_persistent: options.is_persistent,
            has_ttl: options.ttl_ms.is_some(),
            outcome: PublishOutcome::default(),
            keys: None,
        }
    }

    /// The same, to be confirmed on a lane by this number; 0: the lane does not confirm.
    #[inline(always)]
    #[must_use]
    pub fn confirmed_as(self, lane: LaneNumber, confirm_seq: u64) -> Self {
        Self { lane, confirm_seq, ..self }
    }

    /// What it consists of.
    #[inline]
    pub fn content(&self) -> &Content {
        self.content.as_ref().expect(HAS_CONTENT)
    }

    /// Whether it no longer holds anything: the only queue that wanted it has taken it.
    #[inline(always)]
    pub(crate) fn is_spent(&self) -> bool {
        self.content.is_none() && self.keys.is_none()
    }

    /// As one of its queues holds it.
    #[inline]
    pub(crate) fn held_by(&self, queue: &QueueHandle) -> QueuedMessage {
        self.held(queue, self.content().clone())
    }

    /// As the only one of its queues holds it.
    #[inline(always)]
    pub(crate) fn taken_by(&mut self, queue: &QueueHandle) -> QueuedMessage {
        let content = self.content.take().expect(HAS_CONTENT);
        self.held(queue, content)
    }

    #[inline(always)]
    fn held(&self, queue: &QueueHandle, content: Content) -> QueuedMessage {
        let is_journaled = queue.durability.keeps(self.is_persistent);
        QueuedMessage::new(content, self.body_len, is_journaled, self.has_ttl, queue.priorities.of(self.priority))
    }

    /// The message's key, if it has one in this header.
    pub(crate) fn key_in(&mut self, header: &Arc<str>) -> Option<MessageKey> {
        MessageKeys::find(&mut self.keys, header, self.content.as_ref().expect(HAS_CONTENT))
    }

    /// For how long its key is to be remembered, if a header sets that. Known once its key is.
    pub(crate) fn key_ttl_ms(&self) -> Option<u64> {
        self.keys.as_ref()?.ttl_ms()
    }
}
