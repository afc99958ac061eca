//! What a connection waits for. As long as there is anything, nothing is received from its client.

use std::fmt;
use std::sync::Arc;

use model::ids::{JournalPosition, QueueId};

use crate::backend::Answer;
use crate::identity::Identity;
use crate::login::LoginRefused;
use crate::permissions::{Open, Permitted};
use engine::queue_handle::QueueHandle;

/// All that a connection waits for.
#[derive(Debug, Default)]
pub(super) struct Waits {
    reply: Option<Box<HeldReply>>,
    get: Option<LoadingGet>,
    question: Option<Question>,
    /// The position that the journal was asked to wake the connection at.
    woken_at: Option<JournalPosition>,
}

/// A reply that leaves when the journal is durable up to a position.
#[derive(Debug)]
pub(super) struct HeldReply {
    pub(super) position: JournalPosition,
    pub(super) bytes: Vec<u8>,
    /// No delivery may leave before it.
    holds_deliveries: bool,
    /// Consumers whose queues have gone meanwhile: they are cancelled after it.
    pub(super) cancels: Vec<(u32, QueueId)>,
}

/// A basic.get whose message is being read from a segment.
#[derive(Debug)]
pub(super) struct LoadingGet {
    pub(super) channel: u16,
    pub(super) queue: Permitted<Arc<QueueHandle>>,
    pub(super) no_ack: bool,
}

/// What a back end has been asked. When it has answered, the same frame comes again.
pub(super) enum Question {
    /// Who the client is.
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
    pub(super) fn note_wake_at(&mut self, position: JournalPosition, durable: JournalPosition) -> bool {
        let is_new = self.woken_at.is_none_or(|at| position < at || at <= durable);
        if is_new {
            self.woken_at = Some(position);
        }
        is_new
    }

    /// The reply of a method leaves when the journal is durable up to `position`.
    pub(super) fn hold_reply(&mut self, position: JournalPosition, bytes: Vec<u8>) {
        let reply = HeldReply { position, bytes, holds_deliveries: false, cancels: Vec::new() };
        self.reply = Some(Box::new(reply));
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

    /// The reply, if one is held and the journal is far enough.
    pub(super) fn take_reply(&mut self, durable: JournalPosition) -> Option<Box<HeldReply>> {
        self.reply.take_if(|reply| reply.position <= durable)
    }

    /// Where the journal has to be for the reply that is held.
    pub(super) fn reply_position(&self) -> Option<JournalPosition> {
        self.reply.as_ref().map(|reply| reply.position)
    }

    /// A basic.get is tried again when its message is there.
    pub(super) fn load(&mut self, get: LoadingGet) {
        self.get = Some(get);
    }

    /// Whether a basic.get waits for its message.
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
