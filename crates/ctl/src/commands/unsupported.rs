//! What rabbitmqctl and its relatives do and no management API can: known by name, and refused with the reason.

use crate::command::{Argument, Command, repeated};
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::step::StepResult;

/// A command that cannot be done over HTTP.
const fn refused(name: &'static str, about: &'static str) -> Command {
    Command::new(name, about, refuse).taking(WORDS).anything()
}

/// Whatever it takes.
const WORDS: &[Argument] = &[repeated("word")];

/// What it would be is the reason why it is not.
fn refuse(input: &Invocation) -> StepResult {
    Err(Failure::unavailable(format!("{} cannot be done over HTTP: {}", input.command.name, input.command.about)))
}

pub(crate) const ADMIN_COMMANDS: &[Command] = &[
    refused("tanzu sds", "the sync of schemas between clusters is Tanzu RabbitMQ's own"),
    refused("tanzu wsr", "warm standby replication is Tanzu RabbitMQ's own"),
];

pub(crate) const COMMANDS: &[Command] = &[
    refused("rename_cluster_node", "RabbitMQ's own does nothing either"),
    refused("update_cluster_nodes", "RabbitMQ's own does nothing either"),
    refused("rotate_logs", "RabbitMQ's own does nothing either, logs are rotated from outside"),
    refused("log_tail", "see the output of the process, for example with journalctl or docker logs"),
    refused("log_tail_stream", "see the output of the process, for example with journalctl or docker logs"),
    refused("log_location", "see the output of the process, for example with journalctl or docker logs"),
    refused("activate_free_disk_space_monitoring", "the HTTP API has no operation for it"),
    refused("deactivate_free_disk_space_monitoring", "the HTTP API has no operation for it"),
    refused("eval", "the HTTP API evaluates no code"),
    refused("eval_file", "the HTTP API evaluates no code"),
    refused("exec", "the HTTP API evaluates no code"),
    refused("remote_shell", "the HTTP API has no shell"),
    refused("observer", "the HTTP API shows no processes: see status and memory_breakdown"),
    refused("force_gc", "the HTTP API has no operation for it"),
    refused("reclaim_quorum_memory", "the HTTP API has no operation for it"),
    refused("runtime_thread_stats", "the HTTP API does not provide it"),
    refused("maybe_stuck", "the HTTP API does not provide it"),
    refused("encode", "encrypting values is for RabbitMQ's own configuration files"),
    refused("decode", "encrypting values is for RabbitMQ's own configuration files"),
    refused("encrypt_conf_value", "encrypting values is for RabbitMQ's own configuration files"),
    refused("decrypt_conf_value", "encrypting values is for RabbitMQ's own configuration files"),
    refused("list_ciphers", "it encrypts values in RabbitMQ's own configuration files"),
    refused("list_hashes", "it encrypts values in RabbitMQ's own configuration files"),
    refused("cipher_suites", "the HTTP API does not provide it"),
    refused("tls_versions", "the HTTP API does not provide it"),
    refused("reconcile_vhosts", "the HTTP API has no operation for it"),
    refused("list_channel_interceptors", "the HTTP API does not provide it"),
    refused("set_channel_interceptor_priorities", "the HTTP API has no operation for it"),
    refused("schema_info", "it concerns Mnesia's tables, which RabbitMQ itself no longer uses"),
    refused("list_mqtt_connections", "the HTTP API lists them as connections, see list_connections"),
    refused("list_stomp_connections", "the HTTP API lists them as connections, see list_connections"),
    refused("decommission_mqtt_node", "RabbitMQ's own does nothing either"),
    refused("list_stream_connections", "the HTTP API lists them as connections, see list_connections"),
    refused("list_stream_consumers", "the HTTP API lists them as consumers, see list_consumers"),
    refused("list_stream_consumer_groups", "the HTTP API does not provide it"),
    refused("list_stream_group_consumers", "the HTTP API does not provide it"),
    refused("list_stream_publishers", "the HTTP API does not provide it"),
    refused("list_stream_tracking", "the HTTP API does not provide it"),
    refused("add_super_stream", "the HTTP API has no operation for it: declare its streams and bindings"),
    refused("delete_super_stream", "the HTTP API has no operation for it: delete its streams and its exchange"),
    refused("set_stream_retention_policy", "the HTTP API has no operation for it: set a policy with max-age"),
    refused("activate_stream_consumer", "the HTTP API has no operation for it"),
    refused("list_network_interfaces", "the operating system reports them"),
    refused("discover_peers", "the HTTP API does not provide it"),
    refused("metadata_store_status", "the HTTP API does not provide it"),
    refused("stream_status", "the HTTP API does not provide it"),
    refused("coordinator_status", "the HTTP API does not provide it"),
    refused("consume_event_stream", "the HTTP API does not provide it"),
    refused("message_size_stats", "the HTTP API does not provide it"),
    refused("add_replica", "the HTTP API has no operation for it"),
    refused("delete_replica", "the HTTP API has no operation for it"),
    refused("restart_stream", "the HTTP API has no operation for it"),
    refused("grow_to_count", "the HTTP API has no operation for it: see grow"),
    refused("force_checkpoint", "the HTTP API has no operation for it"),
    refused("peek", "the HTTP API has no operation for it: see get, and browse_queue"),
    refused(
        "check_if_new_quorum_queue_replicas_have_finished_initial_sync",
        "the HTTP API does not provide it: see quorum_status",
    ),
    refused("disable_auth_attempt_source_tracking", "the HTTP API has no operation for it"),
    refused("enable_auth_attempt_source_tracking", "the HTTP API has no operation for it"),
    refused("certificates", "the HTTP API does not provide it: see check_certificate_expiration"),
    refused("command_line_arguments", "the HTTP API does not provide it"),
    refused("os_env", "the HTTP API does not provide it"),
    refused("erlang_cookie_hash", "HTTP needs no cookie"),
    refused("erlang_cookie_sources", "HTTP needs no cookie"),
    refused("resolve_hostname", "the operating system reports it"),
    refused("resolver_info", "the operating system reports it"),
];
