//! How records are written: as rabbitmq_tracing does, as text or JSON, and as Warren's own JSON.

use std::time::{Duration, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use broker::tap::Kind;
use serde_json::{Map, Value, json};

use super::erlang;
use super::record::{Message, More, Record};

/// A format of trace files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// RabbitMQ's, for people.
    Text,
    /// RabbitMQ's, an object a line.
    Json,
    /// Warren's, an object a line, which has everything that happens.
    Events,
}

/// Where the values begin in RabbitMQ's text.
const COLUMN: usize = 14;

impl Format {
    /// The format of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "text" => Some(Format::Text),
            "json" => Some(Format::Json),
            "events" => Some(Format::Events),
            _ => None,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Json => "json",
            Format::Events => "events",
        }
    }

    /// Appends a record; nothing where it has no place in the format.
    pub fn write(self, record: &Record, node: &str, out: &mut Vec<u8>) {
        match self {
            Format::Text => write_text(record, node, out),
            Format::Json => write_json(record, node, out),
            Format::Events => write_event(record, out),
        }
    }

    /// Appends a word to the reader: so many were not written.
    pub fn write_missed(self, count: u64, out: &mut Vec<u8>) {
        match self {
            Format::Text => {
                out.extend_from_slice(format!("\n{count} messages were not traced: too many at once\n").as_bytes())
            }
            Format::Json | Format::Events => {
                out.extend_from_slice(format!("{}\n", json!({"event": "missed", "missed": count})).as_bytes())
            }
        }
    }
}

/// The name that rabbitmq_tracing has for it.
fn type_of(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Published => Some("published"),
        Kind::Delivered | Kind::Got => Some("received"),
        _ => None,
    }
}

/// As RabbitMQ writes times.
fn timestamp(at_ns: u64) -> String {
    let at = UNIX_EPOCH + Duration::from_millis(at_ns / 1_000_000);
    humantime::format_rfc3339_millis(at).to_string().replace('Z', "+00:00")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn texts(all: &[Vec<u8>]) -> Vec<String> {
    all.iter().map(|bytes| text(bytes)).collect()
}

fn write_text(record: &Record, node: &str, out: &mut Vec<u8>) {
    let (Some(kind), Some(message)) = (type_of(record.kind), &record.message) else { return };
    let (connection, user) = client_of(record);
    let properties = broker::shown_properties(&message.properties());
    let keys = erlang::binaries(message.routing_keys.iter().map(|key| &key[..]), COLUMN);
    let rule = "=".repeat(80);
    let mut head = format!(
        "\n{rule}\n{}: Message {kind}\n\nNode:         {node}\nConnection:   {connection}\n\
         Virtual host: {}\nUser:         {user}\nChannel:      {}\nExchange:     {}\nRouting keys: {keys}\n",
        timestamp(record.at_ns),
        record.vhost,
        record.channel,
        text(&message.exchange),
    );
    if let Some(queue) = &record.queue {
        head.push_str(&format!("Queue:        {queue}\n"));
    }
    if let Some(routed) = record.routed_queues_as_rabbitmq() {
        let routed = erlang::binaries(routed.iter().map(|queue| &queue[..]), COLUMN + 1);
        head.push_str(&format!("Routed queues: {routed}\n"));
    }
    let properties = erlang::table(properties.as_table(), COLUMN);
    head.push_str(&format!("Properties:   {properties}\nPayload: \n"));
    out.extend_from_slice(head.as_bytes());
    match std::str::from_utf8(&message.body) {
        Ok(body) => out.extend_from_slice(body.as_bytes()),
        // What is no text is taken for Latin-1, as by Erlang.
        Err(_) => message.body.iter().for_each(|byte| {
            out.extend_from_slice(char::from(*byte).encode_utf8(&mut [0; 2]).as_bytes());
        }),
    }
    out.push(b'\n');
}

fn write_json(record: &Record, node: &str, out: &mut Vec<u8>) {
    let (Some(kind), Some(message)) = (type_of(record.kind), &record.message) else { return };
    let (connection, user) = client_of(record);
    let properties = broker::shown_properties(&message.properties());
    let line = json!({
        "timestamp": timestamp(record.at_ns),
        "type": kind,
        "node": node,
        "connection": connection,
        "vhost": record.vhost,
        "user": user,
        "channel": record.channel,
        "exchange": text(&message.exchange),
        "queue": record.queue.as_deref().unwrap_or("none"),
        "routed_queues": record.routed_queues_as_rabbitmq().map_or(json!("none"), |queues| json!(texts(&queues))),
        "routing_keys": texts(&message.routing_keys),
        "properties": model::json::show_table(properties.as_table()),
        "payload": STANDARD.encode(&message.body),
    });
    out.extend_from_slice(format!("{line}\n").as_bytes());
}

fn client_of(record: &Record) -> (&str, &str) {
    record.client.as_ref().map_or(("", ""), |(connection, user)| (connection, user))
}

fn write_event(record: &Record, out: &mut Vec<u8>) {
    let line = Value::Object(event(record));
    out.extend_from_slice(format!("{line}\n").as_bytes());
}

/// A record as Warren's own traces have it.
#[must_use]
pub fn event(record: &Record) -> Map<String, Value> {
    let mut members = Map::new();
    let mut put = |name: &str, value: Value| drop(members.insert(name.to_owned(), value));
    put("at", json!(humantime::format_rfc3339_micros(UNIX_EPOCH + Duration::from_nanos(record.at_ns)).to_string()));
    put("event", json!(record.kind.name()));
    put("vhost", json!(record.vhost));
    if let Some((connection, user)) = &record.client {
        put("connection", json!(connection));
        put("user", json!(user));
    }
    if let Some(client) = &record.on_behalf_of {
        put("on_behalf_of", json!(client));
    }
    if record.channel > 0 {
        put("channel", json!(record.channel));
    }
    if let Some(queue) = &record.queue {
        put("queue", json!(queue));
    }
    if let Some(seq) = record.seq {
        put("position", json!(seq));
    }
    if let Some(routed) = &record.routed_queues {
        put("routed_queues", json!(texts(routed)));
    }
    if let Some(is_redelivered) = record.is_redelivered {
        put("redelivered", json!(is_redelivered));
    }
    match &record.more {
        More::Nothing => {}
        More::Consumer(tag) => put("consumer_tag", json!(text(tag))),
        More::Reason(reason) => put("reason", json!(reason)),
        More::IsRefused(is_refused) => put("refused", json!(is_refused)),
        More::Count(count) => put("messages", json!(count)),
        More::Delay(exchange, due_ms) => {
            put("delayed_at", json!(text(exchange)));
            if let Some(due_ms) = due_ms {
                let due = UNIX_EPOCH + Duration::from_millis(*due_ms);
                put("due_at", json!(humantime::format_rfc3339_millis(due).to_string()));
            }
        }
    }
    if let Some(message) = &record.message {
        write_message(message, &mut put);
    }
    members
}

fn write_message(message: &Message, put: &mut impl FnMut(&str, Value)) {
    let properties = broker::shown_properties(&message.properties());
    put("exchange", json!(text(&message.exchange)));
    put("routing_keys", json!(texts(&message.routing_keys)));
    put("properties", Value::Object(model::json::from_table(properties.as_table())));
    put("body_bytes", json!(message.body_len));
    if message.body.is_empty() {
        return;
    }
    match std::str::from_utf8(&message.body) {
        Ok(body) => put("body", json!(body)),
        Err(_) => put("body_base64", json!(STANDARD.encode(&message.body))),
    }
    if (message.body.len() as u64) < message.body_len {
        put("body_is_cut", json!(true));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message_traces::tests::record;

    fn written(format: Format, record: &Record) -> String {
        let mut out = Vec::new();
        format.write(record, "rabbit@host", &mut out);
        String::from_utf8(out).unwrap()
    }

    /// As a RabbitMQ 4.3.6 wrote it.
    #[test]
    fn text_is_rabbitmqs() {
        let expected = "\n================================================================================\n\
            1970-01-01T00:00:00.001+00:00: Message published\n\n\
            Node:         rabbit@host\nConnection:   1.2.3.4:5 -> 1.2.3.4:5672\nVirtual host: /\n\
            User:         guest\nChannel:      1\nExchange:     amq.topic\nRouting keys: [<<\"a.b\">>]\n\
            Routed queues: [<<\"q2\">>,<<\"q1\">>]\nProperties:   []\nPayload: \n\0\u{ff}\n";
        assert_eq!(written(Format::Text, &record(b"\x00\xff")), expected);
        let mut received = record(b"m");
        (received.kind, received.queue, received.routed_queues) = (Kind::Got, Some("q1".into()), None);
        let written = written(Format::Text, &received);
        assert!(written.contains(": Message received\n"), "{written}");
        assert!(written.contains("Routing keys: [<<\"a.b\">>]\nQueue:        q1\nProperties:   []\n"), "{written}");
    }

    #[test]
    fn json_is_rabbitmqs() {
        let line: Value = serde_json::from_str(&written(Format::Json, &record(b"hello"))).unwrap();
        let expected = json!({
            "timestamp": "1970-01-01T00:00:00.001+00:00", "type": "published", "node": "rabbit@host",
            "connection": "1.2.3.4:5 -> 1.2.3.4:5672", "vhost": "/", "user": "guest", "channel": 1,
            "exchange": "amq.topic", "queue": "none", "routed_queues": ["q2", "q1"], "routing_keys": ["a.b"],
            "properties": {}, "payload": "aGVsbG8=",
        });
        assert_eq!(line, expected);
    }

    #[test]
    fn only_events_have_what_rabbitmq_does_not_trace() {
        let mut acked = record(b"hello");
        acked.kind = Kind::Acked;
        assert_eq!(written(Format::Json, &acked), "");
        assert_eq!(written(Format::Text, &acked), "");
        let line: Value = serde_json::from_str(&written(Format::Events, &acked)).unwrap();
        assert_eq!((&line["event"], &line["body"]), (&json!("acked"), &json!("hello")));
    }
}
