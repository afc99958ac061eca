//! A channel of a client.

use std::collections::VecDeque;

use amqp::basic;
use amqp::method::Method;
use amqp::server::ContentProgress;
use model::ids::QueueSeq;

use super::ids::UpstreamConnectionId;

/// How far a client's channel has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Open,
    /// The client was notified that it is closed; what comes until it has agreed is not looked at.
    Closed,
    /// The client wants it closed; the upstream is to agree.
    Closing,
}

/// A channel of a client.
#[derive(Debug)]
pub(super) struct Channel {
    stage: Stage,
    /// The upstream connection and the channel there that it uses. It needs none until it says something.
    lease: Option<(UpstreamConnectionId, u16)>,
    /// A publish that is not whole yet.
    content: Option<Content>,
    /// Confirms, if the client wants them.
    tags: Option<Tags>,
    /// Requests that the upstream has not answered, in their order: whether the client wants the answer.
    unanswered: VecDeque<bool>,
    /// Answers that are for the proxy: it asked itself.
    swallowed: u32,
    /// Asked for on a shared upstream connection, where it means nothing; said again on an upstream connection of its own.
    qos: Option<basic::Qos>,
    /// The queue that an empty name means.
    declared: Option<Box<[u8]>>,
    /// Whether the upstream's channel knows of `declared`.
    is_declared_here: bool,
    /// The last that was published here and kept, and may not have been sent on.
    kept: Option<QueueSeq>,
}

impl Channel {
    pub(super) fn new() -> Self {
        Channel {
            stage: Stage::Open,
            lease: None,
            content: None,
            tags: None,
            unanswered: VecDeque::new(),
            swallowed: 0,
            qos: None,
            declared: None,
            is_declared_here: false,
            kept: None,
        }
    }

    pub(super) fn stage(&self) -> Stage {
        self.stage
    }

    /// The client wants it closed; the upstream is asked.
    pub(super) fn begin_close(&mut self) {
        self.stage = Stage::Closing;
    }

    /// The upstream connection and the channel there that it uses.
    #[inline]
    pub(super) fn lease(&self) -> Option<(UpstreamConnectionId, u16)> {
        self.lease
    }

    /// It uses this channel of an upstream connection from now on, over which so much was published before.
    pub(super) fn lease_to(&mut self, lease: (UpstreamConnectionId, u16), published: u64) {
        self.lease = Some(lease);
        if let Some(tags) = &mut self.tags {
            tags.begin_at(published);
        }
    }

    /// It uses its upstream's channel no longer, which knows no more what it has declared.
    pub(super) fn return_lease(&mut self) -> Option<(UpstreamConnectionId, u16)> {
        self.is_declared_here = false;
        self.lease.take()
    }

    /// The upstream has closed its channel. Gives how many bytes of a publish are forgotten, and whether its client is to be notified.
    pub(super) fn fail(&mut self) -> (usize, bool) {
        self.lease = None;
        self.unanswered.clear();
        self.is_declared_here = false;
        let held_len = self.content.take().map_or(0, |content| content.frames.len());
        let is_open = self.stage == Stage::Open;
        if is_open {
            self.stage = Stage::Closed;
        }
        (held_len, is_open)
    }

    /// Takes the publish that is not whole yet, to continue with it.
    #[inline]
    pub(super) fn take_content(&mut self) -> Option<Content> {
        self.content.take()
    }

    #[inline]
    pub(super) fn put_content(&mut self, content: Content) {
        self.content = Some(content);
    }

    pub(super) fn tags(&self) -> Option<Tags> {
        self.tags
    }

    /// The client wants confirms from now on. So much was published over its upstream's channel, if it has one.
    pub(super) fn select_confirms(&mut self, published: Option<u64>) {
        if self.tags.is_none() {
            let mut tags = Tags::default();
            if let Some(published) = published {
                tags.begin_at(published);
            }
            self.tags = Some(tags);
        }
    }

    /// The client has published.
    #[inline]
    pub(super) fn note_published(&mut self) {
        if let Some(tags) = &mut self.tags {
            tags.count += 1;
        }
    }

    /// Whether the upstream has answered everything.
    #[inline]
    pub(super) fn is_answered(&self) -> bool {
        self.unanswered.is_empty()
    }

    /// Something was asked of the upstream.
    pub(super) fn ask(&mut self, is_answer_wanted: bool) {
        self.unanswered.push_back(is_answer_wanted);
    }

    /// The upstream has answered. Whether the client wants that answer.
    pub(super) fn take_answer(&mut self) -> bool {
        self.unanswered.pop_front().unwrap_or(true)
    }

    /// Sets the prefetch that is repeated on the next upstream channel.
    pub(super) fn set_qos(&mut self, qos: basic::Qos) {
        self.qos = Some(qos);
    }

    /// It moves to an upstream connection of its client's own. Gives what is to be said there after it was opened: whether it confirms, its
    /// prefetch, and a publish that is not whole yet.
    pub(super) fn reopen(&mut self) -> (bool, Option<basic::Qos>, Option<Content>) {
        self.swallowed = 1 + u32::from(self.qos.is_some());
        if let Some(tags) = &mut self.tags {
            tags.begin_at(0);
        }
        self.is_declared_here = false;
        (self.tags.is_some(), self.qos, self.content.take())
    }

    /// An answer to what was said again has come. Whether it is that.
    pub(super) fn swallow(&mut self) -> bool {
        let is_ours = self.swallowed > 0;
        self.swallowed -= u32::from(is_ours);
        is_ours
    }

    /// The queue that an empty name means.
    pub(super) fn declared(&self) -> Option<&[u8]> {
        self.declared.as_deref()
    }

    /// The client declares a queue here.
    pub(super) fn declare(&mut self, queue: &[u8]) {
        self.declared = Some(queue.into());
        self.is_declared_here = true;
    }

    /// Whether an empty name may mean a queue of which the upstream's channel knows nothing.
    #[inline]
    pub(super) fn may_mean_another_queue(&self) -> bool {
        self.declared.is_some() && !self.is_declared_here
    }

    /// The queue that a method without a queue's name means, where the upstream's channel cannot know.
    pub(super) fn remembered_queue(&mut self, method: &Method<'_>) -> Option<Box<[u8]>> {
        if self.is_declared_here {
            return None;
        }
        let name = self.declared.as_ref()?;
        match method {
            Method::QueueDeclare(_) => {
                self.is_declared_here = true;
                None
            }
            Method::QueueBind(bind) if bind.queue.is_empty() => Some(name.clone()),
            Method::QueueUnbind(unbind) if unbind.queue.is_empty() => Some(name.clone()),
            Method::QueuePurge(purge) if purge.queue.is_empty() => Some(name.clone()),
            Method::QueueDelete(delete) if delete.queue.is_empty() => Some(name.clone()),
            Method::BasicConsume(consume) if consume.queue.is_empty() => Some(name.clone()),
            Method::BasicGet(get) if get.queue.is_empty() => Some(name.clone()),
            _ => None,
        }
    }

    /// The last that was published here and kept, and may not have been sent on.
    pub(super) fn kept(&self) -> Option<QueueSeq> {
        self.kept
    }

    pub(super) fn set_kept(&mut self, kept: Option<QueueSeq>) {
        self.kept = kept;
    }
}

/// How a client counts its publishes, and how the upstream does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tags {
    /// Publishes of the client since it selected confirms.
    count: u64,
    /// The upstream's tag of a publish less the client's.
    offset: i64,
}

impl Tags {
    /// Its publishes go over a channel of an upstream from now on where so many were published before.
    fn begin_at(&mut self, published: u64) {
        let of = |count| i64::try_from(count).unwrap_or(i64::MAX);
        self.offset = of(published) - of(self.count);
    }

    /// The client's tag; `None` for what it published before it wanted confirms, or another did.
    pub(super) fn of_upstream(&self, tag: u64) -> Option<u64> {
        u64::try_from(i64::try_from(tag).ok()?.checked_sub(self.offset)?).ok().filter(|tag| *tag > 0)
    }
}

/// Frames of a publish, as they came, until the last one is there.
#[derive(Debug)]
pub(super) struct Content {
    frames: Vec<u8>,
    progress: ContentProgress,
    /// Of the header's frame.
    header_len: Option<usize>,
}

impl Content {
    /// Begins with the method's frame.
    pub(super) fn begin(method_frame: &[u8]) -> Self {
        Content { frames: method_frame.to_vec(), progress: ContentProgress::default(), header_len: None }
    }

    pub(super) fn frames(&self) -> &[u8] {
        &self.frames
    }

    pub(super) fn progress(&self) -> ContentProgress {
        self.progress
    }

    /// Bytes of the header's frame, if it has come.
    pub(super) fn header_len(&self) -> Option<usize> {
        self.header_len
    }

    /// Another frame, with which so much has come.
    pub(super) fn push(&mut self, frame: &[u8], progress: ContentProgress) {
        self.header_len.get_or_insert(frame.len());
        self.frames.extend_from_slice(frame);
        self.progress = progress;
    }
}
