//! From the API's answers to facts. Two looks, some seconds apart: what grows, grows between them.

use std::collections::HashMap;

use serde_json::Value;

use super::facts::{Consumer, Facts, Mean, Queue, Share, SlowRequest, SlowRequests, Wait};

/// Answers of the API. What could not be had is null.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) seconds: f64,
    pub(super) queues_before: Value,
    pub(super) queues: Value,
    pub(super) overview: Value,
    pub(super) node: Value,
    pub(super) connections: Value,
    pub(super) consumers: Value,
    pub(super) bindings: Value,
    pub(super) losses: Value,
    pub(super) cluster: Value,
    pub(super) slow_requests: Value,
    pub(super) metrics_before: String,
    pub(super) metrics: String,
    pub(super) log: Vec<String>,
    pub(super) busy_processors: Option<f64>,
}

type Place<'a> = (&'a str, &'a str);

/// The facts that answers have.
pub(super) fn facts(gathered: &Gathered) -> Facts {
    let node = &gathered.node;
    let number = |name: &str| node[name].as_u64().unwrap_or(0);
    let states = list(&gathered.connections).map(|connection| text(connection, "state"));
    let (mut blocked_count, mut slowed_count) = (0, 0);
    for state in states {
        blocked_count += u64::from(state == "blocked" || state == "blocking");
        slowed_count += u64::from(state == "flow");
    }
    let errors: Vec<&String> = gathered.log.iter().filter(|line| is_error(line)).collect();
    Facts {
        node: text(&gathered.overview, "node").to_owned(),
        version: text(&gathered.overview, "product_version").to_owned(),
        seconds: gathered.seconds,
        cluster_troubles: list(&gathered.cluster["troubles"])
            .map(|trouble| (text(trouble, "severity") == "problem", text(trouble, "text").to_owned()))
            .collect(),
        memory: Share { used: number("mem_used"), limit: number("mem_limit") },
        disk_free_len: number("disk_free"),
        disk_limit_len: number("disk_free_limit"),
        files: Share { used: number("fd_used"), limit: number("fd_total") },
        memory_alarm: node["mem_alarm"] == true,
        disk_alarm: node["disk_free_alarm"] == true,
        syncs: syncs(gathered),
        connection_count: list(&gathered.connections).count() as u64,
        blocked_count,
        slowed_count,
        connections_opened_per_s: rate(&gathered.overview["churn_rates"], "connection_created"),
        lost_message_count: gathered.losses["lost_messages"].as_u64().unwrap_or(0),
        error_count: errors.len(),
        last_error: errors.last().map(|line| (*line).clone()),
        busy_processors: gathered.busy_processors,
        processor_count: number("processors"),
        queues: queues(gathered),
        slow_requests: slow_requests(&gathered.slow_requests),
    }
}

/// None: they could not be had.
fn slow_requests(answer: &Value) -> Option<SlowRequests> {
    let ms = |of: &Value| of["duration_us"].as_f64().unwrap_or(0.0) / 1e3;
    let wait = |wait: &Value| Wait {
        kind: text(wait, "kind").to_owned(),
        holder: text(wait, "holder").to_owned(),
        ms: ms(wait),
    };
    let request = |request: &Value| SlowRequest {
        request: match text(request, "about") {
            "" => text(request, "request").to_owned(),
            about => format!("{} ({about})", text(request, "request")),
        },
        at: text(request, "at").get(11..19).unwrap_or_default().to_owned(),
        ms: ms(request),
        waits: list(&request["waits"]).map(wait).collect(),
    };
    let all = answer["requests"].as_array()?.iter().map(request).collect();
    Some(SlowRequests { has_recorder: answer["recorder_running"] == true, all })
}

fn is_error(line: &str) -> bool {
    line.split_whitespace().take(3).any(|word| word == "ERROR")
}

/// Of the metrics' histogram of syncs, what came between the looks.
fn syncs(gathered: &Gathered) -> Option<Mean> {
    let value = |text: &str, end: &str| {
        let line = text.lines().find(|line| {
            let name = line.split([' ', '{']).next().unwrap_or_default();
            name.starts_with("warren_") && name.contains("sync") && name.ends_with(end)
        })?;
        line.rsplit_once(' ')?.1.parse::<f64>().ok()
    };
    let between = |end: &str| Some(value(&gathered.metrics, end)? - value(&gathered.metrics_before, end)?);
    let (count, seconds) = (between("_seconds_count")?, between("_seconds_sum")?);
    (count > 0.0).then(|| Mean { count, mean_ms: seconds / count * 1000.0 })
}

fn queues(gathered: &Gathered) -> Vec<Queue> {
    let mut consumers: HashMap<Place<'_>, Vec<Consumer>> = HashMap::new();
    for consumer in list(&gathered.consumers) {
        let of = &consumer["queue"];
        let known = Consumer {
            prefetch: consumer["prefetch_count"].as_u64().unwrap_or(0),
            acks: consumer["ack_required"] == true,
        };
        consumers.entry((text(of, "vhost"), text(of, "name"))).or_default().push(known);
    }
    let both = |queue| [count(queue, "messages"), count(queue, "messages_came_round")];
    let before: HashMap<Place<'_>, [u64; 2]> =
        list(&gathered.queues_before).map(|queue| (place(queue), both(queue))).collect();
    let mut dead = dead_letters(gathered);
    let of_queue = |queue| {
        let now @ [messages, came_round] = both(queue);
        // One that was not there has not grown.
        let [messages_before, came_round_before] = before.get(&place(queue)).copied().unwrap_or(now);
        let stats = &queue["message_stats"];
        Queue {
            vhost: text(queue, "vhost").to_owned(),
            name: text(queue, "name").to_owned(),
            before: messages_before,
            messages,
            ready: count(queue, "messages_ready"),
            unacked: count(queue, "messages_unacknowledged"),
            published_per_s: rate(stats, "publish"),
            acked_per_s: rate(stats, "ack"),
            delivered_per_s: rate(stats, "deliver_get"),
            redelivered_per_s: rate(stats, "redeliver"),
            came_round_per_s: came_round.saturating_sub(came_round_before) as f64 / gathered.seconds.max(0.001),
            consumers: consumers.remove(&place(queue)).unwrap_or_default(),
            is_single_active: queue["arguments"]["x-single-active-consumer"] == true,
            dead_letters_of: dead.remove(&place(queue)).unwrap_or_default(),
        }
    };
    list(&gathered.queues).map(of_queue).collect()
}

/// Queues by what they get as dead letters, and of which queues.
fn dead_letters(gathered: &Gathered) -> HashMap<Place<'_>, Vec<String>> {
    let mut bound: HashMap<Place<'_>, Vec<&str>> = HashMap::new();
    for binding in list(&gathered.bindings).filter(|binding| text(binding, "destination_type") == "queue") {
        let source = (text(binding, "vhost"), text(binding, "source"));
        bound.entry(source).or_default().push(text(binding, "destination"));
    }
    let mut dead: HashMap<Place<'_>, Vec<String>> = HashMap::new();
    for queue in list(&gathered.queues) {
        let (vhost, name) = place(queue);
        let said = |key: &str| {
            let of_policy = &queue["effective_policy_definition"][key];
            queue["arguments"][format!("x-{key}")].as_str().or(of_policy.as_str())
        };
        let targets = match said("dead-letter-exchange") {
            None => Vec::new(),
            Some("") => said("dead-letter-routing-key").into_iter().collect(),
            Some(exchange) => bound.get(&(vhost, exchange)).cloned().unwrap_or_default(),
        };
        for target in targets.into_iter().filter(|target| *target != name) {
            dead.entry((vhost, target)).or_default().push(name.to_owned());
        }
    }
    dead
}

fn list(answer: &Value) -> impl Iterator<Item = &Value> {
    answer.as_array().into_iter().flatten()
}

fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object[name].as_str().unwrap_or_default()
}

fn count(object: &Value, name: &str) -> u64 {
    object[name].as_u64().unwrap_or(0)
}

fn rate(stats: &Value, name: &str) -> f64 {
    stats[format!("{name}_details")]["rate"].as_f64().unwrap_or(0.0)
}

fn place(queue: &Value) -> Place<'_> {
    (text(queue, "vhost"), text(queue, "name"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn two_looks_and_what_belongs_together_are_joined() {
        let queue = |messages: u64| {
            json!([{
                "vhost": "/", "name": "orders", "messages": messages, "messages_ready": messages - 1, "messages_unacknowledged": 1,
                "messages_came_round": messages * 10,
                "arguments": {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead", "x-single-active-consumer": true},
                "message_stats": {"publish_details": {"rate": 30.5}, "ack_details": {"rate": 25.0}},
            }, {
                "vhost": "/", "name": "dead", "messages": 3, "effective_policy_definition": {"dead-letter-exchange": "dlx"},
            }, {"vhost": "/", "name": "last"}])
        };
        let facts = facts(&Gathered {
            seconds: 4.0,
            queues_before: queue(100),
            queues: queue(140),
            overview: json!({"node": "rabbit@a", "product_version": "0.1.0", "churn_rates": {"connection_created_details": {"rate": 3.0}}}),
            node: json!({"mem_used": 5, "mem_limit": 9, "fd_used": 1, "fd_total": 2, "disk_free": 7, "disk_free_limit": 8,
                "mem_alarm": false, "disk_free_alarm": true, "processors": 2}),
            connections: json!([{"state": "running"}, {"state": "flow"}, {"state": "blocked"}]),
            consumers: json!([{"queue": {"vhost": "/", "name": "orders"}, "prefetch_count": 1, "ack_required": true}]),
            bindings: json!([{"vhost": "/", "source": "dlx", "destination": "last", "destination_type": "queue"}]),
            losses: json!({"lost_messages": 2}),
            cluster: json!({"troubles": [{"severity": "problem", "text": "rabbit@b is gone."}, {"severity": "warning", "text": "late"}]}),
            slow_requests: json!({"recorder_running": true, "requests": [
                {"protocol": "http", "request": "GET /api/queues", "at": "2026-11-26T13:14:34.086Z", "duration_us": 312_000.5,
                    "waits": [{"kind": "lock", "holder": "a::b", "duration_us": 300_000.0}]},
                {"protocol": "amqp", "request": "queue.declare", "about": "orders", "at": "2026-11-26T13:14:35.086Z",
                    "duration_us": 1500.0, "waits": null},
            ]}),
            metrics_before: "warren_journal_sync_seconds_count 10\nwarren_journal_sync_seconds_sum 1.0\n".to_owned(),
            metrics: "warren_journal_sync_seconds_count 14\nwarren_journal_sync_seconds_sum 1.2\n".to_owned(),
            log: vec![
                "2026-11-26T10:00:00Z  INFO all is well".to_owned(),
                "2026-11-26T10:00:01Z ERROR not all".to_owned(),
            ],
            busy_processors: Some(0.5),
        });
        assert_eq!(facts.cluster_troubles, [(true, "rabbit@b is gone.".to_owned()), (false, "late".to_owned())]);
        let orders = &facts.queues[0];
        assert_eq!((orders.before, orders.messages, orders.unacked, orders.is_single_active), (100, 140, 1, true));
        assert_eq!((orders.published_per_s, orders.acked_per_s, orders.came_round_per_s), (30.5, 25.0, 100.0));
        assert_eq!(orders.consumers, [Consumer { prefetch: 1, acks: true }]);
        assert_eq!(facts.queues[1].dead_letters_of, ["orders"]);
        assert_eq!(facts.queues[2].dead_letters_of, ["dead"]);
        let syncs = facts.syncs.unwrap();
        assert!(syncs.count == 4.0 && (syncs.mean_ms - 50.0).abs() < 1e-6, "{syncs:?}");
        assert_eq!(
            (facts.blocked_count, facts.slowed_count, facts.disk_alarm, facts.memory_alarm),
            (1, 1, true, false)
        );
        assert_eq!((facts.error_count, facts.lost_message_count, facts.connections_opened_per_s), (1, 2, 3.0));
        let slow = facts.slow_requests.unwrap();
        let waits = vec![Wait { kind: "lock".to_owned(), holder: "a::b".to_owned(), ms: 300.0 }];
        let request = |request: &str, at: &str, ms, waits| SlowRequest {
            request: request.to_owned(),
            at: at.to_owned(),
            ms,
            waits,
        };
        let expected = [
            request("GET /api/queues", "13:14:34", 312.0005, waits),
            request("queue.declare (orders)", "13:14:35", 1.5, Vec::new()),
        ];
        assert!(slow.has_recorder && slow.all == expected, "{slow:?}");
        assert_eq!(facts.last_error.as_deref(), Some("2026-11-26T10:00:01Z ERROR not all"));
    }

    #[test]
    fn answers_that_are_missing_are_no_facts() {
        assert_eq!(facts(&Gathered::default()), Facts::default());
    }
}
