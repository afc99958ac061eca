//! Message groups, as clients see them.

use amqp::content::Properties;
use amqp::method::basic;
use amqp::table::{TableBuf, Value};
use serde_json::json;

use super::client::{Client, Heard};
use super::node::Node;
use super::operators::operator;
use super::policies::policy;
use model::policy::PolicyKind;

const HEADER: (&str, Value<'static>) = ("x-message-group-header", Value::LongStr(b"order"));

fn publish(client: &mut Client, group: &str, body: &str) {
    let headers = TableBuf::new().with("order", Value::LongStr(group.as_bytes()));
    let headers = (!group.is_empty()).then(|| headers.as_table());
    client.publish_with("q", Properties { headers, ..Properties::default() }, body);
}

/// A client that consumes and takes so many messages at a time.
fn consumer(node: &Node, prefetch_count: u16) -> Client {
    let mut client = node.connect();
    client.send(1, &basic::Qos { prefetch_count, ..Default::default() });
    client.consume(1, "q", "c", false);
    assert_eq!(bodies(node, &mut client), [""; 0]);
    client
}

/// The bodies that a client has heard; those that came again with a mark.
fn bodies(node: &Node, client: &mut Client) -> Vec<String> {
    let body = |heard| match heard {
        Heard::Message { body, redelivered, .. } => {
            Some(String::from_utf8(body).unwrap() + if redelivered { " again" } else { "" })
        }
        _ => None,
    };
    node.listen(client).into_iter().filter_map(body).collect()
}

#[test]
fn a_group_goes_to_one_consumer_and_others_go_on() {
    for queue_type in ["classic", "quorum"] {
        let node = Node::new();
        let mut publisher = node.connect();
        publisher.declare_with("q", &[HEADER, ("x-queue-type", Value::LongStr(queue_type.as_bytes()))]);
        let (mut first, mut second) = (consumer(&node, 1), consumer(&node, 1));
        for (group, body) in [("a", "a1"), ("a", "a2"), ("b", "b1"), ("b", "b2"), ("", "free")] {
            publish(&mut publisher, group, body);
        }
        assert_eq!((bodies(&node, &mut first), bodies(&node, &mut second)), (vec!["a1".into()], vec!["b1".into()]));
        second.ack(1, 1, false);
        assert_eq!(bodies(&node, &mut second), ["b2"]);
        second.ack(1, 2, false);
        assert_eq!(bodies(&node, &mut second), ["free"]);
        // Overtaken twice, but not handed out before.
        first.ack(1, 1, false);
        assert_eq!(bodies(&node, &mut first), ["a2"]);
    }
}

#[test]
fn what_a_lost_consumer_held_goes_on_in_order() {
    let node = Node::new();
    let mut publisher = node.connect();
    publisher.declare_with("q", &[HEADER]);
    let (mut first, mut second) = (consumer(&node, 2), consumer(&node, 10));
    for number in 1..=5 {
        publish(&mut publisher, "a", &format!("a{number}"));
    }
    assert_eq!(bodies(&node, &mut first), ["a1", "a2"]);
    assert_eq!(bodies(&node, &mut second), [""; 0]);
    first.session.front.end();
    assert_eq!(bodies(&node, &mut second), ["a1 again", "a2 again", "a3", "a4", "a5"]);
}

#[test]
fn a_cancelled_consumer_keeps_its_groups_until_it_has_settled() {
    let node = Node::new();
    let mut publisher = node.connect();
    publisher.declare_with("q", &[HEADER]);
    let mut first = consumer(&node, 1);
    publish(&mut publisher, "a", "a1");
    publish(&mut publisher, "a", "a2");
    assert_eq!(bodies(&node, &mut first), ["a1"]);
    let mut second = consumer(&node, 1);
    first.send(1, &basic::Cancel { consumer_tag: b"c", no_wait: false });
    assert_eq!(bodies(&node, &mut second), [""; 0]);
    first.ack(1, 1, false);
    assert_eq!(bodies(&node, &mut second), ["a2"]);
}

#[test]
fn get_holds_a_group_until_it_is_acked() {
    let node = Node::new();
    let mut client = node.connect();
    client.declare_with("q", &[HEADER]);
    for (group, body) in [("a", "a1"), ("a", "a2"), ("b", "b1")] {
        publish(&mut client, group, body);
    }
    let get = |client: &mut Client| {
        client.get(1, "q", false);
        bodies(&node, client)
    };
    assert_eq!(get(&mut client), ["a1"]);
    assert_eq!(get(&mut client), ["b1"]);
    assert_eq!(get(&mut client), [""; 0]);
    client.ack(1, 1, false);
    assert_eq!(get(&mut client), ["a2"]);
}

#[test]
fn a_policy_makes_groups_of_what_waits_and_lets_them_go() {
    let node = Node::new();
    let mut publisher = node.connect();
    publisher.declare("q");
    for number in 1..=4 {
        publish(&mut publisher, "a", &format!("a{number}"));
    }
    let groups = policy("groups", "^q$", 0, json!({"message-group-header": "order"}));
    node.broker.put_policy(&operator(), groups).unwrap();
    let (mut first, mut second) = (consumer_of_one(&node), consumer_of_one(&node));
    assert_eq!((bodies(&node, &mut first), bodies(&node, &mut second)), (vec!["a1".into()], vec![]));
    node.broker.delete_policy(&operator(), PolicyKind::User, "/", "groups").unwrap();
    assert_eq!(bodies(&node, &mut second), ["a2"]);
}

fn consumer_of_one(node: &Node) -> Client {
    let mut client = node.connect();
    client.send(1, &basic::Qos { prefetch_count: 1, ..Default::default() });
    client.consume(1, "q", "c", false);
    client
}

#[test]
fn groups_hold_for_what_is_in_segments_and_after_a_restart() {
    let node = Node::new();
    let mut publisher = node.connect();
    publisher.declare_with("q", &[HEADER]);
    for (group, body) in [("a", "a1"), ("a", "a2"), ("b", "b1"), ("a", "a3")] {
        publish(&mut publisher, group, body);
    }
    node.spill();
    let node = node.kill();
    let (mut first, mut second) = (consumer_of_one(&node), consumer_of_one(&node));
    assert_eq!((bodies(&node, &mut first), bodies(&node, &mut second)), (vec!["a1".into()], vec!["b1".into()]));
    node.spill();
    node.unload();
    second.ack(1, 1, false);
    assert_eq!(bodies(&node, &mut second), [""; 0]);
    first.ack(1, 1, false);
    let (first, second) = (bodies(&node, &mut first), bodies(&node, &mut second));
    assert_eq!([first, second].concat(), ["a2"]);
}
