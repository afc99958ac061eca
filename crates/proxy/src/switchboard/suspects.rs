//! Queues for which an upstream has closed a whole connection: nobody else is to be closed for them again.
//!
//! RabbitMQ answers a get from a stream with 540, and what a quorum queue cannot do without a majority with 541; only it knows which queues
//! these are. Its words name the queue.

use std::collections::VecDeque;

use amqp::ReplyCode;
use amqp::method::Method;

use super::Refusal;

/// Queues that are remembered.
const COUNT_MAX: usize = 64;

/// Of a login and vhost, the last ones.
#[derive(Debug, Default)]
pub(super) struct Suspects(VecDeque<Box<[u8]>>);

impl Suspects {
    /// A shared line was closed with this.
    pub(super) fn note(&mut self, refusal: &Refusal) {
        let is_for_queue =
            [ReplyCode::NotImplemented, ReplyCode::InternalError].map(ReplyCode::code).contains(&refusal.code);
        let text = refusal.text();
        let Some(name) = queue_in(&text).filter(|name| is_for_queue && !self.has(name.as_bytes())) else { return };
        if self.0.len() == COUNT_MAX {
            self.0.pop_front();
        }
        self.0.push_back(name.as_bytes().into());
    }

    fn has(&self, name: &[u8]) -> bool {
        self.0.iter().any(|known| **known == *name)
    }

    /// Whether a method is about one of them; `declared` is what no name means.
    #[inline]
    pub(super) fn are_in(&self, method: &Method<'_>, declared: Option<&[u8]>) -> bool {
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
        self.has(if name.is_empty() { declared.unwrap_or_default() } else { name })
    }
}

/// The name in `… queue 'NAME' in vhost '…' …`.
fn queue_in(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("queue '")?;
    rest.split_once("' in vhost '").map(|(name, _)| name)
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
        let mut suspects = Suspects::default();
        let text = "basic.get not supported by stream queues queue 'it's' in vhost '/'";
        suspects.note(&Refusal::new(ReplyCode::ConnectionForced, text));
        assert!(!suspects.are_in(&get(b"it's"), None));
        suspects.note(&Refusal::new(ReplyCode::NotImplemented, text));
        assert!(suspects.are_in(&get(b"it's"), None) && suspects.are_in(&get(b""), Some(b"it's")));
        assert!(!suspects.are_in(&get(b"its"), Some(b"it's")) && !suspects.are_in(&get(b""), None));
        suspects.note(&Refusal::new(ReplyCode::NotImplemented, "something else"));
        for number in 0..COUNT_MAX {
            let text = format!("a quorum is missing for queue '{number}' in vhost '/'");
            suspects.note(&Refusal::new(ReplyCode::InternalError, &text));
            suspects.note(&Refusal::new(ReplyCode::InternalError, &text));
        }
        assert!(!suspects.are_in(&get(b"it's"), None) && suspects.are_in(&get(b"0"), None));
    }
}
