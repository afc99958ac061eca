//! Queues that an operator pauses.

use amqp::method::queue;

use super::client::{Client, Heard, PERSISTENT};
use super::node::Node;
use super::operators::operator;

fn bodies(node: &Node, client: &mut Client) -> Vec<Vec<u8>> {
    let body = |heard: Heard| if let Heard::Message { body, .. } = heard { Some(body) } else { None };
    node.listen(client).into_iter().filter_map(body).collect()
}

fn pause(node: &Node, is_paused: bool) {
    node.broker.pause_queue(&operator(), "/", "q", is_paused).unwrap();
    node.sync();
}

#[test]
fn consumers_of_a_paused_queue_get_nothing_until_it_is_resumed() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    let mut consumer = node.connect();
    consumer.consume(1, "q", "c", true);
    pause(&node, true);
    client.publish(1, "", "q", PERSISTENT, b"one");
    assert!(bodies(&node, &mut consumer).is_empty());
    let queue = node.broker.queue_view("/", "q").unwrap();
    assert_eq!((queue.ready_count(), queue.is_paused()), (1, true));
    // A client can still get a single message, which it asks for each time.
    client.get(1, "q", true);
    assert_eq!(bodies(&node, &mut client), [b"one"]);
    client.publish(1, "", "q", PERSISTENT, b"two");
    node.listen(&mut client);
    pause(&node, false);
    assert_eq!(bodies(&node, &mut consumer), [b"two"]);
    assert!(!queue.is_paused());
}

#[test]
fn a_queue_stays_paused_over_a_restart_and_a_new_one_of_its_name_is_not() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    client.publish(1, "", "q", PERSISTENT, b"one");
    node.listen(&mut client);
    pause(&node, true);
    let node = node.kill();
    assert!(node.broker.queue_view("/", "q").unwrap().is_paused());
    // Also when the journal no longer has the order.
    node.spill();
    let node = node.kill();
    assert!(node.broker.queue_view("/", "q").unwrap().is_paused());
    let mut consumer = node.connect();
    consumer.consume(1, "q", "c", true);
    assert!(bodies(&node, &mut consumer).is_empty());
    consumer.send(1, &queue::Delete { queue: b"q", ..Default::default() });
    node.listen(&mut consumer);
    let mut client = node.connect();
    client.declare("q");
    node.listen(&mut client);
    let node = node.kill();
    assert!(!node.broker.queue_view("/", "q").unwrap().is_paused());
    assert!(node.broker.pause_queue(&operator(), "/", "other", true).is_err());
    pause(&node, true);
    pause(&node, true);
    pause(&node, false);
    let node = node.kill();
    assert!(!node.broker.queue_view("/", "q").unwrap().is_paused());
}
