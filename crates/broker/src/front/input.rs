//! Whether a front takes what its client sends, and what has to come again.

use std::task::{Context, Poll};

use super::waits::Question;
use super::{Front, Phase, Protocol};
use crate::limits::OUTPUT_LEN;

impl<P: Protocol> Front<P> {
    /// Receiving begins: this is the time of all that comes with it.
    #[inline]
    pub(crate) fn begin_receiving(&mut self, now_ms: u64) {
        self.turn.now_ms = now_ms;
    }

    /// How many publishes wait to be brought to their queues together.
    #[inline]
    pub(crate) fn batched_publish_count(&self) -> usize {
        self.batch.publishes().len()
    }

    /// Whether more bytes may be received now.
    #[inline]
    pub(crate) fn wants_input(&self) -> bool {
        !matches!(self.phase, Phase::Closed { .. } | Phase::Refused { .. })
            && !self.is_input_paused()
            && self.out.len() < 4 * OUTPUT_LEN
    }

    /// Whether bytes may come from the client, if only such as define something.
    pub(crate) fn wants_bytes(&self) -> bool {
        self.wants_input()
            || (self.waits.is_followed()
                && !self.flow.is_stopped()
                && self.is_running()
                && self.out.len() < 4 * OUTPUT_LEN)
    }

    /// Whether nothing is received, whatever the peer does: its silence proves nothing then.
    #[inline]
    pub(super) fn is_input_paused(&self) -> bool {
        self.waits.has_any() || self.flow.is_stopped()
    }

    /// Whether something was refused only because a back end has to be asked first: then it is to come again.
    pub(crate) fn waits_for_answer(&mut self) -> bool {
        let open = self.principal.known_access().and_then(|access| access.permissions.take_open());
        if let Some(open) = open {
            self.waits.ask(Question::Permission(open));
        }
        self.waits.has_question()
    }

    /// Whether the last request that was received comes again: when there is an answer, when all alarms are over, or when the store has
    /// caught up. Asked once a read.
    #[inline]
    pub(crate) fn comes_again(&mut self) -> bool {
        self.waits.has_question() || self.flow.take_put_back()
    }

    /// Whether a publish has to wait, for the end of an alarm or for the store.
    pub(crate) fn is_held_back(&self) -> bool {
        self.flow.is_blocked() || self.flow.is_put_back()
    }

    /// Whether the publishes of this read have to be checked, by [`Front::hold_publish`] and for traces.
    #[inline(always)]
    pub(crate) fn checks_publishes(&self) -> bool {
        self.flow.checks_publishes()
    }

    /// Whether what defines something is received, although nothing else is: the answer to what did so before it is yet to leave.
    #[inline]
    pub(crate) fn is_followed(&self) -> bool {
        self.waits.is_followed()
    }

    /// Nothing more is received before that answer has left.
    pub(crate) fn end_following(&mut self) {
        self.waits.end_following();
    }

    /// What back ends have answered is good for one request, which is done.
    #[inline]
    pub(crate) fn forget_answers(&mut self) {
        if self.principal.asks_back_ends() && !self.waits.has_question() {
            self.principal.access().permissions.forget_answers();
        }
    }

    /// Looks whether an answer has come that the connection waits for. True when it has; else `cx` is woken when it does.
    pub(crate) fn poll_answer(&mut self, cx: &mut Context<'_>) -> bool {
        let question = self.waits.question();
        match question {
            None => return false,
            Some(Question::Login(answer)) => {
                let Poll::Ready(result) = answer.as_mut().poll(cx) else { return false };
                self.principal.answer(result);
                *question = None;
            }
            Some(Question::Permission(open)) => {
                let Poll::Ready(is_allowed) = open.answer.as_mut().poll(cx) else { return false };
                if let (Some(Question::Permission(open)), Some(access)) =
                    (question.take(), self.principal.known_access())
                {
                    access.permissions.close(*open, is_allowed);
                }
            }
        }
        if self.stages.is_timing() {
            self.ask_followed();
        }
        true
    }
}
