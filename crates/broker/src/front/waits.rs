//! What a connection waits for. As long as there is anything, nothing is received from its client.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use engine::Positions;
use engine::position::{Earliest, Marks, Position};
use model::ids::QueueId;

use crate::backend::Answer;
use crate::identity::Identity;
use crate::limits::OUTPUT_LEN;
use crate::login::LoginRefused;
use crate::permissions::{Open, Permitted};
use engine::lane::LaneNumber;
use engine::queue_handle::QueueHandle;

/// All that a connection waits for.
#[derive(Debug, Default)]
pub(super) struct Waits {
    reply: Option<Box<HeldReply>>,
    get: Option<LoadingGet>,
    question: Option<Question>,
    /// The positions that the journals were asked to wake the connection at.
    woken_at: Earliest,
}

/// A reply that leaves when the journal is durable up to a position. After that of a method that defines something others of the kind may
/// follow: they are done meanwhile, so that many at once share a sync.
#[derive(Debug)]
struct HeldReply {
    /// In the order in which they leave: none waits for less than the one before it.
    parts: VecDeque<(Positions, Vec<u8>)>,
    /// Bytes of all of them.
    len: usize,
    /// Whether what defines something is received meanwhile.
    is_followed: bool,
    /// No delivery may leave before it.
    holds_deliveries: bool,
    /// Consumers whose queues were deleted meanwhile: they are cancelled after it.
    cancels: Vec<(u32, QueueId)>,
}

/// A get whose message is being read from a segment.
#[derive(Debug)]
pub(crate) struct LoadingGet {
    pub(crate) lane: LaneNumber,
    pub(crate) queue: Permitted<Arc<QueueHandle>>,
    pub(crate) no_ack: bool,
}

/// What a back end has been asked. When it has answered, the same frame comes again.
pub(super) enum Question {
    /// The client's identity.
    Login(Answer<Result<Identity, LoginRefused>>),
    /// What its user may do.
    Permission(Box<Open>),
}

impl fmt::Debug for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Question::Login(_) => "Login",
            Question::Permission(_) => "Permission",
        })
    }
}

impl Waits {
    /// Whether there is anything.
    pub(super) fn has_any(&self) -> bool {
        self.reply.is_some() || self.question.is_some() || self.get.is_some()
    }

    /// Forgets all: the connection ends.
    pub(super) fn forget(&mut self) {
        (self.reply, self.get, self.question) = (None, None, None);
    }

    /// Whether the journal is yet to be asked to wake the connection at `position`; it counts as asked from now on.
    pub(super) fn note_wake_at(&mut self, position: Position, durable: Marks) -> bool {
        self.woken_at.renew(position, &durable)
    }

    /// The reply of a method leaves when the journal is durable up to `position`, and after what is held already.
    pub(super) fn hold_reply(&mut self, position: Positions, bytes: Vec<u8>) {
        let reply = self.reply.get_or_insert_with(|| {
            let (parts, cancels) = (VecDeque::new(), Vec::new());
            Box::new(HeldReply { parts, len: 0, is_followed: false, holds_deliveries: false, cancels })
        });
        reply.len += bytes.len();
        let position = reply.parts.back().map_or(position, |(last, _)| position.and(*last));
        match reply.parts.back_mut().filter(|(last, _)| *last == position) {
            Some((_, part)) => part.extend_from_slice(&bytes),
            None => reply.parts.push_back((position, bytes)),
        }
    }

    /// What was written since `start` leaves after the reply that is held, if one is.
    pub(super) fn hold_output(&mut self, out: &mut Vec<u8>, start: usize) {
        let Some(reply) = &mut self.reply else { return };
        if let Some((_, part)) = reply.parts.back_mut() {
            reply.len += out.len() - start;
            part.extend(out.drain(start..));
        }
    }

    /// What defines something is received while the reply is held.
    pub(super) fn begin_following(&mut self) {
        if let Some(reply) = &mut self.reply {
            reply.is_followed = true;
        }
    }

    /// Nothing more is received before the reply has left.
    pub(super) fn end_following(&mut self) {
        if let Some(reply) = &mut self.reply {
            reply.is_followed = false;
        }
    }

    /// Whether what defines something is received, although nothing else is.
    pub(super) fn is_followed(&self) -> bool {
        let is_followed = self.reply.as_ref().is_some_and(|reply| reply.is_followed && reply.len < OUTPUT_LEN);
        is_followed && self.question.is_none() && self.get.is_none()
    }

    /// No delivery may leave before the reply that is held, if one is.
    pub(super) fn hold_deliveries(&mut self) {
        if let Some(reply) = &mut self.reply {
            reply.holds_deliveries = true;
        }
    }

    /// Whether no delivery may leave.
    #[inline]
    pub(super) fn holds_deliveries(&self) -> bool {
        self.reply.as_ref().is_some_and(|reply| reply.holds_deliveries)
    }

    /// Consumers are to be cancelled after the reply that is held. Gives them back where none is.
    pub(super) fn cancel_after_reply(&mut self, mut consumers: Vec<(u32, QueueId)>) -> Vec<(u32, QueueId)> {
        if let Some(reply) = &mut self.reply {
            reply.cancels.append(&mut consumers);
        }
        consumers
    }

    /// Moves to `out` what of the reply the journal is far enough for. Says whether that was anything.
    pub(super) fn take_due(&mut self, durable: Marks, out: &mut Vec<u8>) -> bool {
        let Some(reply) = &mut self.reply else { return false };
        let mut has_left = false;
        while let Some((_, part)) = reply.parts.pop_front_if(|(position, _)| durable.reach_all(*position)) {
            out.extend_from_slice(&part);
            reply.len -= part.len();
            has_left = true;
        }
        has_left
    }

    /// Once all of the reply has left, the consumers that are to be cancelled then.
    pub(super) fn end_reply(&mut self) -> Option<Vec<(u32, QueueId)>> {
        self.reply.take_if(|reply| reply.parts.is_empty()).map(|reply| reply.cancels)
    }

    /// Where the journal has to be next for the reply that is held.
    pub(super) fn reply_position(&self) -> Option<Positions> {
        self.reply.as_ref()?.parts.front().map(|(position, _)| *position)
    }

    /// Where it has to be for the last of it.
    pub(super) fn last_reply_position(&self) -> Option<Positions> {
        self.reply.as_ref()?.parts.back().map(|(position, _)| *position)
    }

    /// A get is tried again when its message is there.
    pub(super) fn load(&mut self, get: LoadingGet) {
        self.get = Some(get);
    }

    /// Whether a get waits for its message.
    pub(super) fn has_get(&self) -> bool {
        self.get.is_some()
    }

    pub(super) fn take_get(&mut self) -> Option<LoadingGet> {
        self.get.take()
    }

    /// A back end is asked.
    pub(super) fn ask(&mut self, question: Question) {
        self.question = Some(question);
    }

    pub(super) fn question(&mut self) -> &mut Option<Question> {
        &mut self.question
    }

    /// Whether a back end has been asked and has not answered.
    #[inline]
    pub(super) fn has_question(&self) -> bool {
        self.question.is_some()
    }
}
