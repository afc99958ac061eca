//! Exchanges.

use crate::command::{Command, repeated};
use crate::listing::{Listing, columns};
use crate::step::path;

pub(crate) const COMMANDS: &[Command] =
    &[Command::new("list_exchanges", "lists a virtual host's exchanges", |input| {
        EXCHANGES.ask(input, path(&["exchanges", input.vhost()]))
    })
    .taking(&[repeated("column")])
    .saying("Listing exchanges for vhost {vhost} ...")];

const EXCHANGES: Listing = Listing {
    columns: columns! {
        "name" "type" "durable" "auto_delete" "internal" "arguments" "policy" "vhost"
    },
    default: &["name", "type"],
};
