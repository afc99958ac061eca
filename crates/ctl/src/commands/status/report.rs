//! What a node and its cluster are, in sections for people and as one object for programs.

use serde_json::{Value, json};

use super::memory::Unit;
use super::{alarm_line, alarms, listener_line, listeners};
use crate::listing::{field, text};
use crate::output::Output;

/// A heading and lines below it.
fn section(title: &str, lines: &[String]) -> String {
    let lines = if lines.is_empty() { "(none)".to_owned() } else { lines.join("\n") };
    format!("{title}\n\n{lines}")
}

pub(super) fn status(overview: &Value, nodes: &[Value], unit: Unit) -> Output {
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

pub(super) fn cluster_status(overview: &Value, nodes: &[Value]) -> Output {
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
            &each(&|node| {
                // Another node of a cluster may not have reported it.
                let cores = node["processors"].as_u64().map_or_else(|| "unknown".to_owned(), |cores| cores.to_string());
                format!("Node: {}, available CPU cores: {cores}", name(node))
            }),
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

/// What a node that serves no clients knows of its cluster: its nodes, and why it serves none.
pub(super) fn known_cluster(cluster: &Value) -> Output {
    let nodes: Vec<&Value> = cluster["nodes"].as_array().into_iter().flatten().collect();
    let name = |node: &Value| text(node, "name").to_owned();
    let is = |node: &Value, what: &str| field(node, what) == Some(&json!(true));
    let names = |is_meant: &dyn Fn(&Value) -> bool| {
        nodes.iter().filter(|node| is_meant(node)).map(|node| name(node)).collect::<Vec<_>>()
    };
    let each = |line: &dyn Fn(&Value) -> String| nodes.iter().map(|node| line(node)).collect::<Vec<_>>();
    let (own, leader) = (text(cluster, "node"), text(cluster, "leader"));
    let has_majority = is(cluster, "has_majority");
    let mut basics = vec![
        format!("Cluster name: {}", text(cluster, "name")),
        format!("Node that answers: {own}, which serves no clients"),
        format!("Leader: {}", if leader.is_empty() { "none is known" } else { leader }),
        format!("Majority: {}", if has_majority { "it reaches one" } else { "it reaches none" }),
    ];
    if !text(cluster, "waiting").is_empty() {
        basics.push(format!("Waiting: {}", text(cluster, "waiting")));
    }
    let (all, running) = (names(&|_| true), names(&|node| is(node, "running")));
    let away = names(&|node| !is(node, "running") && !has_majority);
    let partitions = match away.is_empty() {
        true => Vec::new(),
        false => vec![format!("Node {own} cannot communicate with {}", away.join(", "))],
    };
    let maintenance = |node: &Value| match is(node, "draining") {
        true => "marked for maintenance",
        false => "not under maintenance",
    };
    let sections = [
        section("Basics", &basics),
        section("Disk Nodes", &all),
        section("Running Nodes", &running),
        section("Versions", &each(&|node| format!("{}: Warren {}", name(node), text(node, "version")))),
        section("Maintenance status", &each(&|node| format!("Node: {}, status: {}", name(node), maintenance(node)))),
        section("Network Partitions", &partitions),
    ];
    let by_node = |value: &dyn Fn(&Value) -> Value| -> Value {
        Value::Object(nodes.iter().map(|node| (name(node), value(node))).collect())
    };
    let value = json!({
        "cluster_name": cluster["name"], "disk_nodes": all, "running_nodes": running, "ram_nodes": [],
        "versions": by_node(&|node| json!({"warren_version": node["version"]})), "cpu_cores": {},
        "maintenance_status": by_node(&|node| json!(maintenance(node))),
        "alarms": [], "partitions": {own: away}, "listeners": {},
        "leader": cluster["leader"], "has_majority": has_majority, "waiting": cluster["waiting"],
    });
    Output::Document { text: sections.join("\n\n"), value }
}
