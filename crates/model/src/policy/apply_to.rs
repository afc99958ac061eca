//! What a policy may apply to.

use crate::arguments::QueueType;

/// What a policy is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum ApplyTo {
    /// Queues of any type, and exchanges.
    #[default]
    All = 0,
    /// Queues of any type.
    Queues = 1,
    /// Exchanges.
    Exchanges = 2,
    /// Classic queues.
    ClassicQueues = 3,
    /// Quorum queues.
    QuorumQueues = 4,
    /// Streams.
    Streams = 5,
}

/// What a policy may apply to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// An exchange.
    Exchange,
    /// A queue of this type.
    Queue(QueueType),
}

impl ApplyTo {
    const ALL: [ApplyTo; 6] = [
        ApplyTo::All,
        ApplyTo::Queues,
        ApplyTo::Exchanges,
        ApplyTo::ClassicQueues,
        ApplyTo::QuorumQueues,
        ApplyTo::Streams,
    ];

    /// What RabbitMQ calls so.
    #[must_use]
    pub fn parse(name: &str) -> Option<ApplyTo> {
        ApplyTo::ALL.into_iter().find(|apply_to| apply_to.name() == name)
    }

    pub(crate) fn from_byte(byte: u8) -> Option<ApplyTo> {
        ApplyTo::ALL.into_iter().find(|apply_to| *apply_to as u8 == byte)
    }

    /// RabbitMQ's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ApplyTo::All => "all",
            ApplyTo::Queues => "queues",
            ApplyTo::Exchanges => "exchanges",
            ApplyTo::ClassicQueues => "classic_queues",
            ApplyTo::QuorumQueues => "quorum_queues",
            ApplyTo::Streams => "streams",
        }
    }

    /// Whether policies for this are for the target.
    #[must_use]
    pub fn covers(self, target: Target) -> bool {
        match (self, target) {
            (ApplyTo::All, _)
            | (ApplyTo::Exchanges, Target::Exchange)
            | (ApplyTo::Queues, Target::Queue(_))
            | (ApplyTo::ClassicQueues, Target::Queue(QueueType::Classic))
            | (ApplyTo::QuorumQueues, Target::Queue(QueueType::Quorum))
            | (ApplyTo::Streams, Target::Queue(QueueType::Stream)) => true,
            (_, Target::Exchange | Target::Queue(_)) => false,
        }
    }
}
