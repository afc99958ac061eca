//! What is only listed: one table, an entry for each list.

use serde_json::Value;

use crate::command::{Command, repeated};
use crate::listing::{Column, Listing, columns, converted, renamed};
use crate::step::path;

/// A list: its command, what help says of it, what is said before it, where it is, its columns, and those that are shown if none are asked
/// for.
macro_rules! listed {
    ($command:literal, $about:literal, $saying:literal, $place:expr, { $($column:tt)* }, $default:expr) => {
        &[Command::new($command, $about, |input| {
            const LISTING: Listing = Listing { columns: columns! { $($column)* }, default: $default };
            LISTING.ask(input, ($place)(input.vhost()))
        })
        .taking(&[repeated("column")])
        .saying($saying)]
    };
}

pub(crate) const EXCHANGES: &[Command] = listed!(
    "list_exchanges",
    "lists a virtual host's exchanges",
    "Listing exchanges for vhost {vhost} ...",
    |vhost: &str| path(&["exchanges", vhost]),
    { "name" "type" "durable" "auto_delete" "internal" "arguments" "policy" "vhost" },
    &["name", "type"]
);

pub(crate) const BINDINGS: &[Command] = listed!(
    "list_bindings",
    "lists a virtual host's bindings",
    "Listing bindings for vhost {vhost}...",
    |vhost: &str| path(&["bindings", vhost]),
    {
        { renamed("source_name", "source") } { SOURCE_KIND } { renamed("destination_name", "destination") }
        { renamed("destination_kind", "destination_type") } "routing_key" "arguments" "vhost"
    },
    &["source_name", "source_kind", "destination_name", "destination_kind", "routing_key", "arguments"]
);

/// It is always an exchange, and so the HTTP API does not say.
const SOURCE_KIND: Column = converted("source_kind", "", |_| Value::String("exchange".to_owned()));

pub(crate) const CHANNELS: &[Command] = listed!(
    "list_channels",
    "lists channels of all virtual hosts",
    "Listing channels ...",
    |_: &str| "channels".to_owned(),
    {
        // Over HTTP a channel is identified by its name.
        { renamed("pid", "name") } { renamed("connection", "connection_details.name") } "name" "number" "user" "vhost"
        "transactional" "confirm" "consumer_count" "messages_unacknowledged" "messages_uncommitted" "acks_uncommitted"
        "messages_unconfirmed" "prefetch_count" "global_prefetch_count" "state"
    },
    &["pid", "user", "consumer_count", "messages_unacknowledged"]
);

pub(crate) const CONSUMERS: &[Command] = listed!(
    "list_consumers",
    "lists a virtual host's consumers",
    "Listing consumers in vhost {vhost} ...",
    |vhost: &str| path(&["consumers", vhost]),
    {
        { renamed("queue_name", "queue.name") } { renamed("channel_pid", "channel_details.name") } "consumer_tag"
        "ack_required" "prefetch_count" "active" "activity_status" "arguments"
    },
    &["queue_name", "channel_pid", "consumer_tag", "ack_required", "prefetch_count", "active", "arguments"]
);
