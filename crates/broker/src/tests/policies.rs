//! Policies hold at once, and are taken away again.

use amqp::table::Table;
use model::policy::{ApplyTo, PolicyKind};
use serde_json::json;

use super::node::Node;
use super::operators::{exchange_name, guest, lasting, operator, publish, queue_name, vhost};
use crate::binding_request::{BindingEnd, BindingRequest};
use crate::control::PolicyRequest;

pub(super) fn policy(name: &str, pattern: &str, priority: i64, settings: serde_json::Value) -> PolicyRequest {
    let serde_json::Value::Object(definition) = settings else { panic!("no object") };
    PolicyRequest {
        vhost: vhost("/"),
        name: name.to_owned(),
        kind: PolicyKind::User,
        pattern: pattern.to_owned(),
        apply_to: ApplyTo::All,
        priority,
        definition,
    }
}

#[test]
fn a_policy_gives_exchanges_an_alternate_at_once_and_takes_it_again() {
    let node = Node::new();
    let access = guest(&node);
    access.declare_queue(&lasting(&queue_name("q"))).unwrap();
    let (source, q) = (exchange_name("amq.fanout"), queue_name("q"));
    let destination = BindingEnd::Queue(&q);
    let binding = BindingRequest { source: &source, destination, routing_key: b"", arguments: Table::EMPTY };
    access.bind(&binding).unwrap();
    let is_routed = || publish(&access, "amq.direct", "nowhere");
    assert!(!is_routed());
    let settings = json!({"alternate-exchange": "amq.fanout"});
    let (changed, warnings) = node.broker.put_policy(&operator(), policy("p", "^amq\\.direct$", 0, settings)).unwrap();
    assert!(changed.is_new && warnings.is_empty() && is_routed());
    let stronger = json!({"alternate-exchange": "amq.topic"});
    node.broker.put_policy(&operator(), policy("stronger", "direct", 1, stronger)).unwrap();
    assert!(!is_routed());
    node.broker.delete_policy(&operator(), PolicyKind::User, "/", "stronger").unwrap();
    assert!(is_routed());
    let name =
        |node: &Node, queue: &str| node.broker.queue_view("/", queue).unwrap().policy().user.map(|p| p.name.clone());
    node.broker.put_policy(&operator(), policy("queues", "^q", 0, json!({}))).unwrap();
    assert_eq!(name(&node, "q").as_deref(), Some("queues"));
    node.sync();
    let node = node.kill();
    assert_eq!(name(&node, "q").as_deref(), Some("queues"));
    assert!(publish(&guest(&node), "amq.direct", "nowhere"));
}

#[test]
fn many_policies_are_set_and_deleted_at_once_or_not_at_all() {
    let node = Node::new();
    guest(&node).declare_queue(&lasting(&queue_name("q"))).unwrap();
    let put = |policies: &[PolicyRequest]| node.broker.put_policies(&operator(), policies.to_vec());
    let holds = |node: &Node| node.broker.queue_view("/", "q").unwrap().policy().user.map(|p| p.name.to_string());
    let weak = policy("weak", "^q", 0, json!({"queue-mode": "lazy"}));
    let strong = policy("strong", "^q", 5, json!({}));
    assert!(put(&[weak.clone(), policy("bad", "^q", 9, json!({"nosuch": 1}))]).is_err());
    assert_eq!((holds(&node), node.broker.policies(PolicyKind::User).len()), (None, 0));
    let (changed, warnings) = put(&[weak.clone(), strong.clone(), weak.clone()]).unwrap();
    assert!(changed.is_new && changed.position.is_some());
    assert_eq!((holds(&node).as_deref(), warnings.len()), (Some("strong"), 2));
    assert!(!put(&[weak, strong]).unwrap().0.is_new);
    let delete = |name: &str| node.broker.delete_policies(&operator(), "/", |policy| *policy.name == *name).unwrap();
    assert_eq!((delete("strong").0, delete("strong").0, holds(&node).as_deref()), (1, 0, Some("weak")));
    node.sync();
    let node = node.kill();
    assert_eq!(holds(&node).as_deref(), Some("weak"));
}
