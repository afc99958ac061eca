//! Health checks: one line, and a status that probes understand: 0, or 69 when it is not well.

use serde_json::{Value, json};

use crate::command::{Command, flag, option, optional, required};
use crate::failure::{DATA, Failure, UNAVAILABLE};
use crate::invocation::Invocation;
use crate::listing::text;
use crate::reply::Reply;
use crate::step::{Ask, Step, StepResult, path, say};

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("check_running", "fails unless the broker runs and serves", |_| running()).also(&["is_running"]),
    Command::new("check_alarms", "fails if a resource alarm is in effect anywhere in the cluster", |_| {
        check(&["alarms"], "No alarms are reported, local or clusterwide")
    }),
    Command::new("check_local_alarms", "fails if a resource alarm is in effect on the node", |_| {
        check(&["local-alarms"], "No local alarms are reported")
    }),
    Command::new(
        "check_data_loss",
        "fails if messages were lost to damaged files, and no operator has acknowledged it; Warren's own",
        |_| check(&["data-loss"], "No messages are reported lost to damaged files"),
    ),
    Command::new(
        "check_port_connectivity",
        "fails unless all ports that the node listens on can be connected to",
        |_| port_connectivity(),
    )
    .with(&[option("address", "HOST", "accepted, and ignored: the URL's host is tried")]),
    Command::new("check_port_listener", "fails unless the node listens on a port", port).taking(&[required("port")]),
    Command::new(
        "check_protocol_listener",
        "fails unless the node listens for a protocol: amqp, amqp/ssl, http, mqtt, ...",
        protocol,
    )
    .taking(&[required("protocol")]),
    Command::new("check_virtual_hosts", "fails unless all virtual hosts run", |_| {
        check(&["virtual-hosts"], "All virtual hosts are reported as running")
    }),
    Command::new("check_certificate_expiration", "fails if a certificate expires soon", |input| {
        let within = input
            .number("within")?
            .ok_or_else(|| Failure::usage("--within is required, such as --within 2 --unit weeks"))?;
        let unit = input.optional("unit").unwrap_or("weeks");
        let good = format!("No certificates expire within {within} {unit}");
        check(&["certificate-expiration", &within.to_string(), unit], &good)
    })
    .with(&[
        option("within", "COUNT", "how soon is soon"),
        option("unit", "UNIT", "days, weeks (default), months, years"),
    ]),
    Command::new("check_if_node_is_quorum_critical", "fails if queues lose their quorum when the node stops", |_| {
        check(&["node-is-quorum-critical"], "The node is not critical for the quorum of any queue")
    }),
    Command::new("check_if_any_deprecated_features_are_used", "fails if deprecated features are in use", |_| {
        no_deprecated_features()
    }),
    Command::new("check_if_metadata_store_is_initialized", "fails while the metadata store starts", |_| {
        check(&["metadata-store", "initialized"], "The metadata store has completed its initialization")
    }),
    Command::new(
        "check_if_metadata_store_is_initialized_with_data",
        "fails while the metadata store has no data",
        |_| {
            check(
                &["metadata-store", "initialized", "with-data"],
                "The metadata store has completed its initialization, with data",
            )
        },
    ),
    Command::new("check_if_ready_to_serve_clients", "fails while the node is booting or in maintenance", |_| {
        check(&["ready-to-serve-clients"], "The node is ready to serve clients")
    }),
    Command::new("check_if_in_service", "fails while the node is in maintenance", |_| {
        check(&["is-in-service"], "The node is in service")
    }),
    Command::new(
        "check_if_below_node_connection_limit",
        "fails if the node has as many connections as it may have",
        |_| check(&["below-node-connection-limit"], "The node has fewer connections than it may have"),
    ),
    Command::new("has_reached_target_cluster_size", "fails unless the cluster is as large as it is to be", |_| {
        check(&["reached-target-cluster-size"], "The cluster has reached its target size")
    }),
    Command::new(
        "check_for_quorum_queues_without_an_elected_leader",
        "fails if quorum queues have no leader",
        |input| {
            let pattern = input.optional("pattern").unwrap_or(".*");
            let place = "quorum-queues-without-elected-leaders";
            let vhost = input.vhost();
            let parts: &[&str] = if input.has("across-all-vhosts") {
                &[place, "all-vhosts", "pattern", pattern]
            } else {
                &[place, "vhost", vhost, "pattern", pattern]
            };
            check(parts, "All quorum queues that match have a leader")
        },
    )
    .taking(&[optional("pattern")])
    .with(&[flag("across-all-vhosts", "in all virtual hosts")]),
    Command::new("is_booting", "reports whether the broker is still starting", |_| {
        ask(&["ready-to-serve-clients"]).then(|reply| match reply.status {
            503 => say("The broker is booting, or in maintenance"),
            _ => {
                judged(&reply)?;
                say("The broker is fully booted (check with is_running)")
            }
        })
    }),
    Command::new(
        "check_if_node_is_mirror_sync_critical",
        "does nothing: classic queue mirroring no longer exists",
        |_| say("This command is DEPRECATED and is a no-op: classic queue mirroring is no more."),
    ),
    Command::new("node_health_check", "does nothing, as rabbitmqctl's: use the other checks", |_| {
        say("This command is DEPRECATED and is a no-op. Use check_running, check_alarms, check_port_connectivity or \
            check_virtual_hosts instead.")
    }),
];

pub(crate) const ADMIN_COMMANDS: &[Command] = &[
    Command::new("health_check local_alarms", "fails if a resource alarm is in effect on the node", |_| {
        check(&["local-alarms"], "health check passed")
    }),
    Command::new("health_check cluster_wide_alarms", "fails if one is in effect anywhere in the cluster", |_| {
        check(&["alarms"], "health check passed")
    }),
    Command::new(
        "health_check node_is_quorum_critical",
        "fails if queues lose their quorum when the node stops",
        |_| check(&["node-is-quorum-critical"], "health check passed"),
    ),
    Command::new("health_check deprecated_features_in_use", "fails if deprecated features are in use", |_| {
        no_deprecated_features()
    }),
    Command::new("health_check port_listener", "fails unless the node listens on a port", port)
        .taking(&[required("port")]),
    Command::new("health_check protocol_listener", "fails unless the node listens for a protocol", |input| {
        protocol(input)
    })
    .taking(&[required("protocol")]),
    Command::new("health_check virtual_hosts", "fails unless all virtual hosts run", |_| {
        check(&["virtual-hosts"], "health check passed")
    }),
    Command::new("health_check ready_to_serve_clients", "fails while the node is booting or in maintenance", |_| {
        check(&["ready-to-serve-clients"], "health check passed")
    }),
];

/// Asks for one of the checks that the server makes.
fn check(parts: &[&str], good: &str) -> StepResult {
    let good = good.to_owned();
    ask(parts).then(move |reply| {
        judged(&reply)?;
        say(good)
    })
}

fn ask(parts: &[&str]) -> Ask {
    Ask::get(path(&[&["health", "checks"], parts].concat()))
}

/// Fails if the check has failed, with what it found.
fn judged(reply: &Reply) -> Result<(), Failure> {
    if reply.is_accepted() {
        return Ok(());
    }
    let found: Value = serde_json::from_slice(&reply.body).unwrap_or(Value::Null);
    if text(&found, "status") != "failed" {
        return match reply.status {
            404 => Err(Failure::unavailable("the server does not know this health check")),
            _ => Err(reply.refusal()),
        };
    }
    let reason = reply.reason().unwrap_or_else(|| "no reason given".to_owned());
    let details = found.as_object().into_iter().flatten();
    let details: Vec<String> = details
        .filter(|(name, _)| !matches!(name.as_str(), "status" | "reason"))
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    let details = if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
    Err(Failure::unavailable(format!("health check failed: {reason}{details}")))
}

/// A server that answers runs; an older one has no check for more.
fn running() -> StepResult {
    ask(&["is-in-service"]).then(|reply| {
        let good = || say("The broker is fully booted and running");
        let found = serde_json::from_slice(&reply.body).unwrap_or(Value::Null);
        let is_in_maintenance = ["maintenance", "drained"].iter().any(|word| text(&found, "reason").contains(word));
        match reply.status {
            404 => Ask::get("overview".to_owned()).then(move |reply| {
                reply.accepted()?;
                good()
            }),
            // In maintenance it runs, too; in a minority, or before it is in its cluster, it does not.
            503 if is_in_maintenance => good(),
            _ => {
                judged(&reply)?;
                good()
            }
        }
    })
}

fn port(input: &Invocation) -> StepResult {
    let text = input.text("port");
    let port: u16 =
        text.parse().map_err(|_| Failure::new(DATA, format!("a port must be a number up to 65535, not '{text}'")))?;
    check(&["port-listener", &port.to_string()], &format!("A listener for port {port} is running"))
}

fn protocol(input: &Invocation) -> StepResult {
    // Both ways of saying it that rabbitmq-diagnostics takes.
    let protocol = match input.text("protocol") {
        "amqp091" | "amqp0.9.1" | "amqp1.0" | "amqp10" => "amqp",
        "amqps" | "amqp091s" => "amqp/ssl",
        "mqtts" => "mqtt/ssl",
        "stomps" => "stomp/ssl",
        "streams" => "stream/ssl",
        other => other,
    };
    check(&["protocol-listener", protocol], &format!("A listener for protocol {protocol} is running"))
}

fn no_deprecated_features() -> StepResult {
    Ask::get("deprecated-features/used".to_owned()).then(|reply| {
        let names: Vec<String> = reply.list()?.iter().map(|feature| text(feature, "name").to_owned()).collect();
        match names.as_slice() {
            [] => say("No deprecated features are in use"),
            names => Err(Failure::new(
                UNAVAILABLE,
                format!("health check failed: deprecated features are in use: {}", names.join(", ")),
            )),
        }
    })
}

fn port_connectivity() -> StepResult {
    Ask::get("overview".to_owned()).then(|reply| {
        let overview = reply.value()?;
        let node = text(&overview, "node").to_owned();
        let of_node = |listener: &&Value| listener["node"] == json!(node);
        let number = |listener: &Value| u16::try_from(listener["port"].as_u64()?).ok();
        let listeners = overview["listeners"].as_array().into_iter().flatten();
        let mut ports: Vec<u16> = listeners.filter(of_node).filter_map(number).collect();
        ports.sort_unstable();
        ports.dedup();
        let tried = ports.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
        Ok(Step::Connect(
            ports,
            Box::new(move |failed| match failed.as_slice() {
                [] => say(format!("Successfully connected to ports {tried}")),
                failed => {
                    let failed: Vec<String> = failed.iter().map(|(port, why)| format!("{port} ({why})")).collect();
                    Err(Failure::unavailable(format!("health check failed: cannot connect to {}", failed.join(", "))))
                }
            }),
        ))
    })
}
