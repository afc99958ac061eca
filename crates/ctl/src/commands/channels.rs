//! Channels.

use crate::command::{Command, repeated};
use crate::listing::{Listing, renamed, same};

pub(crate) const COMMANDS: &[Command] =
    &[Command::new("list_channels", "lists channels of all virtual hosts", |input| {
        CHANNELS.ask(input, "channels".to_owned())
    })
    .taking(&[repeated("column")])
    .saying("Listing channels ...")];

const CHANNELS: Listing = Listing {
    columns: &[
        // Over HTTP a channel goes by its name.
        renamed("pid", "name"),
        renamed("connection", "connection_details.name"),
        same("name"),
        same("number"),
        same("user"),
        same("vhost"),
        same("transactional"),
        same("confirm"),
        same("consumer_count"),
        same("messages_unacknowledged"),
        same("messages_uncommitted"),
        same("acks_uncommitted"),
        same("messages_unconfirmed"),
        same("prefetch_count"),
        same("global_prefetch_count"),
        same("state"),
    ],
    default: &["pid", "user", "consumer_count", "messages_unacknowledged"],
};
