//! Policies hold at once, and are taken away again.

use std::collections::BTreeSet;

use amqp::table::Table;
use model::policy::{ApplyTo, PolicyKind};
use serde_json::json;

use super::node::Node;
use super::operators::{exchange_name, guest, lasting, operator, publish, queue_name, vhost};
use crate::binding_request::{BindingEnd, BindingRequest};
use crate::control::PolicyRequest;
use crate::limits::POLICY_TURN_COUNT;

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
    assert!(changed.is_new && !changed.position.is_empty());
    assert_eq!((holds(&node).as_deref(), warnings.len()), (Some("strong"), 2));
    assert!(!put(&[weak, strong]).unwrap().0.is_new);
    let delete = |name: &str| node.broker.delete_policies(&operator(), "/", |policy| *policy.name == *name).unwrap();
    assert_eq!((delete("strong").0, delete("strong").0, holds(&node).as_deref()), (1, 0, Some("weak")));
    node.sync();
    let node = node.kill();
    assert_eq!(holds(&node).as_deref(), Some("weak"));
}

/// A queue that is the thousandth waited for the first, and so did all requests over HTTP.
#[test]
fn policies_come_to_many_queues_in_turns() {
    let node = Node::new();
    let access = guest(&node);
    let count = 3 * POLICY_TURN_COUNT;
    for number in 0..count {
        access.declare_queue(&lasting(&queue_name(&format!("q{number}")))).unwrap();
    }
    let held = |name: &str| {
        let of = |number| node.broker.queue_view("/", &format!("q{number}")).unwrap().policy().user;
        (0..count).filter(|number| of(*number).is_some_and(|policy| *policy.name == *name)).count()
    };
    let requests = vec![policy("p", "^q", 0, json!({"max-length": 5}))];
    let (mut application, _) = node.broker.begin_policies(&operator(), requests).unwrap();
    for turn in 0..3 {
        assert_eq!(held("p"), turn * POLICY_TURN_COUNT);
        // A client that comes in between has the new ones already.
        access.declare_queue(&lasting(&queue_name(&format!("q-late-{turn}")))).unwrap();
        let late = node.broker.queue_view("/", &format!("q-late-{turn}")).unwrap().policy().user;
        assert_eq!(late.map(|policy| policy.name.to_string()).as_deref(), Some("p"));
        assert_eq!(application.turn(&node.broker).is_some(), turn == 2);
    }
    assert_eq!(held("p"), count);
}

#[test]
fn changes_of_policies_that_overlap_end_as_if_one_had_followed_the_other() {
    let node = Node::new();
    let access = guest(&node);
    let count = 2 * POLICY_TURN_COUNT;
    for number in 0..count {
        access.declare_queue(&lasting(&queue_name(&format!("q{number}")))).unwrap();
    }
    let begin = |name: &str, priority| {
        let requests = vec![policy(name, "^q", priority, json!({"max-length": 5}))];
        node.broker.begin_policies(&operator(), requests).unwrap().0
    };
    let names = || -> BTreeSet<Option<String>> {
        let of = |number| node.broker.queue_view("/", &format!("q{number}")).unwrap().policy().user;
        (0..count).map(|number| of(number).map(|policy| policy.name.to_string())).collect()
    };
    let all = |name: Option<&str>| BTreeSet::from([name.map(str::to_owned)]);
    let mut low = begin("low", 0);
    assert!(low.turn(&node.broker).is_none());
    let high = begin("high", 9);
    let mut deletion = node.broker.begin_policy_deletion(&operator(), PolicyKind::User, "/", "low").unwrap();
    assert!(deletion.turn(&node.broker).is_none());
    high.finish(&node.broker);
    low.finish(&node.broker);
    deletion.finish(&node.broker);
    assert_eq!(names(), all(Some("high")));
    let deletion = node.broker.begin_policy_deletion(&operator(), PolicyKind::User, "/", "high").unwrap();
    let again = begin("low", 1);
    again.finish(&node.broker);
    deletion.finish(&node.broker);
    assert_eq!(names(), all(Some("low")));
}
