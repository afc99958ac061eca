//! When confirms and replies may leave: not before the disk has what they promise, and at once when they promise nothing.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

use amqp::content::put_header_encoded;
use amqp::frame::put_method;
use amqp::method::{basic, exchange, queue, tx};

use super::client::{Client, Heard, PERSISTENT, TRANSIENT};
use super::node::Node;

fn ready(node: &Node, queue: &str) -> Option<u64> {
    node.broker.queue_counts("/", queue).map(|counts| counts.ready)
}

/// A node with the durable queue `q`, and a client in confirm mode.
fn prepared() -> (Node, Client) {
    let node = Node::new();
    let mut client = node.connect();
    client.declare("q");
    client.select_confirms(1);
    node.sync();
    (node, client)
}

#[test]
fn a_persistent_message_is_confirmed_after_the_sync() {
    let (node, mut client) = prepared();
    client.publish(1, "", "q", PERSISTENT, b"one");
    client.publish(1, "", "q", PERSISTENT, b"two");
    assert_eq!(client.hear(), []);
    assert_eq!(ready(&node, "q"), Some(2), "consumers need not wait");
    node.sync();
    assert_eq!(client.hear_one(), Heard::Ack { tag: 2, multiple: true });
}

#[test]
fn what_need_not_last_is_confirmed_at_once() {
    let (node, mut client) = prepared();
    client.publish(1, "", "q", TRANSIENT, b"transient");
    assert_eq!(client.hear_one(), Heard::Ack { tag: 1, multiple: false });
    client.publish(1, "", "nowhere", PERSISTENT, b"dropped");
    assert_eq!(client.hear_one(), Heard::Ack { tag: 2, multiple: false });
    client.send(1, &queue::Declare { queue: b"mine", durable: true, exclusive: true, ..Default::default() });
    client.hear();
    client.publish(1, "", "mine", PERSISTENT, b"exclusive");
    assert_eq!(client.hear_one(), Heard::Ack { tag: 3, multiple: false });
    assert_eq!(ready(&node, "mine"), Some(1));
}

#[test]
fn each_publish_that_no_queue_takes_has_an_ack_of_its_own() {
    let (node, mut client) = prepared();
    let ack = |tag| Heard::Ack { tag, multiple: false };
    let frames: Vec<u8> = ["nowhere", "nowhere", "q", "nowhere"].into_iter().flat_map(frames_to).collect();
    assert_eq!(client.send_bytes(&frames), frames.len());
    assert_eq!(client.hear(), [ack(1), ack(2), ack(4)], "in one write, and past what waits");
    node.sync();
    assert_eq!(client.hear_one(), ack(3));
}

/// A lasting message's publish.
fn frames_to(queue: &str) -> Vec<u8> {
    let mut frames = Vec::new();
    put_method(&mut frames, 1, &basic::Publish { routing_key: queue.as_bytes(), ..Default::default() });
    put_header_encoded(&mut frames, 1, 0, PERSISTENT);
    frames
}

#[test]
fn a_confirm_overtakes_one_that_waits() {
    let (node, mut client) = prepared();
    client.publish(1, "", "q", PERSISTENT, b"waits");
    client.publish(1, "", "q", TRANSIENT, b"does not");
    assert_eq!(client.hear(), [Heard::Ack { tag: 2, multiple: false }]);
    node.sync();
    assert_eq!(client.hear_one(), Heard::Ack { tag: 1, multiple: false });
}

#[test]
fn deletes_purges_and_commits_wait_and_are_durable() {
    let (node, mut client) = prepared();
    client.declare("gone");
    client.publish(1, "", "q", PERSISTENT, b"purged");
    node.sync();
    client.hear();
    client.send(1, &queue::Purge { queue: b"q", ..Default::default() });
    assert_eq!(client.hear(), []);
    node.sync();
    assert_eq!(client.hear_one(), Heard::PurgeOk(1));
    client.send(1, &queue::Delete { queue: b"gone", ..Default::default() });
    assert_eq!(client.hear(), []);
    node.sync();
    assert_eq!(client.hear_one(), Heard::DeleteOk(0));
    client.open_channel(2);
    client.send(2, &tx::Select);
    client.publish(2, "", "q", PERSISTENT, b"committed");
    client.send(2, &tx::Commit);
    assert_eq!(client.hear(), [Heard::Other("tx.select-ok")]);
    node.sync();
    assert_eq!(client.hear_one(), Heard::Other("tx.commit-ok"));
    drop(client);
    let node = node.kill();
    assert_eq!((ready(&node, "q"), ready(&node, "gone")), (Some(1), None));
}

#[test]
fn who_finds_it_done_already_waits_like_who_did_it() {
    let (node, mut first) = prepared();
    first.declare("gone");
    first.publish(1, "", "q", PERSISTENT, b"purged");
    node.sync();
    first.hear();
    let mut second = node.connect();
    let check = |node: &Node, clients: [&mut Client; 2], answers: [Heard; 2]| {
        let [first, second] = clients;
        assert_eq!((first.hear(), second.hear()), (vec![], vec![]));
        node.sync();
        assert_eq!([first.hear_one(), second.hear_one()], answers);
    };
    for client in [&mut first, &mut second] {
        client.send(1, &queue::Purge { queue: b"q", ..Default::default() });
    }
    check(&node, [&mut first, &mut second], [Heard::PurgeOk(1), Heard::PurgeOk(0)]);
    for client in [&mut first, &mut second] {
        client.send(1, &queue::Delete { queue: b"gone", ..Default::default() });
    }
    check(&node, [&mut first, &mut second], [Heard::DeleteOk(0), Heard::DeleteOk(0)]);
    first.send(1, &exchange::Declare { exchange: b"x", kind: b"fanout", durable: true, ..Default::default() });
    node.sync();
    first.hear();
    for client in [&mut first, &mut second] {
        client.send(1, &exchange::Delete { exchange: b"x", ..Default::default() });
    }
    let deleted = || Heard::Other("exchange.delete-ok");
    check(&node, [&mut first, &mut second], [deleted(), deleted()]);
}

/// Nothing is handed out before it is durable that it may have been: else a crash would hide a redelivery.
#[test]
fn a_first_delivery_waits_for_the_mark() {
    let (node, mut client) = prepared();
    client.publish(1, "", "q", PERSISTENT, b"message");
    node.sync();
    client.hear();
    client.get(1, "q", false);
    assert_eq!(client.hear(), []);
    node.sync();
    assert_eq!(client.hear_one(), Heard::Message { tag: 1, redelivered: false, body: b"message".to_vec() });
    drop(client);
    let node = node.kill();
    let mut client = node.connect();
    client.get(1, "q", false);
    node.sync();
    assert_eq!(client.hear_one(), Heard::Message { tag: 1, redelivered: true, body: b"message".to_vec() });
}

#[test]
fn a_clean_rest_remembers_what_was_not_delivered() {
    let (node, mut client) = prepared();
    for body in [b"1", b"2"] {
        client.publish(1, "", "q", PERSISTENT, body);
    }
    client.get(1, "q", false);
    node.sync();
    client.hear();
    node.broker.engine.close_watermarks(true);
    node.sync();
    drop(client);
    let node = node.kill();
    let mut client = node.connect();
    client.consume(1, "q", "c", false);
    node.sync();
    let heard = client.hear();
    let flags: Vec<bool> = heard
        .iter()
        .filter_map(|heard| if let Heard::Message { redelivered, .. } = heard { Some(*redelivered) } else { None })
        .collect();
    assert_eq!(flags, [true, false], "{heard:?}");
}

/// A disk that takes nothing more ends the broker, rather than leaving publishers to wait for ever.
#[test]
fn a_failed_journal_is_told() {
    let (node, mut client) = prepared();
    let mut failed = pin!(node.broker.failed());
    let mut cx = Context::from_waker(Waker::noop());
    assert!(failed.as_mut().poll(&mut cx).is_pending());
    node.disk.fail_syncs(100);
    client.publish(1, "", "q", PERSISTENT, b"lost");
    let store = &node.broker.engine.store;
    while store.failure().is_none() {
        let _ = store.step_journal();
    }
    assert!(failed.as_mut().poll(&mut cx).is_ready());
    assert_eq!(client.hear(), []);
}
