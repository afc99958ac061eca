//! From the API's answers to facts. Two looks, some seconds apart, and lengths of queues between them.

use std::collections::HashMap;

use serde_json::Value;

use super::dead_letters::DeadLetterWays;
use super::facts::{
    Client, Consumer, Facts, Mean, Node, Processors, Queue, Rates, Share, SlowRequest, SlowRequests, Wait,
};
use super::lengths::Lengths;

/// Answers of the API to what changes. What could not be had is null.
#[derive(Debug, Default)]
pub(super) struct Look {
    pub(super) overview: Value,
    pub(super) queues: Value,
    pub(super) connections: Value,
    pub(super) channels: Value,
    pub(super) pressure: Value,
}

/// Answers of the API. What could not be had is null.
#[derive(Debug, Default)]
pub(super) struct Samples {
    pub(super) seconds: f64,
    pub(super) first: Look,
    pub(super) last: Look,
    /// Queues with their lengths, look by look: those with the most messages.
    pub(super) lengths: Vec<Value>,
    pub(super) nodes: Value,
    pub(super) memory: Value,
    pub(super) consumers: Value,
    pub(super) bindings: Value,
    /// Queues that lose messages, with their publishers.
    pub(super) losing: Vec<Value>,
    pub(super) losses: Value,
    pub(super) cluster: Value,
    pub(super) slow_requests: Value,
    pub(super) log_before: Vec<String>,
    pub(super) log: Vec<String>,
}

/// The vhost and the name of a queue.
pub(super) type Place<'a> = (&'a str, &'a str);

/// What the kinds of memory are, as far as an operator can do something about them.
const MEMORY_OWNERS: &[(&str, &[&str])] = &[
    ("bodies of messages", &["binary"]),
    ("queues", &["queue_procs", "quorum_queue_procs", "quorum_queue_dlx_procs", "quorum_ets"]),
    ("connections", &["connection_readers", "connection_writers", "connection_channels", "connection_other"]),
    ("what is known of messages on disk", &["msg_index"]),
    ("definitions", &["metadata_store", "metadata_store_ets", "mnesia"]),
    ("statistics", &["metrics", "mgmt_db"]),
    ("plugins", &["plugins"]),
    ("the program", &["code"]),
    ("all else", &["other_proc", "other_ets", "other_system", "atom", "allocated_unused", "reserved_unallocated"]),
];

/// The facts that answers have.
pub(super) fn facts(samples: &Samples) -> Facts {
    let Look { overview, pressure, .. } = &samples.last;
    let errors: Vec<&String> = samples.log.iter().filter(|line| is_error(line)).collect();
    let node = text(overview, "node");
    let clients = clients(samples);
    Facts {
        node: node.to_owned(),
        version: text(overview, "product_version").to_owned(),
        seconds: samples.seconds,
        cluster_troubles: list(&samples.cluster["troubles"])
            .map(|trouble| (text(trouble, "severity") == "problem", text(trouble, "text").to_owned()))
            .collect(),
        nodes: nodes(&samples.nodes, node),
        memory_owners: memory_owners(&samples.memory["memory"]),
        syncs: syncs(samples),
        processors: processors(samples),
        processor_count: list(&samples.nodes)
            .find(|of| text(of, "name") == node)
            .map_or(0, |node| count(node, "processors")),
        rates: Rates {
            connections_opened: samples.grown(|look| count(&look.overview["churn_rates"], "connection_created")),
            channels_opened: samples.grown(|look| count(&look.overview["churn_rates"], "channel_created")),
            queues_declared: samples.grown(|look| count(&look.overview["churn_rates"], "queue_declared")),
            connections_refused: samples.grown(|look| count(&look.pressure, "connections_refused")),
            connections_failed: samples.grown(|look| count(&look.pressure, "connections_failed")),
            channels_failed: samples.grown(|look| count(&look.pressure, "channels_failed")),
            logins_failed: samples.grown(|look| count(&look.pressure, "logins_failed")),
        },
        lost_message_count: count(&samples.losses, "lost_messages"),
        error_count: errors.len(),
        last_error: errors.last().map(|line| (*line).clone()),
        refusals: if pressure.is_null() { Vec::new() } else { refusals(samples) },
        queues: queues(samples, &clients),
        clients: clients.into_values().collect(),
        slow_requests: slow_requests(&samples.slow_requests),
    }
}

impl Samples {
    /// Whether the broker counts what happens to messages.
    fn has_counts(&self) -> bool {
        let mode = text(&self.last.overview, "rates_mode");
        !mode.is_empty() && mode != "none"
    }

    /// A second, of a number that only grows; none if it has begun anew.
    fn grown(&self, number: impl Fn(&Look) -> u64) -> f64 {
        self.per_s(number(&self.first), number(&self.last))
    }

    fn per_s(&self, before: u64, now: u64) -> f64 {
        now.saturating_sub(before) as f64 / self.seconds.max(0.001)
    }
}

/// The limits of each node, that of `own` first. Only those that run have any.
fn nodes(answer: &Value, own: &str) -> Vec<Node> {
    let of = |node: &Value| Node {
        name: text(node, "name").to_owned(),
        memory: Share { used: count(node, "mem_used"), limit: count(node, "mem_limit") },
        memory_alarm: node["mem_alarm"] == true,
        disk_free_len: count(node, "disk_free"),
        disk_limit_len: count(node, "disk_free_limit"),
        disk_alarm: node["disk_free_alarm"] == true,
        files: Share { used: count(node, "fd_used"), limit: count(node, "fd_total") },
    };
    let mut nodes: Vec<Node> = list(answer).filter(|node| node["running"] != false).map(of).collect();
    nodes.sort_by_key(|node| node.name != own);
    nodes
}

/// What memory is used for, most first.
fn memory_owners(memory: &Value) -> Vec<(String, u64)> {
    let sum = |kinds: &[&str]| kinds.iter().map(|kind| count(memory, kind)).sum::<u64>();
    let mut owners: Vec<(String, u64)> = MEMORY_OWNERS
        .iter()
        .map(|(name, kinds)| ((*name).to_owned(), sum(kinds)))
        .filter(|(_, len)| *len > 0)
        .collect();
    owners.sort_by_key(|(_, len)| std::cmp::Reverse(*len));
    owners
}

fn processors(samples: &Samples) -> Option<Processors> {
    let is_known = samples.first.pressure["processors"].is_object() && samples.last.pressure["processors"].is_object();
    let grown = |name: &str| samples.grown(|look| count(&look.pressure["processors"], name)) / 1e6;
    is_known.then(|| Processors {
        used: grown("used_us"),
        waited: grown("waited_us"),
        throttled: grown("throttled_us"),
        stolen: grown("stolen_us"),
    })
}

/// Those between the looks.
fn syncs(samples: &Samples) -> Option<Mean> {
    let between = |name: &str| {
        let of = |look: &Look| count(&look.pressure["syncs"], name);
        of(&samples.last).saturating_sub(of(&samples.first)) as f64
    };
    let (count, total_us) = (between("count"), between("total_us"));
    (count > 0.0).then(|| Mean { count, mean_ms: total_us / count / 1e3 })
}

/// What the log says of errors of clients that came between the looks.
fn refusals(samples: &Samples) -> Vec<String> {
    let last_before = samples.log_before.last();
    let from =
        last_before.and_then(|last| samples.log.iter().rposition(|line| line == last)).map_or(0, |place| place + 1);
    let is_refusal = |line: &&String| line.contains("was closed by an error") || line.contains("login was refused");
    samples.log[from..].iter().filter(is_refusal).cloned().collect()
}

/// Connections by their names.
fn clients(samples: &Samples) -> HashMap<String, Client> {
    let unread = |look: &Look| -> HashMap<String, u64> {
        list(&look.connections)
            .map(|connection| (text(connection, "name").to_owned(), count(connection, "send_pend")))
            .collect()
    };
    let unread_before = unread(&samples.first);
    let mut clients: HashMap<String, Client> = HashMap::new();
    for connection in list(&samples.last.connections) {
        let name = text(connection, "name");
        let unread_before = unread_before.get(name).copied().unwrap_or(0);
        let client = Client {
            name: match text(connection, "user_provided_name") {
                "" => name.to_owned(),
                own => format!("{own} ({})", name.split(' ').next().unwrap_or(name)),
            },
            state: text(connection, "state").to_owned(),
            round_trip_ms: connection["network"]["round_trip_min_us"].as_f64().map(|us| us / 1e3),
            unread_len: count(connection, "send_pend").min(unread_before),
            channel_count: count(connection, "channels"),
            ..Client::default()
        };
        clients.insert(name.to_owned(), client);
    }
    let before: HashMap<&str, &Value> =
        list(&samples.first.channels).map(|channel| (text(channel, "name"), channel)).collect();
    for channel in list(&samples.last.channels) {
        let connection = text(&channel["connection_details"], "name");
        let Some(client) = clients.get_mut(connection) else { continue };
        let before = before.get(text(channel, "name")).copied().unwrap_or(&Value::Null);
        add_channel(client, samples, before, channel);
    }
    clients
}

fn add_channel(client: &mut Client, samples: &Samples, before: &Value, now: &Value) {
    let per_s = |name: &str| samples.per_s(count(&before["message_stats"], name), count(&now["message_stats"], name));
    let published_per_s = per_s("publish");
    client.published_per_s += published_per_s;
    client.unroutable_dropped_per_s += per_s("drop_unroutable");
    client.unroutable_returned_per_s += per_s("return_unroutable");
    client.got_per_s += per_s("get") + per_s("get_no_ack");
    client.got_empty_per_s += per_s("get_empty");
    let waits = now["confirm"] == true || now["transactional"] == true;
    if waits && published_per_s > client.confirmed_per_s {
        client.confirmed_per_s = published_per_s;
        let open = |channel: &Value| count(channel, "messages_unconfirmed") + count(channel, "messages_uncommitted");
        client.unconfirmed = open(now).max(open(before));
    }
    let mut counts = now["message_stats"].as_object().into_iter().flatten().filter_map(|(_, count)| count.as_u64());
    let is_idle = samples.has_counts() && counts.all(|count| count == 0) && count(now, "consumer_count") == 0;
    client.idle_channel_count += u64::from(is_idle);
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
        reader_ms: request["reader_us"].as_f64().unwrap_or(0.0) / 1e3,
        len: count(request, "bytes"),
        waits: list(&request["waits"]).map(wait).collect(),
    };
    let all = answer["requests"].as_array()?.iter().map(request).collect();
    Some(SlowRequests { has_recorder: answer["recorder_running"] == true, all })
}

fn is_error(line: &str) -> bool {
    line.split_whitespace().take(3).any(|word| word == "ERROR")
}

/// The lengths of queues, by the queue.
fn lengths(samples: &Samples) -> HashMap<Place<'_>, Vec<u64>> {
    let mut lengths: HashMap<Place<'_>, Vec<u64>> = HashMap::new();
    let looks = [&samples.first.queues].into_iter().chain(samples.lengths.iter().map(paged));
    for (index, look) in looks.enumerate() {
        for queue in list(look) {
            let all = lengths.entry(place(queue)).or_default();
            // One that was not listed had little, or was not there.
            all.resize(index, 0);
            all.push(count(queue, "messages"));
        }
    }
    lengths
}

/// The items of a page.
fn paged(answer: &Value) -> &Value {
    if answer["items"].is_array() { &answer["items"] } else { answer }
}

fn queues(samples: &Samples, clients: &HashMap<String, Client>) -> Vec<Queue> {
    let mut consumers: HashMap<Place<'_>, Vec<Consumer>> = HashMap::new();
    for consumer in list(&samples.consumers) {
        let client = clients.get(text(&consumer["channel_details"], "connection_name"));
        let known = Consumer {
            prefetch: count(consumer, "prefetch_count"),
            acks: consumer["ack_required"] == true,
            client: client.map(|client| client.name.clone()).unwrap_or_default(),
            round_trip_ms: client.and_then(|client| client.round_trip_ms),
            unread_len: client.map_or(0, |client| client.unread_len),
        };
        let of = &consumer["queue"];
        consumers.entry((text(of, "vhost"), text(of, "name"))).or_default().push(known);
    }
    let before: HashMap<Place<'_>, &Value> = list(&samples.first.queues).map(|queue| (place(queue), queue)).collect();
    let publishers: HashMap<Place<'_>, Vec<String>> =
        samples.losing.iter().map(|queue| (place(queue), publishers(queue, clients))).collect();
    let (ways, mut lengths) = (DeadLetterWays::new(samples), lengths(samples));
    let of_queue = |queue| {
        let place = place(queue);
        let is_new = !before.contains_key(&place);
        let before = before.get(&place).copied().unwrap_or(&Value::Null);
        let per_s = |of: &dyn Fn(&Value) -> u64| samples.per_s(of(before), of(queue));
        let stat = |name: &'static str| per_s(&move |queue: &Value| count(&queue["message_stats"], name));
        let lost =
            |reason: &'static str| per_s(&move |queue: &Value| count(&queue["messages_dropped_by_reason"], reason));
        let number = |name: &'static str| per_s(&move |queue: &Value| count(queue, name));
        let messages = count(queue, "messages");
        let mut lengths = lengths.remove(&place).unwrap_or_default();
        lengths.resize(samples.lengths.len() + 1, 0);
        if is_new {
            // One that was not there has not grown.
            lengths.clear();
        }
        lengths.push(messages);
        Queue {
            vhost: place.0.to_owned(),
            name: place.1.to_owned(),
            lengths: Lengths(lengths),
            ready: count(queue, "messages_ready"),
            unacked: count(queue, "messages_unacknowledged"),
            unacked_before: count(before, "messages_unacknowledged"),
            message_bytes: count(queue, "message_bytes"),
            published_per_s: stat("publish"),
            acked_per_s: stat("ack"),
            delivered_per_s: stat("deliver_get"),
            redelivered_per_s: stat("redeliver"),
            rejected_per_s: lost("rejected"),
            expired_per_s: lost("expired"),
            over_length_per_s: lost("maxlen"),
            failed_too_often_per_s: lost("delivery_limit"),
            refused_per_s: number("messages_refused"),
            came_round_per_s: number("messages_came_round"),
            is_unused: samples.has_counts() && count(&queue["message_stats"], "publish") == 0 && messages == 0,
            dead_letters: ways.of(place),
            consumers: consumers.remove(&place).unwrap_or_default(),
            is_single_active: queue["arguments"]["x-single-active-consumer"] == true,
            dead_letters_of: ways.to(place),
            publishers: publishers.get(&place).cloned().unwrap_or_default(),
        }
    };
    list(&samples.last.queues).map(of_queue).collect()
}

/// The clients that publish into a queue, by their names.
fn publishers(queue: &Value, clients: &HashMap<String, Client>) -> Vec<String> {
    let connection = |publisher: &Value| {
        let name = text(&publisher["channel_details"], "connection_name");
        clients.get(name).map(|client| client.name.clone())
    };
    let mut names: Vec<String> = list(&queue["publishers"]).filter_map(connection).collect();
    names.sort();
    names.dedup();
    names
}

pub(super) fn list(answer: &Value) -> impl Iterator<Item = &Value> {
    answer.as_array().into_iter().flatten()
}

pub(super) fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object[name].as_str().unwrap_or_default()
}

pub(super) fn count(object: &Value, name: &str) -> u64 {
    object[name].as_u64().unwrap_or(0)
}

pub(super) fn place(queue: &Value) -> Place<'_> {
    (text(queue, "vhost"), text(queue, "name"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::facts::DeadLetters;
    use super::*;

    /// Queues at a look: `orders` has dead letters for `dead`, whose own would go to an exchange that has the queue `last`.
    fn queues(messages: u64, events: u64) -> Value {
        json!([{
            "vhost": "/", "name": "orders", "messages": messages, "messages_ready": messages - 1, "messages_unacknowledged": 1,
            "messages_came_round": events, "messages_refused": events, "message_bytes": 5,
            "messages_dropped_by_reason": {"rejected": events, "expired": 2 * events, "maxlen": 3 * events, "delivery_limit": 0},
            "arguments": {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead", "x-single-active-consumer": true},
            "message_stats": {"publish": 10 * events, "ack": 5 * events, "deliver_get": 6 * events, "redeliver": events},
        }, {
            "vhost": "/", "name": "dead", "messages": 3, "effective_policy_definition": {"dead-letter-exchange": "dlx"},
            "message_stats": {"publish": 0},
        }, {"vhost": "/", "name": "last", "messages": 0, "message_stats": {"publish": 0},
            "effective_policy_definition": {"dead-letter-exchange": "nowhere"},
        }])
    }

    fn look(messages: u64, events: u64) -> Look {
        Look {
            overview: json!({"node": "rabbit@a", "product_version": "0.1.0", "rates_mode": "basic",
                "churn_rates": {"connection_created": 2 * events}}),
            queues: queues(messages, events),
            connections: json!([{
                "name": "1.2.3.4:5 -> 6.7.8.9:10", "user_provided_name": "shop", "state": "blocked", "channels": 2,
                "send_pend": 50 + events,
                "network": {"round_trip_min_us": 40_000, "round_trip_us": 90_000},
            }]),
            channels: json!([{
                "name": "1.2.3.4:5 -> 6.7.8.9:10 (1)", "connection_details": {"name": "1.2.3.4:5 -> 6.7.8.9:10"}, "confirm": true,
                "messages_unconfirmed": 1, "message_stats": {"publish": 4 * events, "drop_unroutable": events, "get_empty": 2 * events},
            }, {
                "name": "1.2.3.4:5 -> 6.7.8.9:10 (2)", "connection_details": {"name": "1.2.3.4:5 -> 6.7.8.9:10"}, "consumer_count": 0,
                "message_stats": {"publish": 0, "publish_details": {"rate": 0.0}},
            }]),
            pressure: json!({
                "syncs": {"count": events, "total_us": events * 5_000}, "channels_failed": events, "logins_failed": 0,
                "processors": {"used_us": events * 10_000, "waited_us": events * 20_000, "throttled_us": 0, "stolen_us": 0},
            }),
        }
    }

    fn samples() -> Samples {
        let page = |messages: u64| json!({"items": [{"vhost": "/", "name": "orders", "messages": messages}]});
        Samples {
            seconds: 4.0,
            first: look(100, 100),
            last: look(140, 200),
            lengths: vec![page(110), page(130)],
            nodes: json!([
                {"name": "rabbit@b", "running": true, "mem_used": 1, "disk_free_alarm": true},
                {"name": "rabbit@c", "running": false},
                {"name": "rabbit@a", "running": true, "mem_used": 5, "mem_limit": 9, "fd_used": 1, "fd_total": 2, "disk_free": 7,
                    "disk_free_limit": 8, "mem_alarm": true, "disk_free_alarm": false, "processors": 2},
            ]),
            memory: json!({"memory": {"binary": 70, "queue_procs": 5, "quorum_queue_procs": 6, "code": 30}}),
            consumers: json!([{
                "queue": {"vhost": "/", "name": "orders"}, "prefetch_count": 1, "ack_required": true,
                "channel_details": {"connection_name": "1.2.3.4:5 -> 6.7.8.9:10"},
            }]),
            bindings: json!([
                {"vhost": "/", "source": "dlx", "destination": "last", "destination_type": "queue", "routing_key": "other"},
            ]),
            losing: vec![json!({"vhost": "/", "name": "orders", "publishers": [
                {"channel_details": {"connection_name": "1.2.3.4:5 -> 6.7.8.9:10"}}, {"channel_details": {"connection_name": "gone"}},
            ]})],
            losses: json!({"lost_messages": 2}),
            cluster: json!({"troubles": [{"severity": "problem", "text": "rabbit@b is gone."}, {"severity": "warning", "text": "late"}]}),
            slow_requests: json!({"recorder_running": true, "requests": [
                {"protocol": "http", "request": "GET /api/queues", "at": "2026-11-26T13:14:34.086Z", "duration_us": 312_000.5,
                    "waits": [{"kind": "lock", "holder": "a::b", "duration_us": 300_000.0}]},
                {"protocol": "amqp", "request": "queue.declare", "about": "orders", "at": "2026-11-26T13:14:35.086Z",
                    "duration_us": 1500.0, "waits": null},
            ]}),
            log_before: vec!["1 login was refused, long ago".to_owned()],
            log: vec![
                "1 login was refused, long ago".to_owned(),
                "2026-11-26T10:00:01Z ERROR not all".to_owned(),
                "2026-11-26T10:00:02Z  WARN a: channel was closed by an error code=404".to_owned(),
            ],
        }
    }

    #[test]
    fn looks_and_what_belongs_together_are_joined() {
        let facts = facts(&samples());
        assert_eq!(facts.cluster_troubles, [(true, "rabbit@b is gone.".to_owned()), (false, "late".to_owned())]);
        let orders = &facts.queues[0];
        assert_eq!(
            (&orders.lengths, orders.unacked, orders.is_single_active),
            (&Lengths(vec![100, 110, 130, 140]), 1, true)
        );
        assert_eq!((orders.published_per_s, orders.acked_per_s, orders.came_round_per_s), (250.0, 125.0, 25.0));
        let lost = (orders.rejected_per_s, orders.expired_per_s, orders.over_length_per_s, orders.refused_per_s);
        assert_eq!(lost, (25.0, 50.0, 75.0, 25.0));
        let shop = "shop (1.2.3.4:5)".to_owned();
        assert_eq!(orders.publishers, std::slice::from_ref(&shop));
        let consumer =
            Consumer { prefetch: 1, acks: true, client: shop.clone(), round_trip_ms: Some(40.0), unread_len: 150 };
        assert_eq!(orders.consumers, [consumer]);
        let ways: Vec<_> = facts.queues.iter().map(|queue| queue.dead_letters.clone()).collect();
        assert_eq!(ways, [DeadLetters::Kept, DeadLetters::Kept, DeadLetters::Nowhere("nowhere".to_owned())]);
        assert_eq!(facts.queues[1].dead_letters_of, ["orders"]);
        assert!(facts.queues[2].dead_letters_of.is_empty(), "nothing has died in the queue before it");
        assert_eq!(facts.queues.iter().map(|queue| queue.is_unused).collect::<Vec<_>>(), [false, false, true]);
        let client = &facts.clients[0];
        assert_eq!(
            (&client.name, client.channel_count, client.idle_channel_count, client.unread_len),
            (&shop, 2, 1, 150)
        );
        assert_eq!(
            (client.confirmed_per_s, client.unroutable_dropped_per_s, client.got_empty_per_s),
            (100.0, 25.0, 50.0)
        );
    }

    #[test]
    fn the_node_and_its_peers_are_known() {
        let facts = facts(&samples());
        assert_eq!(facts.syncs, Some(Mean { count: 100.0, mean_ms: 5.0 }));
        assert_eq!(facts.processors, Some(Processors { used: 0.25, waited: 0.5, throttled: 0.0, stolen: 0.0 }));
        let names: Vec<&str> = facts.nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["rabbit@a", "rabbit@b"], "one that does not run has no limits");
        assert!(facts.nodes[0].memory_alarm && facts.nodes[1].disk_alarm);
        let owners = [("bodies of messages", 70), ("the program", 30), ("queues", 11)];
        assert_eq!(facts.memory_owners, owners.map(|(name, len)| (name.to_owned(), len)));
        assert_eq!((facts.rates.connections_opened, facts.rates.channels_failed), (50.0, 25.0));
        assert_eq!((facts.error_count, facts.lost_message_count, facts.processor_count), (1, 2, 2));
        assert_eq!(facts.last_error.as_deref(), Some("2026-11-26T10:00:01Z ERROR not all"));
        assert_eq!(facts.refusals, ["2026-11-26T10:00:02Z  WARN a: channel was closed by an error code=404"]);
        let slow = facts.slow_requests.unwrap();
        let waits = vec![Wait { kind: "lock".to_owned(), holder: "a::b".to_owned(), ms: 300.0 }];
        let request = |request: &str, at: &str, ms, waits| SlowRequest {
            request: request.to_owned(),
            at: at.to_owned(),
            ms,
            waits,
            ..SlowRequest::default()
        };
        let expected = [
            request("GET /api/queues", "13:14:34", 312.0005, waits),
            request("queue.declare (orders)", "13:14:35", 1.5, Vec::new()),
        ];
        assert!(slow.has_recorder && slow.all == expected, "{slow:?}");
    }

    #[test]
    fn answers_that_are_missing_are_no_facts() {
        assert_eq!(facts(&Samples::default()), Facts::default());
    }
}
