//! Policies that have queues and exchanges drop duplicates, and headers that they name.

use amqp::content::Properties;
use amqp::table::{TableBuf, Value};
use model::policy::PolicyKind;
use serde_json::json;

use super::{DEDUPLICATION, assert_ready, node_with_queue, publish, publish_to, restart};
use crate::tests::client::Client;
use crate::tests::exchange_types::{assert_done, bind, declare, publish_with};
use crate::tests::node::Node;
use crate::tests::operators::operator;
use crate::tests::policies::policy;

#[test]
fn policies_hold_at_once() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    assert_done(declare(&mut client, "x", "fanout", TableBuf::new().as_table()));
    assert_done(bind(&mut client, "x", "q", ""));
    let publish_both = |client: &mut Client| {
        publish(client, "a", "queue");
        publish_to(client, "x", "b", "exchange");
    };
    publish_both(&mut client);
    publish_both(&mut client);
    assert_eq!(node.drain("q").len(), 4);
    let set = |settings| node.broker.put_policy(&operator(), policy("p", "^[qx]$", 0, settings)).unwrap();
    set(json!({"message-deduplication": true, "cache-size": 10}));
    publish_both(&mut client);
    publish_both(&mut client);
    assert_eq!(node.drain("q").len(), 2);
    // Less, and the oldest are too much.
    publish(&mut client, "c", "queue");
    publish_to(&mut client, "x", "d", "exchange");
    set(json!({"message-deduplication": true, "cache-size": 1}));
    publish_both(&mut client);
    assert_eq!(node.drain("q").len(), 4);
    // Another header: nothing is known of it.
    set(json!({"message-deduplication": true, "cache-size": 1, "deduplication-header": "message-id"}));
    publish_both(&mut client);
    publish_both(&mut client);
    assert_eq!(node.drain("q").len(), 4);
    set(json!({"message-deduplication": true, "cache-size": 10}));
    publish_both(&mut client);
    publish_both(&mut client);
    assert_eq!(node.drain("q").len(), 2);
    let (node, mut client, record_count) = restart(node);
    assert_eq!(record_count, 2 + 3, "both at the queue, and one at the exchange");
    publish_both(&mut client);
    assert_ready(&node, 0);
    node.broker.delete_policy(&operator(), PolicyKind::User, "/", "p").unwrap();
    publish_both(&mut client);
    publish_both(&mut client);
    assert_ready(&node, 4);
    let (_, _, record_count) = restart(node);
    assert_eq!(record_count, 0);
}

#[test]
fn two_who_want_keys_of_different_headers_get_them() {
    let (node, mut client) = node_with_queue(&[]);
    client.declare_with("other", &[DEDUPLICATION, ("x-deduplication-header", Value::LongStr(b"message-id"))]);
    assert_done(declare(&mut client, "x", "fanout", TableBuf::new().as_table()));
    assert_done(bind(&mut client, "x", "q", ""));
    assert_done(bind(&mut client, "x", "other", ""));
    for (key, id) in [("a", "1"), ("a", "2"), ("b", "1")] {
        let headers = TableBuf::new().with("x-deduplication-header", Value::LongStr(key.as_bytes()));
        let properties = Properties {
            headers: Some(headers.as_table()),
            message_id: Some(id.as_bytes()),
            delivery_mode: Some(2),
            ..Properties::default()
        };
        publish_with(&mut client, "x", "", properties, &format!("{key}{id}"));
    }
    assert_eq!(
        (node.drain("q"), node.drain("other")),
        (vec!["a1".into(), "b1".into()], vec!["a1".into(), "a2".into()])
    );
}
