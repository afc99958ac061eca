//! Exchanges.

use crate::command::{Command, repeated};
use crate::listing::{Listing, same};
use crate::step::path;

pub(crate) const COMMANDS: &[Command] =
    &[Command::new("list_exchanges", "lists a virtual host's exchanges", |input| {
        EXCHANGES.ask(input, path(&["exchanges", input.vhost()]))
    })
    .taking(&[repeated("column")])
    .saying("Listing exchanges for vhost {vhost} ...")];

const EXCHANGES: Listing = Listing {
    columns: &[
        same("name"),
        same("type"),
        same("durable"),
        same("auto_delete"),
        same("internal"),
        same("arguments"),
        same("policy"),
        same("vhost"),
    ],
    default: &["name", "type"],
};
