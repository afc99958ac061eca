//! Events of changes, on the exchange of events.

use amqp::content::Properties;
use amqp::method::{basic, exchange, queue};
use amqp::table::{Table, Value};

use super::operators::{block_on, connect, exchange_name, guest, lasting, node_with, permit, queue_name};
use crate::binding_request::{BindingEnd, BindingRequest};
use crate::vhost_access::{AckMode, GetRequest};

#[test]
fn events_go_to_whoever_has_bound_a_queue() {
    let node = node_with(".*", ".*", ".*");
    let access = guest(&node);
    let (name, source) = (queue_name("events"), exchange_name("amq.rabbitmq.event"));
    access.declare_queue(&lasting(&name)).unwrap();
    let destination = BindingEnd::Queue(&name);
    for routing_key in [&b"queue.*"[..], b"permission.#", b"connection.created"] {
        let binding = BindingRequest { source: &source, destination, routing_key, arguments: Table::EMPTY };
        access.bind(&binding).unwrap();
    }
    // So that no client has to wait for the mark of what is handed out.
    let mut client = node.connect();
    client.consume(1, "events", "c", true);
    client.send(1, &basic::Cancel { consumer_tag: b"c", no_wait: true });
    node.sync();
    client.hear();
    access.declare_queue(&lasting(&queue_name("other"))).unwrap();
    access.purge_queue(&queue_name("other")).unwrap();
    let _connected = connect(&node);
    permit(&node, "", "", "");
    node.sync();
    let get = GetRequest { queue: &name, count: 10, ack_mode: AckMode::AckRemove, body_len_max: None };
    let (messages, _) = block_on(access.get(&get)).unwrap();
    let text = |value: Option<Value<'_>>| value.and_then(|value| value.as_str().map(str::to_owned));
    let events: Vec<_> = messages
        .iter()
        .map(|message| {
            let headers = Properties::decode(&message.properties).unwrap().headers.unwrap();
            let who = text(headers.get("user_who_performed_action")).unwrap();
            assert!(headers.get("timestamp_in_ms").is_some() && message.body.is_empty());
            (String::from_utf8(message.routing_key.clone()).unwrap(), text(headers.get("name")), who)
        })
        .collect();
    let event = |key: &str, name: Option<&str>, who: &str| (key.to_owned(), name.map(str::to_owned), who.to_owned());
    let expected = [
        event("queue.created", Some("other"), "guest"),
        event("queue.purged", Some("other"), "guest"),
        event("connection.created", Some("127.0.0.1:40000 -> 127.0.0.1:5672"), "ann"),
        event("permission.created", None, "local-operator"),
    ];
    assert_eq!(events, expected);
}

#[test]
fn what_goes_with_something_else_or_by_itself_is_told_too() {
    let node = node_with(".*", ".*", ".*");
    let access = guest(&node);
    let (name, source) = (queue_name("events"), exchange_name("amq.rabbitmq.event"));
    access.declare_queue(&lasting(&name)).unwrap();
    let destination = BindingEnd::Queue(&name);
    let binding = BindingRequest { source: &source, destination, routing_key: b"*.deleted", arguments: Table::EMPTY };
    access.bind(&binding).unwrap();
    let mut client = connect(&node);
    // So that no client has to wait for the mark of what is handed out.
    client.consume(1, "events", "c", true);
    client.send(1, &basic::Cancel { consumer_tag: b"c", no_wait: true });
    node.sync();
    client.hear();
    for (exchange, auto_delete) in [(&b"by-queue"[..], true), (b"deleted", false), (b"by-unbind", true)] {
        let kind = b"fanout";
        client.send(1, &exchange::Declare { exchange, kind, durable: true, auto_delete, ..Default::default() });
    }
    for (queue, auto_delete) in [(&b"auto"[..], true), (b"asked", false), (b"kept", false)] {
        client.send(1, &queue::Declare { queue, durable: true, auto_delete, ..Default::default() });
    }
    for (exchange, queue) in
        [(&b"by-queue"[..], &b"auto"[..]), (b"amq.fanout", b"asked"), (b"deleted", b"kept"), (b"by-unbind", b"kept")]
    {
        client.send(1, &queue::Bind { queue, exchange, routing_key: b"k", ..Default::default() });
    }
    client.consume(1, "auto", "last", true);
    client.send(1, &basic::Cancel { consumer_tag: b"last", no_wait: true });
    client.send(1, &queue::Delete { queue: b"asked", no_wait: true, ..Default::default() });
    client.send(1, &exchange::Delete { exchange: b"deleted", no_wait: true, ..Default::default() });
    let (queue, exchange, routing_key) = (&b"kept"[..], &b"by-unbind"[..], &b"k"[..]);
    client.send(1, &queue::Unbind { queue, exchange, routing_key, ..Default::default() });
    client.send(1, &queue::Declare { queue: b"own", exclusive: true, auto_delete: true, ..Default::default() });
    client.consume(1, "own", "own", true);
    client.send(1, &amqp::method::channel::Close::default());
    node.sync();
    client.hear();
    let get = GetRequest { queue: &name, count: 20, ack_mode: AckMode::AckRemove, body_len_max: None };
    let (messages, _) = block_on(access.get(&get)).unwrap();
    let described = |message: &crate::vhost_access::GotMessage| {
        let headers = Properties::decode(&message.properties).unwrap().headers.unwrap();
        let text = |name| headers.get(name).and_then(|value| value.as_str().map(str::to_owned));
        let about = text("name").or_else(|| Some(format!("{}-{}", text("source_name")?, text("destination_name")?)));
        let (what, who) = (String::from_utf8_lossy(&message.routing_key), text("user_who_performed_action"));
        format!("{what} {} {}", about.unwrap_or_default(), who.unwrap())
    };
    let events: Vec<String> = messages.iter().map(described).filter(|event| !event.starts_with("consumer")).collect();
    let expected = [
        "exchange.deleted by-queue rmq-internal",
        "binding.deleted by-queue-auto rmq-internal",
        "queue.deleted auto rmq-internal",
        "binding.deleted amq.fanout-asked rmq-internal",
        "queue.deleted asked ann",
        "exchange.deleted deleted ann",
        "binding.deleted deleted-kept ann",
        "exchange.deleted by-unbind ann",
        "binding.deleted by-unbind-kept ann",
        "queue.deleted own rmq-internal",
    ];
    assert_eq!(events, expected);
}
