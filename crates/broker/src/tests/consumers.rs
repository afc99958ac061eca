//! Consumers among themselves and with the rest of their connection: none is forgotten, none gets what is another's.

use crate::front::Protocol as _;
use engine::lane::LaneNumber;
use std::sync::Arc;
use std::task::Waker;

use amqp::frame::put_method;
use amqp::method::{basic, queue, tx};
use amqp::table::Value;

use super::client::{Client, Heard, PERSISTENT, TRANSIENT, table_of};
use super::node::Node;
use crate::front::Phase;
use crate::limits::OUTPUT_LEN;
use engine::outbox::{OUTBOX_OVERDRAFT_LEN, OUTBOX_WINDOW_LEN};

/// First bytes of the bodies that were heard.
fn bodies(heard: &[Heard]) -> Vec<u8> {
    let body = |heard: &Heard| if let Heard::Message { body, .. } = heard { body.first().copied() } else { None };
    heard.iter().filter_map(body).collect()
}

const FILLED_COUNT: usize = 15;

/// More ready messages in a queue than a connection's window takes, each with the same first byte.
fn fill(client: &mut Client, queue: &str, first: u8) {
    let len = OUTBOX_WINDOW_LEN as usize / 10;
    for _ in 0..FILLED_COUNT {
        client.publish(1, "", queue, TRANSIENT, &vec![first; len]);
    }
}

fn node_with(queues: &[&str]) -> (Node, Client) {
    let node = Node::new();
    let mut client = node.connect();
    for queue in queues {
        client.declare(queue);
    }
    node.sync();
    (node, client)
}

#[test]
fn who_only_acknowledges_is_listened_to_while_publishers_wait() {
    let (node, mut publisher) = node_with(&["q", "other"]);
    for number in 0..3 {
        publisher.publish(1, "", "q", TRANSIENT, &[number]);
    }
    let mut consumer = node.connect();
    consumer.send(1, &basic::Qos { prefetch_count: 1, ..Default::default() });
    consumer.consume(1, "q", "c", false);
    node.sync();
    assert_eq!(bodies(&consumer.hear()), [0]);
    while publisher.session.front.wants_input() {
        publisher.publish(1, "", "other", PERSISTENT, &[9; 2000]);
    }
    assert!(node.broker.engine.store.is_congested());
    for tag in 1..3 {
        consumer.ack(1, tag, false);
        assert_eq!(bodies(&consumer.hear()), [tag as u8]);
    }
}

/// The notice that a queue was deleted must not reach a consumer that came after.
#[test]
fn a_cancellation_concerns_its_own_queue_only() {
    let (node, mut client) = node_with(&["q1", "q2"]);
    client.consume(1, "q1", "a", true);
    client.hear();
    let mut bytes = Vec::new();
    put_method(&mut bytes, 1, &queue::Delete { queue: b"q1", no_wait: true, ..Default::default() });
    put_method(&mut bytes, 1, &basic::Cancel { consumer_tag: b"a", no_wait: true });
    put_method(&mut bytes, 1, &basic::Consume { queue: b"q2", consumer_tag: b"b", ..Default::default() });
    client.send_bytes(&bytes);
    node.sync();
    assert_eq!(client.hear(), [Heard::Other("basic.consume-ok")]);
    node.connect().publish(1, "", "q2", TRANSIENT, b"for b");
    node.sync();
    assert_eq!(client.hear_one(), Heard::Message { tag: 1, redelivered: false, body: b"for b".to_vec() });
}

#[test]
fn room_that_a_cancelled_consumer_leaves_goes_to_the_others() {
    let (node, mut client) = node_with(&["q1", "q2"]);
    fill(&mut client, "q1", 1);
    fill(&mut client, "q2", 2);
    let mut bytes = Vec::new();
    for (queue, consumer_tag) in [(b"q1", b"a"), (b"q2", b"b")] {
        put_method(&mut bytes, 1, &basic::Consume { queue, consumer_tag, ..Default::default() });
    }
    put_method(&mut bytes, 1, &basic::Cancel { consumer_tag: b"a", no_wait: false });
    client.send_bytes(&bytes);
    node.sync();
    assert_eq!(bodies(&client.hear()), [2; FILLED_COUNT]);
    assert_eq!(node.broker.queue_counts("/", "q1").unwrap().ready, FILLED_COUNT as u64);
}

#[test]
fn consumers_of_one_connection_share_its_room() {
    let (node, mut client) = node_with(&["q1", "q2", "q3"]);
    let mut publisher = node.connect();
    for (queue, first) in [("q1", 1), ("q2", 2), ("q3", 3)] {
        fill(&mut publisher, queue, first);
        client.consume(1, queue, queue, true);
    }
    node.sync();
    // The client reads slowly: one part of the output after the other.
    for _ in 0..8 {
        client.session.drain_outbox(Waker::noop());
        client.session.front.clear_output();
    }
    for queue in ["q2", "q3"] {
        let ready = node.broker.queue_counts("/", queue).unwrap().ready;
        assert!(ready < FILLED_COUNT as u64 - 1, "{ready} messages wait in {queue}");
    }
}

/// Cancelling one consumer takes all deliveries out of the outbox: those of others must go on waiting for the mark.
#[test]
fn a_cancellation_does_not_free_deliveries_that_must_wait() {
    let (node, mut client) = node_with(&["q1", "q2"]);
    client.publish(1, "", "q1", PERSISTENT, &[1]);
    client.consume(1, "q2", "c2", true);
    node.sync();
    client.hear();
    let mut bytes = Vec::new();
    put_method(&mut bytes, 1, &basic::Consume { queue: b"q1", consumer_tag: b"c1", ..Default::default() });
    put_method(&mut bytes, 1, &basic::Cancel { consumer_tag: b"c2", no_wait: true });
    client.send_bytes(&bytes);
    assert!(bodies(&client.hear()).is_empty());
    node.sync();
    assert_eq!(bodies(&client.hear()), [1]);
}

#[test]
fn publishers_pause_for_consumers_that_would_take_more() {
    let (node, mut publisher) = node_with(&["unconsumed", "prefetched", "outrun"]);
    let mut consumer = node.connect();
    consumer.consume(1, "outrun", "c", true);
    consumer.send(1, &basic::Qos { prefetch_count: 1, ..Default::default() });
    consumer.consume(1, "prefetched", "d", false);
    node.sync();
    for (queue, pauses) in [("unconsumed", false), ("prefetched", false), ("outrun", true)] {
        for _ in 0..30 {
            publisher.publish(1, "", queue, TRANSIENT, &vec![1; OUTBOX_WINDOW_LEN as usize / 8]);
            node.spill();
        }
        assert_eq!(publisher.session.front.take_pause() > 0, pauses, "{queue}");
        assert_eq!(publisher.session.front.take_pause(), 0, "one pause at a time");
    }
    consumer.hear();
    publisher.publish(1, "", "outrun", TRANSIENT, b"few");
    assert_eq!(publisher.session.front.take_pause(), 0, "nothing waits any more");
}

/// Memory that waits for a client which does not read is given back when it is short.
#[test]
fn a_client_that_does_not_read_stops_nobody() {
    let (node, mut stuck) = node_with(&["stuck", "q"]);
    let mut publisher = node.connect();
    stuck.consume(1, "stuck", "c", true);
    node.sync();
    stuck.hear();
    publisher.publish(1, "", "stuck", TRANSIENT, &[7; OUTPUT_LEN]);
    stuck.session.drain_outbox(Waker::noop());
    // Each small message lies in a chunk among large ones of others; none of it is read by its consumer.
    for _ in 0..100 {
        publisher.publish(1, "", "stuck", TRANSIENT, &[7; 100]);
        publisher.publish(1, "", "q", TRANSIENT, &[8; 200_000]);
        for _ in 0..20 {
            let _ = node.broker.engine.store.retire_once(&node.residents);
            stuck.session.drain_outbox(Waker::noop());
            publisher.hear();
        }
        assert!(publisher.session.front.wants_input(), "the publisher waits for one who does not read");
    }
    assert_eq!(bodies(&stuck.hear()), [7; 101]);
}

#[test]
fn a_get_is_not_overtaken_by_deliveries_with_higher_tags() {
    let (node, mut client) = node_with(&["consumed", "got"]);
    client.consume(1, "consumed", "c", false);
    client.publish(1, "", "got", PERSISTENT, &[1]);
    node.sync();
    client.hear();
    client.get(1, "got", false);
    node.connect().publish(1, "", "consumed", TRANSIENT, &[2]);
    assert_eq!(client.hear(), [], "the get waits for the mark, and the delivery for the get");
    node.sync();
    assert_eq!(bodies(&client.hear()), [1, 2]);
}

/// A client that waits for direct replies, and its address.
fn requester(node: &Node) -> (Client, Arc<str>) {
    let mut client = node.connect();
    client.consume(1, "amq.rabbitmq.reply-to", "", true);
    client.hear();
    let address = client.session.front.lane_mut(LaneNumber(1)).unwrap().reply_consumer_address().unwrap();
    (client, address)
}

#[test]
fn replies_that_nobody_reads_are_dropped() {
    let (node, mut replier) = node_with(&[]);
    let (mut requester, address) = requester(&node);
    for _ in 0..100 {
        replier.publish(1, "", &address, TRANSIENT, &vec![1; 1 << 20]);
        requester.session.drain_outbox(Waker::noop());
    }
    let len = requester.session.front.output().len() as i64;
    assert!((OUTBOX_OVERDRAFT_LEN..2 * OUTBOX_OVERDRAFT_LEN).contains(&len), "{len} bytes wait");
    requester.hear();
    replier.publish(1, "", &address, TRANSIENT, &[2]);
    assert_eq!(bodies(&requester.hear()), [2]);
}

#[test]
fn a_reply_in_a_transaction_waits_for_the_commit() {
    let (node, mut replier) = node_with(&[]);
    let (mut requester, address) = requester(&node);
    replier.send(1, &tx::Select);
    replier.publish(1, "", &address, TRANSIENT, &[1]);
    assert_eq!(requester.hear(), []);
    replier.send(1, &tx::Rollback);
    replier.publish(1, "", &address, TRANSIENT, &[2]);
    replier.send(1, &tx::Commit);
    assert_eq!(bodies(&requester.hear()), [2]);
}

#[test]
fn queues_that_delete_themselves_are_not_remembered() {
    let (_node, mut client) = node_with(&[]);
    for _ in 0..3 {
        let declare = queue::Declare { queue: b"mine", exclusive: true, auto_delete: true, ..Default::default() };
        client.send(1, &declare);
        client.consume(1, "mine", "c", true);
        client.send(1, &basic::Cancel { consumer_tag: b"c", no_wait: true });
        client.hear();
    }
    assert!(!client.session.front.has_exclusive_queues());
}

#[test]
fn a_connection_that_was_told_to_close_is_told_once() {
    let (_node, mut client) = node_with(&[]);
    client.session.front.set_blocked();
    client.session.close_by_server("shutdown");
    assert!(matches!(client.hear_one(), Heard::ConnectionClose { code: 320, .. }));
    let mut unknown = Vec::new();
    put_method(&mut unknown, 0, &amqp::method::connection::Unblocked);
    let len = unknown.len();
    unknown[len - 2] = 99;
    assert_eq!(client.send_bytes(&unknown), len, "it is listened to");
    assert_eq!(client.hear(), []);
    assert!(matches!(client.session.front.phase(), Phase::Closing { .. }));
    client.send_bytes(b"\x01\x00\x00 this is not a frame");
    assert_eq!(client.hear(), []);
    assert!(matches!(client.session.front.phase(), Phase::Closed { .. }));
}

#[test]
fn who_deletes_a_queue_hears_of_that_before_its_consumers_are_cancelled() {
    for (is_durable, is_exclusive, queue_type) in
        [(true, false, "classic"), (true, false, "quorum"), (false, false, "classic"), (false, true, "classic")]
    {
        let node = Node::new();
        let mut client = node.connect();
        let arguments = table_of(&[("x-queue-type", Value::LongStr(queue_type.as_bytes()))]);
        let arguments = arguments.as_table();
        let declare = queue::Declare {
            queue: b"q",
            durable: is_durable,
            exclusive: is_exclusive,
            arguments,
            ..Default::default()
        };
        client.send(1, &declare);
        client.consume(1, "q", "c", false);
        let mut other = node.connect();
        if !is_exclusive {
            other.consume(1, "q", "c", false);
            node.listen(&mut other);
        }
        node.listen(&mut client);
        client.send(1, &queue::Delete { queue: b"q", ..Default::default() });
        let heard = node.listen(&mut client);
        assert_eq!(
            heard,
            [Heard::DeleteOk(0), Heard::Other("basic.cancel")],
            "{is_durable} {is_exclusive} {queue_type}"
        );
        let heard = node.listen(&mut other);
        assert_eq!(heard, if is_exclusive { vec![] } else { vec![Heard::Other("basic.cancel")] });
    }
}
