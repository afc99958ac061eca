//! What operators do and see without a channel; and what of it is still there after a crash.

use std::sync::Arc;

use amqp::method::{basic, exchange};
use amqp::table::{TableBuf, Value};
use model::user::{Permission, TopicPermission};
use serde_json::json;

use super::client::TRANSIENT;
use super::node::Node;
use super::operators::{
    block_on, connect, connection_closed, exchange_name, guest, lasting, node_with, operator, publish, queue_name,
    user, vhost,
};
use crate::control::VhostRequest;
use crate::vhost_access::{AckMode, GetRequest};
use crate::view::BindingFilter;

#[test]
fn everything_that_was_changed_is_there_after_a_crash() {
    let node = node_with("^c", "^w", "^r");
    let broker = &node.broker;
    let change = VhostRequest {
        description: Some("shop".to_owned()),
        tags: Some(vec!["a".to_owned()]),
        default_queue_type: Some("classic".to_owned()),
        is_protected: Some(true),
        ..VhostRequest::named(vhost("shop"))
    };
    assert!(broker.put_vhost(&operator(), change).unwrap().is_new);
    broker.set_vhost_limits(&operator(), "shop", |limits| limits.queue_max = Some(7)).unwrap();
    broker.set_user_limits(&operator(), "ann", |limits| limits.channel_max = Some(9)).unwrap();
    let rules = TopicPermission::parse(vhost("/"), user("ann"), exchange_name("amq.topic"), "w", "r").unwrap();
    broker.put_topic_permission(&operator(), rules.clone()).unwrap();
    broker.put_global_parameter(&operator(), "cluster_name", json!("burrow")).unwrap();
    node.sync();
    let node = node.kill();
    let broker = &node.broker;
    let shop = broker.vhost_view("shop").unwrap().facts;
    assert_eq!((&*shop.metadata.description, shop.limits.queue_max, shop.is_protected), ("shop", Some(7), true));
    assert_eq!(broker.user("ann").unwrap().limits.channel_max, Some(9));
    assert_eq!(broker.topic_permissions(), [Arc::new(rules)]);
    assert_eq!(broker.cluster_name(), "burrow");
    let given = broker.permissions().into_iter().find(|given| given.user.as_str() == "ann").unwrap();
    assert_eq!(given.permission, Permission::parse("^c", "^w", "^r").unwrap());
    let properties = broker.server_properties.read().clone();
    assert_eq!(properties.as_table().get("cluster_name"), Some(Value::LongStr(b"burrow")));
}

#[test]
fn messages_are_got_and_given_back_or_removed() {
    let node = Node::new();
    let access = guest(&node);
    let name = queue_name("q");
    access.declare_queue(&lasting(&name)).unwrap();
    for _ in 0..3 {
        assert!(publish(&access, "", "q"));
    }
    // So that no client has to wait for the mark of what was handed out.
    let mut client = node.connect();
    client.consume(1, "q", "c", true);
    client.send(1, &basic::Cancel { consumer_tag: b"c", no_wait: true });
    for _ in 0..3 {
        publish(&access, "", "q");
    }
    node.sync();
    client.hear();
    let counts = || node.broker.queue_counts("/", "q").unwrap();
    let start = counts().ready;
    let get = |count, ack_mode, body_len_max| {
        let request = GetRequest { queue: &name, count, ack_mode, body_len_max };
        block_on(access.get(&request)).unwrap().0
    };
    let got = get(2, AckMode::AckRequeue, Some(2));
    assert_eq!((got.len(), &got[0].body[..], got[0].body_len), (2, &b"bo"[..], 4));
    assert_eq!((counts().ready, counts().unacked), (start, 0));
    assert!(get(1, AckMode::RejectRequeue, None)[0].is_redelivered);
    let got = get(100, AckMode::AckRemove, None);
    assert_eq!((got.len() as u64, got.last().unwrap().remaining_count), (start, 0));
    assert_eq!((counts().ready, counts().unacked), (0, 0));
    assert!(get(1, AckMode::AckRemove, None).is_empty());
}

#[test]
fn who_does_not_wait_for_its_messages_leaves_them_in_the_queue() {
    let node = Node::new();
    let access = guest(&node);
    let name = queue_name("q");
    access.declare_queue(&lasting(&name)).unwrap();
    publish(&access, "", "q");
    let request = GetRequest { queue: &name, count: 1, ack_mode: AckMode::AckRemove, body_len_max: None };
    {
        // The mark of what was handed out is not durable, and nothing makes it so.
        let mut got = Box::pin(access.get(&request));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(got.as_mut().poll(&mut context).is_pending());
        assert_eq!(node.broker.queue_counts("/", "q").unwrap().unacked, 1);
    }
    let counts = node.broker.queue_counts("/", "q").unwrap();
    assert_eq!((counts.ready, counts.unacked), (1, 0));
}

#[test]
fn what_is_listed_is_how_things_stand() {
    let node = node_with(".*", ".*", ".*");
    let mut client = connect(&node);
    client.declare("q");
    client.select_confirms(1);
    client.send(1, &basic::Qos { prefetch_count: 5, ..Default::default() });
    client.hear();
    client.consume(1, "q", "c", false);
    for _ in 0..7 {
        client.publish(1, "", "q", TRANSIENT, b"four");
    }
    node.sync();
    client.hear();
    client.session.front.report();
    let queue = node.broker.queue_view("/", "q").unwrap();
    assert_eq!((queue.ready_count(), queue.unacked_count(), queue.consumer_count()), (2, 5, 1));
    assert_eq!((queue.ready_bytes(), queue.unacked_bytes()), (8, 20));
    let [channel] = &node.broker.channel_views()[..] else { panic!("one channel") };
    assert_eq!((channel.number, channel.unacked_count, channel.consumer_count), (1, 5, 1));
    assert_eq!((channel.is_confirming, channel.is_transactional, channel.prefetch_count), (true, false, 5));
    let [connection] = &node.broker.connection_views()[..] else { panic!("one connection") };
    assert_eq!((connection.opened().unwrap().user, connection.channel_count()), ("ann", 1));
    assert_eq!(connection.name(), "127.0.0.1:40000 -> 127.0.0.1:5672");
    let [consumer] = &node.broker.consumer_views()[..] else { panic!("one consumer") };
    assert_eq!((consumer.tag(), consumer.queue(), consumer.prefetch_count()), ("c".to_owned(), ("/", "q"), 5));
    let totals = node.broker.totals(|_| true);
    assert_eq!((totals.queues, totals.connections, totals.channels, totals.consumers), (1, 1, 1, 1));
    let bindings = node.broker.binding_views("/", BindingFilter::ToQueue(&queue_name("q")));
    assert_eq!((bindings.len(), &*bindings[0].source), (1, ""));
}

#[test]
fn a_connection_is_closed_by_its_name_or_by_its_user() {
    let node = node_with(".*", ".*", ".*");
    let mut client = connect(&node);
    let name = node.broker.connection_views()[0].name();
    node.broker.close_connection(&operator(), &name, "tonight").unwrap();
    assert_eq!(client.hear(), [connection_closed(320, "CONNECTION_FORCED - tonight")]);
    assert!(node.broker.close_connection(&operator(), "nosuch", "").is_err());
    assert_eq!(node.broker.close_connections_of(&operator(), "stranger", ""), 0);
}

#[test]
fn arguments_of_exchanges_and_bindings_are_kept() {
    let node = Node::new();
    let arguments = TableBuf::new().with("alternate-exchange", Value::LongStr(b"amq.fanout"));
    let mut client = node.connect();
    let declare = exchange::Declare {
        exchange: b"x",
        kind: b"topic",
        durable: true,
        arguments: arguments.as_table(),
        ..Default::default()
    };
    client.send(1, &declare);
    client.hear();
    let view = node.broker.exchange_view("/", "x").unwrap();
    assert_eq!(view.definition.arguments.table(), arguments.as_table());
    assert!(node.broker.exchange_views("/").iter().any(|view| view.definition.name.is_default()));
}
