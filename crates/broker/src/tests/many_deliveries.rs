//! More messages at once than a queue is locked for: they are given back, acknowledged and purged in pieces, as if it were in one.

use super::client::{Client, Heard};
use super::node::Node;
use crate::limits::SETTLED_COUNT_MAX;
use amqp::method::{basic, queue};

const COUNT: usize = 2 * SETTLED_COUNT_MAX + 10;

/// A queue whose consumer has all its messages unacked.
fn holder(node: &Node) -> Client {
    let mut client = node.connect();
    client.declare("q");
    for number in 0..COUNT {
        client.publish(1, "", "q", &[0, 0], number.to_string().as_bytes());
    }
    client.hear();
    client.consume(1, "q", "t", false);
    node.sync();
    assert_eq!(messages(node, &mut client).len(), COUNT);
    client
}

/// What a client is given, until it is given nothing more.
fn messages(node: &Node, client: &mut Client) -> Vec<(String, bool)> {
    let mut all = Vec::new();
    loop {
        // What may be handed out is written down first.
        node.sync();
        let heard = client.hear();
        if heard.is_empty() {
            return all;
        }
        all.extend(heard.into_iter().filter_map(|heard| match heard {
            Heard::Message { body, redelivered, .. } => {
                Some((String::from_utf8_lossy(&body).into_owned(), redelivered))
            }
            _ => None,
        }));
    }
}

fn all_in_order(is_redelivered: bool) -> Vec<(String, bool)> {
    (0..COUNT).map(|number| (number.to_string(), is_redelivered)).collect()
}

#[test]
fn all_that_a_connection_held_comes_back_in_its_order() {
    let node = Node::new();
    let mut gone = holder(&node);
    let mut other = node.connect();
    other.consume(1, "q", "u", false);
    assert!(messages(&node, &mut other).is_empty());
    gone.session.front.end();
    assert_eq!(messages(&node, &mut other), all_in_order(true));
}

#[test]
fn all_that_is_given_back_comes_back_in_its_order() {
    let node = Node::new();
    let mut client = holder(&node);
    client.send(1, &basic::Nack { delivery_tag: COUNT as u64, multiple: true, requeue: true });
    assert_eq!(messages(&node, &mut client), all_in_order(true));
}

#[test]
fn all_that_is_acknowledged_at_once_is_gone() {
    let node = Node::new();
    let mut client = holder(&node);
    client.ack(1, COUNT as u64, true);
    client.send(1, &basic::Recover { requeue: true });
    assert!(messages(&node, &mut client).is_empty());
    let view = node.broker.queue_view("/", "q").unwrap();
    assert_eq!(view.unacked_count() + view.ready_count(), 0);
}

#[test]
fn all_that_waits_is_purged() {
    let node = Node::new();
    let mut client = holder(&node);
    client.send(1, &basic::Cancel { consumer_tag: b"t", no_wait: false });
    client.hear();
    client.send(1, &basic::Nack { delivery_tag: COUNT as u64 - 1, multiple: true, requeue: true });
    client.send(1, &queue::Purge { queue: b"q", no_wait: false, ..Default::default() });
    assert!(client.hear().contains(&Heard::PurgeOk(COUNT as u32 - 1)));
}
