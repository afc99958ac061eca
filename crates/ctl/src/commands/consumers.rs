//! Consumers.

use crate::command::{Command, repeated};
use crate::listing::{Listing, columns, renamed};
use crate::step::path;

pub(crate) const COMMANDS: &[Command] =
    &[Command::new("list_consumers", "lists a virtual host's consumers", |input| {
        CONSUMERS.ask(input, path(&["consumers", input.vhost()]))
    })
    .taking(&[repeated("column")])
    .saying("Listing consumers in vhost {vhost} ...")];

const CONSUMERS: Listing = Listing {
    columns: columns! {
        { renamed("queue_name", "queue.name") } { renamed("channel_pid", "channel_details.name") } "consumer_tag"
        "ack_required" "prefetch_count" "active" "activity_status" "arguments"
    },
    default: &["queue_name", "channel_pid", "consumer_tag", "ack_required", "prefetch_count", "active", "arguments"],
};
