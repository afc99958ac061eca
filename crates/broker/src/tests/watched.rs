//! Queues that the configuration's pattern has watched.

use amqp::method::queue;
use model::pattern::Pattern;

use super::node::{Node, open};
use crate::options::Options;

fn options() -> Options {
    Options { watched_queues: Some(Pattern::parse("^orders").unwrap()), ..Options::default() }
}

fn watched(node: &Node) -> Vec<String> {
    node.broker.watched_queues().iter().map(|queue| queue.definition().name.as_str().to_owned()).collect()
}

#[test]
fn queues_with_such_names_are_watched_from_their_declaration_on_and_after_a_restart() {
    let node = Node::with(options());
    let mut client = node.connect();
    for name in ["orders.b", "other", "orders.a", "old-orders"] {
        client.declare(name);
    }
    assert_eq!(watched(&node), ["orders.a", "orders.b"]);
    node.broker.unwatch_queue("/", "orders.a").unwrap();
    node.broker.watch_queue("/", "other").unwrap();
    client.declare("orders.a");
    assert_eq!(watched(&node), ["orders.b", "other"], "an operator has said otherwise");
    node.sync();
    drop(client);
    node.disk.kill_process();
    let (store, recovered) = open(&node.disk, 1).unwrap();
    let node = Node::over(node.disk.clone(), store, recovered, options());
    assert_eq!(watched(&node), ["orders.a", "orders.b"]);
}

#[test]
fn no_more_are_watched_than_may_be_and_deleted_ones_make_room() {
    let node = Node::with(options());
    let mut client = node.connect();
    let name = |number: usize| format!("orders.{number:03}");
    (0..70).for_each(|number| client.declare(&name(number)));
    assert_eq!(watched(&node), (0..64).map(name).collect::<Vec<_>>());
    client.send(1, &queue::Delete { queue: b"orders.003", ..Default::default() });
    node.sync();
    client.hear();
    client.declare("orders.new");
    assert!(watched(&node).contains(&"orders.new".to_owned()) && watched(&node).len() == 64);
}
