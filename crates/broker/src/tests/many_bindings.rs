//! Queues and exchanges with very many bindings: they are deleted in pieces, and messages are routed in between.

use amqp::table::Table;

use super::client::PERSISTENT;
use super::node::Node;
use super::operators::{exchange_name, guest, lasting, queue_name};
use crate::binding_request::{BindingEnd, BindingRequest};
use crate::limits::{SHOWN_BINDING_COUNT, UNBOUND_COUNT_MAX};
use crate::view::BindingFilter;

const PIECE_COUNT: usize = 4;

fn bind_often(node: &Node, queue: &str) {
    let access = guest(node);
    access.declare_queue(&lasting(&queue_name(queue))).unwrap();
    let (source, queue) = (exchange_name("amq.direct"), queue_name(queue));
    for number in 0..PIECE_COUNT * UNBOUND_COUNT_MAX {
        let (destination, routing_key) = (BindingEnd::Queue(&queue), number.to_string());
        let request = BindingRequest {
            source: &source,
            destination,
            routing_key: routing_key.as_bytes(),
            arguments: Table::EMPTY,
        };
        access.bind(&request).unwrap();
    }
}

fn bound_count(node: &Node) -> usize {
    let views = node.broker.binding_views("/", BindingFilter::Source(&exchange_name("amq.direct")));
    views.len()
}

/// No client's message was routed for as long as all of it took.
#[test]
fn a_queue_with_many_bindings_is_deleted_in_pieces() {
    let node = Node::new();
    bind_often(&node, "q");
    bind_often(&node, "r");
    let vhost = node.broker.vhosts.get("/").unwrap();
    let before = vhost.epoch().0;
    guest(&node).delete_queue(&queue_name("q"), false, false).unwrap();
    // Each piece changes routes: so often was the topology locked.
    assert!(vhost.epoch().0 - before >= PIECE_COUNT as u64);
    assert_eq!(bound_count(&node), PIECE_COUNT * UNBOUND_COUNT_MAX);
    drop(vhost);
    node.sync();
    let node = node.kill();
    assert!(node.broker.queue_view("/", "q").is_none());
    assert_eq!(bound_count(&node), PIECE_COUNT * UNBOUND_COUNT_MAX);
}

#[test]
fn a_queue_that_is_not_deleted_keeps_all_its_bindings() {
    let node = Node::new();
    bind_often(&node, "q");
    node.relieve();
    let mut client = node.connect();
    client.publish(1, "", "q", PERSISTENT, b"kept");
    let refused = guest(&node).delete_queue(&queue_name("q"), false, true);
    assert!(refused.is_err());
    assert_eq!(bound_count(&node), PIECE_COUNT * UNBOUND_COUNT_MAX);
}

#[test]
fn all_of_very_many_bindings_are_listed_in_pieces() {
    const QUEUES: [&str; 5] = ["a", "b", "c", "d", "e"];
    let node = Node::new();
    for queue in QUEUES {
        bind_often(&node, queue);
        node.relieve();
    }
    let bound = QUEUES.len() * PIECE_COUNT * UNBOUND_COUNT_MAX;
    assert!(bound > SHOWN_BINDING_COUNT);
    let keys = |node: &Node| {
        let views = node.broker.binding_views("/", BindingFilter::All);
        let mut keys: Vec<_> = views
            .into_iter()
            .map(|view| format!("{} {:?} {:?}", view.source, view.destination, view.routing_key))
            .collect();
        keys.sort_unstable();
        keys
    };
    let all = keys(&node);
    assert_eq!(all.len(), bound + QUEUES.len());
    assert!(all.is_sorted_by(|a, b| a < b), "none is there twice");
    // Places that are free again are passed over.
    guest(&node).delete_queue(&queue_name("c"), false, false).unwrap();
    assert_eq!(keys(&node).len(), (bound + QUEUES.len()) / QUEUES.len() * (QUEUES.len() - 1));
}
