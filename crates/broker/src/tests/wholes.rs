//! What arrives together with other things or not at all, in a cluster: no client sees it before a majority has it.
//!
//! Else a client settles a message that the next leader has where it was before, and that comes then as if for the first time.

use amqp::content::Properties;
use amqp::method::tx;
use amqp::table::{TableBuf, Value};
use store::Random;

use super::client::{Client, Heard, PERSISTENT};
use super::exchange_types::{assert_done, publish_with};
use super::lives::Home;
use super::node::{NOW, Node};

const SEED_COUNT: u64 = 5;

/// A group's node with a classic queue `q`, whose consumer has been there for long.
fn with_consumer(seed: u64) -> (Node, Client, Client) {
    let (home, mut random) = (Home::of_three(seed), Random::new(seed));
    let node = home.begin(&mut random);
    node.at(NOW);
    let mut client = node.connect();
    client.declare("q");
    let mut consumer = node.connect();
    consumer.consume(1, "q", "c", false);
    node.sync();
    node.listen(&mut consumer);
    (node, client, consumer)
}

/// After what was done just now the consumer gets this message, and not before it is with a majority.
#[track_caller]
fn assert_comes_when_durable(node: &Node, consumer: &mut Client, expected: &[u8]) {
    let end = node.appended();
    assert!(end > node.broker.engine.store.durable(), "it is journaled");
    for _ in 0..1_000 {
        let heard = consumer.hear();
        let durable = node.broker.engine.store.durable();
        match &heard[..] {
            [] => node.step().expect("nothing happens to the group"),
            [Heard::Message { body, redelivered: false, .. }] => {
                assert_eq!(body, expected);
                assert!(durable >= end, "it came at {durable}, before {end} was durable");
                return;
            }
            _ => panic!("{heard:?}"),
        }
    }
    panic!("it never comes");
}

/// What is published there comes as soon as it can, as ever.
#[test]
fn what_a_classic_queue_gets_from_a_publisher_is_handed_out_at_once() {
    let (_node, mut client, mut consumer) = with_consumer(0);
    client.publish(1, "", "q", PERSISTENT, b"m");
    assert!(matches!(consumer.hear()[..], [Heard::Message { .. }]));
}

#[test]
fn a_delayed_message_is_handed_out_when_its_release_is_with_a_majority() {
    for seed in 0..SEED_COUNT {
        let (node, mut client, mut consumer) = with_consumer(seed);
        let delayed = TableBuf::new().with("x-delayed-type", Value::LongStr(b"direct"));
        let exchange = amqp::method::exchange::Declare {
            exchange: b"x",
            kind: b"x-delayed-message",
            durable: true,
            arguments: delayed.as_table(),
            ..Default::default()
        };
        client.send(1, &exchange);
        assert_done(client.hear_defined().expect("the group is calm"));
        client.send(
            1,
            &amqp::method::queue::Bind { queue: b"q", exchange: b"x", routing_key: b"k", ..Default::default() },
        );
        assert_done(client.hear_defined().expect("the group is calm"));
        let headers = TableBuf::new().with("x-delay", Value::I64(1_000));
        let properties =
            Properties { headers: Some(headers.as_table()), delivery_mode: Some(2), ..Properties::default() };
        publish_with(&mut client, "x", "k", properties, "m");
        node.sync();
        node.at(NOW + 1_000);
        assert_comes_when_durable(&node, &mut consumer, b"m");
    }
}

#[test]
fn a_dead_letter_is_handed_out_when_its_move_is_with_a_majority() {
    for seed in 0..SEED_COUNT {
        let (node, mut client, mut consumer) = with_consumer(seed);
        let to_q =
            [("x-dead-letter-exchange", Value::LongStr(b"")), ("x-dead-letter-routing-key", Value::LongStr(b"q"))];
        client.declare_with("a", &[&to_q[..], &[("x-message-ttl", Value::I64(1_000))]].concat());
        client.publish(1, "", "a", PERSISTENT, b"m");
        node.sync();
        node.at(NOW + 1_000);
        assert_comes_when_durable(&node, &mut consumer, b"m");
    }
}

/// It has no consumer when the dead letter arrives: a client that comes for it later waits as well, also with a get.
#[test]
fn whoever_comes_later_for_a_dead_letter_waits_for_a_majority() {
    for seed in 0..SEED_COUNT {
        let (node, mut client, mut consumer) = with_consumer(seed);
        client.declare("late");
        // Its mark is open, and durable.
        client.publish(1, "", "late", PERSISTENT, b"before");
        client.get(1, "late", true);
        node.listen(&mut client);
        let to_late =
            [("x-dead-letter-exchange", Value::LongStr(b"")), ("x-dead-letter-routing-key", Value::LongStr(b"late"))];
        client.declare_with("a", &[&to_late[..], &[("x-message-ttl", Value::I64(1_000))]].concat());
        client.publish(1, "", "a", PERSISTENT, b"m");
        node.sync();
        node.at(NOW + 1_000);
        consumer.get(1, "late", false);
        assert_comes_when_durable(&node, &mut consumer, b"m");
    }
}

/// Over a quorum queue and a classic one: none of the two is seen of a transaction that might still be none.
#[test]
fn a_transaction_is_handed_out_when_all_of_it_is_with_a_majority() {
    for seed in 0..SEED_COUNT {
        let (node, mut client, mut consumer) = with_consumer(seed);
        client.declare_with("quorum", &[("x-queue-type", Value::LongStr(b"quorum"))]);
        client.send(1, &tx::Select);
        client.publish(1, "", "quorum", PERSISTENT, b"m");
        client.publish(1, "", "q", PERSISTENT, b"m");
        client.send(1, &tx::Commit);
        assert_comes_when_durable(&node, &mut consumer, b"m");
    }
}
