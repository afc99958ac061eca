//! What tells a binding from others in a document. Two that a broker tells apart, because their arguments have other types,
//! are the same here if they are exported the same.

use std::collections::HashSet;

use amqp::limits::SHORT_STR_LEN_MAX;
use amqp::table::Table;
use broker::Broker;
use broker::view::{BindingEndView, BindingView};
use model::json::{from_table, to_table};
use model::name::RESERVED_PREFIX;
use serde_json::Value;

use super::export::is_defined_queue;
use super::parse::{BindingEntry, EndEntry};

/// A binding as a document has it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct BindingIdentity {
    source: String,
    is_to_queue: bool,
    destination: String,
    routing_key: String,
    /// As JSON, whose members are sorted; empty if there are none.
    arguments: String,
}

impl BindingIdentity {
    /// None where JSON cannot write the binding so that it could be read again.
    pub(super) fn of_view(view: &BindingView) -> Option<BindingIdentity> {
        let routing_key = String::from_utf8_lossy(&view.routing_key).into_owned();
        if routing_key.len() > SHORT_STR_LEN_MAX {
            return None;
        }
        let (is_to_queue, destination) = match &view.destination {
            BindingEndView::Queue(name) => (true, name.clone()),
            BindingEndView::Exchange(name) => (false, name.clone()),
        };
        let arguments = match view.arguments.is_empty() {
            true => String::new(),
            // There and back: large timestamps are numbers that JSON's readers take for floats.
            false => shown(to_table(&from_table(view.arguments.as_table())).ok()?.as_table()),
        };
        Some(BindingIdentity { source: view.source.clone(), is_to_queue, destination, routing_key, arguments })
    }

    pub(super) fn of_entry(entry: &BindingEntry) -> BindingIdentity {
        let (is_to_queue, destination) = match &entry.destination {
            EndEntry::Queue(name) => (true, name.to_string()),
            EndEntry::Exchange(name) => (false, name.to_string()),
        };
        BindingIdentity {
            source: entry.source.to_string(),
            is_to_queue,
            destination,
            routing_key: entry.routing_key.clone(),
            arguments: shown(entry.arguments.as_table()),
        }
    }
}

fn shown(arguments: Table<'_>) -> String {
    if arguments.is_empty() { String::new() } else { Value::Object(from_table(arguments)).to_string() }
}

/// Ends of a vhost that no document has, so that it has none of their bindings, either.
pub(super) struct HiddenEnds {
    queues: HashSet<String>,
    exchanges: HashSet<String>,
}

impl HiddenEnds {
    /// Exclusive queues, which belong to connections; and internal exchanges, but for those that the broker itself makes.
    pub(super) fn of(broker: &Broker, vhost: &str) -> HiddenEnds {
        let queues = broker.queue_views(vhost).into_iter().filter(|view| !is_defined_queue(view));
        let is_hidden = |definition: &model::definition::Exchange| {
            definition.is_internal && !definition.name.as_str().starts_with(RESERVED_PREFIX)
        };
        let exchanges = broker.exchange_views(vhost).into_iter().filter(|view| is_hidden(&view.definition));
        HiddenEnds {
            queues: queues.map(|view| view.definition().name.to_string()).collect(),
            exchanges: exchanges.map(|view| view.definition.name.to_string()).collect(),
        }
    }

    /// A binding as documents have it; None if they have not.
    pub(super) fn identity(&self, view: &BindingView) -> Option<BindingIdentity> {
        let is_hidden = match &view.destination {
            BindingEndView::Queue(name) => self.queues.contains(name),
            BindingEndView::Exchange(name) => self.exchanges.contains(name),
        };
        if view.source.is_empty() || is_hidden || self.exchanges.contains(&view.source) {
            return None;
        }
        BindingIdentity::of_view(view)
    }
}
