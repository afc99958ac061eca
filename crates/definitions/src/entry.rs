//! What a document defines, entry by entry.

use std::fmt::{self, Display};
use std::ops::Deref;

use model::definition::UserPermission;
use model::name::VhostName;
use model::parameter::{GlobalParameter, VhostParameter};
use model::user::TopicPermission;
use model::vhost::VhostLimits;
use serde_json::{Map, Value};

use crate::policy::PolicyRequest;
use crate::topology::{BindingEntry, ExchangeEntry, QueueEntry};
use crate::user::UserRequest;
use crate::vhost::VhostEntry;

/// A document that makes sense. What it does not mention at all is None, which pruning leaves alone.
#[derive(Debug, Default)]
pub struct Definitions {
    /// Users.
    pub users: Option<Vec<ParsedEntry<UserRequest>>>,
    /// Vhosts.
    pub vhosts: Option<Vec<ParsedEntry<VhostEntry>>>,
    /// Permissions.
    pub permissions: Option<Vec<ParsedEntry<UserPermission>>>,
    /// Topic permissions.
    pub topic_permissions: Option<Vec<ParsedEntry<TopicPermission>>>,
    /// Global parameters.
    pub global_parameters: Option<Vec<ParsedEntry<GlobalParameter>>>,
    /// Users' policies.
    pub policies: Option<Vec<ParsedEntry<PolicyRequest>>>,
    /// Operators' policies, limits of vhosts and parameters of vhosts: RabbitMQ writes all of them as parameters, so all are mentioned or
    /// none is.
    pub operator_policies: Option<Vec<ParsedEntry<PolicyRequest>>>,
    /// Limits of vhosts.
    pub limits: Vec<ParsedEntry<(VhostName, VhostLimits)>>,
    /// Other parameters of vhosts.
    pub vhost_parameters: Option<Vec<ParsedEntry<VhostParameter>>>,
    /// Exchanges.
    pub exchanges: Option<Vec<ParsedEntry<ExchangeEntry>>>,
    /// Queues.
    pub queues: Option<Vec<ParsedEntry<QueueEntry>>>,
    /// Bindings, those of the default exchange apart.
    pub bindings: Option<Vec<ParsedEntry<BindingEntry>>>,
    /// Keys that mean nothing here, with where they are.
    pub warnings: Vec<String>,
    /// What this broker cannot do and was left out, with its places: known in full once the document has been checked.
    pub unsupported: Vec<String>,
}

/// Something that a document defines, and where.
#[derive(Debug)]
pub struct ParsedEntry<T> {
    /// Where it is.
    pub place: EntryLocation,
    pub(crate) parsed: T,
}

impl<T> Deref for ParsedEntry<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.parsed
    }
}

/// Where an entry is in a document, for messages about it.
#[derive(Debug)]
pub struct EntryLocation {
    pub(crate) kind: &'static str,
    /// From 1.
    pub(crate) number: usize,
    /// What it calls itself.
    pub(crate) name: Box<str>,
}

impl EntryLocation {
    pub(crate) fn of(kind: &'static str, number: usize, entry: &Map<String, Value>) -> EntryLocation {
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

    /// What distinguishes it from all others.
    pub(crate) fn key(&self) -> (&'static str, usize) {
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
