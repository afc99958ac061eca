//! Two looks at a broker, and what is kept of them.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use http_client::{Method, Request};
use profile::svg;
use serde_json::{Map, Value, json};

use super::samples::{Look, Place, Samples, count, list, place};
use crate::api::{Api, encoded};
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

/// Looks at the lengths of queues while it waits.
const LENGTHS_COUNT: u32 = 5;
/// At those with the most messages.
const LENGTHS_PATH: &str =
    "/api/queues?page=1&page_size=500&sort=messages&sort_reverse=true&columns=vhost,name,messages";
/// Queues whose publishers are asked for.
const LOSING_COUNT_MAX: usize = 10;

/// Looks, waits, and looks again. Only a broker that does not answer at all is a failure.
pub(super) async fn gather(target: &Target, seconds: u32) -> Result<(Samples, Files), Failure> {
    let mut api = Api::of(target)?;
    let mut files = Files::default();
    api.get_with("/api/overview", "node").await?;
    let log_before = log_lines(&mut api).await.0;
    let first = look(&mut api, &mut files, "at first").await;
    let began_at = Instant::now();
    let ((), lengths) = tokio::join!(profile(target, &mut files, seconds), watch_lengths(target, seconds));
    // Where there was no profile, there is nothing to wait for but the time.
    tokio::time::sleep(Duration::from_secs(u64::from(seconds)).saturating_sub(began_at.elapsed())).await;
    let last = look(&mut api, &mut files, "at last").await;
    let seconds = began_at.elapsed().as_secs_f64();
    let node = last.overview["node"].as_str().unwrap_or_default().to_owned();
    let mut samples = Samples { seconds, first, last, lengths, log_before, ..Samples::default() };
    for path in losing(&samples) {
        samples.losing.extend(api.get(&path).await);
    }
    samples.nodes = ask(&mut api, &mut files, "nodes", "/api/nodes").await;
    samples.memory =
        ask(&mut api, &mut files, "memory by owner", &format!("/api/nodes/{}/memory", encoded(&node))).await;
    samples.consumers = ask(&mut api, &mut files, "consumers", "/api/consumers").await;
    samples.bindings = ask(&mut api, &mut files, "bindings", "/api/bindings").await;
    samples.losses = ask(&mut api, &mut files, "lost messages", "/api/warren/data-loss").await;
    samples.slow_requests = ask(&mut api, &mut files, "slow requests", "/api/warren/slow-requests").await;
    samples.cluster = ask(&mut api, &mut files, "the cluster", "/api/warren/cluster").await;
    let alarms = ask(&mut api, &mut files, "alerts", "/api/alerts").await;
    let definitions = ask(&mut api, &mut files, "definitions", "/api/definitions").await;
    match text(&mut api, "/api/config/effective").await {
        Ok(settings) => files.add("warren.conf", settings),
        Err(failure) => files.missing.push(format!("the configuration: {}", failure.text)),
    }
    let (log, missing) = log_lines(&mut api).await;
    samples.log = log;
    files.missing.extend(missing);
    if let Ok(metrics) = text(&mut api, "/metrics").await {
        files.add("metrics.txt", metrics);
    }

    let (first, last) = (&samples.first, &samples.last);
    for (name, value) in [
        ("overview.json", &last.overview),
        ("nodes.json", &samples.nodes),
        ("queues.json", &last.queues),
        ("queues-before.json", &first.queues),
        ("connections.json", &last.connections),
        ("connections-before.json", &first.connections),
        ("channels.json", &last.channels),
        ("channels-before.json", &first.channels),
        ("pressure.json", &last.pressure),
        ("pressure-before.json", &first.pressure),
        ("consumers.json", &samples.consumers),
        ("memory.json", &samples.memory),
        ("alerts.json", &alarms),
        ("lost-messages.json", &samples.losses),
        ("slow-requests.json", &samples.slow_requests),
        ("cluster.json", &samples.cluster),
        ("definitions-summary.json", &summary(&definitions)),
    ] {
        if !value.is_null() {
            files.add_json(name, value);
        }
    }
    if !samples.log.is_empty() {
        files.add("log.txt", samples.log.join("\n") + "\n");
    }
    system(&mut files);
    Ok((samples, files))
}

/// All that changes.
async fn look(api: &mut Api, files: &mut Files, when: &str) -> Look {
    let mut all = [Value::Null, Value::Null, Value::Null, Value::Null, Value::Null];
    let paths = ["/api/overview", "/api/connections", "/api/channels", "/api/queues", "/api/warren/pressure"];
    for (answer, path) in all.iter_mut().zip(paths) {
        *answer = ask(api, files, &format!("{path}, {when}"), path).await;
    }
    let [overview, connections, channels, queues, pressure] = all;
    Look { overview, queues, connections, channels, pressure }
}

/// The lengths of queues, evenly apart.
async fn watch_lengths(target: &Target, seconds: u32) -> Vec<Value> {
    let mut lengths = Vec::new();
    let Ok(mut api) = Api::of(target) else { return lengths };
    let pause = Duration::from_secs(u64::from(seconds)) / (LENGTHS_COUNT + 1);
    for _ in 0..LENGTHS_COUNT {
        tokio::time::sleep(pause).await;
        if let Ok(look) = api.get(LENGTHS_PATH).await {
            lengths.push(look);
        }
    }
    lengths
}

/// Where queues are asked for their publishers that have lost messages between the looks, those first that lost most.
fn losing(samples: &Samples) -> Vec<String> {
    let lost = |queue: &Value| {
        let reasons = queue["messages_dropped_by_reason"].as_object().into_iter().flatten();
        reasons.filter_map(|(_, count)| count.as_u64()).sum::<u64>() + count(queue, "messages_refused")
    };
    let before: HashMap<_, u64> = list(&samples.first.queues).map(|queue| (place(queue), lost(queue))).collect();
    let grown = |queue: &Value| lost(queue).saturating_sub(before.get(&place(queue)).copied().unwrap_or(0));
    let mut all: Vec<(u64, Place<'_>)> = list(&samples.last.queues).map(|queue| (grown(queue), place(queue))).collect();
    all.retain(|(grown, _)| *grown > 0);
    all.sort_by_key(|(grown, _)| std::cmp::Reverse(*grown));
    let path = |(vhost, name): Place<'_>| {
        format!("/api/queues/{}/{}?columns=vhost,name,publishers", encoded(vhost), encoded(name))
    };
    all.into_iter().take(LOSING_COUNT_MAX).map(|(_, place)| path(place)).collect()
}

/// The last lines of the log; else why there are none.
async fn log_lines(api: &mut Api) -> (Vec<String>, Option<String>) {
    match api.get(&format!("/api/log?lines={LOG_LINE_COUNT}")).await {
        Ok(log) => (list(&log["lines"]).filter_map(Value::as_str).map(str::to_owned).collect(), None),
        Err(failure) => (Vec::new(), Some(format!("the log: {}", failure.text))),
    }
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

/// A CPU profile, as a flame graph and as folded stacks.
async fn profile(target: &Target, files: &mut Files, seconds: u32) {
    let sampled = match sample_briefly(target, seconds).await {
        Ok(sampled) => sampled,
        Err(failure) => {
            files.missing.push(format!("a CPU profile: {}", failure.text));
            return;
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
