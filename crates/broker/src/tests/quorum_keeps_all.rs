//! A quorum queue keeps whatever was confirmed, as RabbitMQ's do: the delivery mode says nothing there, and comes back as it was.

use amqp::content::{ContentHeader, Properties};
use amqp::method::{basic, exchange, tx};
use amqp::table::{TableBuf, Value};

use super::client::{Client, Heard, TRANSIENT};
use super::exchange_types::{assert_done, bind, declare, publish_with};
use super::node::{NOW, Node};
use super::operators::{exchange_name, guest};
use crate::vhost_access::PublishRequest;

/// Each delivery mode that a publisher may set, or none.
const MODES: [Option<u8>; 4] = [None, Some(1), Some(2), Some(9)];

/// With the quorum queue `q`, and the classic queue `c`.
fn prepared() -> (Node, Client) {
    let (node, mut client) = Node::standing();
    declare_quorum(&mut client, "q", &[]);
    client.declare("c");
    node.sync();
    (node, client)
}

#[track_caller]
fn declare_quorum(client: &mut Client, name: &str, more: &[(&str, Value<'_>)]) {
    client.declare_with(name, &[&[("x-queue-type", Value::LongStr(b"quorum"))], more].concat());
}

fn mode_of(client: &Client) -> Option<u8> {
    ContentHeader::decode(&client.last_header()).expect("a content header").properties.delivery_mode
}

/// Hears nothing before the sync, and the confirm after it.
#[track_caller]
fn assert_confirm_waits(node: &Node, client: &mut Client, tag: u64) {
    assert_eq!(client.hear(), [], "confirmed without a write");
    node.sync();
    assert_eq!(client.hear_one(), Heard::Ack { tag, multiple: false });
}

#[test]
fn whatever_the_mode_the_confirm_waits_and_the_message_comes_back_as_it_was() {
    let (node, mut client) = prepared();
    client.select_confirms(1);
    for (tag, delivery_mode) in (1..).zip(MODES) {
        publish_with(&mut client, "", "q", Properties { delivery_mode, ..Properties::default() }, "m");
        assert_confirm_waits(&node, &mut client, tag);
    }
    drop(client);
    let node = node.kill();
    node.spill();
    let node = node.kill();
    let mut client = node.connect();
    for delivery_mode in MODES {
        client.get(1, "q", true);
        let heard = node.listen(&mut client);
        assert!(matches!(heard.as_slice(), [Heard::Message { .. }]), "{heard:?}");
        assert_eq!(mode_of(&client), delivery_mode);
    }
}

#[test]
fn of_two_queues_only_the_quorum_queue_keeps_what_is_transient() {
    let (node, mut client) = prepared();
    for queue in ["q", "c"] {
        assert_done(bind(&mut client, "amq.fanout", queue, ""));
    }
    node.sync();
    client.select_confirms(1);
    client.publish(1, "amq.fanout", "", TRANSIENT, b"both");
    assert_confirm_waits(&node, &mut client, 1);
    client.publish(1, "", "c", TRANSIENT, b"classic");
    assert_eq!(client.hear_one(), Heard::Ack { tag: 2, multiple: false }, "nothing to wait for");
    assert_eq!([node.counts("q"), node.counts("c")], [(1, 0), (2, 0)]);
    drop(client);
    let node = node.kill();
    assert_eq!(node.drain("q"), ["both"]);
    assert_eq!(node.drain("c"), [""; 0]);
}

#[test]
fn what_is_acked_does_not_come_back_and_what_is_requeued_does() {
    let (node, mut client) = prepared();
    for body in [&b"acked"[..], b"requeued", b"held", b"not seen"] {
        client.publish(1, "", "q", TRANSIENT, body);
    }
    let mut tags = Vec::new();
    for _ in 0..3 {
        client.get(1, "q", false);
        let heard = node.listen(&mut client);
        let [Heard::Message { tag, .. }] = heard.as_slice() else { panic!("{heard:?}") };
        tags.push(*tag);
    }
    client.ack(1, tags[0], false);
    client.send(1, &basic::Reject { delivery_tag: tags[1], requeue: true });
    node.sync();
    drop(client);
    let node = node.kill();
    let mut all: Vec<_> = node.drain_marked("q");
    all.sort_unstable();
    // A message that was never handed out may carry the mark, too.
    let bodies: Vec<_> = all.iter().map(|(body, _)| &**body).collect();
    assert_eq!(bodies, ["held", "not seen", "requeued"]);
    assert!(all[0].1 && all[2].1, "{all:?}");
}

#[test]
fn a_transaction_waits_for_what_is_transient_too() {
    let (node, mut client) = prepared();
    client.send(1, &tx::Select);
    assert_done(client.hear_one());
    client.publish(1, "", "q", TRANSIENT, b"m");
    client.send(1, &tx::Commit);
    assert_eq!(client.hear(), []);
    node.sync();
    assert_eq!(client.hear_one(), Heard::Other("tx.commit-ok"));
    drop(client);
    assert_eq!(node.kill().drain("q"), ["m"]);
}

#[test]
fn a_transient_dead_letter_lasts_from_where_it_arrives_in_a_quorum_queue() {
    let (node, mut client) = prepared();
    let to = |name: &'static [u8]| {
        [
            ("x-dead-letter-exchange", Value::LongStr(b"")),
            ("x-dead-letter-routing-key", Value::LongStr(name)),
            ("x-message-ttl", Value::I64(10)),
        ]
    };
    client.declare_with("classic source", &to(b"q"));
    declare_quorum(&mut client, "quorum source", &to(b"c"));
    client.publish(1, "", "classic source", TRANSIENT, b"to quorum");
    client.publish(1, "", "quorum source", TRANSIENT, b"to classic");
    node.sync();
    node.at(NOW + 10);
    assert_eq!([node.counts("q"), node.counts("c")], [(1, 0), (1, 0)]);
    node.sync();
    drop(client);
    let node = node.kill();
    assert_eq!(node.drain("q"), ["to quorum"]);
    assert_eq!(node.drain("c"), [""; 0], "it had left the quorum queue");
    node.at(NOW + 20);
    assert_eq!(node.counts("quorum source"), (0, 0));
}

#[test]
fn what_waits_on_its_way_to_a_quorum_queue_lasts_while_it_waits_and_afterwards() {
    let (node, mut client) = prepared();
    let direct = TableBuf::new().with("x-delayed-type", Value::LongStr(b"direct"));
    assert_done(declare(&mut client, "x", "x-delayed-message", direct.as_table()));
    assert_done(bind(&mut client, "x", "q", "k"));
    node.sync();
    client.select_confirms(1);
    for (tag, delay_ms) in [(1, 10), (2, 1000)] {
        let headers = TableBuf::new().with("x-delay", Value::I64(delay_ms));
        let properties = Properties { headers: Some(headers.as_table()), ..Properties::default() };
        publish_with(&mut client, "x", "k", properties, &delay_ms.to_string());
        assert_confirm_waits(&node, &mut client, tag);
    }
    node.at(NOW + 10);
    node.sync();
    drop(client);
    let node = node.kill();
    node.at(NOW + 20);
    assert_eq!(node.counts("q"), (1, 0));
    node.at(NOW + 1000);
    assert_eq!(node.counts("q"), (2, 0));
    node.sync();
    let node = node.kill();
    node.at(NOW + 2000);
    assert_eq!(node.drain("q"), ["10", "1000"]);
}

#[test]
fn what_an_exchange_that_is_not_durable_keeps_waiting_does_not_last() {
    let (_node, mut client) = prepared();
    let direct = TableBuf::new().with("x-delayed-type", Value::LongStr(b"direct"));
    client.send(
        1,
        &exchange::Declare {
            exchange: b"x",
            kind: b"x-delayed-message",
            arguments: direct.as_table(),
            ..Default::default()
        },
    );
    assert_done(client.hear_one());
    assert_done(bind(&mut client, "x", "q", "k"));
    client.select_confirms(1);
    let headers = TableBuf::new().with("x-delay", Value::I64(10));
    let properties = Properties { headers: Some(headers.as_table()), delivery_mode: Some(2), ..Properties::default() };
    publish_with(&mut client, "x", "k", properties, "m");
    assert_eq!(client.hear_one(), Heard::Ack { tag: 1, multiple: false }, "it is confirmed at once");
}

#[test]
fn an_operator_s_publish_is_answered_when_it_is_durable() {
    let (node, client) = prepared();
    drop(client);
    let exchange = exchange_name("");
    let properties = Properties { delivery_mode: Some(1), ..Properties::default() };
    let request = PublishRequest { exchange: &exchange, routing_key: b"q", properties, body: b"m" };
    let published = guest(&node).publish(&request).expect("it is permitted");
    assert!(published.is_routed && !published.is_refused);
    assert!(!node.broker.engine.durable().reach_all(published.position), "it waits for the disk");
    node.sync();
    assert_eq!(node.kill().drain("q"), ["m"]);
}
