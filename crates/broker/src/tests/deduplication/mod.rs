//! Duplicates: which messages they are, what their publishers hear, and what is known of keys after a restart.

mod durable;
mod exchanges;
mod policies;
mod publishers;
mod queues;
mod replacing;
mod windows;

use amqp::content::Properties;
use amqp::table::{TableBuf, Value};

use crate::options::Options;
use crate::tests::client::{Client, Heard};
use crate::tests::exchange_types::{assert_done, bind, declare, publish_with};
use crate::tests::node::{Node, open};

const DEDUPLICATION: (&str, Value<'_>) = ("x-message-deduplication", Value::Bool(true));

/// One with a queue `q` that drops duplicates.
fn node_with_queue(arguments: &[(&str, Value<'_>)]) -> (Node, Client) {
    let (node, mut client) = Node::standing();
    client.declare_with("q", &[&[DEDUPLICATION], arguments].concat());
    (node, client)
}

/// One with an exchange `x` that drops duplicates, and a queue `q` bound to it.
fn node_with_exchange(arguments: TableBuf) -> (Node, Client) {
    let (node, mut client) = Node::standing();
    let arguments = arguments.with(DEDUPLICATION.0, DEDUPLICATION.1);
    client.declare("q");
    assert_done(declare(&mut client, "x", "fanout", arguments.as_table()));
    assert_done(bind(&mut client, "x", "q", ""));
    (node, client)
}

fn publish_as(client: &mut Client, exchange: &str, key: &str, body: &str, delivery_mode: u8) {
    let headers = TableBuf::new().with("x-deduplication-header", Value::LongStr(key.as_bytes()));
    let properties =
        Properties { headers: Some(headers.as_table()), delivery_mode: Some(delivery_mode), ..Properties::default() };
    publish_with(client, exchange, "q", properties, body);
}

/// Publishes a message that lasts to the queue.
fn publish(client: &mut Client, key: &str, body: &str) {
    publish_as(client, "", key, body, 2);
}

fn publish_to(client: &mut Client, exchange: &str, key: &str, body: &str) {
    publish_as(client, exchange, key, body, 2);
}

#[track_caller]
fn get_one(node: &Node, client: &mut Client, queue: &str) -> u64 {
    client.get(1, queue, false);
    match node.listen(client).as_slice() {
        [Heard::Message { tag, .. }] => *tag,
        other => panic!("{other:?}"),
    }
}

/// The process is killed and starts again, with everything that was said. How many records of keys there were, and whose they are.
fn restart(node: Node) -> (Node, Client, usize) {
    node.sync();
    cut(node)
}

/// The same without what is not on the disk yet.
fn cut(node: Node) -> (Node, Client, usize) {
    let now_ms = node.broker.engine.clock.now_ms();
    node.disk.kill_process();
    let (store, recovered) = open(&node.disk, 1).unwrap();
    let record_count = recovered.definitions.keys().filter(|key| key.starts_with(b"key/")).count();
    let node = Node::over(node.disk.clone(), store, recovered, Options::default());
    node.broker.engine.clock.set(now_ms);
    let client = node.connect();
    (node, client, record_count)
}

#[track_caller]
fn assert_ready(node: &Node, expected: u64) {
    assert_eq!(node.counts("q").0, expected);
}

fn deduplicated_count(node: &Node) -> u64 {
    node.broker.queue_view("/", "q").unwrap().deduplicated_count().unwrap()
}
