//! Queues for which an upstream has closed a whole connection: no other client is to be closed for them again.
//!
//! RabbitMQ answers a get from a stream with 540, and what a quorum queue cannot do without a majority with 541; only it knows which queues
//! these are. Its words name the queue.

use std::collections::VecDeque;

use amqp::ReplyCode;
use amqp::method::Method;

use super::refusal::Refusal;

/// Queues that are remembered.
const COUNT_MAX: usize = 64;

/// For how long what an upstream could not do is believed to be so still: a majority comes back.
const PASSING_MS: u64 = 600_000;

/// Of a login and vhost, the last ones, and until when.
#[derive(Debug, Clone, Default)]
pub(super) struct PoisonedQueues(VecDeque<(Box<[u8]>, u64)>);

impl PoisonedQueues {
    /// A shared upstream connection was closed with this.
    pub(super) fn note(&mut self, refusal: &Refusal, now_ms: u64) {
        let until_ms = match refusal.code {
            code if code == ReplyCode::NotImplemented.code() => u64::MAX,
            code if code == ReplyCode::InternalError.code() => now_ms + PASSING_MS,
            _ => return,
        };
        let text = refusal.text();
        let Some(name) = queue_in(&text).map(str::as_bytes) else { return };
        self.0.retain(|(known, _)| **known != *name);
        if self.0.len() == COUNT_MAX {
            self.0.pop_front();
        }
        self.0.push_back((name.into(), until_ms));
    }

    /// Those of the same user by another secret are the same.
    pub(super) fn learn(&mut self, others: PoisonedQueues) {
        if self.0.is_empty() {
            *self = others;
        }
    }

    /// Whether a method is about one of them; `declared` is what no name means.
    #[inline]
    pub(super) fn contain(&self, method: &Method<'_>, declared: Option<&[u8]>, now_ms: u64) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let name = match method {
            Method::QueueDeclare(declare) => declare.queue,
            Method::QueueDelete(delete) => delete.queue,
            Method::QueueBind(bind) => bind.queue,
            Method::QueueUnbind(unbind) => unbind.queue,
            Method::BasicGet(get) => get.queue,
            _ => return false,
        };
        let name = if name.is_empty() { declared.unwrap_or_default() } else { name };
        self.0.iter().any(|(known, until_ms)| **known == *name && now_ms < *until_ms)
    }
}

/// The name in `… queue 'NAME' in vhost '…' …`, and in `… a queue 'queue 'NAME' in vhost '…'' …`.
fn queue_in(text: &str) -> Option<&str> {
    let (before, _) = text.split_once("' in vhost '")?;
    before.rsplit_once("queue '").map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use amqp::method::basic;

    use super::*;

    fn get(queue: &[u8]) -> Method<'_> {
        Method::BasicGet(basic::Get { queue, ..Default::default() })
    }

    #[test]
    fn what_a_connection_was_closed_for_is_remembered() {
        let mut poisoned_queues = PoisonedQueues::default();
        let text = "basic.get not supported by stream queues queue 'it's' in vhost '/'";
        poisoned_queues.note(&Refusal::new(ReplyCode::ConnectionForced, text), 0);
        assert!(!poisoned_queues.contain(&get(b"it's"), None, 0));
        poisoned_queues.note(&Refusal::new(ReplyCode::NotImplemented, text), 0);
        assert!(
            poisoned_queues.contain(&get(b"it's"), None, 0) && poisoned_queues.contain(&get(b""), Some(b"it's"), 0)
        );
        assert!(
            !poisoned_queues.contain(&get(b"its"), Some(b"it's"), 0) && !poisoned_queues.contain(&get(b""), None, 0)
        );
        poisoned_queues.note(&Refusal::new(ReplyCode::NotImplemented, "something else"), 0);
        for number in 0..COUNT_MAX {
            let text = format!("a quorum is missing for queue '{number}' in vhost '/'");
            poisoned_queues.note(&Refusal::new(ReplyCode::InternalError, &text), 0);
            poisoned_queues.note(&Refusal::new(ReplyCode::InternalError, &text), 0);
        }
        assert!(!poisoned_queues.contain(&get(b"it's"), None, 0) && poisoned_queues.contain(&get(b"0"), None, 0));
    }

    #[test]
    fn a_queue_is_found_in_the_words_of_every_kind() {
        for text in [
            "Cannot declare a queue 'queue 'q' in vhost '/'' on node 'rabbit@host': noproc",
            "Cannot delete quorum queue 'queue 'q' in vhost '/'' on node 'rabbit@host': timeout",
            "Could not delete queue 'q' in vhost '/' on node 'rabbit@host'",
        ] {
            let mut poisoned_queues = PoisonedQueues::default();
            poisoned_queues.note(&Refusal::new(ReplyCode::InternalError, text), 0);
            assert!(poisoned_queues.contain(&get(b"q"), None, 0), "{text}");
        }
    }

    #[test]
    fn what_an_upstream_could_not_do_then_it_may_do_later() {
        let mut poisoned_queues = PoisonedQueues::default();
        for code in [ReplyCode::InternalError, ReplyCode::NotImplemented] {
            let text = format!("no queue '{}' in vhost '/'", code.code());
            poisoned_queues.note(&Refusal::new(code, &text), 5);
        }
        let is_in = |name: &[u8], now_ms| poisoned_queues.contain(&get(name), None, now_ms);
        assert!(is_in(b"541", PASSING_MS + 4) && !is_in(b"541", PASSING_MS + 5) && is_in(b"540", u64::MAX - 1));
    }
}
