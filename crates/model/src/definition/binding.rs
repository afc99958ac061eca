//! A binding: from an exchange to a queue or an exchange, under a routing key, with arguments. These five also identify it.

use amqp::table::{Table, TableBuf};
use sha2::{Digest as _, Sha256};

use super::codec::{Reader, Writer, read_name};
use super::kind::Kind;
use crate::name::{ExchangeName, NAME_LEN_MAX, QueueName, VhostName};

/// A binding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    vhost: VhostName,
    source: ExchangeName,
    destination: Destination,
    routing_key: Box<[u8]>,
    arguments: TableBuf,
}

/// A binding was made, or undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BindingChange {
    /// Which.
    pub binding: Binding,
    /// It is there now.
    pub is_added: bool,
}

/// Where a binding leads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Destination {
    /// To a queue.
    Queue(QueueName),
    /// To another exchange.
    Exchange(ExchangeName),
}

impl Binding {
    /// A binding. Arguments are sorted by name, as RabbitMQ does: their order makes no other binding.
    ///
    /// # Panics
    /// If the routing key has more than 255 bytes, which none from the wire has.
    #[must_use]
    pub fn new(
        vhost: VhostName,
        source: ExchangeName,
        destination: Destination,
        routing_key: &[u8],
        arguments: Table<'_>,
    ) -> Binding {
        assert!(routing_key.len() <= NAME_LEN_MAX, "a routing key is a short string");
        Binding { vhost, source, destination, routing_key: Box::from(routing_key), arguments: sorted(arguments) }
    }

    /// Where it is.
    #[must_use]
    pub fn vhost(&self) -> &VhostName {
        &self.vhost
    }

    /// Where messages come from.
    #[must_use]
    pub fn source(&self) -> &ExchangeName {
        &self.source
    }

    /// The destination of messages.
    #[must_use]
    pub fn destination(&self) -> &Destination {
        &self.destination
    }

    /// What the source compares a message's routing key with.
    #[must_use]
    pub fn routing_key(&self) -> &[u8] {
        &self.routing_key
    }

    /// Arguments, sorted by name.
    #[must_use]
    pub fn arguments(&self) -> Table<'_> {
        self.arguments.as_table()
    }

    pub(super) fn key(&self) -> Vec<u8> {
        let mut key = Writer::key(Kind::Binding);
        key.name(self.vhost.as_str());
        key.name(self.source.as_str());
        key.u8(self.destination.letter());
        key.name(self.destination.as_str());
        key.short(&self.routing_key);
        if !self.arguments.is_empty() {
            key.raw(&Sha256::digest(self.arguments().as_bytes()));
        }
        key.finish()
    }

    pub(super) fn put_value(&self, value: &mut Writer) {
        value.table(self.arguments());
    }

    pub(super) fn read(names: &mut Reader<'_>, fields: &mut Reader<'_>) -> Result<Binding, &'static str> {
        let (vhost, source) = (read_name!(names, VhostName), read_name!(names, ExchangeName));
        let destination = match names.u8()? {
            QUEUE => Destination::Queue(read_name!(names, QueueName)),
            EXCHANGE => Destination::Exchange(read_name!(names, ExchangeName)),
            _ => return Err("the destination is neither a queue nor an exchange"),
        };
        let routing_key = names.short()?;
        Ok(Binding::new(vhost, source, destination, routing_key, fields.table()?.as_table()))
    }
}

const QUEUE: u8 = b'q';
const EXCHANGE: u8 = b'e';

impl Destination {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Destination::Queue(name) => name.as_str(),
            Destination::Exchange(name) => name.as_str(),
        }
    }

    /// `queue` or `exchange`, as in `destination_type`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Destination::Queue(_) => QueueName::KIND,
            Destination::Exchange(_) => ExchangeName::KIND,
        }
    }

    fn letter(&self) -> u8 {
        match self {
            Destination::Queue(_) => QUEUE,
            Destination::Exchange(_) => EXCHANGE,
        }
    }
}

fn sorted(table: Table<'_>) -> TableBuf {
    let mut fields: Vec<_> = table.iter().collect();
    fields.sort_by_key(|(name, _)| *name);
    let mut sorted = TableBuf::new();
    for (name, value) in fields {
        sorted.push(name, value).expect("the name is one of a table");
    }
    sorted
}
