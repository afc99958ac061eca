//! Two looks at a broker, and what is kept of them.

use std::time::{Duration, Instant};

use http_client::{Method, Request};
use profile::svg;
use serde_json::{Map, Value, json};

use super::gathered::Gathered;
use crate::api::Api;
use crate::failure::Failure;
use crate::profile::sample_briefly;
use crate::target::Target;

/// Lines of the log.
const LOG_LINE_COUNT: usize = 1_000;
/// What the system says of the broker's process, where that is on this machine.
const PROCESS_FILES: &[&str] = &["limits", "status", "cgroup", "schedstat"];
const SYSTEM_FILES: &[&str] = &[
    "/proc/version",
    "/proc/meminfo",
    "/proc/loadavg",
    "/proc/pressure/cpu",
    "/proc/pressure/io",
    "/proc/pressure/memory",
    "/proc/sys/fs/file-nr",
    "/proc/sys/net/core/somaxconn",
    "/proc/sys/net/ipv4/tcp_max_syn_backlog",
    "/proc/sys/net/ipv4/ip_local_port_range",
    "/proc/sys/vm/overcommit_memory",
    "/proc/sys/vm/swappiness",
    "/sys/kernel/mm/transparent_hugepage/enabled",
];
/// Of which definitions have so many, if nothing else: names and passwords stay where they are.
const DEFINITION_KINDS: &[&str] = &[
    "vhosts",
    "users",
    "permissions",
    "topic_permissions",
    "policies",
    "parameters",
    "global_parameters",
    "exchanges",
    "queues",
    "bindings",
];

/// The files of the archive, and why some are missing.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) all: Vec<(String, Vec<u8>)>,
    pub(super) missing: Vec<String>,
}

impl Files {
    pub(super) fn add(&mut self, name: &str, content: impl Into<Vec<u8>>) {
        self.all.push((name.to_owned(), content.into()));
    }

    fn add_json(&mut self, name: &str, value: &Value) {
        self.add(name, format!("{value:#}\n"));
    }
}

/// Looks, waits, and looks again. Only a broker that does not answer at all is a failure.
pub(super) async fn gather(target: &Target, seconds: u32) -> Result<(Gathered, Files), Failure> {
    let mut api = Api::of(target)?;
    let mut files = Files::default();
    let overview = api.get_with("/api/overview", "node").await?;
    let queues_before = ask(&mut api, &mut files, "queues, at first", "/api/queues").await;
    let metrics_before = text(&mut api, "/metrics").await.unwrap_or_default();
    let began_at = Instant::now();
    let busy_processors = profile(target, &mut files, seconds).await;
    // Where there was no profile, there is nothing to wait for but the time.
    tokio::time::sleep(Duration::from_secs(u64::from(seconds)).saturating_sub(began_at.elapsed())).await;
    let seconds = began_at.elapsed().as_secs_f64();
    let node = overview["node"].as_str().unwrap_or_default().to_owned();
    let mut gathered = Gathered { seconds, queues_before, metrics_before, busy_processors, ..Gathered::default() };
    gathered.queues = ask(&mut api, &mut files, "queues", "/api/queues").await;
    gathered.overview = ask(&mut api, &mut files, "overview", "/api/overview").await;
    let nodes = ask(&mut api, &mut files, "nodes", "/api/nodes").await;
    let is_it = |of: &&Value| of["name"] == node.as_str();
    gathered.node = nodes.as_array().and_then(|nodes| nodes.iter().find(is_it)).cloned().unwrap_or_default();
    gathered.connections = ask(&mut api, &mut files, "connections", "/api/connections").await;
    gathered.consumers = ask(&mut api, &mut files, "consumers", "/api/consumers").await;
    gathered.bindings = ask(&mut api, &mut files, "bindings", "/api/bindings").await;
    gathered.losses = ask(&mut api, &mut files, "lost messages", "/api/warren/data-loss").await;
    gathered.slow_requests = ask(&mut api, &mut files, "slow requests", "/api/warren/slow-requests").await;
    gathered.cluster = ask(&mut api, &mut files, "the cluster", "/api/warren/cluster").await;
    let channels = ask(&mut api, &mut files, "channels", "/api/channels").await;
    let (memory, alarms) = (
        ask(&mut api, &mut files, "memory by owner", &format!("/api/nodes/{node}/memory")).await,
        ask(&mut api, &mut files, "alerts", "/api/alerts").await,
    );
    let definitions = ask(&mut api, &mut files, "definitions", "/api/definitions").await;
    match text(&mut api, "/api/config/effective").await {
        Ok(settings) => files.add("warren.conf", settings),
        Err(failure) => files.missing.push(format!("the configuration: {}", failure.text)),
    }
    let log = ask(&mut api, &mut files, "the log", &format!("/api/log?lines={LOG_LINE_COUNT}")).await;
    let lines = log["lines"].as_array().into_iter().flatten().filter_map(Value::as_str);
    gathered.log = lines.map(str::to_owned).collect();
    gathered.metrics = text(&mut api, "/metrics").await.unwrap_or_default();

    for (name, value) in [
        ("overview.json", &gathered.overview),
        ("nodes.json", &nodes),
        ("queues.json", &gathered.queues),
        ("queues-before.json", &gathered.queues_before),
        ("connections.json", &gathered.connections),
        ("channels.json", &channels),
        ("consumers.json", &gathered.consumers),
        ("memory.json", &memory),
        ("alerts.json", &alarms),
        ("lost-messages.json", &gathered.losses),
        ("slow-requests.json", &gathered.slow_requests),
        ("cluster.json", &gathered.cluster),
        ("definitions-summary.json", &summary(&definitions)),
    ] {
        if !value.is_null() {
            files.add_json(name, value);
        }
    }
    if !gathered.log.is_empty() {
        files.add("log.txt", gathered.log.join("\n") + "\n");
    }
    if !gathered.metrics.is_empty() {
        files.add("metrics.txt", gathered.metrics.clone());
    }
    system(&mut files);
    Ok((gathered, files))
}

/// An answer; null, and a word about it, where there is none.
async fn ask(api: &mut Api, files: &mut Files, what: &str, path: &str) -> Value {
    match api.get(path).await {
        Ok(answer) => answer,
        Err(failure) => {
            files.missing.push(format!("{what}: {}", failure.text));
            Value::Null
        }
    }
}

/// An answer that is no JSON. Metrics are on a listener of their own where the API does not have them.
async fn text(api: &mut Api, path: &str) -> Result<String, Failure> {
    let body = api.ask(Request::new(Method::GET).below(path)).await?;
    Ok(String::from_utf8_lossy(&body).into_owned())
}

/// A CPU profile, as a flame graph and as folded stacks; how many processors the broker used meanwhile.
async fn profile(target: &Target, files: &mut Files, seconds: u32) -> Option<f64> {
    let sampled = match sample_briefly(target, seconds).await {
        Ok(sampled) => sampled,
        Err(failure) => {
            files.missing.push(format!("a CPU profile: {}", failure.text));
            return None;
        }
    };
    files.add("profile.svg", svg::flame_graph(&sampled.profile));
    files.add("profile.folded", sampled.profile.to_folded());
    if let Some(pid) = sampled.pid {
        for name in PROCESS_FILES {
            if let Ok(content) = std::fs::read(format!("/proc/{pid}/{name}")) {
                files.add(&format!("process/{name}"), content);
            }
        }
    }
    sampled.busy_processors
}

/// How much of everything there is, and nothing of what it is.
fn summary(definitions: &Value) -> Value {
    if definitions.is_null() {
        return Value::Null;
    }
    let mut counts = Map::new();
    for kind in DEFINITION_KINDS {
        counts.insert((*kind).to_owned(), json!(definitions[*kind].as_array().map_or(0, Vec::len)));
    }
    let mut by_type = Map::new();
    for queue in definitions["queues"].as_array().into_iter().flatten() {
        let kind = queue["type"].as_str().or(queue["arguments"]["x-queue-type"].as_str()).unwrap_or("classic");
        let count = by_type.get(kind).and_then(Value::as_u64).unwrap_or(0);
        by_type.insert(kind.to_owned(), json!(count + 1));
    }
    counts.insert("queues_by_type".to_owned(), Value::Object(by_type));
    counts.insert("policies".to_owned(), definitions["policies"].clone());
    Value::Object(counts)
}

/// What the kernel of this machine says, which is the broker's where it runs here.
fn system(files: &mut Files) {
    for path in SYSTEM_FILES {
        if let Ok(content) = std::fs::read(path) {
            files.add(&format!("system{path}"), content);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_counted_and_not_shown() {
        let definitions = json!({
            "users": [{"name": "ann", "password_hash": "hash"}],
            "queues": [{"name": "a", "arguments": {"x-queue-type": "quorum"}}, {"name": "b", "type": "classic", "arguments": {}}],
            "policies": [{"name": "p", "pattern": ".*"}],
        });
        let summary = summary(&definitions);
        assert_eq!((&summary["users"], &summary["queues"], &summary["exchanges"]), (&json!(1), &json!(2), &json!(0)));
        assert_eq!(summary["queues_by_type"], json!({"quorum": 1, "classic": 1}));
        let text = summary.to_string();
        assert!(!text.contains("hash") && !text.contains("ann") && text.contains("pattern"), "{text}");
    }
}
