//! Messages whose time is over.

use amqp::content::Properties;
use amqp::method::{basic, queue};
use amqp::table::Value;
use model::policy::PolicyKind;
use serde_json::json;

use super::client::{Client, Heard, PERSISTENT};
use super::node::{NOW, Node};
use super::operators::operator;
use super::policies::policy;

fn expiring(milliseconds: &str) -> Properties<'_> {
    Properties { expiration: Some(milliseconds.as_bytes()), ..Properties::default() }
}

/// A node with the queue `q`, whose messages live for 100 ms.
fn with_expiring_queue() -> (Node, Client) {
    let (node, mut client) = Node::standing();
    client.declare_with("q", &[("x-message-ttl", Value::I64(100))]);
    (node, client)
}

fn set_ttl(node: &Node, ttl_ms: u64) {
    let policy = policy("ttl", "^q", 0, json!({"message-ttl": ttl_ms}));
    node.broker.put_policy(&operator(), policy).unwrap();
}

#[test]
fn a_message_expires_at_its_millisecond_and_not_before() {
    let (node, mut client) = with_expiring_queue();
    client.declare("own");
    client.publish(1, "", "q", PERSISTENT, b"m");
    client.publish_with("own", expiring("50"), "m");
    node.at(NOW + 49);
    assert_eq!((node.counts("q"), node.counts("own")), ((1, 0), (1, 0)));
    node.at(NOW + 50);
    assert_eq!((node.counts("q"), node.counts("own")), ((1, 0), (0, 0)));
    node.at(NOW + 99);
    assert_eq!(node.counts("q"), (1, 0));
    node.at(NOW + 100);
    assert_eq!(node.counts("q"), (0, 0));
}

#[test]
fn nobody_is_handed_what_has_expired_however_late_the_timer_is() {
    let (node, mut client) = with_expiring_queue();
    for body in [b"a", b"b"] {
        client.publish(1, "", "q", PERSISTENT, body);
    }
    node.broker.engine.clock.set(NOW + 100);
    client.get(1, "q", true);
    assert_eq!(node.listen(&mut client), [Heard::Other("basic.get-empty")]);
    client.publish(1, "", "q", PERSISTENT, b"c");
    node.broker.engine.clock.set(NOW + 200);
    client.consume(1, "q", "c", true);
    assert_eq!(node.listen(&mut client), [Heard::Other("basic.consume-ok")]);
}

#[test]
fn the_shorter_of_two_times_to_live_counts() {
    let (node, mut client) = Node::standing();
    for (queue, ttl_ms) in [("long", 1000), ("short", 10)] {
        client.declare_with(queue, &[("x-message-ttl", Value::I64(ttl_ms))]);
        client.publish_with(queue, expiring("100"), "m");
    }
    node.at(NOW + 10);
    assert_eq!((node.counts("long"), node.counts("short")), ((1, 0), (0, 0)));
    node.at(NOW + 100);
    assert_eq!(node.counts("long"), (0, 0));
}

#[test]
fn without_any_time_to_live_a_message_goes_at_once_or_not_at_all() {
    let (node, mut client) = Node::standing();
    client.declare_with("q", &[("x-message-ttl", Value::I64(0))]);
    client.publish(1, "", "q", PERSISTENT, b"no consumer is there");
    node.at(NOW);
    assert_eq!(node.counts("q"), (0, 0));
    client.consume(1, "q", "c", true);
    client.publish(1, "", "q", PERSISTENT, b"a consumer is there");
    let heard = node.listen(&mut client);
    let [Heard::Other("basic.consume-ok"), Heard::Message { body, .. }] = heard.as_slice() else { panic!("{heard:?}") };
    assert_eq!(body, b"a consumer is there");
}

#[test]
fn a_message_that_is_held_expires_when_it_comes_back() {
    let (node, mut client) = with_expiring_queue();
    client.publish(1, "", "q", PERSISTENT, b"m");
    client.get(1, "q", false);
    node.listen(&mut client);
    node.at(NOW + 100);
    assert_eq!(node.counts("q"), (0, 1));
    client.send(1, &basic::Reject { delivery_tag: 1, requeue: true });
    assert_eq!(node.counts("q"), (0, 0));
    node.sync();
    let node = node.kill();
    node.broker.engine.clock.set(NOW);
    assert_eq!(node.drain("q"), [""; 0]);
}

#[test]
fn what_has_expired_does_not_come_back_after_a_restart() {
    let (node, mut client) = with_expiring_queue();
    client.publish(1, "", "q", PERSISTENT, b"m");
    node.at(NOW + 100);
    node.sync();
    let node = node.kill();
    node.broker.engine.clock.set(NOW);
    assert_eq!(node.drain("q"), [""; 0]);
}

#[test]
fn after_a_restart_a_message_has_the_rest_of_its_time() {
    let (node, mut client) = with_expiring_queue();
    client.declare("own");
    client.publish(1, "", "q", PERSISTENT, b"m");
    client.publish_with("own", expiring("100"), "m");
    node.spill();
    client.publish(1, "", "q", PERSISTENT, b"m");
    client.publish_with("own", expiring("100"), "m");
    node.sync();
    let node = node.kill();
    node.at(NOW + 99);
    node.load();
    assert_eq!((node.counts("q"), node.counts("own")), ((2, 0), (2, 0)));
    node.at(NOW + 100);
    node.load();
    assert_eq!((node.counts("q"), node.counts("own")), ((0, 0), (0, 0)));
}

#[test]
fn a_time_to_live_that_a_policy_sets_leaves_waiting_messages_alone() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    client.publish(1, "", "q", PERSISTENT, b"old");
    set_ttl(&node, 10);
    client.publish(1, "", "q", PERSISTENT, b"new");
    node.sync();
    let mut node = node.kill();
    for _ in 0..2 {
        node.at(NOW + 9);
        assert_eq!(node.counts("q"), (2, 0));
        node.spill();
        node = node.kill();
    }
    node.broker.engine.clock.set(NOW + 10);
    let mut client = node.connect();
    client.publish(1, "", "q", PERSISTENT, b"newer");
    node.at(NOW + 20);
    assert_eq!(node.drain("q"), ["old"]);
    node.sync();
    let node = node.kill();
    assert_eq!(node.drain("q"), [""; 0]);
}

#[test]
fn messages_keep_the_time_to_live_of_a_policy_that_is_gone() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    set_ttl(&node, 10);
    client.publish(1, "", "q", PERSISTENT, b"short");
    node.broker.delete_policy(&operator(), PolicyKind::User, "/", "ttl").unwrap();
    client.publish(1, "", "q", PERSISTENT, b"endless");
    node.sync();
    let node = node.kill();
    node.at(NOW + 9);
    assert_eq!(node.counts("q"), (2, 0));
    node.at(NOW + 10);
    node.load();
    assert_eq!(node.counts("q"), (1, 0));
    assert_eq!(node.drain("q"), ["endless"]);
}

/// Of two times to live that a queue has from its beginning the shorter one holds, after a restart, too.
#[test]
fn a_policy_that_was_there_before_the_queue_holds_after_a_restart() {
    let (node, mut client) = Node::standing();
    set_ttl(&node, 10);
    client.declare_with("q", &[("x-message-ttl", Value::I64(1000))]);
    client.declare("q2");
    for queue in ["q", "q2"] {
        client.publish(1, "", queue, PERSISTENT, b"m");
    }
    node.sync();
    let node = node.kill();
    node.at(NOW + 9);
    assert_eq!((node.counts("q"), node.counts("q2")), ((1, 0), (1, 0)));
    node.at(NOW + 10);
    assert_eq!((node.counts("q"), node.counts("q2")), ((0, 0), (0, 0)));
}

/// The process may end after the policy is journalled and before its queues learn of it.
#[test]
fn a_policy_whose_queues_were_not_told_leaves_waiting_messages_alone() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    client.publish(1, "", "q", PERSISTENT, b"old");
    set_ttl(&node, 10);
    let queue = node.broker.vhosts.get("/").unwrap().queue(b"q").unwrap();
    let mut records = store::RecordBatch::new();
    records.delete(&engine::features::ttl_key(queue.id()));
    node.broker.engine.append(&mut records);
    node.sync();
    let node = node.kill();
    node.broker.engine.clock.set(NOW + 5);
    node.connect().publish(1, "", "q", PERSISTENT, b"new");
    node.sync();
    let node = node.kill();
    node.at(NOW + 15);
    node.load();
    assert_eq!(node.drain("q"), ["old"]);
}

/// The process may end after the end of the policy is journalled and before its queues learn of it.
#[test]
fn a_policy_whose_end_queues_were_not_told_of_holds_no_longer() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    set_ttl(&node, 10);
    client.publish(1, "", "q", PERSISTENT, b"old");
    let queue = node.broker.vhosts.get("/").unwrap().queue(b"q").unwrap();
    let mut records = store::RecordBatch::new();
    let ttls = ::queue::TtlHistory::of(vec![(model::ids::QueueSeq(1), Some(10))]);
    node.broker.delete_policy(&operator(), PolicyKind::User, "/", "ttl").unwrap();
    engine::features::record_ttls(&mut records, queue.id(), &ttls);
    node.broker.engine.append(&mut records);
    node.sync();
    let node = node.kill();
    node.broker.engine.clock.set(NOW + 5);
    node.connect().publish(1, "", "q", PERSISTENT, b"new");
    node.at(NOW + 100);
    assert_eq!(node.drain("q"), ["new"]);
}

#[test]
fn the_history_of_a_deleted_queue_is_forgotten() {
    let definition_count = |node: Node| {
        node.sync();
        let disk = node.disk.clone();
        drop(node);
        disk.kill_process();
        super::node::open(&disk, 7).expect("the store opens").1.definitions.len()
    };
    let node = Node::new();
    let mut client = node.connect();
    client.declare("q");
    set_ttl(&node, 10);
    client.publish(1, "", "q", PERSISTENT, b"m");
    node.broker.delete_policy(&operator(), PolicyKind::User, "/", "ttl").unwrap();
    client.declare("q2");
    set_ttl(&node, 10);
    node.broker.delete_policy(&operator(), PolicyKind::User, "/", "ttl").unwrap();
    for queue in [b"q".as_slice(), b"q2"] {
        client.send(1, &queue::Delete { queue, ..Default::default() });
        node.listen(&mut client);
    }
    drop(client);
    let with_history = definition_count(node);
    let node = Node::new();
    let mut client = node.connect();
    client.declare("q");
    client.send(1, &queue::Delete { queue: b"q", ..Default::default() });
    drop(client);
    assert_eq!(with_history, definition_count(node));
}

#[test]
fn a_backlog_in_segments_expires_from_its_head() {
    let (node, mut client) = with_expiring_queue();
    for number in 0..60 {
        node.at(NOW + number);
        client.publish(1, "", "q", PERSISTENT, &[b'a' + (number / 3) as u8; 500]);
        if number % 20 == 19 {
            node.spill();
        }
    }
    node.unload();
    let settle = |now_ms| {
        for _ in 0..100 {
            node.at(now_ms);
            node.load();
        }
    };
    settle(NOW + 99);
    assert_eq!(node.counts("q"), (60, 0));
    settle(NOW + 129);
    assert_eq!(node.counts("q"), (30, 0));
    let bodies = node.drain("q");
    assert_eq!((bodies.len(), &bodies[0][..1]), (30, "k"));
}
