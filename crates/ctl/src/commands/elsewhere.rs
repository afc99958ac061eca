//! What rabbitmqctl and its relatives do and no management API can: known by name, and refused with the reason.

use crate::command::{Argument, Command, repeated};
use crate::failure::Failure;
use crate::given::Given;
use crate::step::Started;

/// A command that cannot be done over HTTP.
const fn refused(name: &'static str, about: &'static str) -> Command {
    Command::new(name, about, refuse).taking(WORDS)
}

/// Whatever it takes.
const WORDS: &[Argument] = &[repeated("word")];

/// What it would be is the reason why it is not.
fn refuse(given: &Given) -> Started {
    Err(Failure::unavailable(format!("{} cannot be done over HTTP: {}", given.command.name, given.command.about)))
}

pub(crate) const COMMANDS: &[Command] = &[
    refused("join_cluster", "a node joins a cluster by its own configuration"),
    refused("forget_cluster_node", "nodes leave a cluster on the node itself"),
    refused("await_online_nodes", "use await_startup with each node's URL"),
    refused("force_boot", "it is for a node that does not run"),
    refused("force_reset", "stop the node and delete its data directory"),
    refused("force_standalone_khepri_boot", "it is for a node that does not run"),
    refused("reset", "stop the node and delete its data directory"),
    refused("rename_cluster_node", "RabbitMQ's does nothing either"),
    refused("update_cluster_nodes", "RabbitMQ's does nothing either"),
    refused("start_app", "start the process instead"),
    refused("stop_app", "stop the process instead, with SIGTERM"),
    refused("stop", "stop the process instead, with SIGTERM"),
    refused("shutdown", "stop the process instead, with SIGTERM"),
    refused("wait", "use await_startup"),
    refused("rotate_logs", "RabbitMQ's does nothing either: logs go to standard output, or are rotated from outside"),
    refused("set_log_level", "the log level is the configuration key log.console.level"),
    refused("log_tail", "look at the process's output, as with journalctl or docker logs"),
    refused("log_tail_stream", "look at the process's output, as with journalctl or docker logs"),
    refused("log_location", "look at the process's output, as with journalctl or docker logs"),
    refused("set_vm_memory_high_watermark", "the limit is the configuration key vm_memory_high_watermark.relative"),
    refused("set_disk_free_limit", "the limit is the configuration key disk_free_limit.absolute"),
    refused("activate_free_disk_space_monitoring", "free space is always watched"),
    refused("deactivate_free_disk_space_monitoring", "free space is always watched"),
    refused("eval", "there is no Erlang to evaluate"),
    refused("eval_file", "there is no Erlang to evaluate"),
    refused("exec", "there is no Elixir to evaluate"),
    refused("remote_shell", "there is no Erlang to talk to"),
    refused("observer", "there is no Erlang to observe: see top and trace"),
    refused("force_gc", "there is no garbage to collect"),
    refused("reclaim_quorum_memory", "there is no garbage to collect"),
    refused("runtime_thread_stats", "there are no Erlang threads"),
    refused("maybe_stuck", "there are no Erlang processes"),
    refused("encode", "configuration has no encrypted values"),
    refused("decode", "configuration has no encrypted values"),
    refused("encrypt_conf_value", "configuration has no encrypted values"),
    refused("decrypt_conf_value", "configuration has no encrypted values"),
    refused("list_ciphers", "configuration has no encrypted values"),
    refused("list_hashes", "configuration has no encrypted values"),
    refused("cipher_suites", "the TLS library has a fixed list of them"),
    refused("tls_versions", "the TLS library has 1.2 and 1.3"),
    refused("suspend_listeners", "the HTTP API has no operation for it"),
    refused("resume_listeners", "the HTTP API has no operation for it"),
    refused("drain", "the HTTP API has no operation for it"),
    refused("revive", "the HTTP API has no operation for it"),
    refused("list_unresponsive_queues", "queues are no processes that may hang"),
    refused("reconcile_vhosts", "virtual hosts are always on all nodes"),
    refused("list_channel_interceptors", "there are no interceptors"),
    refused("set_channel_interceptor_priorities", "there are no interceptors"),
    refused("reset_stats_db", "the HTTP API has no operation for it"),
    refused("report", "see status, cluster_status, environment and the lists"),
    refused("list_network_interfaces", "the operating system tells them"),
    refused("discover_peers", "the HTTP API does not tell"),
    refused("metadata_store_status", "the HTTP API does not tell"),
    refused("stream_status", "the HTTP API does not tell"),
    refused("coordinator_status", "the HTTP API does not tell"),
    refused("consume_event_stream", "the HTTP API does not tell"),
    refused("message_size_stats", "the HTTP API does not tell"),
];
