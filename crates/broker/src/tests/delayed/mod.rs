//! Messages that wait at an exchange: until when, what becomes of them then, and over restarts.

mod due;
mod durable;
mod exchanges;
mod operators;
mod policies;
mod publishers;
mod ways;

use amqp::content::Properties;
use amqp::table::{TableBuf, Value};

use crate::options::Options;
use crate::tests::client::Client;
use crate::tests::exchange_types::{assert_done, bind, declare, publish_with};
use crate::tests::node::Node;
use crate::tests::operators::{block_on, guest, queue_name};
use crate::vhost_access::{AckMode, GetRequest, GotMessage};

const START_MS: u64 = 1_720_000_000_000;

fn delayed_type(name: &str) -> TableBuf {
    TableBuf::new().with("x-delayed-type", Value::LongStr(name.as_bytes()))
}

/// A node whose clock stands still, with the delayed exchange `x` and the queue `q`, which is bound to it by `k`.
fn node() -> (Node, Client) {
    node_with(Options::default())
}

fn node_with(options: Options) -> (Node, Client) {
    let node = Node::with(options);
    node.broker.engine.clock.set(START_MS);
    let mut client = node.connect();
    client.declare("q");
    assert_done(declare(&mut client, "x", "x-delayed-message", delayed_type("direct").as_table()));
    assert_done(bind(&mut client, "x", "q", "k"));
    (node, client)
}

fn restarted(node: Node, after_ms: u64) -> (Node, Client) {
    node.sync();
    let node = node.kill();
    pass(&node, after_ms);
    let client = node.connect();
    (node, client)
}

/// So much time after the start it is; what is due by then is done.
fn pass(node: &Node, after_ms: u64) {
    node.broker.engine.clock.set(START_MS + after_ms);
    settle_down(node);
}

fn settle_down(node: &Node) {
    while node.broker.run_due_timers() > 0 || node.broker.engine.store.load_once(&node.residents) {}
}

fn headers(delay: Value<'_>) -> TableBuf {
    TableBuf::new().with("x-delay", delay)
}

fn delay_by(client: &mut Client, exchange: &str, key: &str, delay_ms: i64, body: &str) {
    let headers = headers(Value::I64(delay_ms));
    let properties = Properties { headers: Some(headers.as_table()), delivery_mode: Some(2), ..Properties::default() };
    publish_with(client, exchange, key, properties, body);
}

/// The journal is no longer behind, and publishers are listened to.
fn catch_up(node: &Node, client: &mut Client) {
    if !client.may_publish() {
        node.spill();
        client.hear();
    }
}

#[track_caller]
fn assert_waiting(node: &Node, exchange: &str, expected: u64) {
    let view = node.broker.exchange_view("/", exchange).unwrap();
    assert_eq!(view.messages_delayed, Some(expected));
}

fn ready(node: &Node, queue: &str) -> u64 {
    node.broker.queue_counts("/", queue).unwrap().ready
}

/// What is in a queue, with its properties. The queue does not last: no mark of what is handed out is waited for.
fn got(node: &Node, queue: &str) -> Vec<GotMessage> {
    let name = queue_name(queue);
    let request = GetRequest { queue: &name, count: 100, ack_mode: AckMode::AckRemove, body_len_max: None };
    block_on(guest(node).get(&request)).unwrap().0
}

fn delay_of(message: &GotMessage) -> Option<i64> {
    let headers = Properties::decode(&message.properties).unwrap().headers?;
    headers.get("x-delay")?.as_i64()
}
