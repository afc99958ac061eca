//! Channels.

use crate::command::{Command, repeated};
use crate::listing::{Listing, columns, renamed};

pub(crate) const COMMANDS: &[Command] =
    &[Command::new("list_channels", "lists channels of all virtual hosts", |input| {
        CHANNELS.ask(input, "channels".to_owned())
    })
    .taking(&[repeated("column")])
    .saying("Listing channels ...")];

const CHANNELS: Listing = Listing {
    columns: columns! {
        // Over HTTP a channel goes by its name.
        { renamed("pid", "name") } { renamed("connection", "connection_details.name") } "name" "number" "user" "vhost"
        "transactional" "confirm" "consumer_count" "messages_unacknowledged" "messages_uncommitted" "acks_uncommitted"
        "messages_unconfirmed" "prefetch_count" "global_prefetch_count" "state"
    },
    default: &["pid", "user", "consumer_count", "messages_unacknowledged"],
};
