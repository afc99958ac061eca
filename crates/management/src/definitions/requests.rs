//! What a document defines, as requests to a broker.

use broker::{BindingEnd, BindingRequest, ExchangeRequest, QueueRequest};
use definitions::{BindingEntry, EndEntry, ExchangeEntry, QueueEntry};

pub(super) fn exchange(entry: &ExchangeEntry) -> ExchangeRequest<'_> {
    ExchangeRequest {
        name: &entry.name,
        kind: entry.kind.as_bytes(),
        is_durable: entry.is_durable,
        is_auto_delete: entry.is_auto_delete,
        is_internal: entry.is_internal,
        arguments: entry.arguments.as_table(),
    }
}

pub(super) fn queue(entry: &QueueEntry) -> QueueRequest<'_> {
    QueueRequest {
        name: &entry.name,
        is_durable: entry.is_durable,
        is_auto_delete: entry.is_auto_delete,
        is_exclusive: false,
        arguments: entry.arguments.as_table(),
    }
}

pub(super) fn binding(entry: &BindingEntry) -> BindingRequest<'_> {
    let destination = match &entry.destination {
        EndEntry::Queue(name) => BindingEnd::Queue(name),
        EndEntry::Exchange(name) => BindingEnd::Exchange(name),
    };
    BindingRequest {
        source: &entry.source,
        destination,
        routing_key: entry.routing_key.as_bytes(),
        arguments: entry.arguments.as_table(),
    }
}
