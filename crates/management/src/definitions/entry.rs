//! What a document defines, entry by entry.

use std::fmt::{self, Display};
use std::ops::Deref;

use amqp::table::TableBuf;
use broker::{BindingEnd, BindingRequest, ExchangeRequest, PolicyRequest, QueueRequest, UserRequest, VhostRequest};
use model::definition::UserPermission;
use model::name::{ExchangeName, QueueName, VhostName};
use model::parameter::{GlobalParameter, VhostParameter};
use model::user::TopicPermission;
use model::vhost::VhostLimits;
use serde_json::{Map, Value};

/// A document that makes sense. What it does not mention at all is None, which pruning leaves alone.
#[derive(Debug, Default)]
pub struct Definitions {
    pub(super) users: Option<Vec<ParsedEntry<UserRequest>>>,
    pub(super) vhosts: Option<Vec<ParsedEntry<VhostEntry>>>,
    pub(super) permissions: Option<Vec<ParsedEntry<UserPermission>>>,
    pub(super) topic_permissions: Option<Vec<ParsedEntry<TopicPermission>>>,
    pub(super) global_parameters: Option<Vec<ParsedEntry<GlobalParameter>>>,
    pub(super) policies: Option<Vec<ParsedEntry<PolicyRequest>>>,
    /// Operators' policies, limits of vhosts and parameters of vhosts: RabbitMQ writes all of them as parameters, so all are mentioned or
    /// none is.
    pub(super) operator_policies: Option<Vec<ParsedEntry<PolicyRequest>>>,
    pub(super) limits: Vec<ParsedEntry<(VhostName, VhostLimits)>>,
    pub(super) vhost_parameters: Option<Vec<ParsedEntry<VhostParameter>>>,
    pub(super) exchanges: Option<Vec<ParsedEntry<ExchangeEntry>>>,
    pub(super) queues: Option<Vec<ParsedEntry<QueueEntry>>>,
    pub(super) bindings: Option<Vec<ParsedEntry<BindingEntry>>>,
    /// Keys that mean nothing here, with where they are.
    pub warnings: Vec<String>,
    /// What this broker cannot do, and has been left out so far.
    pub(super) unsupported: Vec<String>,
}

impl Definitions {
    /// What this broker cannot do, with its places: known in full once the document has been checked.
    #[must_use]
    pub fn unsupported(&self) -> &[String] {
        &self.unsupported
    }
}

/// Something that a document defines, and where.
#[derive(Debug)]
pub(super) struct ParsedEntry<T> {
    pub(super) place: EntryLocation,
    pub(super) parsed: T,
}

impl<T> Deref for ParsedEntry<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.parsed
    }
}

/// Where an entry is in a document, for messages about it.
#[derive(Debug)]
pub(super) struct EntryLocation {
    pub(super) kind: &'static str,
    /// From 1.
    pub(super) number: usize,
    /// What it calls itself.
    pub(super) name: Box<str>,
}

impl EntryLocation {
    pub(super) fn of(kind: &'static str, number: usize, entry: &Map<String, Value>) -> EntryLocation {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).map(shortened);
        let own = match (text("name").or_else(|| text("user")), text("source"), text("destination")) {
            (Some(name), _, _) => Some(format!("'{name}'")),
            (None, Some(source), Some(destination)) => Some(format!("'{source}' to '{destination}'")),
            (None, _, _) => None,
        };
        let vhost = text("vhost").map(|vhost| format!("in vhost '{vhost}'"));
        let name: Vec<String> = own.into_iter().chain(vhost).collect();
        EntryLocation { kind, number, name: name.join(" ").into() }
    }

    /// What tells it from all others.
    pub(super) fn key(&self) -> (&'static str, usize) {
        (self.kind, self.number)
    }
}

impl Display for EntryLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, entry {}", self.kind, self.number)?;
        if self.name.is_empty() { Ok(()) } else { write!(f, " ({})", self.name) }
    }
}

/// No name that makes sense is longer.
const SHOWN_NAME_LEN_MAX: usize = 255;

fn shortened(name: &str) -> &str {
    &name[..name.floor_char_boundary(SHOWN_NAME_LEN_MAX)]
}

#[derive(Debug)]
pub(super) struct VhostEntry {
    pub(super) request: VhostRequest,
    pub(super) limits: Option<VhostLimits>,
}

#[derive(Debug)]
pub(super) struct ExchangeEntry {
    pub(super) vhost: VhostName,
    pub(super) name: ExchangeName,
    pub(super) kind: String,
    pub(super) is_durable: bool,
    pub(super) is_auto_delete: bool,
    pub(super) is_internal: bool,
    pub(super) arguments: TableBuf,
}

#[derive(Debug)]
pub(super) struct QueueEntry {
    pub(super) vhost: VhostName,
    pub(super) name: QueueName,
    pub(super) is_durable: bool,
    pub(super) is_auto_delete: bool,
    pub(super) arguments: TableBuf,
}

#[derive(Debug)]
pub(super) struct BindingEntry {
    pub(super) vhost: VhostName,
    pub(super) source: ExchangeName,
    pub(super) destination: EndEntry,
    pub(super) routing_key: String,
    pub(super) arguments: TableBuf,
}

#[derive(Debug)]
pub(super) enum EndEntry {
    Queue(QueueName),
    Exchange(ExchangeName),
}

impl ExchangeEntry {
    /// Whether only brokers make exchanges of this name: documents of RabbitMQ have those of its own.
    pub(super) fn is_reserved(&self) -> bool {
        self.name.refuse_reserved().is_err()
    }

    pub(super) fn request(&self) -> ExchangeRequest<'_> {
        ExchangeRequest {
            name: &self.name,
            kind: self.kind.as_bytes(),
            is_durable: self.is_durable,
            is_auto_delete: self.is_auto_delete,
            is_internal: self.is_internal,
            arguments: self.arguments.as_table(),
        }
    }
}

impl QueueEntry {
    pub(super) fn request(&self) -> QueueRequest<'_> {
        QueueRequest {
            name: &self.name,
            is_durable: self.is_durable,
            is_auto_delete: self.is_auto_delete,
            is_exclusive: false,
            arguments: self.arguments.as_table(),
        }
    }
}

impl BindingEntry {
    pub(super) fn request(&self) -> BindingRequest<'_> {
        let destination = match &self.destination {
            EndEntry::Queue(name) => BindingEnd::Queue(name),
            EndEntry::Exchange(name) => BindingEnd::Exchange(name),
        };
        BindingRequest {
            source: &self.source,
            destination,
            routing_key: self.routing_key.as_bytes(),
            arguments: self.arguments.as_table(),
        }
    }
}
