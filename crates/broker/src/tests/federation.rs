//! What federation learns that feeds exchanges and queues from other brokers.

use amqp::method::{basic, queue};
use amqp::table::{Table, Value};
use model::definition::BindingChange;
use model::policy::PolicyKind;
use serde_json::json;

use super::node::Node;
use super::operators::{exchange_name, guest, lasting, operator, queue_name};
use super::policies::policy;
use crate::binding_request::{BindingEnd, BindingRequest};
use crate::limits::FOLLOWED_CHANGE_COUNT_MAX;
use crate::vhost_access::ExchangeRequest;

/// Keys, and whether they were bound or unbound.
fn told(changes: &mut tokio::sync::mpsc::Receiver<BindingChange>) -> Vec<(String, bool)> {
    let mut told = Vec::new();
    while let Ok(BindingChange { binding, is_added }) = changes.try_recv() {
        told.push((String::from_utf8_lossy(binding.routing_key()).into_owned(), is_added));
    }
    told
}

#[test]
fn bindings_are_followed_from_those_that_there_are() {
    let node = Node::new();
    let access = guest(&node);
    let (source, q) = (exchange_name("amq.topic"), queue_name("q"));
    let request = |key: &'static str| BindingRequest {
        source: &source,
        destination: BindingEnd::Queue(&q),
        routing_key: key.as_bytes(),
        arguments: Table::EMPTY,
    };
    access.declare_queue(&lasting(&q)).unwrap();
    access.bind(&request("a")).unwrap();
    let (now, mut changes) = node.broker.follow_bindings("/", "amq.topic").unwrap();
    assert_eq!(now.iter().map(|binding| binding.routing_key()).collect::<Vec<_>>(), [b"a"]);
    assert_eq!(now[0].destination().as_str(), "q");
    for key in ["b", "b", "c"] {
        access.bind(&request(key)).unwrap();
    }
    access.unbind(&request("a")).unwrap();
    access.unbind(&request("nothing")).unwrap();
    let change = |key: &str, is_added| (key.to_owned(), is_added);
    assert_eq!(told(&mut changes), [change("b", true), change("c", true), change("a", false)]);
    // A queue's bindings go with it.
    access.delete_queue(&q, false, false).unwrap();
    let mut gone = told(&mut changes);
    gone.sort();
    assert_eq!(gone, [change("b", false), change("c", false)]);
    assert!(node.broker.follow_bindings("/", "nothing").is_none());
    assert!(node.broker.follow_bindings("nowhere", "amq.topic").is_none());
}

#[test]
fn who_does_not_take_what_changes_is_told_no_more() {
    let node = Node::new();
    let access = guest(&node);
    let (source, q) = (exchange_name("amq.topic"), queue_name("q"));
    access.declare_queue(&lasting(&q)).unwrap();
    let (_, mut changes) = node.broker.follow_bindings("/", "amq.topic").unwrap();
    for number in 0..=FOLLOWED_CHANGE_COUNT_MAX {
        let (destination, key) = (BindingEnd::Queue(&q), number.to_string());
        let request =
            BindingRequest { source: &source, destination, routing_key: key.as_bytes(), arguments: Table::EMPTY };
        access.bind(&request).unwrap();
    }
    assert_eq!(told(&mut changes).len(), FOLLOWED_CHANGE_COUNT_MAX);
    assert!(changes.is_closed());
}

#[test]
fn what_policies_have_fed_is_known_and_each_change_is_told() {
    let node = Node::new();
    let access = guest(&node);
    let mut changes = node.broker.subscribe_federated();
    let mut has_changed = || {
        let has_changed = changes.has_changed().unwrap();
        changes.mark_unchanged();
        has_changed
    };
    access.declare_queue(&lasting(&queue_name("q1"))).unwrap();
    assert!(!has_changed() && node.broker.federated_queues().is_empty());
    let put = |pattern| {
        let settings = json!({"federation-upstream": "u"});
        node.broker.put_policy(&operator(), policy("p", pattern, 0, settings)).unwrap();
    };
    put("^(q|amq\\.topic)");
    assert!(has_changed());
    let queues = || {
        let mut names: Vec<_> =
            node.broker.federated_queues().iter().map(|fed| fed.what.name.as_str().to_owned()).collect();
        names.sort();
        names
    };
    let exchanges: Vec<_> = node.broker.federated_exchanges();
    assert_eq!(
        exchanges.iter().map(|fed| (fed.what.name.as_str(), &*fed.policy)).collect::<Vec<_>>(),
        [("amq.topic", "p")]
    );
    assert_eq!(queues(), ["q1"]);
    access.declare_queue(&lasting(&queue_name("q2"))).unwrap();
    assert!(has_changed());
    access.declare_queue(&lasting(&queue_name("other"))).unwrap();
    assert!(!has_changed());
    access.delete_queue(&queue_name("q1"), false, false).unwrap();
    assert!(has_changed() && queues() == ["q2"]);
    // It learns the same of exchanges.
    put("^x");
    assert!(has_changed());
    for (name, is_fed) in [("x1", true), ("other", false)] {
        let name = exchange_name(name);
        let request = ExchangeRequest {
            name: &name,
            kind: b"fanout",
            is_durable: true,
            is_auto_delete: false,
            is_internal: false,
            arguments: Table::EMPTY,
        };
        access.declare_exchange(&request).unwrap();
        assert_eq!(has_changed(), is_fed, "{name:?}");
        access.delete_exchange(&name, false).unwrap();
        assert_eq!(has_changed(), is_fed, "{name:?}");
    }
    // What links make has the cluster's name.
    node.broker.put_global_parameter(&operator(), "cluster_name", json!("east")).unwrap();
    assert!(has_changed());
    node.broker.put_global_parameter(&operator(), "other", json!("east")).unwrap();
    assert!(!has_changed());
    node.broker.delete_policy(&operator(), PolicyKind::User, "/", "p").unwrap();
    assert!(has_changed() && queues().is_empty() && node.broker.federated_exchanges().is_empty());
}

#[test]
fn a_queue_needs_messages_while_it_is_empty_and_a_consumer_of_its_own_waits() {
    let node = Node::new();
    let mut client = node.connect();
    client.declare("q");
    let need = node.broker.follow_need("/", "q").unwrap();
    assert!(node.broker.follow_need("/", "nothing").is_none());
    let is_needed = || *need.borrow();
    assert!(!is_needed());
    // A link of another broker does not count as a need of messages.
    let link = amqp::table::TableBuf::new().with("x-priority", Value::I64(-1));
    let consume =
        basic::Consume { queue: b"q", consumer_tag: b"link", arguments: link.as_table(), ..Default::default() };
    client.send(1, &consume);
    node.listen(&mut client);
    assert!(!is_needed());
    client.send(1, &basic::Cancel { consumer_tag: b"link", no_wait: false });
    client.send(1, &basic::Qos { prefetch_size: 0, prefetch_count: 1, global: false });
    client.consume(1, "q", "own", false);
    node.listen(&mut client);
    assert!(is_needed());
    client.publish(1, "", "q", super::client::TRANSIENT, b"one");
    // It has all that it may have.
    node.listen(&mut client);
    assert!(!is_needed());
    client.publish(1, "", "q", super::client::TRANSIENT, b"two");
    client.ack(1, 1, false);
    node.listen(&mut client);
    assert!(!is_needed());
    client.ack(1, 2, false);
    node.listen(&mut client);
    assert!(is_needed());
    client.send(1, &queue::Delete { queue: b"q", ..Default::default() });
    node.listen(&mut client);
    assert!(need.has_changed().is_err());
}
