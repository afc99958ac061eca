//! The queue that messages go through: which one, and how it is described.
//!
//! One that nothing is to survive belongs to the connection, is named by the broker and is deleted with the connection. One that is durable
//! has a name of its own, is deleted at the end, and expires some minutes after a ping that could not do so.

use amqp::{TableBuf, Value, queue};

use crate::failure::Failure;

/// What a durable queue's name begins with, for those that a ping which was killed has left.
pub(crate) const NAME_PREFIX: &str = "warren-ping-";
/// How long a durable queue outlives a ping that could not delete it.
const EXPIRES_MS: i32 = 300_000;

/// A type of queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum QueueKind {
    Classic,
    Quorum,
}

impl QueueKind {
    fn name(self) -> &'static str {
        match self {
            QueueKind::Classic => "classic",
            QueueKind::Quorum => "quorum",
        }
    }
}

/// Which queue is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueuePlan {
    /// `None`: what the vhost has by default.
    pub(crate) kind: Option<QueueKind>,
    pub(crate) is_persistent: bool,
}

impl QueuePlan {
    /// Whether it is durable, and has to be deleted at the end. Quorum queues are nothing else.
    pub(crate) fn is_durable(self) -> bool {
        self.is_persistent || self.kind == Some(QueueKind::Quorum)
    }

    /// In words.
    pub(crate) fn described(self) -> String {
        let life = if self.is_durable() { "durable" } else { "temporary" };
        match self.kind {
            Some(kind) => format!("{life} {} queue", kind.name()),
            None => format!("{life} queue"),
        }
    }

    /// A name for it: none, if the broker is to give one.
    pub(crate) fn draw_name(self) -> Result<String, Failure> {
        if !self.is_durable() {
            return Ok(String::new());
        }
        let mut drawn = [0; 8];
        getrandom::fill(&mut drawn).map_err(Failure::Random)?;
        Ok(format!("{NAME_PREFIX}{:016x}", u64::from_be_bytes(drawn)))
    }

    /// Its arguments.
    pub(crate) fn arguments(self) -> TableBuf {
        let mut arguments = TableBuf::new();
        if let Some(kind) = self.kind {
            arguments = arguments.with("x-queue-type", Value::LongStr(kind.name().as_bytes()));
        }
        if self.is_durable() {
            arguments = arguments.with("x-expires", Value::I32(EXPIRES_MS));
        }
        arguments
    }

    /// The request that declares it.
    pub(crate) fn declare<'a>(self, name: &'a str, arguments: &'a TableBuf) -> queue::Declare<'a> {
        let is_durable = self.is_durable();
        queue::Declare {
            queue: name.as_bytes(),
            durable: is_durable,
            exclusive: !is_durable,
            auto_delete: !is_durable,
            arguments: arguments.as_table(),
            ..Default::default()
        }
    }

    /// The delivery mode of messages.
    pub(crate) fn delivery_mode(self) -> Option<u8> {
        self.is_durable().then_some(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn plan(kind: Option<QueueKind>, is_persistent: bool) -> QueuePlan {
        QueuePlan { kind, is_persistent }
    }

    #[track_caller]
    fn check(plan: QueuePlan, is_durable: bool, described: &str, queue_type: Option<&str>) {
        let (name, arguments) = (plan.draw_name().unwrap(), plan.arguments());
        let declare = plan.declare(&name, &arguments);
        assert_eq!((declare.durable, declare.exclusive, declare.auto_delete), (is_durable, !is_durable, !is_durable));
        assert_eq!(name.starts_with(NAME_PREFIX), is_durable, "{name}");
        assert_eq!(plan.described(), described);
        assert_eq!(declare.arguments.get("x-queue-type").and_then(|value| value.as_str()), queue_type);
        assert_eq!(declare.arguments.get("x-expires").is_some(), is_durable);
        assert_eq!(plan.delivery_mode(), is_durable.then_some(2));
    }

    #[test]
    fn only_what_is_asked_for_is_durable() {
        check(QueuePlan::default(), false, "temporary queue", None);
        check(plan(Some(QueueKind::Classic), false), false, "temporary classic queue", Some("classic"));
        check(plan(None, true), true, "durable queue", None);
        check(plan(Some(QueueKind::Classic), true), true, "durable classic queue", Some("classic"));
        check(plan(Some(QueueKind::Quorum), false), true, "durable quorum queue", Some("quorum"));
    }

    #[test]
    fn names_are_never_the_same() {
        let durable = plan(None, true);
        assert_ne!(durable.draw_name().unwrap(), durable.draw_name().unwrap());
    }
}
