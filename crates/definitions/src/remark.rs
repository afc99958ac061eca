//! What there is to say of an entry that is taken all the same.

use model::arguments::QueueType;

/// Something that has no effect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Remark {
    /// A hash has a length that no password's has.
    #[error("'password_hash' is not a hash of any password, so the user cannot log in with one")]
    UselessHash,
    /// A vhost's default type of queues is none.
    #[error("unknown queue type '{0}', which is ignored as a default")]
    UnknownQueueType(String),
    /// A vhost's default type of queues is not built.
    #[error("the queue type '{}' is not implemented", .0.name())]
    UnbuiltQueueType(QueueType),
}
