//! Duplicates: which messages they are, what their publishers hear, and what is known of keys after a restart.

use amqp::content::Properties;
use amqp::frame::put_method;
use amqp::method::{basic, exchange, queue, tx};
use amqp::table::{TableBuf, Value};
use model::policy::PolicyKind;
use serde_json::json;

use super::client::{Client, Heard};
use super::exchange_types::{assert_done, bind, bind_exchange, declare, publish_with};
use super::node::{NOW, Node, open};
use super::operators::operator;
use super::policies::policy;
use crate::options::Options;

const DEDUPLICATION: (&str, Value<'_>) = ("x-message-deduplication", Value::Bool(true));

/// A node whose clock stands still.
fn node() -> (Node, Client) {
    let node = Node::new();
    node.broker.clock.set(NOW);
    let client = node.connect();
    (node, client)
}

/// One with a queue `q` that drops duplicates.
fn node_with_queue(arguments: &[(&str, Value<'_>)]) -> (Node, Client) {
    let (node, mut client) = node();
    client.declare_with("q", &[&[DEDUPLICATION], arguments].concat());
    (node, client)
}

/// One with an exchange `x` that drops duplicates, and a queue `q` bound to it.
fn node_with_exchange(arguments: TableBuf) -> (Node, Client) {
    let (node, mut client) = node();
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
    let now_ms = node.broker.clock.now_ms();
    node.disk.kill_process();
    let (store, recovered) = open(&node.disk, 1).unwrap();
    let record_count = recovered.definitions.keys().filter(|key| key.starts_with(b"key/")).count();
    let node = Node::over(node.disk.clone(), store, recovered, Options::default());
    node.broker.clock.set(now_ms);
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

#[test]
fn a_queue_drops_what_it_has() {
    let (node, mut client) = node_with_queue(&[]);
    publish(&mut client, "a", "1");
    publish(&mut client, "a", "2");
    publish(&mut client, "b", "3");
    assert_eq!((node.counts("q").0, deduplicated_count(&node)), (2, 1));
    let tag = get_one(&node, &mut client, "q");
    publish(&mut client, "a", "4");
    assert_eq!(node.counts("q"), (1, 1), "what is unacked is there");
    client.send(1, &basic::Nack { delivery_tag: tag, multiple: false, requeue: true });
    publish(&mut client, "a", "5");
    assert_ready(&node, 2);
    let tag = get_one(&node, &mut client, "q");
    client.ack(1, tag, false);
    publish(&mut client, "a", "6");
    assert_eq!(node.drain("q"), ["3", "6"]);
    // Got without acks: free at once.
    publish(&mut client, "a", "7");
    assert_eq!(node.drain("q"), ["7"]);
}

#[test]
fn who_has_no_key_is_no_duplicate() {
    let (node, mut client) = node_with_queue(&[]);
    client.publish_with("q", Properties::default(), "1");
    client.publish_with("q", Properties::default(), "1");
    let headers = TableBuf::new().with("x-deduplication-header", Value::Void);
    let properties = Properties { headers: Some(headers.as_table()), ..Properties::default() };
    client.publish_with("q", properties, "1");
    client.publish_with("q", properties, "1");
    assert_ready(&node, 4);
}

#[test]
fn a_consumer_without_acks_frees_keys() {
    let (node, mut client) = node_with_queue(&[]);
    client.consume(1, "q", "c", true);
    for mode in [1, 2, 1, 2] {
        publish_as(&mut client, "", "a", "x", mode);
        node.listen(&mut client);
    }
    assert_eq!(deduplicated_count(&node), 0);
    let (_, _, record_count) = restart(node);
    assert_eq!(record_count, 1, "whose they were");
}

#[test]
fn what_a_queue_gives_up_frees_its_key() {
    let (node, mut client) = node_with_queue(&[("x-max-length", Value::I32(1)), ("x-message-ttl", Value::I32(100))]);
    publish(&mut client, "a", "1");
    publish(&mut client, "b", "2");
    publish(&mut client, "a", "3");
    assert_eq!(node.drain("q"), ["3"]);
    publish(&mut client, "a", "4");
    node.at(NOW + 99);
    publish(&mut client, "a", "5");
    node.at(NOW + 101);
    publish(&mut client, "a", "6");
    assert_eq!(node.drain("q"), ["6"]);
    publish(&mut client, "a", "7");
    let delivery_tag = get_one(&node, &mut client, "q");
    client.send(1, &basic::Reject { delivery_tag, requeue: false });
    publish(&mut client, "a", "8");
    assert_ready(&node, 1);
}

#[test]
fn a_dead_letter_holds_its_key_until_it_has_arrived() {
    let to_itself = [
        ("x-dead-letter-exchange", Value::LongStr(b"")),
        ("x-dead-letter-routing-key", Value::LongStr(b"q")),
        ("x-message-ttl", Value::I32(100)),
        ("x-queue-type", Value::LongStr(b"quorum")),
    ];
    let (node, mut client) = node_with_queue(&to_itself);
    publish(&mut client, "a", "1");
    let delivery_tag = get_one(&node, &mut client, "q");
    client.send(1, &basic::Reject { delivery_tag, requeue: false });
    assert_ready(&node, 1);
    publish(&mut client, "a", "2");
    assert_eq!(node.drain("q"), ["1"], "it is no duplicate of itself");
}

#[test]
fn a_dead_letter_that_is_there_already_has_arrived() {
    let to_q = [
        ("x-queue-type", Value::LongStr(b"quorum")),
        ("x-dead-letter-exchange", Value::LongStr(b"")),
        ("x-dead-letter-routing-key", Value::LongStr(b"q")),
        ("x-dead-letter-strategy", Value::LongStr(b"at-least-once")),
        ("x-overflow", Value::LongStr(b"reject-publish")),
    ];
    // Full, too: it is welcome nevertheless.
    let full = [("x-max-length", Value::I32(1)), ("x-overflow", Value::LongStr(b"reject-publish"))];
    let (node, mut client) = node_with_queue(&full);
    client.declare_with("from", &to_q);
    publish(&mut client, "a", "1");
    let headers = TableBuf::new().with("x-deduplication-header", Value::LongStr(b"a"));
    client.publish_with("from", Properties { headers: Some(headers.as_table()), ..Properties::default() }, "2");
    let delivery_tag = get_one(&node, &mut client, "from");
    client.send(1, &basic::Reject { delivery_tag, requeue: false });
    assert_eq!((node.counts("from"), node.set_aside_count("from")), ((0, 0), 0));
    assert_eq!((node.drain("q"), deduplicated_count(&node)), (vec!["1".to_owned()], 1));
}

#[test]
fn a_purge_frees_what_was_ready() {
    let (node, mut client) = node_with_queue(&[]);
    publish(&mut client, "a", "1");
    publish(&mut client, "b", "2");
    publish(&mut client, "c", "3");
    get_one(&node, &mut client, "q");
    node.spill();
    client.send(1, &queue::Purge { queue: b"q", ..Default::default() });
    node.sync();
    assert_eq!(client.hear_one(), Heard::PurgeOk(2));
    publish(&mut client, "a", "4");
    publish(&mut client, "b", "5");
    assert_ready(&node, 1);
    let (node, mut client, record_count) = restart(node);
    assert_eq!(record_count, 3, "whose they are, and two keys");
    publish(&mut client, "a", "6");
    publish(&mut client, "b", "7");
    publish(&mut client, "c", "8");
    assert_eq!(node.drain("q"), ["1", "5", "8"]);
}

#[test]
fn a_queue_with_a_window_drops_what_it_had() {
    let (node, mut client) = node_with_queue(&[("x-cache-size", Value::I32(2)), ("x-cache-ttl", Value::I32(1000))]);
    publish(&mut client, "a", "1");
    assert_eq!(node.drain("q"), ["1"]);
    publish(&mut client, "a", "2");
    node.at(NOW + 999);
    publish(&mut client, "a", "3");
    assert_ready(&node, 0);
    node.at(NOW + 1000);
    publish(&mut client, "a", "4");
    publish(&mut client, "b", "5");
    publish(&mut client, "c", "6");
    publish(&mut client, "a", "7");
    assert_eq!(node.drain("q"), ["4", "5", "6", "7"], "a was no longer among the last two");
    client.send(1, &queue::Purge { queue: b"q", ..Default::default() });
    node.sync();
    client.hear_one();
    publish(&mut client, "a", "8");
    assert_ready(&node, 0);
}

#[test]
fn a_message_says_for_how_long_its_key_counts() {
    let (node, mut client) = node_with_queue(&[("x-cache-ttl", Value::I32(1000))]);
    let publish_for = |client: &mut Client, ttl: i32, body: &str| {
        let headers =
            TableBuf::new().with("x-deduplication-header", Value::LongStr(b"a")).with("x-cache-ttl", Value::I32(ttl));
        client.publish_with("q", Properties { headers: Some(headers.as_table()), ..Properties::default() }, body);
    };
    publish_for(&mut client, 10, "1");
    publish_for(&mut client, 10, "2");
    node.at(NOW + 10);
    publish_for(&mut client, 5000, "3");
    node.at(NOW + 2000);
    publish(&mut client, "a", "4");
    node.at(NOW + 5010);
    publish(&mut client, "a", "5");
    assert_eq!(node.drain("q"), ["1", "3", "5"]);
}

#[test]
fn expired_keys_are_forgotten_without_another_message() {
    let (node, mut client) = node_with_queue(&[("x-cache-ttl", Value::I32(1000))]);
    assert_done(declare(
        &mut client,
        "x",
        "fanout",
        TableBuf::new().with(DEDUPLICATION.0, DEDUPLICATION.1).with("x-cache-ttl", Value::I32(1000)).as_table(),
    ));
    assert_done(bind(&mut client, "x", "q", ""));
    for key in ["a", "b"] {
        publish(&mut client, key, "1");
        publish_to(&mut client, "x", &format!("{key}{key}"), "1");
    }
    let (node, _, record_count) = restart(node);
    assert_eq!(record_count, 2 + 4 + 2);
    node.at(NOW + 3000);
    let (_, _, record_count) = restart(node);
    assert_eq!(record_count, 2);
}

#[test]
fn a_key_may_be_a_property_or_in_another_header() {
    let (node, mut client) = node_with_queue(&[("x-deduplication-header", Value::LongStr(b"message-id"))]);
    let by_id = |id: &'static [u8]| Properties { message_id: Some(id), ..Properties::default() };
    client.publish_with("q", by_id(b"a"), "1");
    client.publish_with("q", by_id(b"a"), "2");
    client.publish_with("q", by_id(b"b"), "3");
    publish(&mut client, "a", "4");
    publish(&mut client, "a", "5");
    assert_eq!(node.drain("q"), ["1", "3", "4", "5"]);
    client.declare_with("order", &[DEDUPLICATION, ("x-deduplication-header", Value::LongStr(b"order"))]);
    let headers = TableBuf::new().with("order", Value::I32(7));
    for body in ["1", "2"] {
        client.publish_with("order", Properties { headers: Some(headers.as_table()), ..Properties::default() }, body);
    }
    assert_eq!(node.drain("order"), ["1"]);
}

#[test]
fn a_duplicate_is_confirmed_when_its_original_is_durable() {
    let (node, mut client) = node_with_queue(&[]);
    client.select_confirms(1);
    publish(&mut client, "a", "1");
    publish(&mut client, "a", "2");
    assert!(client.hear().is_empty(), "nothing is durable yet");
    node.sync();
    assert_eq!(client.hear(), [Heard::Ack { tag: 2, multiple: true }]);
    publish(&mut client, "a", "3");
    assert_eq!(client.hear(), [Heard::Ack { tag: 3, multiple: false }], "it is durable now");
    publish_as(&mut client, "", "b", "4", 1);
    publish_as(&mut client, "", "b", "5", 1);
    let both = [4, 5].map(|tag| Heard::Ack { tag, multiple: false });
    assert_eq!(client.hear(), both, "it never will be");
}

#[test]
fn a_duplicate_at_an_exchange_is_confirmed_when_its_original_is_durable() {
    let (node, mut client) = node_with_exchange(TableBuf::new());
    client.select_confirms(1);
    publish_to(&mut client, "x", "a", "1");
    publish_to(&mut client, "x", "a", "2");
    assert!(client.hear().is_empty(), "nothing is durable yet");
    node.sync();
    assert_eq!(client.hear(), [Heard::Ack { tag: 2, multiple: true }]);
}

#[test]
fn a_transaction_waits_for_what_its_duplicates_stand_for() {
    let (node, mut client) = node_with_queue(&[]);
    publish(&mut client, "a", "1");
    let mut other = node.connect();
    other.send(1, &tx::Select);
    other.hear_one();
    publish(&mut other, "a", "2");
    other.send(1, &tx::Commit);
    assert!(other.hear().is_empty());
    node.sync();
    assert_eq!(other.hear(), [Heard::Other("tx.commit-ok")]);
    assert_ready(&node, 1);
}

#[test]
fn a_duplicate_is_not_returned() {
    let (node, mut client) = node_with_exchange(TableBuf::new());
    publish_to(&mut client, "x", "a", "1");
    let headers = TableBuf::new().with("x-deduplication-header", Value::LongStr(b"a"));
    let mut bytes = Vec::new();
    let publish = basic::Publish { exchange: b"x", routing_key: b"", mandatory: true, ..Default::default() };
    put_method(&mut bytes, 1, &publish);
    let properties = Properties { headers: Some(headers.as_table()), ..Properties::default() };
    let mut header = Vec::new();
    amqp::content::ContentHeader { class_id: 60, body_len: 0, properties }.encode(&mut header);
    amqp::content::put_header_encoded(&mut bytes, 1, 0, amqp::content::properties_bytes(&header));
    client.send_bytes(&bytes);
    assert!(client.hear().is_empty());
    assert_ready(&node, 1);
}

#[test]
fn what_lasts_is_no_duplicate_of_what_does_not() {
    let (node, mut client) = node_with_queue(&[]);
    publish_as(&mut client, "", "a", "1", 1);
    publish_as(&mut client, "", "a", "2", 1);
    publish_as(&mut client, "", "a", "3", 2);
    publish_as(&mut client, "", "a", "4", 2);
    publish_as(&mut client, "", "a", "5", 1);
    assert_ready(&node, 2);
    let (node, mut client, _) = restart(node);
    publish(&mut client, "a", "6");
    assert_eq!(node.drain("q"), ["3"]);
}

#[test]
fn keys_are_known_after_a_restart() {
    let (node, mut client) = node_with_queue(&[]);
    let window = [DEDUPLICATION, ("x-cache-ttl", Value::I32(1000))];
    client.declare_with("w", &window);
    let arguments = TableBuf::new().with(DEDUPLICATION.0, DEDUPLICATION.1);
    assert_done(declare(&mut client, "x", "direct", arguments.as_table()));
    assert_done(bind(&mut client, "x", "w", "q"));
    publish(&mut client, "a", "1");
    publish(&mut client, "b", "2");
    publish_to(&mut client, "x", "c", "3");
    publish_as(&mut client, "x", "t", "4", 1);
    let tag = get_one(&node, &mut client, "q");
    client.ack(1, tag, false);
    assert_eq!(node.drain("w"), ["3", "4"]);
    node.spill();
    let (node, mut client, record_count) = restart(node);
    assert_eq!(record_count, 3 + 3, "whose they are; b, and c twice");
    publish(&mut client, "b", "5");
    publish(&mut client, "a", "6");
    publish_to(&mut client, "x", "c", "7");
    publish_as(&mut client, "x", "t", "8", 1);
    assert_eq!(node.drain("q"), ["2", "6"]);
    assert_eq!(node.drain("w"), ["8"]);
    // The window of `w` is over, that of `x` is not.
    node.at(NOW + 1000);
    publish_to(&mut client, "x", "c", "9");
    client.publish(1, "", "w", &[0, 0], b"plain");
    assert_eq!(node.drain("w"), ["plain"]);
}

#[test]
fn a_key_is_not_known_without_its_message() {
    let (node, mut client) = node_with_queue(&[]);
    assert_done(declare(&mut client, "x", "fanout", TableBuf::new().with(DEDUPLICATION.0, DEDUPLICATION.1).as_table()));
    assert_done(bind(&mut client, "x", "q", ""));
    node.sync();
    publish(&mut client, "a", "1");
    publish_to(&mut client, "x", "b", "2");
    let (node, mut client, record_count) = cut(node);
    assert_eq!((record_count, node.counts("q")), (0, (0, 0)));
    publish(&mut client, "a", "1");
    publish_to(&mut client, "x", "b", "2");
    assert_ready(&node, 2);
}

#[test]
fn an_exchange_drops_what_it_had() {
    let (node, mut client) = node_with_exchange(TableBuf::new());
    publish_to(&mut client, "x", "a", "1");
    assert_eq!(node.drain("q"), ["1"]);
    publish_to(&mut client, "x", "a", "2");
    assert_ready(&node, 0);
    let view = node.broker.exchange_view("/", "x").unwrap();
    assert_eq!(view.deduplicated_count, Some(1));
    // 128 keys, as LavinMQ has it.
    for number in 0..127 {
        node.spill();
        node.listen(&mut client);
        publish_to(&mut client, "x", &number.to_string(), "other");
    }
    publish_to(&mut client, "x", "a", "3");
    assert_ready(&node, 127);
    publish_to(&mut client, "x", "last", "other");
    publish_to(&mut client, "x", "a", "4");
    assert_ready(&node, 129);
}

#[test]
fn what_comes_from_another_exchange_is_no_duplicate() {
    let (node, mut client) = node_with_exchange(TableBuf::new());
    assert_done(declare(&mut client, "before", "fanout", TableBuf::new().as_table()));
    assert_done(bind_exchange(&mut client, "before", "x", ""));
    publish_to(&mut client, "x", "a", "1");
    publish_to(&mut client, "before", "a", "2");
    publish_to(&mut client, "x", "a", "3");
    assert_eq!(node.drain("q"), ["1", "2"]);
}

#[test]
fn a_dead_letter_may_be_a_duplicate_at_its_exchange() {
    let (node, mut client) = node_with_exchange(TableBuf::new());
    client.declare_with("from", &[("x-dead-letter-exchange", Value::LongStr(b"x"))]);
    for body in ["1", "2"] {
        let headers = TableBuf::new().with("x-deduplication-header", Value::LongStr(b"a"));
        client.publish_with("from", Properties { headers: Some(headers.as_table()), ..Properties::default() }, body);
        let delivery_tag = get_one(&node, &mut client, "from");
        client.send(1, &basic::Reject { delivery_tag, requeue: false });
    }
    assert_eq!(node.drain("q"), ["1"]);
}

#[test]
fn a_delayed_message_is_no_duplicate_of_itself() {
    let (node, mut client) = node();
    client.declare("q");
    let arguments =
        TableBuf::new().with(DEDUPLICATION.0, DEDUPLICATION.1).with("x-delayed-exchange", Value::Bool(true));
    assert_done(declare(&mut client, "x", "fanout", arguments.as_table()));
    assert_done(bind(&mut client, "x", "q", ""));
    for body in ["1", "2"] {
        let headers =
            TableBuf::new().with("x-deduplication-header", Value::LongStr(b"a")).with("x-delay", Value::I32(100));
        let properties =
            Properties { headers: Some(headers.as_table()), delivery_mode: Some(2), ..Properties::default() };
        publish_with(&mut client, "x", "q", properties, body);
    }
    let (node, mut client, _) = restart(node);
    publish_to(&mut client, "x", "a", "3");
    node.at(NOW + 100);
    assert_eq!(node.drain("q"), ["1"]);
}

#[test]
fn what_was_refused_or_went_nowhere_is_not_remembered() {
    let (node, mut client) = node();
    let full = [("x-max-length", Value::I32(1)), ("x-overflow", Value::LongStr(b"reject-publish"))];
    client.declare_with("q", &full);
    let arguments = TableBuf::new().with(DEDUPLICATION.0, DEDUPLICATION.1);
    assert_done(declare(&mut client, "x", "direct", arguments.as_table()));
    publish_to(&mut client, "x", "a", "1");
    assert_done(bind(&mut client, "x", "q", "q"));
    publish_to(&mut client, "x", "a", "2");
    assert_ready(&node, 1);
    client.select_confirms(1);
    publish_to(&mut client, "x", "b", "3");
    assert_eq!(client.hear(), [Heard::Nack { tag: 1 }]);
    // A duplicate is there already: it is not refused, however full the queue is.
    publish_to(&mut client, "x", "a", "4");
    assert_eq!(node.listen(&mut client), [Heard::Ack { tag: 2, multiple: false }]);
    assert_eq!(node.drain("q"), ["2"]);
    publish_to(&mut client, "x", "b", "5");
    assert_eq!(node.drain("q"), ["5"]);
}

#[test]
fn keys_go_with_their_queue_or_exchange() {
    let (node, mut client) = node_with_queue(&[("x-cache-size", Value::I32(10))]);
    let arguments = TableBuf::new().with(DEDUPLICATION.0, DEDUPLICATION.1);
    assert_done(declare(&mut client, "x", "fanout", arguments.as_table()));
    assert_done(bind(&mut client, "x", "q", ""));
    publish(&mut client, "a", "1");
    publish_to(&mut client, "x", "b", "2");
    client.send(1, &queue::Delete { queue: b"q", ..Default::default() });
    node.sync();
    client.hear();
    client.send(1, &exchange::Delete { exchange: b"x", ..Default::default() });
    node.sync();
    client.hear();
    let (node, mut client, record_count) = restart(node);
    assert_eq!(record_count, 0, "after the deletion");
    client.declare_with("q", &[DEDUPLICATION, ("x-cache-size", Value::I32(10))]);
    assert_done(declare(&mut client, "x", "fanout", arguments.as_table()));
    assert_done(bind(&mut client, "x", "q", ""));
    publish(&mut client, "a", "3");
    publish_to(&mut client, "x", "b", "4");
    assert_eq!(node.drain("q"), ["3", "4"]);
    // With their vhost, too.
    node.broker.delete_vhost(&operator(), "/").unwrap();
    node.sync();
    node.disk.kill_process();
    let (_, recovered) = open(&node.disk, 1).unwrap();
    assert_eq!(recovered.definitions.keys().filter(|key| key.starts_with(b"key/")).count(), 0);
}

#[test]
fn policies_hold_at_once() {
    let (node, mut client) = node();
    client.declare("q");
    assert_done(declare(&mut client, "x", "fanout", TableBuf::new().as_table()));
    assert_done(bind(&mut client, "x", "q", ""));
    let publish_both = |client: &mut Client| {
        publish(client, "a", "queue");
        publish_to(client, "x", "b", "exchange");
    };
    publish_both(&mut client);
    publish_both(&mut client);
    assert_eq!(node.drain("q").len(), 4);
    let set = |settings| node.broker.put_policy(&operator(), policy("p", "^[qx]$", 0, settings)).unwrap();
    set(json!({"message-deduplication": true, "cache-size": 10}));
    publish_both(&mut client);
    publish_both(&mut client);
    assert_eq!(node.drain("q").len(), 2);
    // Less, and the oldest are too much.
    publish(&mut client, "c", "queue");
    publish_to(&mut client, "x", "d", "exchange");
    set(json!({"message-deduplication": true, "cache-size": 1}));
    publish_both(&mut client);
    assert_eq!(node.drain("q").len(), 4);
    // Another header: nothing is known of it.
    set(json!({"message-deduplication": true, "cache-size": 1, "deduplication-header": "message-id"}));
    publish_both(&mut client);
    publish_both(&mut client);
    assert_eq!(node.drain("q").len(), 4);
    set(json!({"message-deduplication": true, "cache-size": 10}));
    publish_both(&mut client);
    publish_both(&mut client);
    assert_eq!(node.drain("q").len(), 2);
    let (node, mut client, record_count) = restart(node);
    assert_eq!(record_count, 2 + 3, "both at the queue, and one at the exchange");
    publish_both(&mut client);
    assert_ready(&node, 0);
    node.broker.delete_policy(&operator(), PolicyKind::User, "/", "p").unwrap();
    publish_both(&mut client);
    publish_both(&mut client);
    assert_ready(&node, 4);
    let (_, _, record_count) = restart(node);
    assert_eq!(record_count, 0);
}

#[test]
fn two_who_want_keys_of_different_headers_get_them() {
    let (node, mut client) = node_with_queue(&[]);
    client.declare_with("other", &[DEDUPLICATION, ("x-deduplication-header", Value::LongStr(b"message-id"))]);
    assert_done(declare(&mut client, "x", "fanout", TableBuf::new().as_table()));
    assert_done(bind(&mut client, "x", "q", ""));
    assert_done(bind(&mut client, "x", "other", ""));
    for (key, id) in [("a", "1"), ("a", "2"), ("b", "1")] {
        let headers = TableBuf::new().with("x-deduplication-header", Value::LongStr(key.as_bytes()));
        let properties = Properties {
            headers: Some(headers.as_table()),
            message_id: Some(id.as_bytes()),
            delivery_mode: Some(2),
            ..Properties::default()
        };
        publish_with(&mut client, "x", "", properties, &format!("{key}{id}"));
    }
    assert_eq!(
        (node.drain("q"), node.drain("other")),
        (vec!["a1".into(), "b1".into()], vec!["a1".into(), "a2".into()])
    );
}

#[test]
fn keys_of_lost_messages_do_not_stay_for_ever() {
    let (node, mut client) = node_with_queue(&[]);
    publish(&mut client, "a", "1");
    let vhost = node.broker.vhosts.get("/").unwrap();
    let queue = vhost.queue(b"q").unwrap();
    // As a damaged segment does it: the message is gone, and nobody has said which it was.
    node.broker.shards.with_queue(&queue, |cell| cell.queue.purge(&mut ::queue::Purged::default()));
    publish(&mut client, "a", "2");
    assert_ready(&node, 0);
    publish(&mut client, "b", "3");
    assert_eq!(node.drain("q"), ["3"]);
    publish(&mut client, "a", "4");
    assert_eq!(node.drain("q"), ["4"]);
}

const REPLACING: [(&str, Value<'_>); 1] = [("x-deduplication-replaces", Value::Bool(true))];

#[test]
fn a_new_message_takes_the_place_of_one_that_is_ready() {
    let (node, mut client) = node_with_queue(&REPLACING);
    publish(&mut client, "a", "1");
    publish(&mut client, "b", "2");
    publish(&mut client, "a", "3");
    assert_eq!((node.counts("q").0, deduplicated_count(&node)), (2, 1));
    let tag = get_one(&node, &mut client, "q");
    publish(&mut client, "b", "4");
    assert_eq!(node.counts("q"), (2, 1), "what somebody has stays with them");
    client.ack(1, tag, false);
    publish(&mut client, "b", "5");
    let (node, mut client, record_count) = restart(node);
    assert_eq!(record_count, 3);
    publish(&mut client, "a", "6");
    assert_eq!(node.drain("q"), ["5", "6"]);
    let (_, _, record_count) = restart(node);
    assert_eq!(record_count, 1, "whose they were");
}

#[test]
fn a_message_in_a_segment_gives_way_when_it_is_read() {
    let (node, mut client) = node_with_queue(&REPLACING);
    for (key, body) in [("a", "1"), ("b", "2"), ("c", "3")] {
        publish(&mut client, key, body);
    }
    node.spill();
    client.hear();
    publish(&mut client, "b", "4");
    publish(&mut client, "b", "5");
    assert_ready(&node, 4);
    // Before it could be read.
    let (node, mut client, record_count) = restart(node);
    assert_eq!(record_count, 1 + 4, "whose they are; a, c, and b twice");
    publish(&mut client, "a", "6");
    node.load();
    publish(&mut client, "c", "7");
    assert_ready(&node, 5);
    node.load();
    assert_ready(&node, 4);
    assert_eq!(node.drain("q"), ["5", "6", "7"]);
    let (node, mut client, record_count) = restart(node);
    assert_eq!((record_count, node.counts("q")), (1, (0, 0)));
    publish(&mut client, "a", "8");
    assert_eq!(node.drain("q"), ["8"]);
}

#[test]
fn what_lasts_does_not_give_way_to_what_does_not() {
    let (node, mut client) = node_with_queue(&REPLACING);
    publish(&mut client, "a", "1");
    publish_as(&mut client, "", "a", "2", 1);
    assert_ready(&node, 2);
    publish_as(&mut client, "", "b", "3", 1);
    publish_as(&mut client, "", "b", "4", 1);
    assert_ready(&node, 3);
    publish(&mut client, "b", "5");
    let (node, _, _) = restart(node);
    assert_eq!(node.drain("q"), ["1", "5"]);
}

#[test]
fn an_exchange_of_the_plugins_type_sends_each_to_all_once() {
    let (node, mut client) = node();
    client.declare("q");
    let size = TableBuf::new().with("x-cache-size", Value::I32(1)).with("x-cache-persistence", Value::LongStr(b"disk"));
    assert_done(declare(&mut client, "x", "x-message-deduplication", size.as_table()));
    assert_done(bind(&mut client, "x", "q", "any"));
    for (key, body) in [("a", "1"), ("a", "2"), ("b", "3"), ("a", "4")] {
        publish_to(&mut client, "x", key, body);
    }
    let (node, mut client, _) = restart(node);
    publish_to(&mut client, "x", "a", "5");
    assert_eq!(node.drain("q"), ["1", "3", "4"]);
}
