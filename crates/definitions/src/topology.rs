//! Exchanges, queues and bindings, as a document has them.

use amqp::table::{TableBuf, Value as TableValue};
use model::arguments::QUEUE_TYPE;
use model::json::to_table;
use model::name::{ExchangeName, QueueName, VhostName};

use crate::fields::Fields;
use crate::read_error::ReadError;
use crate::scope::Scope;

/// An exchange.
#[derive(Debug)]
pub struct ExchangeEntry {
    /// Where it is.
    pub vhost: VhostName,
    /// Its name.
    pub name: ExchangeName,
    /// Its type, which may be unknown.
    pub kind: String,
    /// Whether it survives a restart.
    pub is_durable: bool,
    /// Whether it is deleted with its last binding.
    pub is_auto_delete: bool,
    /// Whether only other exchanges may publish to it.
    pub is_internal: bool,
    /// Its arguments.
    pub arguments: TableBuf,
}

/// A queue.
#[derive(Debug)]
pub struct QueueEntry {
    /// Where it is.
    pub vhost: VhostName,
    /// Its name.
    pub name: QueueName,
    /// Whether it survives a restart.
    pub is_durable: bool,
    /// Whether it is deleted with its last consumer.
    pub is_auto_delete: bool,
    /// Its arguments, with its type.
    pub arguments: TableBuf,
}

/// A binding.
#[derive(Debug)]
pub struct BindingEntry {
    /// Where it is.
    pub vhost: VhostName,
    /// The exchange that it is from.
    pub source: ExchangeName,
    /// What it is to.
    pub destination: EndEntry,
    /// Its key.
    pub routing_key: String,
    /// Its arguments.
    pub arguments: TableBuf,
}

/// What a binding is to.
#[derive(Debug)]
pub enum EndEntry {
    /// A queue.
    Queue(QueueName),
    /// An exchange.
    Exchange(ExchangeName),
}

impl EndEntry {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            EndEntry::Queue(name) => name.as_str(),
            EndEntry::Exchange(name) => name.as_str(),
        }
    }

    /// Whether it is a queue.
    #[must_use]
    pub fn is_queue(&self) -> bool {
        matches!(self, EndEntry::Queue(_))
    }
}

impl ExchangeEntry {
    /// Whether only brokers make exchanges of this name: documents of RabbitMQ have those of its own.
    #[must_use]
    pub fn is_reserved(&self) -> bool {
        self.name.refuse_reserved().is_err()
    }
}

/// Reads an entry of `exchanges`.
pub fn exchange(fields: Fields<'_>, scope: Scope<'_>) -> Result<ExchangeEntry, ReadError> {
    Ok(ExchangeEntry {
        vhost: scope.vhost_of(fields)?,
        name: exchange_name(fields.required_text("name")?)?,
        kind: fields.required_text("type")?.to_owned(),
        is_durable: fields.bool("durable", true)?,
        is_auto_delete: fields.bool("auto_delete", false)?,
        is_internal: fields.bool("internal", false)?,
        arguments: arguments(fields)?,
    })
}

/// Reads an entry of `queues`.
pub fn queue(fields: Fields<'_>, scope: Scope<'_>) -> Result<QueueEntry, ReadError> {
    let mut arguments = arguments(fields)?;
    let kind = fields.non_null_text("type")?;
    if let Some(kind) = kind.filter(|_| arguments.as_table().get(QUEUE_TYPE).is_none()) {
        let value = TableValue::LongStr(kind.as_bytes());
        let set = arguments.set(QUEUE_TYPE.as_bytes(), value);
        set.map_err(|error| ReadError::Invalid(format!("{error:?}")))?;
    }
    Ok(QueueEntry {
        vhost: scope.vhost_of(fields)?,
        name: queue_name(fields.required_text("name")?)?,
        is_durable: fields.bool("durable", true)?,
        is_auto_delete: fields.bool("auto_delete", false)?,
        arguments,
    })
}

/// Reads an entry of `bindings`.
pub fn binding(fields: Fields<'_>, scope: Scope<'_>) -> Result<BindingEntry, ReadError> {
    let destination = fields.required_text("destination")?;
    let destination = match fields.required_text("destination_type")? {
        "queue" => EndEntry::Queue(queue_name(destination)?),
        "exchange" => EndEntry::Exchange(exchange_name(destination)?),
        other => return Err(ReadError::Invalid(format!("'{other}' is neither 'queue' nor 'exchange'"))),
    };
    Ok(BindingEntry {
        vhost: scope.vhost_of(fields)?,
        source: exchange_name(fields.required_text("source")?)?,
        destination,
        routing_key: fields.text("routing_key")?.unwrap_or_default().to_owned(),
        arguments: arguments(fields)?,
    })
}

/// The member `arguments` as a field table. `null` is a field without a value (`V`): so such fields are exported.
fn arguments(fields: Fields<'_>) -> Result<TableBuf, ReadError> {
    fields.object("arguments")?.map_or(Ok(TableBuf::new()), |members| to_table(members).map_err(ReadError::invalid))
}

fn exchange_name(name: &str) -> Result<ExchangeName, ReadError> {
    ExchangeName::parse(name.as_bytes()).map_err(ReadError::invalid)
}

fn queue_name(name: &str) -> Result<QueueName, ReadError> {
    QueueName::parse(name.as_bytes()).map_err(ReadError::invalid)
}
