//! What the node and its cluster are, and how they are.

use std::time::Duration;

use serde_json::{Value, json};

use crate::command::{Command, Opt, flag, option, optional, required};
use crate::failure::{CONFIG, Failure, TEMPORARY, USAGE};
use crate::given::Given;
use crate::listing::{self, Listing, field, same, text};
use crate::output::Output;
use crate::reply::Reply;
use crate::step::{Ask, Started, Step, path, say};

const UNIT: Opt = option("unit", "UNIT", "bytes, mb, gb (default)");

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("status", "shows what the node is and how it is", |given| {
        let unit = Unit::of(given)?;
        overview_and_nodes(move |overview, nodes| status(&overview, &nodes, unit))
    })
    .with(&[UNIT])
    .saying("Status of the node ..."),
    Command::new("cluster_status", "shows the cluster's nodes, alarms and listeners", |_| {
        overview_and_nodes(|overview, nodes| cluster_status(&overview, &nodes))
    })
    .saying("Cluster status ..."),
    Command::new("ping", "checks that the server answers", |_| of_overview(|_| "Ping succeeded".to_owned())),
    Command::new("await_startup", "waits until the server answers", |given| {
        let patience = given.shared_number("timeout")?.map_or(STARTUP_PATIENCE, Duration::from_secs);
        await_startup(patience)
    }),
    Command::new("environment", "shows the configuration that is in effect", |_| {
        Ask::get("config/effective".to_owned()).then(|reply| {
            reply.accepted()?;
            let text = String::from_utf8_lossy(&reply.body).trim_end().to_owned();
            // RabbitMQ's is Erlang's terms, not JSON.
            let value = serde_json::from_str(&text).unwrap_or_else(|_| json!(text));
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
    Command::new("set_cluster_name", "names the cluster", |given| {
        Ask::put("cluster-name".to_owned(), &json!({"name": given.text("name")})).done()
    })
    .taking(&[required("name")])
    .saying("Setting cluster name to {name} ..."),
    Command::new("listeners", "lists what the node listens on", |_| {
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
    Command::new("memory_breakdown", "shows what the node's memory is used for", |given| {
        let unit = Unit::of(given)?;
        of_node(given.optional("node-name"), move |node| {
            Ask::get(path(&["nodes", node, "memory"])).then(move |reply| memory_breakdown(&reply, unit))
        })
    })
    .with(&[UNIT])
    .taking(&[optional("node-name")])
    .saying("Reporting memory breakdown ..."),
    Command::new("list_node_auth_attempt_stats", "counts who tried to log in", |given| {
        let columns = if given.has("by-source") { &ATTEMPTS_BY_SOURCE } else { &ATTEMPTS };
        let (columns, source) = (columns.chosen(given)?, given.has("by-source"));
        of_node(None, move |node| {
            let mut parts = vec!["auth", "attempts", node];
            parts.extend(source.then_some("source"));
            Ask::get(path(&parts)).then(move |reply| listing::show(&columns, &reply.list()?))
        })
    })
    .with(&[flag("by-source", "for each user and address")])
    .saying("Listing authentication attempts ..."),
    Command::new("quorum_status", "shows the members of a quorum queue", |given| {
        let (vhost, queue) = (given.vhost(), given.text("queue"));
        let missing = super::queues::no_such_queue(vhost, queue);
        Ask::get(path(&["queues", "quorum", vhost, queue, "status"])).then(move |reply| {
            let members = reply.unless(404, || Failure::data(missing))?.list()?;
            Ok(Step::Done(Output::Table(super::list::all_columns(&members, 1))))
        })
    })
    .taking(&[required("queue")])
    .saying("Status of queue {queue} ..."),
];

const ATTEMPTS: Listing = Listing {
    columns: &[same("protocol"), same("auth_attempts"), same("auth_attempts_failed"), same("auth_attempts_succeeded")],
    default: &["protocol", "auth_attempts", "auth_attempts_failed", "auth_attempts_succeeded"],
};
const ATTEMPTS_BY_SOURCE: Listing = Listing {
    columns: &[
        same("remote_address"),
        same("username"),
        same("protocol"),
        same("auth_attempts"),
        same("auth_attempts_failed"),
        same("auth_attempts_succeeded"),
    ],
    default: &[
        "remote_address",
        "username",
        "protocol",
        "auth_attempts",
        "auth_attempts_failed",
        "auth_attempts_succeeded",
    ],
};

/// How long a node may take to start, if nothing else is said. As rabbitmqctl.
const STARTUP_PATIENCE: Duration = Duration::from_secs(300);

/// How long to wait before asking again.
const STARTUP_PAUSE: Duration = Duration::from_millis(500);

/// How long one attempt may take.
const STARTUP_ATTEMPT: Duration = Duration::from_secs(10);

fn await_startup(left: Duration) -> Started {
    let next = move |answer: Result<Reply, Failure>, took: Duration| {
        let left = left.saturating_sub(took + STARTUP_PAUSE);
        match answer {
            // Who refuses us is there.
            Ok(reply) if reply.status < 500 => reply.done(),
            Err(failure) if failure.status == CONFIG || failure.status == USAGE => Err(failure),
            answer if left.is_zero() => {
                let why = answer.map_or_else(|failure| failure.text, |reply| reply.refusal().text);
                Err(Failure::new(TEMPORARY, format!("the server has not started in time: {why}")))
            }
            _ => Ok(Step::Pause(STARTUP_PAUSE, Box::new(move |()| await_startup(left)))),
        }
    };
    Ok(Step::Try { ask: Ask::get("overview".to_owned()), patience: left.min(STARTUP_ATTEMPT), next: Box::new(next) })
}

fn overview_and_nodes(show: impl FnOnce(Value, Vec<Value>) -> Output + 'static) -> Started {
    Ask::get("overview".to_owned()).then(|reply| {
        let overview = reply.value()?;
        Ask::get("nodes".to_owned()).then(move |reply| Ok(Step::Done(show(overview, reply.list()?))))
    })
}

fn of_overview(line: impl FnOnce(&Value) -> String + 'static) -> Started {
    Ask::get("overview".to_owned()).then(|reply| say(line(&reply.value()?)))
}

/// Goes on with the name of a node, which is the asked one's if none is said.
pub(crate) fn of_node(name: Option<&str>, next: impl FnOnce(&str) -> Started + 'static) -> Started {
    match name {
        Some(name) => next(name),
        None => Ask::get("overview".to_owned()).then(|reply| next(text(&reply.value()?, "node"))),
    }
}

/// What bytes are shown in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Bytes,
    Mega,
    Giga,
}

impl Unit {
    fn of(given: &Given) -> Result<Self, Failure> {
        match given.optional("unit").unwrap_or("gb") {
            "bytes" => Ok(Unit::Bytes),
            "mb" => Ok(Unit::Mega),
            "gb" => Ok(Unit::Giga),
            other => Err(Failure::usage(format!("the unit has to be bytes, mb or gb, and '{other}' is none of them"))),
        }
    }

    fn show(self, bytes: f64) -> String {
        // Four places, and no zeros at the end but one.
        let short = |value: f64| {
            let text = format!("{value:.4}");
            let text = text.trim_end_matches('0');
            if text.ends_with('.') { format!("{text}0") } else { text.to_owned() }
        };
        match self {
            Unit::Bytes => format!("{bytes:.0} bytes"),
            Unit::Mega => format!("{} mb", short(bytes / 1e6)),
            Unit::Giga => format!("{} gb", short(bytes / 1e9)),
        }
    }
}

fn memory_breakdown(reply: &Reply, unit: Unit) -> Started {
    let memory = reply.value()?;
    let mut parts: Vec<(String, f64)> = Vec::new();
    if let Some(fields) = memory["memory"].as_object() {
        parts.extend(fields.iter().filter_map(|(name, value)| Some((name.clone(), value.as_f64()?))));
    }
    let total: f64 = parts.iter().map(|(_, bytes)| bytes).sum();
    parts.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let share = |bytes: f64| if total > 0.0 { bytes / total * 100.0 } else { 0.0 };
    let line = |(name, bytes): &(String, f64)| format!("{name}: {} ({:.2}%)", unit.show(*bytes), share(*bytes));
    let text = parts.iter().map(line).collect::<Vec<_>>().join("\n");
    let value = parts.iter().map(|(name, bytes)| (name.clone(), json!({"bytes": bytes, "percentage": share(*bytes)})));
    Ok(Step::Done(Output::Document { text, value: Value::Object(value.collect()) }))
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

/// A heading and lines below it.
fn section(title: &str, lines: &[String]) -> String {
    let lines = if lines.is_empty() { "(none)".to_owned() } else { lines.join("\n") };
    format!("{title}\n\n{lines}")
}

fn status(overview: &Value, nodes: &[Value], unit: Unit) -> Output {
    let null = Value::Null;
    let name = text(overview, "node");
    let node = nodes.iter().find(|node| text(node, "name") == name).unwrap_or(&null);
    let number = |path: &str| field(node, path).and_then(Value::as_f64).unwrap_or(0.0);
    let bytes = |path: &str| unit.show(number(path));
    let names = |list: &str| -> Vec<String> {
        node[list].as_array().into_iter().flatten().filter_map(Value::as_str).map(|name| format!(" * {name}")).collect()
    };
    let product = text(overview, "product_name");
    let mut runtime = vec![
        format!("OS PID: {}", text(node, "os_pid")),
        format!("Uptime (seconds): {}", (number("uptime") / 1000.0).floor()),
        format!("Is under maintenance?: {}", node["being_drained"].as_bool().unwrap_or(false)),
        format!("RabbitMQ version: {}", text(overview, "rabbitmq_version")),
    ];
    if !product.is_empty() && product != "RabbitMQ" {
        runtime.push(format!("Product: {product} {}", text(overview, "product_version")));
    }
    runtime.push(format!("Node name: {name}"));
    if !text(overview, "erlang_full_version").is_empty() {
        runtime.push(format!("Erlang configuration: {}", text(overview, "erlang_full_version")));
    }
    let memory =
        vec![format!("Used: {}", bytes("mem_used")), format!("Memory high watermark limit: {}", bytes("mem_limit"))];
    let disk = vec![
        format!("Low free disk space watermark: {}", bytes("disk_free_limit")),
        format!("Free disk space: {}", bytes("disk_free")),
    ];
    let totals = [("Connection count", "connections"), ("Queue count", "queues"), ("Channel count", "channels")];
    let totals = totals.map(|(title, name)| {
        format!("{title}: {}", field(overview, &format!("object_totals.{name}")).and_then(Value::as_u64).unwrap_or(0))
    });
    let listeners = listeners(overview);
    let alarms = alarms(nodes);
    let sections = [
        section("Runtime", &runtime),
        section("Plugins", &names("enabled_plugins")),
        section("Data directory", &[format!("Node data directory: {}", text(node, "db_dir"))]),
        section("Config files", &names("config_files")),
        section("Log file(s)", &names("log_files")),
        section("Alarms", &alarms.iter().map(alarm_line).collect::<Vec<_>>()),
        section("Memory", &memory),
        section("File Descriptors", &[format!("Limit: {}", number("fd_total"))]),
        section("Free Disk Space", &disk),
        section("Totals", &totals),
        section("Listeners", &listeners.iter().map(listener_line).collect::<Vec<_>>()),
    ];
    let value = json!({
        "pid": text(node, "os_pid").parse::<u64>().ok(),
        "uptime": (number("uptime") / 1000.0).floor(),
        "rabbitmq_version": overview["rabbitmq_version"], "product_name": overview["product_name"],
        "product_version": overview["product_version"], "erlang_version": overview["erlang_full_version"],
        "is_under_maintenance": node["being_drained"].as_bool().unwrap_or(false),
        "active_plugins": node["enabled_plugins"], "data_directory": node["db_dir"],
        "config_files": node["config_files"], "log_files": node["log_files"],
        "alarms": alarms, "listeners": listeners, "totals": overview["object_totals"],
        "memory": {"total": node["mem_used"], "limit": node["mem_limit"]},
        "vm_memory_limit": node["mem_limit"], "vm_memory_calculation_strategy": node["mem_calculation_strategy"],
        "disk_free": node["disk_free"], "disk_free_limit": node["disk_free_limit"],
        "file_descriptors": {"total_limit": node["fd_total"], "total_used": node["fd_used"]},
        "processes": {"limit": node["proc_total"], "used": node["proc_used"]}, "run_queue": node["run_queue"],
    });
    Output::Document { text: sections.join("\n\n"), value }
}

fn cluster_status(overview: &Value, nodes: &[Value]) -> Output {
    let name = |node: &Value| text(node, "name").to_owned();
    let names = |is_meant: fn(&Value) -> bool| nodes.iter().filter(|node| is_meant(node)).map(name).collect::<Vec<_>>();
    let is_ram = |node: &Value| text(node, "type") == "ram";
    let disk_nodes = names(|node| text(node, "type") != "ram");
    let running = names(|node| field(node, "running") != Some(&json!(false)));
    let partitions: Vec<String> = nodes
        .iter()
        .filter_map(|node| {
            let away: Vec<&str> = node["partitions"].as_array()?.iter().filter_map(Value::as_str).collect();
            (!away.is_empty()).then(|| format!("Node {} cannot communicate with {}", name(node), away.join(", ")))
        })
        .collect();
    let alarms = alarms(nodes);
    let listeners = listeners(overview);
    let cores: u64 = nodes.iter().filter_map(|node| node["processors"].as_u64()).sum();
    let maintenance = |node: &Value| match node["being_drained"].as_bool() {
        Some(true) => "marked for maintenance",
        _ => "not under maintenance",
    };
    let mut sections = vec![
        section(
            "Basics",
            &[
                format!("Cluster name: {}", text(overview, "cluster_name")),
                format!("Total CPU cores available cluster-wide: {cores}"),
            ],
        ),
        section("Disk Nodes", &disk_nodes),
    ];
    if nodes.iter().any(is_ram) {
        sections.push(section("RAM Nodes", &names(|node| text(node, "type") == "ram")));
    }
    let each = |line: &dyn Fn(&Value) -> String| nodes.iter().map(line).collect::<Vec<_>>();
    sections.extend([
        section("Running Nodes", &running),
        section(
            "Versions",
            &[format!(
                "{}: RabbitMQ {}{}",
                text(overview, "node"),
                text(overview, "rabbitmq_version"),
                match text(overview, "erlang_version") {
                    "" => String::new(),
                    version => format!(" on Erlang {version}"),
                }
            )],
        ),
        section(
            "CPU Cores",
            &each(&|node| format!("Node: {}, available CPU cores: {}", name(node), node["processors"])),
        ),
        section("Maintenance status", &each(&|node| format!("Node: {}, status: {}", name(node), maintenance(node)))),
        section("Alarms", &alarms.iter().map(alarm_line).collect::<Vec<_>>()),
        section("Network Partitions", &partitions),
        section("Listeners", &listeners.iter().map(listener_line).collect::<Vec<_>>()),
    ]);
    let by_node = |value: &dyn Fn(&Value) -> Value| -> Value {
        Value::Object(nodes.iter().map(|node| (name(node), value(node))).collect())
    };
    let value = json!({
        "cluster_name": overview["cluster_name"], "disk_nodes": disk_nodes, "running_nodes": running,
        "ram_nodes": names(|node| text(node, "type") == "ram"),
        "versions": {text(overview, "node"): {
            "rabbitmq_name": overview["product_name"], "rabbitmq_version": overview["rabbitmq_version"],
            "erlang_version": overview["erlang_version"],
        }},
        "cpu_cores": by_node(&|node| node["processors"].clone()),
        "maintenance_status": by_node(&|node| json!(maintenance(node))),
        "alarms": alarms, "partitions": by_node(&|node| node["partitions"].clone()),
        "listeners": {text(overview, "node"): listeners},
    });
    Output::Document { text: sections.join("\n\n"), value }
}
