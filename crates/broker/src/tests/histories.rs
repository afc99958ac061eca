//! What a recent-history exchange keeps, which queues and exchanges get it, and what a restart leaves of it.

use crate::front::Protocol as _;
use amqp::content::Properties;
use amqp::method::{channel, exchange, queue, tx};
use amqp::table::{Table, TableBuf, Value};
use model::name::ExchangeName;

use super::client::{Client, Heard, PERSISTENT, TRANSIENT};
use super::exchange_types::{assert_done, bind, bind_exchange, declare, publish_with, take_all};
use super::node::Node;
use super::operators::{guest, operator};
use crate::limits::HISTORY_LEN_MAX;
use crate::vhost_access::PublishRequest;

const KIND: &str = "x-recent-history";

fn of_length(length: i32) -> TableBuf {
    TableBuf::new().with("x-recent-history-length", Value::I32(length))
}

/// A node with the durable exchange `x` that keeps three messages, and a client.
fn prepared() -> (Node, Client) {
    let node = Node::new();
    let mut client = node.connect();
    assert_done(declare(&mut client, "x", KIND, of_length(3).as_table()));
    (node, client)
}

fn publish(client: &mut Client, bodies: &[&str]) {
    bodies.iter().for_each(|body| client.publish(1, "x", "key", TRANSIENT, body.as_bytes()));
}

/// What a queue gets that is made and bound now.
fn kept(node: &Node, client: &mut Client, exchange: &str) -> Vec<String> {
    client.send(1, &queue::Declare { exclusive: true, ..Default::default() });
    let Heard::DeclareOk { queue, .. } = client.hear_one() else { panic!("no queue was declared") };
    assert_done(bind(client, exchange, &queue, ""));
    let bodies = take_all(node, client, &queue);
    client.send(1, &queue::Delete { queue: queue.as_bytes(), ..Default::default() });
    assert!(matches!(client.hear_one(), Heard::DeleteOk(_)));
    bodies
}

#[test]
fn who_is_bound_later_gets_the_last_messages_in_their_order() {
    let (node, mut client) = prepared();
    client.declare("early");
    assert_done(bind(&mut client, "x", "early", "this key means nothing"));
    publish(&mut client, &["1", "2", "3", "4", "5"]);
    assert_eq!(take_all(&node, &mut client, "early"), ["1", "2", "3", "4", "5"]);
    client.declare("late");
    assert_done(bind(&mut client, "x", "late", "nor this"));
    publish(&mut client, &["6"]);
    assert_eq!(take_all(&node, &mut client, "late"), ["3", "4", "5", "6"]);
}

#[test]
fn each_new_binding_of_a_queue_brings_the_history_again() {
    let (node, mut client) = prepared();
    publish(&mut client, &["1"]);
    client.declare("q");
    for key in ["one", "another"] {
        assert_done(bind(&mut client, "x", "q", key));
        assert_eq!(take_all(&node, &mut client, "q"), ["1"]);
        assert_done(bind(&mut client, "x", "q", key));
        assert!(take_all(&node, &mut client, "q").is_empty(), "it is no new binding");
    }
    client.send(1, &queue::Unbind { queue: b"q", exchange: b"x", routing_key: b"one", ..Default::default() });
    client.hear();
    assert_done(bind(&mut client, "x", "q", "one"));
    assert_eq!(take_all(&node, &mut client, "q"), ["1"]);
}

#[test]
fn twenty_are_kept_unless_declared_otherwise() {
    let node = Node::new();
    let mut client = node.connect();
    assert_done(declare(&mut client, "x", KIND, Table::EMPTY));
    let bodies: Vec<_> = (0..25).map(|number| number.to_string()).collect();
    bodies.iter().for_each(|body| publish(&mut client, &[body]));
    assert_eq!(kept(&node, &mut client, "x"), bodies[5..]);
    assert_done(declare(&mut client, "x", KIND, of_length(1).as_table()));
    publish(&mut client, &["more"]);
    assert_eq!(kept(&node, &mut client, "x").len(), 20, "a second declaration changes nothing");
}

#[test]
fn what_is_not_to_be_stored_is_not() {
    let (node, mut client) = prepared();
    client.declare("q");
    assert_done(bind(&mut client, "x", "q", ""));
    for (body, value) in [("kept", Value::I32(1)), ("not kept", Value::Bool(true)), ("kept, too", Value::Bool(false))] {
        let headers = TableBuf::new().with("x-recent-history-no-store", value);
        let properties = Properties { headers: Some(headers.as_table()), ..Properties::default() };
        publish_with(&mut client, "x", "k", properties, body);
    }
    assert_eq!(kept(&node, &mut client, "x"), ["kept", "kept, too"]);
    assert_eq!(take_all(&node, &mut client, "q").len(), 3, "it is routed all the same");
}

#[test]
fn whatever_way_a_message_comes_it_is_kept() {
    let (node, mut client) = prepared();
    assert_done(bind_exchange(&mut client, "amq.fanout", "x", ""));
    client.publish(1, "amq.fanout", "", PERSISTENT, b"by an exchange");
    let alternate = TableBuf::new().with("alternate-exchange", Value::LongStr(b"x"));
    assert_done(declare(&mut client, "d", "direct", alternate.as_table()));
    client.publish(1, "d", "", TRANSIENT, b"as an alternate");
    let exchange = &ExchangeName::parse(b"x").unwrap();
    let request = PublishRequest { exchange, routing_key: b"", properties: Properties::default(), body: b"by HTTP" };
    assert_eq!(guest(&node).publish(&request).map(|published| published.is_routed), Ok(false));
    assert_eq!(kept(&node, &mut client, "x"), ["by an exchange", "as an alternate", "by HTTP"]);
    assert_done(bind_exchange(&mut client, "amq.rabbitmq.event", "x", "queue.created"));
    client.declare("made");
    let events = kept(&node, &mut client, "x");
    assert_eq!(events.len(), 3);
    assert_eq!(events[..2], ["by HTTP", ""], "an event has no body");
}

#[test]
fn what_clients_may_not_publish_is_not_kept() {
    let node = Node::new();
    let mut client = node.connect();
    let (exchange, kind) = (b"x", KIND.as_bytes());
    client.send(1, &exchange::Declare { exchange, kind, internal: true, ..Default::default() });
    assert_done(client.hear_one());
    publish(&mut client, &["refused"]);
    assert!(matches!(client.hear_one(), Heard::ChannelClose { code: 403, .. }));
    client.send(1, &channel::CloseOk);
    client.open_channel(1);
    assert!(kept(&node, &mut client, "x").is_empty());
}

#[test]
fn an_exchange_that_is_bound_routes_the_history() {
    let (node, mut client) = prepared();
    for (key, body) in [("a", "1"), ("b", "2"), ("a", "3")] {
        client.publish(1, "x", key, TRANSIENT, body.as_bytes());
    }
    client.declare("q");
    assert_done(bind(&mut client, "amq.direct", "q", "a"));
    assert_done(bind_exchange(&mut client, "x", "amq.direct", ""));
    assert_eq!(take_all(&node, &mut client, "q"), ["1", "3"], "and drops what it cannot route");
    assert_done(declare(&mut client, "y", KIND, Table::EMPTY));
    assert_done(bind_exchange(&mut client, "x", "y", ""));
    assert_eq!(kept(&node, &mut client, "y"), ["1", "2", "3"], "a history is handed on");
}

#[test]
fn properties_and_addresses_are_those_of_the_publish() {
    let (node, mut client) = prepared();
    client.declare("q");
    let headers = TableBuf::new().with("h", Value::I32(1));
    let properties = Properties { headers: Some(headers.as_table()), delivery_mode: Some(2), ..Properties::default() };
    publish_with(&mut client, "x", "the key", properties, "body");
    assert_done(bind(&mut client, "x", "q", ""));
    node.sync();
    let node = node.kill();
    assert_eq!(node.broker.queue_counts("/", "q").unwrap().ready, 1, "what was persistent is so in the queue, too");
    let mut client = node.connect();
    client.get(1, "q", true);
    node.sync();
    client.session.drain_outbox(std::task::Waker::noop());
    let out = client.session.front.output();
    let has = |bytes: &[u8]| out.windows(bytes.len()).any(|window| window == bytes);
    assert!(has(b"\x01x\x07the key") && has(b"\x01hI\0\0\0\x01") && has(b"body"), "{out:?}");
}

/// As in RabbitMQ: a message's route, and which later bindings are to see it, is decided when it is published.
#[test]
fn a_message_is_kept_when_it_is_published_and_not_when_it_is_committed() {
    let (node, mut client) = prepared();
    client.open_channel(2);
    client.send(2, &tx::Select);
    client.hear();
    client.publish(2, "x", "", TRANSIENT, b"in a transaction");
    assert_eq!(kept(&node, &mut client, "x"), ["in a transaction"]);
}

#[test]
fn a_history_outlives_a_stop() {
    let (node, mut client) = prepared();
    let transient = exchange::Declare { exchange: b"t", kind: KIND.as_bytes(), ..Default::default() };
    client.send(1, &transient);
    assert_done(client.hear_one());
    publish(&mut client, &["1", "2", "3", "4"]);
    client.publish(1, "t", "", PERSISTENT, b"goes with its exchange");
    node.broker.record_histories();
    node.sync();
    drop(client);
    let node = node.kill();
    let mut client = node.connect();
    assert_eq!(kept(&node, &mut client, "x"), ["2", "3", "4"]);
    publish(&mut client, &["5"]);
    node.broker.record_histories();
    publish(&mut client, &["not recorded yet"]);
    node.sync();
    drop(client);
    let node = node.kill();
    let mut client = node.connect();
    assert_eq!(kept(&node, &mut client, "x"), ["3", "4", "5"], "a crash takes what is seconds old");
    client.send(1, &transient);
    assert_done(client.hear_one());
    assert!(kept(&node, &mut client, "t").is_empty());
}

#[test]
fn a_history_goes_with_its_exchange() {
    let (node, mut client) = prepared();
    publish(&mut client, &["old"]);
    node.broker.record_histories();
    client.send(1, &exchange::Delete { exchange: b"x", ..Default::default() });
    node.sync();
    assert_done(client.hear_one());
    assert!(node.broker.vhosts.get("/").unwrap().histories().is_empty());
    node.broker.record_histories();
    assert_done(declare(&mut client, "x", KIND, Table::EMPTY));
    assert!(kept(&node, &mut client, "x").is_empty());
    publish(&mut client, &["new"]);
    node.broker.record_histories();
    node.sync();
    drop(client);
    let node = node.kill();
    let mut client = node.connect();
    assert_eq!(kept(&node, &mut client, "x"), ["new"]);
}

#[test]
fn a_history_goes_with_its_vhost() {
    let (node, mut client) = prepared();
    publish(&mut client, &["old"]);
    node.broker.record_histories();
    node.broker.delete_vhost(&operator(), "/").unwrap();
    node.broker.record_histories();
    node.sync();
    drop(client);
    let (_, recovered) = super::node::open(&node.disk, 2).unwrap_or_else(|_| {
        node.disk.kill_process();
        super::node::open(&node.disk, 2).expect("the store opens")
    });
    assert!(!recovered.definitions.keys().any(|key| crate::history::is_key(key)));
}

#[test]
fn a_history_is_bounded_in_bytes() {
    let node = Node::new();
    let mut client = node.connect();
    assert_done(declare(&mut client, "x", KIND, Table::EMPTY));
    let large = "l".repeat(HISTORY_LEN_MAX / 4);
    publish(&mut client, &["small", &large, &large, &large, &large, "last"]);
    let kept = kept(&node, &mut client, "x");
    assert_eq!(kept.len(), 4);
    assert_eq!(kept.last().map(String::as_str), Some("last"));
}
