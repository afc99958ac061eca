//! What is known of keys after a restart, and for how long.

use amqp::method::{exchange, queue};
use amqp::table::{TableBuf, Value};

use super::{DEDUPLICATION, assert_ready, cut, get_one, node_with_queue, publish, publish_as, publish_to, restart};
use crate::tests::exchange_types::{assert_done, bind, declare};
use crate::tests::node::{NOW, open};
use crate::tests::operators::operator;

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
fn keys_of_lost_messages_do_not_stay_for_ever() {
    let (node, mut client) = node_with_queue(&[]);
    publish(&mut client, "a", "1");
    let vhost = node.broker.vhosts.get("/").unwrap();
    let queue = vhost.queue(b"q").unwrap();
    // As a damaged segment does it: the message is lost, and nothing names it.
    node.broker.engine.shards.with_queue(&queue, |entry| entry.queue.purge(&mut ::queue::PurgedMessages::default()));
    publish(&mut client, "a", "2");
    assert_ready(&node, 0);
    publish(&mut client, "b", "3");
    assert_eq!(node.drain("q"), ["3"]);
    publish(&mut client, "a", "4");
    assert_eq!(node.drain("q"), ["4"]);
}
