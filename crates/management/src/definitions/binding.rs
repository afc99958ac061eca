//! What distinguishes a binding from others in a document. Two that a broker distinguishes, because their arguments have other types, are
//! the same here if they are exported the same.

use amqp::limits::SHORT_STR_LEN_MAX;
use amqp::table::Table;
use broker::view::{BindingEndView, BindingView};
use definitions::BindingEntry;
use model::json::{from_table, to_table};
use serde_json::Value;

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
        BindingIdentity {
            source: entry.source.to_string(),
            is_to_queue: entry.destination.is_queue(),
            destination: entry.destination.name().to_owned(),
            routing_key: entry.routing_key.clone(),
            arguments: shown(entry.arguments.as_table()),
        }
    }
}

fn shown(arguments: Table<'_>) -> String {
    if arguments.is_empty() { String::new() } else { Value::Object(from_table(arguments)).to_string() }
}
