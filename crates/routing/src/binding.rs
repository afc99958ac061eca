//! Bindings: what leads from an exchange to a queue or to another exchange.
//!
//! Two bindings are the same if source, destination, routing key and arguments are. Arguments are compared, kept and
//! listed in the order of their names, as RabbitMQ does; their types count: `{"a": 1}` as a long and as a short are two
//! bindings.

use amqp::table::{Table, TableBuf};
use model::ids::QueueId;

use crate::handles::ExchangeHandle;
use crate::target::{Node, TargetPlace};

/// What a client names when it binds or unbinds.
#[derive(Debug, Clone, Copy)]
pub struct BindingSpec<'a> {
    /// The exchange from which messages come.
    pub source: &'a [u8],
    /// Where they go.
    pub destination: Destination<'a>,
    /// The binding key.
    pub routing_key: &'a [u8],
    /// The arguments, in any order.
    pub arguments: Table<'a>,
}

/// Where a binding leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Destination<'a> {
    /// To a queue.
    Queue(QueueId),
    /// To the exchange of this name.
    Exchange(&'a [u8]),
}

/// A binding as it is listed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BindingRef<'a> {
    /// The exchange from which messages come; empty for the default exchange.
    pub source: &'a [u8],
    /// Where they go.
    pub destination: Destination<'a>,
    /// The name of the queue or exchange where they go.
    pub destination_name: &'a [u8],
    /// The binding key.
    pub routing_key: &'a [u8],
    /// The arguments, sorted by name.
    pub arguments: Table<'a>,
    /// Whether both ends outlive a restart.
    pub is_durable: bool,
}

/// A binding that was deleted, with all that is needed to name it in the definitions and in events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedBinding {
    /// The exchange from which messages came.
    pub source: Box<[u8]>,
    /// The queue to which they went; none if it was an exchange.
    pub queue: Option<QueueId>,
    /// The name of the queue or exchange where they went.
    pub destination_name: Box<[u8]>,
    /// The binding key.
    pub routing_key: Box<[u8]>,
    /// The arguments, sorted by name.
    pub arguments: TableBuf,
    /// Whether both ends outlived a restart.
    pub is_durable: bool,
}

impl BindingRef<'_> {
    pub(crate) fn to_removed(self) -> RemovedBinding {
        RemovedBinding {
            source: self.source.into(),
            queue: match self.destination {
                Destination::Queue(id) => Some(id),
                Destination::Exchange(_) => None,
            },
            destination_name: self.destination_name.into(),
            routing_key: self.routing_key.into(),
            arguments: self.arguments.to_owned(),
            is_durable: self.is_durable,
        }
    }
}

/// A binding with its place in everything that lists it, so that removing it searches nothing.
#[derive(Debug)]
pub(crate) struct BindingEntry {
    pub(crate) source: ExchangeHandle,
    pub(crate) destination: Node,
    pub(crate) routing_key: Box<[u8]>,
    pub(crate) arguments: TableBuf,
    /// In the source's router.
    pub(crate) place: TargetPlace,
    /// In the source's `outgoing`.
    pub(crate) outgoing_position: u32,
    /// In the destination's `incoming`.
    pub(crate) incoming_position: u32,
}

/// The arguments in the order of their names; those of one name keep theirs.
pub(crate) fn sorted(arguments: Table<'_>) -> TableBuf {
    let mut fields: Vec<_> = arguments.iter().collect();
    fields.sort_by_key(|(name, _)| *name);
    let mut sorted = TableBuf::new();
    for (name, value) in fields {
        sorted.push(name, value).expect("the name came from a table");
    }
    sorted
}
