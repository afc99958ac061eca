//! Bindings.

use serde_json::Value;

use crate::command::{Command, repeated};
use crate::listing::{Column, Listing, columns, converted, renamed};
use crate::step::path;

pub(crate) const COMMANDS: &[Command] = &[Command::new("list_bindings", "lists a virtual host's bindings", |input| {
    BINDINGS.ask(input, path(&["bindings", input.vhost()]))
})
.taking(&[repeated("column")])
.saying("Listing bindings for vhost {vhost}...")];

const BINDINGS: Listing = Listing {
    columns: columns! {
        { renamed("source_name", "source") } { SOURCE_KIND } { renamed("destination_name", "destination") }
        { renamed("destination_kind", "destination_type") } "routing_key" "arguments" "vhost"
    },
    default: &["source_name", "source_kind", "destination_name", "destination_kind", "routing_key", "arguments"],
};

/// It is always an exchange, and so the HTTP API does not say.
const SOURCE_KIND: Column = converted("source_kind", "", |_| Value::String("exchange".to_owned()));
