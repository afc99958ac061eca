//! Settings of the application `rabbit` and of the console's listener, which have other names and shapes in `rabbitmq.conf`.

use super::{Position, Translator, escaped, unknown};
use crate::pages;
use crate::sheet::Remark;
use crate::terms::{Node, Term};

/// Settings that a key of another name stands for.
const RENAMED: &[(&str, &str)] = &[
    ("num_tcp_acceptors", "num_acceptors.tcp"),
    ("num_ssl_acceptors", "num_acceptors.ssl"),
    ("default_queue_type", "default_queue_type"),
];

/// Settings that RabbitMQ itself no longer knows, or that only say how its machine is to run.
const WITHOUT_KEY: &[&str] = &[
    "server_properties",
    "auto_delete_sleep",
    "backing_queue_module",
    "credit_flow_default_credit",
    "delegate_count",
    "dump_log_write_threshold",
    "fhc_read_buffering",
    "fhc_write_buffering",
    "file_handles_high_watermark",
    "lager_default_file",
    "lager_log_root",
    "lager_upgrade_file",
    "lazy_queue_explicit_gc_run_operation_threshold",
    "log_levels",
    "mirroring_flow_control",
    "mirroring_sync_batch_size",
    "mirroring_sync_max_throughput",
    "mnesia_table_loading_timeout",
    "msg_store_credit_disc_bound",
    "msg_store_file_size_limit",
    "msg_store_index_module",
    "msg_store_io_batch_size",
    "quorum_commands_soft_limit",
    "quorum_cluster_size",
    "queue_explicit_gc_run_operation_threshold",
    "queue_index_max_journal_entries",
    "sasl_error_logger",
    "error_logger",
    "slave_wait_timeout",
    "tcp_listen_options_buffer",
    "trace_vhosts",
    "vhost_restart_strategy",
    "writer_gc_threshold",
];

pub(super) fn translate(out: &mut Translator, place: Position<'_>, key: &str, value: Option<&Node>) {
    let Some(value) = value else { return out.below(place, key, None) };
    match key {
        "tcp_listeners" => listeners(out, place, "listeners.tcp", value),
        "ssl_listeners" => listeners(out, place, "listeners.ssl", value),
        "ssl_options" => options(out, place, "ssl_options", value),
        "tcp_listen_options" => listen_options(out, place, value),
        "vm_memory_high_watermark" => watermark(out, place, value),
        "disk_free_limit" => disk_free_limit(out, place, value),
        "default_permissions" => permissions(out, place, value),
        "default_user_tags" => set(out, place, "default_user_tags", value),
        "loopback_users" if value.list().is_some_and(<[Node]>::is_empty) => out.say(place, "loopback_users", "none"),
        "loopback_users" => set(out, place, "loopback_users", value),
        "auth_mechanisms" => out.below(place, "auth_mechanisms", Some(value)),
        "auth_backends" => backends(out, place, value),
        "cluster_nodes" => cluster_nodes(out, place, value),
        "cluster_formation" => cluster_formation(out, place, value),
        "cluster_partition_handling" if value.scalar().is_none() => {
            out.say(place, "cluster_partition_handling", "pause_if_all_down");
        }
        "log" => log(out, place, value),
        // Without end, as users write it that do not want a timeout: RabbitMQ takes what is no number for that.
        "consumer_timeout" if value.atom().is_some() => {
            out.say(place, "consumer_timeout", "36500d");
        }
        "permit_deprecated_features" => out.below(place, "deprecated_features.permit", Some(value)),
        _ if WITHOUT_KEY.contains(&key) => {
            let text = "no effect: it configures RabbitMQ's internal queues, logs or memory";
            out.pass_over(place.line, place.path, Remark::different(text, pages::CONFIGURATION));
        }
        _ => {
            let renamed = RENAMED.iter().find(|(known, _)| *known == key).map(|(_, key)| (*key).to_owned());
            out.below(place, &renamed.unwrap_or_else(|| escaped(key)), Some(value));
        }
    }
}

/// `[5672, {"127.0.0.1", 5673}]`; an empty list for none.
fn listeners(out: &mut Translator, place: Position<'_>, key: &str, value: &Node) {
    let items = value.list().unwrap_or_default();
    if items.is_empty() {
        return out.say(place, key, "none");
    }
    for (number, item) in (1..).zip(items) {
        let address = match (item.scalar(), item.tuple()) {
            (Some(port), _) => port.to_owned(),
            (None, Some([ip, port])) => {
                format!("{}:{}", ip.scalar().unwrap_or_default(), port.scalar().unwrap_or_default())
            }
            _ => item.to_string(),
        };
        let name = if items.len() == 1 { "default".to_owned() } else { number.to_string() };
        out.say(place, &format!("{key}.{name}"), &address);
    }
}

/// Options of TLS have the same names, but for lists.
fn options(out: &mut Translator, place: Position<'_>, prefix: &str, value: &Node) {
    for (name, inner) in value.list().unwrap_or_default().iter().filter_map(Node::property) {
        let key = format!("{prefix}.{}", escaped(name));
        match (name, inner) {
            ("versions", Some(versions)) => {
                // RabbitMQ calls them tlsv1.3 here and there.
                out.below(place, &key, Some(versions));
            }
            ("ciphers", Some(ciphers))
                if ciphers.list().is_some_and(|items| items.iter().any(|item| item.scalar().is_none())) =>
            {
                let text = "cipher suites as tuples are not supported";
                let remark =
                    Remark::different(text, pages::TLS).advising("list them by OpenSSL's names, or remove them");
                out.pass_over(place.line, place.path, remark);
            }
            (_, inner) => out.below(place, &key, inner),
        }
    }
}

/// `[binary, {backlog, 128}, {linger, {true, 0}}]`.
fn listen_options(out: &mut Translator, place: Position<'_>, value: &Node) {
    for item in value.list().unwrap_or_default() {
        match item.property() {
            // How bytes are handed over in Erlang.
            Some(("binary" | "list" | "packet" | "reuseaddr" | "active" | "inet" | "inet6", _)) => {}
            Some(("linger", Some(linger))) => {
                if let Some([on, timeout]) = linger.tuple() {
                    out.say(place, "tcp_listen_options.linger.on", on.scalar().unwrap_or_default());
                    out.say(place, "tcp_listen_options.linger.timeout", timeout.scalar().unwrap_or_default());
                }
            }
            Some((name, inner)) => out.below(place, &format!("tcp_listen_options.{}", escaped(name)), inner),
            None => out.pass_over(place.line, place.path, unknown()),
        }
    }
}

/// `0.4`, `{absolute, 1073741824}`, `{absolute, "2GB"}`.
fn watermark(out: &mut Translator, place: Position<'_>, value: &Node) {
    match (value.scalar(), value.property()) {
        (_, Some((name @ ("absolute" | "relative"), Some(amount)))) => {
            out.below(place, &format!("vm_memory_high_watermark.{name}"), Some(amount));
        }
        (Some(share), _) => out.say(place, "vm_memory_high_watermark.relative", share),
        _ => out.below(place, "vm_memory_high_watermark", Some(value)),
    }
}

/// `50000000`, `"1GB"`, `{mem_relative, 1.0}`.
fn disk_free_limit(out: &mut Translator, place: Position<'_>, value: &Node) {
    match (value.scalar(), value.property()) {
        (_, Some(("mem_relative", Some(share)))) => out.below(place, "disk_free_limit.relative", Some(share)),
        (Some(amount), _) => out.say(place, "disk_free_limit.absolute", amount),
        _ => out.below(place, "disk_free_limit", Some(value)),
    }
}

/// `[<<".*">>, <<".*">>, <<".*">>]`.
fn permissions(out: &mut Translator, place: Position<'_>, value: &Node) {
    for (name, pattern) in ["configure", "write", "read"].iter().zip(value.list().unwrap_or_default()) {
        out.below(place, &format!("default_permissions.{name}"), Some(pattern));
    }
}

/// What is in a list is set to true.
fn set(out: &mut Translator, place: Position<'_>, key: &str, value: &Node) {
    for word in value.list().unwrap_or_default().iter().filter_map(Node::word) {
        out.say(place, &format!("{key}.{}", escaped(word)), "true");
    }
}

/// `[rabbit_auth_backend_internal, {rabbit_auth_backend_ldap, rabbit_auth_backend_internal}]`.
fn backends(out: &mut Translator, place: Position<'_>, value: &Node) {
    for (number, item) in (1..).zip(value.list().unwrap_or_default()) {
        match (item.scalar(), item.tuple()) {
            (Some(name), _) => out.say(place, &format!("auth_backends.{number}"), name),
            (None, Some([authn, authz])) => {
                out.below(place, &format!("auth_backends.{number}.authn"), Some(authn));
                out.below(place, &format!("auth_backends.{number}.authz"), Some(authz));
            }
            _ => out.pass_over(place.line, place.path, unknown()),
        }
    }
}

/// `{['rabbit@a', 'rabbit@b'], disc}`, or the list alone.
fn cluster_nodes(out: &mut Translator, place: Position<'_>, value: &Node) {
    let nodes = match value.tuple() {
        Some([nodes, _]) => nodes,
        _ => value,
    };
    out.say(place, "cluster_formation.peer_discovery_backend", "classic_config");
    out.below(place, "cluster_formation.classic_config.nodes", Some(nodes));
}

/// `[{peer_discovery_backend, rabbit_peer_discovery_k8s}, {peer_discovery_k8s, [{k8s_host, "…"}]}, …]`.
fn cluster_formation(out: &mut Translator, place: Position<'_>, value: &Node) {
    for (name, inner) in value.list().unwrap_or_default().iter().filter_map(Node::property) {
        match name.strip_prefix("peer_discovery_") {
            Some(service) if service != "backend" => {
                for (option, value) in inner.and_then(Node::list).unwrap_or_default().iter().filter_map(Node::property)
                {
                    out.below(place, &format!("cluster_formation.{}.{}", escaped(service), escaped(option)), value);
                }
            }
            _ => out.below(place, &format!("cluster_formation.{}", escaped(name)), inner),
        }
    }
}

/// `[{file, [{file, "…"}, {level, info}]}, {console, [{enabled, true}]}, {categories, …}]`.
fn log(out: &mut Translator, place: Position<'_>, value: &Node) {
    for (name, inner) in value.list().unwrap_or_default().iter().filter_map(Node::property) {
        for (option, value) in inner.and_then(Node::list).unwrap_or_default().iter().filter_map(Node::property) {
            match (name, option) {
                (_, "enabled") => out.below(place, &format!("log.{}", escaped(name)), value),
                ("file", "file") => out.below(place, "log.file", value),
                ("categories", category) => out.below(place, &format!("log.{}", escaped(category)), value),
                (_, option) => out.below(place, &format!("log.{}.{}", escaped(name), escaped(option)), value),
            }
        }
    }
}

/// Settings of the console and its API that a key of another name stands for. Whether this is one.
pub(super) fn management(out: &mut Translator, place: Position<'_>, key: &str, value: &Node) -> bool {
    match key {
        "cors_allow_origins" => out.below(place, "management.cors.allow_origins", Some(value)),
        "cors_max_age" => out.below(place, "management.cors.max_age", Some(value)),
        "content_security_policy" => out.below(place, "management.csp.policy", Some(value)),
        "strict_transport_security" => out.below(place, "management.hsts.policy", Some(value)),
        "disable_management_stats" => out.below(place, "management.disable_stats", Some(value)),
        "management_db_cache_multiplier" => out.below(place, "management.db_cache_multiplier", Some(value)),
        "max_body_size" => out.below(place, "management.http.max_body_size", Some(value)),
        "tcp_config" => options(out, place, "management.tcp", value),
        "ssl_config" => options(out, place, "management.ssl", value),
        "oauth_resource_servers" => super::oauth::console(out, place, value),
        _ => return false,
    }
    true
}

/// `[{port, 15672}, {ip, "127.0.0.1"}, {ssl, true}, {ssl_opts, […]}]`.
pub(super) fn management_listener(out: &mut Translator, place: Position<'_>, value: &Node) {
    let properties: Vec<_> = value.list().unwrap_or_default().iter().filter_map(Node::property).collect();
    let is_on =
        |inner: Option<&Node>| inner.is_none_or(|node| matches!(&node.term, Term::Atom(word) if word == "true"));
    let is_tls = properties.iter().any(|(name, inner)| *name == "ssl" && is_on(*inner));
    let prefix = if is_tls { "management.ssl" } else { "management.tcp" };
    for (name, inner) in properties {
        match (name, inner) {
            ("ssl", _) => {}
            ("ssl_opts", Some(inner)) => options(out, place, "management.ssl", inner),
            (name, inner) => out.below(place, &format!("{prefix}.{}", escaped(name)), inner),
        }
    }
}
