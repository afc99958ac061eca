//! Queues and their consumers, as a listing that asks no connection has them.

use amqp::method::{basic, channel, connection};
use amqp::table::Value;

use super::client::Client;
use super::node::Node;
use super::operators::{block_on, guest, lasting, node_with, operator, permit, queue_name, vhost};
use crate::control::VhostRequest;
use crate::view::QueueView;

fn names(views: impl Iterator<Item = QueueView>) -> Vec<String> {
    views.map(|view| format!("{} {}", view.definition().vhost, view.definition().name)).collect()
}

/// Queues in two vhosts, and none in a third.
fn node_with_queues(counts: [usize; 2]) -> (Node, Vec<String>) {
    let node = Node::new();
    let mut expected = Vec::new();
    for (of, count) in ["a", "c"].into_iter().zip(counts) {
        node.broker.put_vhost(&operator(), VhostRequest::named(vhost(of))).unwrap();
        let access = block_on(node.broker.enter(&operator(), of)).unwrap();
        // Not in the order of their names.
        for number in (0..count).rev() {
            access.declare_queue(&lasting(&queue_name(&format!("q-{number:04}")))).unwrap();
        }
        expected.extend((0..count).map(|number| format!("{of} q-{number:04}")));
    }
    node.broker.put_vhost(&operator(), VhostRequest::named(vhost("b"))).unwrap();
    (node, expected)
}

#[test]
fn a_walk_meets_all_queues_by_vhost_and_name() {
    let (node, expected) = node_with_queues([600, 300]);
    let walk = node.broker.walk_queues(["a", "b", "nosuch", "c"]);
    assert_eq!(walk.queue_count(), 900);
    assert_eq!(names(walk), expected);
}

#[test]
fn passing_over_queues_is_leaving_them_out() {
    // More than are passed over under one lock.
    let (node, expected) = node_with_queues([4500, 300]);
    for count in [0, 1, 255, 256, 4095, 4096, 4097, 4499, 4500, 4501, 4799, 4800, 9000] {
        let mut walk = node.broker.walk_queues(["a", "b", "c"]);
        walk.pass(count);
        assert_eq!(names(walk), expected[count.min(4800)..], "{count}");
    }
}

#[test]
fn a_walk_goes_on_when_queues_come_and_go() {
    let (node, _) = node_with_queues([1000, 0]);
    let access = block_on(node.broker.enter(&operator(), "a")).unwrap();
    let mut walk = node.broker.walk_queues(["a"]);
    assert_eq!(names(walk.by_ref().take(10)).len(), 10);
    // The one it has come to, and others behind it and ahead of it.
    for name in ["q-0255", "q-0009", "q-0500"] {
        access.delete_queue(&queue_name(name), false, false).unwrap();
    }
    for name in ["q-0003-new", "q-0800-new"] {
        access.declare_queue(&lasting(&queue_name(name))).unwrap();
    }
    let rest = names(walk);
    assert!(rest.contains(&"a q-0800-new".to_owned()) && !rest.contains(&"a q-0003-new".to_owned()));
    assert!(!rest.contains(&"a q-0500".to_owned()));
    assert_eq!(rest.len(), 1000 - 10);
}

fn tags(node: &Node, name: &str) -> Vec<String> {
    let view = node.broker.queue_view("/", name).unwrap();
    let mut tags: Vec<String> = node.broker.consumers_of_queue(&view).iter().map(|consumer| consumer.tag()).collect();
    tags.sort();
    tags
}

fn consume_exclusively(client: &mut Client, name: &str, tag: &str) {
    let (queue, consumer_tag) = (name.as_bytes(), tag.as_bytes());
    client.send(1, &basic::Consume { queue, consumer_tag, exclusive: true, ..Default::default() });
    client.hear();
}

#[test]
fn a_queue_knows_its_consumers_until_they_go() {
    let node = Node::new();
    let (mut one, mut other) = (node.connect(), node.connect());
    for name in ["q", "r"] {
        one.declare(name);
    }
    one.open_channel(2);
    one.consume(1, "q", "first", false);
    one.consume(2, "q", "second", false);
    one.consume(2, "r", "elsewhere", false);
    other.consume(1, "q", "third", false);
    assert_eq!(tags(&node, "q"), ["first", "second", "third"]);
    one.send(1, &basic::Cancel { consumer_tag: b"first", no_wait: false });
    assert_eq!(tags(&node, "q"), ["second", "third"]);
    let closing = channel::Close { reply_code: 200, reply_text: b"", class_id: 0, method_id: 0 };
    one.send(2, &closing);
    assert_eq!((tags(&node, "q"), tags(&node, "r")), (vec!["third".to_owned()], vec![]));
    // One disconnects without a word, the other says goodbye.
    other.session.front.end();
    one.consume(1, "q", "fourth", false);
    one.send(0, &connection::Close { reply_code: 200, reply_text: b"", class_id: 0, method_id: 0 });
    one.session.front.end();
    assert!(tags(&node, "q").is_empty());
    assert_eq!(node.broker.queue_consumers.count(), 0);
}

#[test]
fn who_loses_its_queue_or_its_right_is_no_consumer_any_more() {
    let node = node_with(".*", ".*", ".*");
    let mut client = super::operators::connect(&node);
    for name in ["gone", "lost"] {
        guest(&node).declare_queue(&lasting(&queue_name(name))).unwrap();
        client.consume(1, name, name, true);
    }
    node.sync();
    client.hear();
    permit(&node, "", "", "^gone$");
    client.hear();
    assert!(tags(&node, "lost").is_empty());
    guest(&node).delete_queue(&queue_name("gone"), false, false).unwrap();
    client.hear();
    assert_eq!(node.broker.queue_consumers.count(), 0);
}

#[test]
fn a_queue_names_its_exclusive_consumer_and_its_active_one() {
    let node = Node::new();
    let (mut first, mut second) = (node.connect(), node.connect());
    first.declare_with("single", &[("x-single-active-consumer", Value::Bool(true))]);
    first.declare("alone");
    let named = |name: &str| {
        let view = node.broker.queue_view("/", name).unwrap();
        (node.broker.exclusive_tag_of(&view), node.broker.single_active_tag_of(&view))
    };
    assert_eq!((named("single"), named("alone")), ((None, None), (None, None)));
    second.consume(1, "single", "active", false);
    first.consume(1, "single", "waiting", false);
    consume_exclusively(&mut first, "alone", "only");
    assert_eq!(named("single"), (None, Some("active".to_owned())));
    assert_eq!(named("alone"), (Some("only".to_owned()), None));
    second.send(1, &basic::Cancel { consumer_tag: b"active", no_wait: false });
    assert_eq!(named("single").1, Some("waiting".to_owned()));
    first.send(1, &basic::Cancel { consumer_tag: b"only", no_wait: false });
    first.consume(1, "alone", "shared", false);
    assert_eq!(named("alone"), (None, None));
}
