//! What the node and its cluster are, and how they are.

mod everything;
mod memory;
mod report;

use serde_json::{Value, json};

use self::memory::Unit;
use crate::command::{Command, Opt, flag, option, optional, required};
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::listing::{self, Listing, columns, field, same, text};
use crate::output::Output;
use crate::step::{Ask, Step, StepResult, path, say};

const UNIT: Opt = option("unit", "UNIT", "bytes, kb, mb, gb (default), tb; or in full, as in gigabytes");

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("status", "shows the node's versions and state", |input| {
        let unit = Unit::of(input)?;
        overview_and_nodes(move |overview, nodes| report::status(&overview, &nodes, unit))
    })
    .with(&[UNIT])
    .saying("Status of the node ..."),
    Command::new("cluster_status", "shows the cluster's nodes, alarms and listeners", |_| cluster_status())
        .saying("Cluster status ..."),
    Command::new("ping", "checks that the server answers", |_| of_overview(|_| "Ping succeeded".to_owned())),
    Command::new("environment", "shows the configuration that is in effect", |_| {
        Ask::get("config/effective".to_owned()).then(|reply| {
            reply.accepted()?;
            let text = String::from_utf8_lossy(&reply.body).trim_end().to_owned();
            // RabbitMQ's is Erlang's terms, which stay a text.
            let pairs = text.lines().map(|line| line.split_once(" = "));
            let pairs: Option<Vec<(&str, &str)>> = pairs.collect();
            let value = match pairs {
                Some(pairs) => pairs.into_iter().map(|(key, value)| (key.to_owned(), json!(value))).collect(),
                None => json!(text),
            };
            Ok(Step::Done(Output::Document { text, value }))
        })
    })
    .saying("Application environment of the node ..."),
    Command::new("server_version", "shows which version the server is compatible with", |_| {
        of_overview(|overview| text(overview, "rabbitmq_version").to_owned())
    }),
    Command::new("erlang_version", "shows which Erlang the server runs on, if any", |_| {
        of_overview(|overview| format!("Erlang/OTP {}", text(overview, "erlang_version")))
    }),
    Command::new("set_cluster_name", "sets the cluster's name", |input| {
        Ask::put("cluster-name".to_owned(), &json!({"name": input.text("name")})).done()
    })
    .taking(&[required("name")])
    .saying("Setting cluster name to {name} ..."),
    Command::new("listeners", "lists the node's listeners", |_| {
        Ask::get("overview".to_owned()).then(|reply| {
            let listeners = listeners(&reply.value()?);
            let text = listeners.iter().map(listener_line).collect::<Vec<_>>().join("\n");
            Ok(Step::Done(Output::Document { text, value: json!({"listeners": listeners}) }))
        })
    })
    .saying("Asking the node to report its protocol listeners ..."),
    Command::new("alarms", "lists resource alarms in effect", |_| {
        Ask::get("nodes".to_owned()).then(|reply| {
            let alarms = alarms(&reply.list()?);
            let text = match alarms.as_slice() {
                [] => "No alarms are reported, local or clusterwide".to_owned(),
                alarms => alarms.iter().map(alarm_line).collect::<Vec<_>>().join("\n"),
            };
            Ok(Step::Done(Output::Document { text, value: json!({"alarms": alarms}) }))
        })
    })
    .saying("Asking the node to report any known resource alarms ..."),
    Command::new("memory_breakdown", "shows the node's memory use", |input| {
        let unit = Unit::of(input)?;
        of_node(input.optional("node-name"), move |node| {
            Ask::get(path(&["nodes", node, "memory"])).then(move |reply| memory::memory_breakdown(&reply, unit))
        })
    })
    .with(&[UNIT])
    .taking(&[optional("node-name")])
    .saying("Reporting memory breakdown ..."),
    Command::new("list_node_auth_attempt_stats", "shows counts of login attempts", |input| auth_attempts(input, None))
        .with(ATTEMPTS_OPTIONS)
        .saying("Listing authentication attempts ..."),
    Command::new("reset_node_auth_attempt_metrics", "resets the counts of login attempts", |_| {
        of_node(None, |node| Ask::delete(path(&["auth", "attempts", node])).done())
    })
    .saying("Resetting auth attempt metrics ..."),
    Command::new("reset_stats_db", "forgets the statistics of the node, or with --all of all nodes", |input| {
        if input.has("all") {
            return Ask::delete("reset".to_owned()).done();
        }
        of_node(None, |node| Ask::delete(path(&["reset", node])).done())
    })
    .with(&[flag("all", "of all nodes")])
    .saying("Resetting statistics ..."),
    Command::new("report", "shows all status information of the server, for support", |_| everything::report())
        .long()
        .saying("Reporting server status ..."),
    Command::new("quorum_status", "shows the members of a quorum queue, or without one of the cluster", |input| {
        let (vhost, Some(queue)) = (input.vhost(), input.optional("queue")) else { return super::cluster::members() };
        let missing = super::queues::no_such_queue(vhost, queue);
        Ask::get(path(&["queues", "quorum", vhost, queue, "status"])).then(move |reply| {
            let members = reply.unless(404, || Failure::data(missing))?.list()?;
            Ok(Step::Done(Output::Table(super::list::all_columns(&members, 1))))
        })
    })
    .taking(&[optional("queue")])
    .saying("Status of queue {queue|(all)} ..."),
];

pub(crate) const ADMIN_COMMANDS: &[Command] =
    &[Command::new("auth_attempts stats", "shows counts of a node's login attempts", |input| {
        auth_attempts(input, input.optional("node"))
    })
    .taking(&[optional("node").short("N")])
    .with(ATTEMPTS_OPTIONS)];

const ATTEMPTS_OPTIONS: &[Opt] = &[flag("by-source", "for each user and address")];

fn auth_attempts(input: &Invocation, node: Option<&str>) -> StepResult {
    let columns = if input.has("by-source") { &ATTEMPTS_BY_SOURCE } else { &ATTEMPTS };
    let (columns, source) = (columns.chosen(input)?, input.has("by-source"));
    of_node(node, move |node| {
        let missing = format!("no node '{node}'");
        let mut parts = vec!["auth", "attempts", node];
        parts.extend(source.then_some("source"));
        Ask::get(path(&parts))
            .then(move |reply| listing::show(&columns, &reply.unless(404, || Failure::data(missing))?.list()?))
    })
}

const ATTEMPTS: Listing = Listing {
    columns: &[same("protocol"), same("auth_attempts"), same("auth_attempts_failed"), same("auth_attempts_succeeded")],
    default: &["protocol", "auth_attempts", "auth_attempts_failed", "auth_attempts_succeeded"],
};
const ATTEMPTS_BY_SOURCE: Listing = Listing {
    columns: columns! {
        "remote_address" "username" "protocol" "auth_attempts" "auth_attempts_failed" "auth_attempts_succeeded"
    },
    default: &[
        "remote_address",
        "username",
        "protocol",
        "auth_attempts",
        "auth_attempts_failed",
        "auth_attempts_succeeded",
    ],
};

/// Of a node that serves no clients: what it knows of its cluster.
fn cluster_status() -> StepResult {
    Ask::get("overview".to_owned()).then(|reply| {
        if reply.status != 503 {
            let overview = reply.value()?;
            return Ask::get("nodes".to_owned())
                .then(move |reply| Ok(Step::Done(report::cluster_status(&overview, &reply.list()?))));
        }
        Ask::get("warren/cluster".to_owned()).then(move |known| match known.is_accepted() {
            true => Ok(Step::Done(report::known_cluster(&known.value()?))),
            false => Err(reply.refusal()),
        })
    })
}

fn overview_and_nodes(show: impl FnOnce(Value, Vec<Value>) -> Output + 'static) -> StepResult {
    overview_and_nodes_then(|overview, nodes| Ok(Step::Done(show(overview, nodes))))
}

fn overview_and_nodes_then(next: impl FnOnce(Value, Vec<Value>) -> StepResult + 'static) -> StepResult {
    Ask::get("overview".to_owned()).then(|reply| {
        let overview = reply.value()?;
        Ask::get("nodes".to_owned()).then(move |reply| next(overview, reply.list()?))
    })
}

fn of_overview(line: impl FnOnce(&Value) -> String + 'static) -> StepResult {
    Ask::get("overview".to_owned()).then(|reply| say(line(&reply.value()?)))
}

/// Continues with the name of a node, which is the asked one's if none is said.
pub(crate) fn of_node(name: Option<&str>, next: impl FnOnce(&str) -> StepResult + 'static) -> StepResult {
    match name {
        Some(name) => next(name),
        None => Ask::get("overview".to_owned()).then(|reply| next(text(&reply.value()?, "node"))),
    }
}

/// Of the node that was asked; as few fields as programs want.
fn listeners(overview: &Value) -> Vec<Value> {
    let node = text(overview, "node");
    let listener = |listener: &Value| {
        let protocol = text(listener, "protocol");
        json!({
            "node": listener["node"], "interface": listener["ip_address"], "port": listener["port"],
            "protocol": protocol, "purpose": purpose(protocol),
        })
    };
    let of_node = |listener: &&Value| text(listener, "node") == node;
    overview["listeners"].as_array().into_iter().flatten().filter(of_node).map(listener).collect()
}

fn purpose(protocol: &str) -> &'static str {
    match protocol {
        "amqp" => "AMQP 0-9-1 and AMQP 1.0",
        "amqp/ssl" => "AMQP 0-9-1 and AMQP 1.0 over TLS",
        "clustering" => "inter-node and CLI tool communication",
        "http" => "HTTP API",
        "https" => "HTTP API over TLS (HTTPS)",
        "http/prometheus" => "Prometheus exporter API over HTTP",
        "https/prometheus" => "Prometheus exporter API over TLS (HTTPS)",
        "mqtt" => "MQTT",
        "mqtt/ssl" => "MQTT over TLS",
        "stomp" => "STOMP",
        "stomp/ssl" => "STOMP over TLS",
        "stream" => "stream",
        "stream/ssl" => "stream over TLS",
        "http/web-mqtt" => "MQTT over WebSockets",
        "https/web-mqtt" => "MQTT over WebSockets and TLS (HTTPS)",
        "http/web-stomp" => "STOMP over WebSockets",
        "https/web-stomp" => "STOMP over WebSockets and TLS (HTTPS)",
        _ => "",
    }
}

fn listener_line(listener: &Value) -> String {
    format!(
        "Interface: {}, port: {}, protocol: {}, purpose: {}",
        text(listener, "interface"),
        listener["port"],
        text(listener, "protocol"),
        text(listener, "purpose")
    )
}

/// Which resources are short on which nodes.
pub(crate) fn alarms(nodes: &[Value]) -> Vec<Value> {
    let is_set = |node: &Value, alarm: &str| field(node, alarm) == Some(&json!(true));
    let alarm = |node: &Value| {
        [("mem_alarm", "memory"), ("disk_free_alarm", "disk")]
            .into_iter()
            .filter(|(name, _)| is_set(node, name))
            .map(|(_, resource)| json!({"node": text(node, "name"), "resource": resource}))
            .collect::<Vec<_>>()
    };
    nodes.iter().flat_map(alarm).collect()
}

pub(crate) fn alarm_line(alarm: &Value) -> String {
    match text(alarm, "resource") {
        "memory" => format!("Memory alarm on node {}", text(alarm, "node")),
        _ => format!("Free disk space alarm on node {}", text(alarm, "node")),
    }
}
