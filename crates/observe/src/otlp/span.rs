//! Spans, and how OTLP writes them as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::trace::Trace;
use crate::message_traces::{Message, More, Record};

/// Which part of a message's way a span is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Publish,
    Route,
    Enqueue,
    Commit,
    Delay,
    Deliver,
    Ack,
    Requeue,
    Expire,
    Drop,
    DeadLetter,
}

impl Stage {
    pub(super) fn name(self) -> &'static str {
        match self {
            Stage::Publish => "publish",
            Stage::Route => "route",
            Stage::Enqueue => "enqueue",
            Stage::Commit => "commit",
            Stage::Delay => "delay",
            Stage::Deliver => "deliver",
            Stage::Ack => "ack",
            Stage::Requeue => "requeue",
            Stage::Expire => "expire",
            Stage::Drop => "drop",
            Stage::DeadLetter => "dead_letter",
        }
    }

    /// By the semantic conventions, where they have one.
    fn operation(self) -> Option<&'static str> {
        match self {
            Stage::Publish => Some("send"),
            Stage::Deliver => Some("receive"),
            Stage::Ack | Stage::Requeue => Some("settle"),
            _ => None,
        }
    }

    /// OTLP's number: what a client has asked for is a server's, the rest is internal.
    fn kind(self) -> u8 {
        if matches!(self, Stage::Publish) { 2 } else { 1 }
    }
}

/// A span.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Span {
    pub(super) stage: Stage,
    pub(super) trace: Trace,
    pub(super) id: [u8; 8],
    pub(super) parent_id: [u8; 8],
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    pub(super) is_error: bool,
    attributes: Vec<(&'static str, Value)>,
}

impl Span {
    /// A part of a message's way.
    pub(super) fn new(stage: Stage, trace: &Trace, id: [u8; 8], parent_id: [u8; 8], times: (u64, u64)) -> Self {
        let (start_ns, end_ns) = (times.0.min(times.1), times.1);
        Span { stage, trace: trace.clone(), id, parent_id, start_ns, end_ns, is_error: false, attributes: Vec::new() }
    }

    /// With what the semantic conventions for messaging say of a message.
    pub(super) fn with(mut self, record: &Record) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        self.put("messaging.system", json!("rabbitmq"));
        self.put("messaging.operation.name", json!(self.stage.name()));
        if let Some(operation) = self.stage.operation() {
            self.put("messaging.operation.type", json!(operation));
        }
        if let Some(message) = &record.message {
            let key = message.routing_keys.first().map(|key| text(key)).unwrap_or_default();
            self.put("messaging.destination.name", json!(destination(message, &key, record.queue.as_deref())));
            self.put("messaging.rabbitmq.destination.routing_key", json!(key));
            self.put("messaging.message.body.size", json!(message.body_len));
            let properties = message.properties();
            for (name, value) in [
                ("messaging.message.id", properties.message_id),
                ("messaging.message.conversation_id", properties.correlation_id),
            ] {
                if let Some(value) = value {
                    self.put(name, json!(text(value)));
                }
            }
        }
        self.put("warren.vhost", json!(record.vhost));
        if let Some((connection, user)) = &record.client {
            self.put("user.name", json!(user));
            self.put("warren.connection", json!(connection));
        }
        if let Some(client) = client_address(record) {
            self.put("client.address", json!(client));
        }
        if let Some(client) = &record.on_behalf_of {
            self.put("warren.on_behalf_of", json!(client));
        }
        if let More::Reason(reason) = record.more {
            self.put("warren.reason", json!(reason));
        }
        if let Some(queues) = &record.routed_queues {
            let queues: Vec<String> = queues.iter().map(|queue| text(queue)).collect();
            self.put("warren.routed_queues", json!(queues));
        }
        if let Some(is_redelivered) = record.is_redelivered {
            self.put("warren.redelivered", json!(is_redelivered));
        }
        self
    }

    fn put(&mut self, name: &'static str, value: Value) {
        self.attributes.push((name, value));
    }

    fn to_json(&self) -> Value {
        let mut span = json!({
            "traceId": hex(&self.trace.parent.trace_id),
            "spanId": hex(&self.id),
            "parentSpanId": hex(&self.parent_id),
            "name": self.stage.name(),
            "kind": self.stage.kind(),
            "startTimeUnixNano": self.start_ns.to_string(),
            "endTimeUnixNano": self.end_ns.to_string(),
            "attributes": self.attributes.iter().map(|(name, value)| attribute(name, value)).collect::<Vec<_>>(),
        });
        if let Some(state) = &self.trace.state {
            span["traceState"] = json!(&**state);
        }
        if self.is_error {
            span["status"] = json!({"code": 2});
        }
        span
    }
}

/// The address of the client itself: behind a proxy that of the proxy's client.
fn client_address(record: &Record) -> Option<&str> {
    let connection = record.client.as_ref().map(|(connection, _)| connection.as_str());
    let peer = record.on_behalf_of.as_deref().or(connection)?.split(' ').next()?;
    let (address, _port) = peer.rsplit_once(':')?;
    Some(address.trim_start_matches('[').trim_end_matches(']'))
}

/// As the conventions name what RabbitMQ has: exchange, routing key and, for a receiver, the queue, without what is empty.
fn destination(message: &Message, key: &str, queue: Option<&str>) -> String {
    let exchange = String::from_utf8_lossy(&message.exchange);
    let mut parts = vec![&*exchange, key];
    // The default exchange's routing key is the queue.
    parts.extend(queue.filter(|queue| *queue != key));
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { "amq.default".to_owned() } else { parts.join(":") }
}

/// Numbers of 64 bits are texts in OTLP's JSON.
fn attribute(name: &str, value: &Value) -> Value {
    json!({"key": name, "value": any(value)})
}

fn any(value: &Value) -> Value {
    match value {
        Value::Bool(is) => json!({"boolValue": is}),
        Value::Number(number) => json!({"intValue": number.to_string()}),
        Value::Array(values) => json!({"arrayValue": {"values": values.iter().map(any).collect::<Vec<_>>()}}),
        Value::String(text) => json!({"stringValue": text}),
        other => json!({"stringValue": other.to_string()}),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Into a text nothing fails.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A request with these spans (ExportTraceServiceRequest).
pub(super) fn request(spans: &[Span], node: &str, version: &str) -> Vec<u8> {
    let resource =
        [("service.name", json!("warren")), ("service.version", json!(version)), ("service.instance.id", json!(node))];
    let resource: Vec<Value> = resource.iter().map(|(name, value)| attribute(name, value)).collect();
    let spans: Vec<Value> = spans.iter().map(Span::to_json).collect();
    let scope = json!({"name": "warren", "version": version});
    json!({"resourceSpans": [{"resource": {"attributes": resource}, "scopeSpans": [{"scope": scope, "spans": spans}]}]})
        .to_string()
        .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::super::traceparent::TraceParent;
    use super::*;
    use crate::message_traces::tests::record;

    #[test]
    fn spans_are_written_as_otlp_has_them() {
        let parent = TraceParent { trace_id: [0x4b; 16], parent_id: [2; 8], is_sampled: true };
        let trace = Trace { parent, state: Some("vendor=1".into()) };
        let span = Span::new(Stage::Publish, &trace, [1; 8], [2; 8], (5, 7)).with(&record(b"hello"));
        let request: Value = serde_json::from_slice(&request(&[span], "warren@h", "1.0")).unwrap();
        let of_resource = &request["resourceSpans"][0];
        assert_eq!(
            of_resource["resource"]["attributes"][0],
            json!({"key": "service.name", "value": {"stringValue": "warren"}})
        );
        let span = &of_resource["scopeSpans"][0]["spans"][0];
        assert_eq!(span["traceId"], json!("4b".repeat(16)));
        assert_eq!(span["traceState"], json!("vendor=1"));
        assert_eq!((&span["spanId"], &span["parentSpanId"]), (&json!("01".repeat(8)), &json!("02".repeat(8))));
        assert_eq!(
            (&span["startTimeUnixNano"], &span["endTimeUnixNano"], &span["kind"]),
            (&json!("5"), &json!("7"), &json!(2))
        );
        let attributes = span["attributes"].as_array().unwrap();
        let value = |name: &str| {
            attributes
                .iter()
                .find(|attribute| attribute["key"] == json!(name))
                .map(|attribute| attribute["value"].clone())
        };
        assert_eq!(value("messaging.destination.name"), Some(json!({"stringValue": "amq.topic:a.b"})));
        assert_eq!(value("messaging.message.body.size"), Some(json!({"intValue": "5"})));
        assert_eq!(value("messaging.operation.type"), Some(json!({"stringValue": "send"})));
        assert_eq!(value("client.address"), Some(json!({"stringValue": "1.2.3.4"})));
    }

    #[test]
    fn a_client_behind_a_proxy_has_its_own_address() {
        let mut record = record(b"");
        record.on_behalf_of = Some("[2001:db8::7]:4711 (shop)".to_owned());
        assert_eq!(client_address(&record), Some("2001:db8::7"));
        (record.on_behalf_of, record.client) = (None, None);
        assert_eq!(client_address(&record), None);
    }

    #[test]
    fn a_destination_leaves_out_what_is_empty() {
        let mut record = record(b"");
        let message = record.message.as_mut().unwrap();
        assert_eq!(destination(message, "a.b", Some("q")), "amq.topic:a.b:q");
        message.exchange.clear();
        assert_eq!(destination(message, "q", Some("q")), "q");
        assert_eq!(destination(message, "", None), "amq.default");
    }
}
