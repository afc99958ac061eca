//! All commands, by what they are about. Adding one is an entry in one of these tables.

mod alerts;
mod backup;
mod browsing;
mod check;
mod cluster;
mod config_file;
mod connections;
mod data_loss;
mod declare;
mod definitions;
mod delayed;
mod delete;
mod features;
mod flat_lists;
mod health;
mod limits;
mod list;
mod local;
mod members;
mod messages;
mod moving;
mod offline;
mod pages;
mod parameters;
mod permissions;
mod plugins;
mod policies;
mod process;
mod queues;
mod show;
mod status;
mod unsupported;
mod users;
mod vhosts;
mod wait;

use crate::command::{Family, Grammar};

/// Everything, in the order in which help has it.
pub(crate) const FAMILIES: &[Family] = &[
    ctl("Users", users::COMMANDS),
    ctl("Permissions", permissions::COMMANDS),
    ctl("Virtual hosts", vhosts::COMMANDS),
    ctl("Limits", limits::COMMANDS),
    ctl("Policies", policies::COMMANDS),
    ctl("Classic queue mirroring, which no longer exists", policies::MIRRORING_COMMANDS),
    ctl("Parameters", parameters::COMMANDS),
    ctl("Queues", queues::COMMANDS),
    ctl("Messages of a queue", browsing::COMMANDS),
    ctl("Delayed messages", delayed::COMMANDS),
    ctl("Members of replicated queues", members::COMMANDS),
    ctl("Exchanges", flat_lists::EXCHANGES),
    ctl("Bindings", flat_lists::BINDINGS),
    ctl("Connections", connections::COMMANDS),
    ctl("Channels", flat_lists::CHANNELS),
    ctl("Consumers", flat_lists::CONSUMERS),
    ctl("Shovels and federation", moving::CTL_COMMANDS),
    ctl("Definitions", definitions::COMMANDS),
    ctl("Coming from RabbitMQ", check::COMMANDS),
    ctl("Node and cluster", status::COMMANDS),
    ctl("Members of the cluster", cluster::COMMANDS),
    ctl("A node that does not run", offline::COMMANDS),
    ctl("The running server", process::COMMANDS),
    ctl("Feature flags", features::COMMANDS),
    ctl("Waiting for a broker", wait::COMMANDS),
    ctl("Health checks", health::COMMANDS),
    ctl("Alerts", alerts::COMMANDS),
    ctl("Lost messages", data_loss::COMMANDS),
    ctl("Warren's own", backup::COMMANDS),
    ctl("Plugins", plugins::CTL_COMMANDS),
    ctl("This program", local::COMMANDS),
    ctl("Not over HTTP", unsupported::COMMANDS),
    admin("rabbitmqadmin: list", list::COMMANDS),
    admin("rabbitmqadmin: show", show::COMMANDS),
    admin("rabbitmqadmin: declare", declare::COMMANDS),
    admin("rabbitmqadmin: delete", delete::COMMANDS),
    admin("rabbitmqadmin: policies", policies::LAYERING_COMMANDS),
    admin("rabbitmqadmin: definitions of policies", policies::DEFINITION_COMMANDS),
    admin("rabbitmqadmin: definitions of operator policies", policies::OPERATOR_DEFINITION_COMMANDS),
    admin("rabbitmqadmin: shovels and federation", moving::COMMANDS),
    admin("rabbitmqadmin: TLS of shovels and federation", moving::VERIFICATION_COMMANDS),
    admin("rabbitmqadmin: messages", messages::COMMANDS),
    admin("rabbitmqadmin: definitions", definitions::ADMIN_COMMANDS),
    admin("rabbitmqadmin: connections", connections::ADMIN_COMMANDS),
    admin("rabbitmqadmin: feature flags", features::ADMIN_COMMANDS),
    admin("rabbitmqadmin: health checks", health::ADMIN_COMMANDS),
    admin("rabbitmqadmin: users and virtual hosts", vhosts::ADMIN_COMMANDS),
    admin("rabbitmqadmin: passwords", users::ADMIN_COMMANDS),
    admin("rabbitmqadmin: plugins", plugins::COMMANDS),
    admin("rabbitmqadmin: logins", status::ADMIN_COMMANDS),
    admin("rabbitmqadmin: the file of settings", config_file::COMMANDS),
    admin("rabbitmqadmin: this program", local::ADMIN_COMMANDS),
    admin("rabbitmqadmin: not supported", unsupported::ADMIN_COMMANDS),
];

const fn ctl(title: &'static str, commands: &'static [crate::command::Command]) -> Family {
    Family { title, grammar: Grammar::Ctl, commands }
}

const fn admin(title: &'static str, commands: &'static [crate::command::Command]) -> Family {
    Family { title, grammar: Grammar::Admin, commands }
}

#[cfg(test)]
mod tests;
