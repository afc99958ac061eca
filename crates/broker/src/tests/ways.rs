//! Which channels publish to which exchanges: what was once reported wrongly.

use amqp::method::{exchange, queue};

use super::client::{Client, TRANSIENT};
use super::node::{NOW, Node};
use super::statistics::{Ticks, channel, queue};

/// Makes an exchange that brings all to the queue `q`, and publishes to it.
fn publish_to_new(node: &Node, client: &mut Client, name: &str, count: usize) {
    client.send(1, &exchange::Declare { exchange: name.as_bytes(), kind: b"fanout", ..Default::default() });
    client.send(1, &queue::Bind { queue: b"q", exchange: name.as_bytes(), ..Default::default() });
    (0..count).for_each(|_| client.publish(1, name, "", TRANSIENT, b"body"));
    node.listen(client);
}

fn delete(node: &Node, client: &mut Client, name: &str) {
    client.send(1, &exchange::Delete { exchange: name.as_bytes(), ..Default::default() });
    node.listen(client);
}

// Its channels had two entries for it: listings showed the first one, and metrics the same series twice.
#[test]
fn who_publishes_to_an_exchange_that_came_back_is_told_once() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    publish_to_new(&node, &mut client, "x", 2);
    delete(&node, &mut client, "x");
    assert_eq!(channel(&node, &mut client).publishes(), []);
    publish_to_new(&node, &mut client, "x", 1);
    Ticks(NOW).tick(&node);
    let publishers = node.broker.publishers_to("/", "x");
    assert_eq!(publishers.iter().map(|publisher| publisher.published).collect::<Vec<_>>(), [1]);
    assert!(publishers[0].rate > 0.0);
    let publishes = channel(&node, &mut client).publishes();
    assert_eq!(publishes.iter().map(|edge| (edge.other.name.as_str(), edge.published)).collect::<Vec<_>>(), [("x", 1)]);
}

// A queue counted for ever the exchanges that had been bound to it, and after 256 of them no other one.
#[test]
fn a_queue_forgets_exchanges_that_are_gone() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    for number in 0..300 {
        let name = format!("x{number}");
        publish_to_new(&node, &mut client, &name, 1);
        let incoming = queue(&node, "q").incoming();
        let incoming: Vec<_> = incoming.iter().map(|edge| (edge.other.name.clone(), edge.published)).collect();
        assert_eq!(incoming, [(name.clone(), 1)]);
        assert_eq!(node.broker.outgoing_of("/", &name).len(), 1);
        delete(&node, &mut client, &name);
        assert!(queue(&node, "q").incoming().is_empty());
    }
}
