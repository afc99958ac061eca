//! Types of queues: which there are, which a declaration gets, and which properties each can have.

use amqp::table::Table;

use crate::resource::{PreconditionFailed, Resource};

/// The argument that names a queue's type.
pub const QUEUE_TYPE: &str = "x-queue-type";

/// Which kind of queue this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QueueType {
    /// On one node.
    Classic,
    /// Replicated.
    Quorum,
    /// Replicated, read without removing.
    Stream,
}

impl QueueType {
    /// All types.
    pub const ALL: [QueueType; 3] = [QueueType::Classic, QueueType::Quorum, QueueType::Stream];

    /// The name as in `x-queue-type`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            QueueType::Classic => "classic",
            QueueType::Quorum => "quorum",
            QueueType::Stream => "stream",
        }
    }

    /// The type of this name.
    #[must_use]
    pub fn parse(name: &[u8]) -> Option<QueueType> {
        QueueType::ALL.into_iter().find(|t| t.name().as_bytes() == name)
    }

    /// Whether there are such queues yet; others are to be refused with 540 NOT_IMPLEMENTED.
    #[must_use]
    pub fn is_built(self) -> bool {
        match self {
            QueueType::Classic | QueueType::Quorum => true,
            QueueType::Stream => false,
        }
    }

    /// RabbitMQ's module, which its texts and events name.
    #[must_use]
    pub fn module(self) -> &'static str {
        match self {
            QueueType::Classic => "rabbit_classic_queue",
            QueueType::Quorum => "rabbit_quorum_queue",
            QueueType::Stream => "rabbit_stream_queue",
        }
    }

    pub(crate) const fn bit(self) -> u8 {
        1 << self as u8
    }

    pub(super) fn of(table: Table<'_>) -> Option<QueueType> {
        match table.get(QUEUE_TYPE) {
            None => Some(QueueType::Classic),
            Some(value) => QueueType::asked_for(value.as_bytes()?),
        }
    }

    /// The type that an argument asks for: an empty one for none in particular.
    pub(super) fn asked_for(name: &[u8]) -> Option<QueueType> {
        if name.is_empty() { Some(QueueType::Classic) } else { QueueType::parse(name) }
    }
}

/// What a declaration says of a queue besides its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueShape {
    /// Whether it survives a restart.
    pub is_durable: bool,
    /// Whether it belongs to one connection.
    pub is_exclusive: bool,
    /// Whether it is deleted with its last consumer.
    pub is_auto_delete: bool,
}

impl QueueShape {
    /// Whether queues of any type can be so.
    fn suits_all(self) -> bool {
        self.is_durable && !self.is_exclusive && !self.is_auto_delete
    }
}

/// The type of a queue that is declared without one, where its vhost or its broker has this default. A queue that the default
/// cannot make is a classic one.
#[must_use]
pub fn default_queue_type(default: QueueType, shape: QueueShape) -> QueueType {
    if shape.suits_all() { default } else { QueueType::Classic }
}

/// Whether queues of this type can have no name of their own: RabbitMQ asks that before anything else.
pub fn check_server_named(arguments: Table<'_>) -> Result<(), PreconditionFailed> {
    let Some(name) = arguments.get(QUEUE_TYPE).and_then(|value| value.as_bytes()) else { return Ok(()) };
    match QueueType::asked_for(name) {
        Some(QueueType::Classic) => Ok(()),
        Some(queue_type) => {
            Err(PreconditionFailed(format!("Cannot declare a server-named queue for type {}", queue_type.module())))
        }
        None => Err(PreconditionFailed(format!("unknown queue type '{}'", String::from_utf8_lossy(name)))),
    }
}

/// Whether queues of this type can be so.
pub fn check_queue_type(
    queue_type: QueueType,
    shape: QueueShape,
    queue: Resource<'_>,
) -> Result<(), PreconditionFailed> {
    if queue_type == QueueType::Classic {
        return Ok(());
    }
    let wrong = match shape {
        QueueShape { is_auto_delete: true, .. } => "auto-delete",
        QueueShape { is_exclusive: true, .. } => "exclusive-owner",
        QueueShape { is_durable: false, .. } => "non-durable",
        QueueShape { .. } => return Ok(()),
    };
    Err(PreconditionFailed(format!("invalid property '{wrong}' for {queue}")))
}

#[cfg(test)]
mod tests {
    use amqp::table::{TableBuf, Value};

    use super::*;
    use crate::name::{QueueName, VhostName};

    const DURABLE: QueueShape = QueueShape { is_durable: true, is_exclusive: false, is_auto_delete: false };

    #[track_caller]
    fn check(shape: QueueShape, wrong: Option<&str>) {
        let (vhost, queue) = (VhostName::parse(b"/").unwrap(), QueueName::parse(b"q").unwrap());
        let of = Resource::queue(&vhost, &queue);
        for queue_type in [QueueType::Quorum, QueueType::Stream] {
            let checked = check_queue_type(queue_type, shape, of).map_err(|error| error.0);
            let expected = wrong.map(|name| format!("invalid property '{name}' for queue 'q' in vhost '/'"));
            assert_eq!(checked.err(), expected);
            let by_default = if wrong.is_none() { queue_type } else { QueueType::Classic };
            assert_eq!(default_queue_type(queue_type, shape), by_default);
        }
        assert_eq!(check_queue_type(QueueType::Classic, shape, of), Ok(()));
        assert_eq!(default_queue_type(QueueType::Classic, shape), QueueType::Classic);
    }

    #[test]
    fn replicated_queues_are_durable_and_nobodys() {
        check(DURABLE, None);
        check(QueueShape { is_durable: false, ..DURABLE }, Some("non-durable"));
        check(QueueShape { is_exclusive: true, ..DURABLE }, Some("exclusive-owner"));
        check(QueueShape { is_auto_delete: true, ..DURABLE }, Some("auto-delete"));
        check(QueueShape { is_durable: false, is_exclusive: true, ..DURABLE }, Some("exclusive-owner"));
        check(QueueShape { is_durable: false, is_exclusive: true, is_auto_delete: true }, Some("auto-delete"));
    }

    #[test]
    fn replicated_queues_have_names() {
        let check = |queue_type: Value<'_>| {
            let arguments = TableBuf::new().with(QUEUE_TYPE, queue_type).with("x-max-priority", Value::I32(3));
            check_server_named(arguments.as_table()).map_err(|error| error.0)
        };
        assert_eq!(check(Value::LongStr(b"classic")), Ok(()));
        assert_eq!(check_server_named(Table::EMPTY), Ok(()));
        let refused = |module| Err(format!("Cannot declare a server-named queue for type {module}"));
        assert_eq!(check(Value::LongStr(b"quorum")), refused("rabbit_quorum_queue"));
        assert_eq!(check(Value::LongStr(b"stream")), refused("rabbit_stream_queue"));
        assert_eq!(check(Value::LongStr(b"zz")), Err("unknown queue type 'zz'".to_owned()));
    }
}
