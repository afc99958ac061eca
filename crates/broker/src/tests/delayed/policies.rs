//! Policies that have exchanges delay, and limit how fast they release.

use model::policy::{ApplyTo, PolicyKind};
use serde_json::json;

use super::{catch_up, delay_by, node, pass, ready, restarted};
use crate::control::PolicyRequest;
use crate::tests::exchange_types::{assert_done, bind, take_all};
use crate::tests::node::Node;
use crate::tests::operators::{operator, vhost};

fn delay_by_policy(node: &Node, settings: serde_json::Value) {
    let serde_json::Value::Object(definition) = settings else { panic!("no object") };
    let request = PolicyRequest {
        vhost: vhost("/"),
        name: "p".to_owned(),
        kind: PolicyKind::User,
        pattern: "^(amq\\.direct|x)$".to_owned(),
        apply_to: ApplyTo::Exchanges,
        priority: 0,
        definition,
    };
    node.broker.put_policy(&operator(), request).unwrap();
}

#[test]
fn a_policy_has_any_exchange_delay_and_what_waits_outlives_it() {
    let (node, mut client) = node();
    assert_done(bind(&mut client, "amq.direct", "q", "k"));
    delay_by(&mut client, "amq.direct", "k", 100, "not delayed");
    assert_eq!(take_all(&node, &mut client, "q"), ["not delayed"]);
    delay_by_policy(&node, json!({"delayed-message": true}));
    delay_by(&mut client, "amq.direct", "k", 100, "delayed");
    assert_eq!(ready(&node, "q"), 0);
    node.broker.delete_policy(&operator(), PolicyKind::User, "/", "p").unwrap();
    delay_by(&mut client, "amq.direct", "k", 100, "not delayed any more");
    assert_eq!(take_all(&node, &mut client, "q"), ["not delayed any more"]);
    let (node, mut client) = restarted(node, 100);
    assert_eq!(take_all(&node, &mut client, "q"), ["delayed"]);
}

/// Exchanges that a policy had once had delay were listed for ever.
#[test]
fn exchanges_are_listed_that_delay_or_at_which_something_waits() {
    let (node, mut client) = node();
    let listed = |node: &Node| {
        node.broker.delays_views("/").into_iter().map(|view| (view.exchange, view.count)).collect::<Vec<_>>()
    };
    let x = || ("x".to_owned(), 0);
    assert_eq!(listed(&node), [x()]);
    delay_by_policy(&node, json!({"delayed-message": true}));
    assert_eq!(listed(&node), [("amq.direct".to_owned(), 0), x()]);
    delay_by(&mut client, "amq.direct", "k", 100, "delayed");
    node.broker.delete_policy(&operator(), PolicyKind::User, "/", "p").unwrap();
    assert_eq!(listed(&node), [("amq.direct".to_owned(), 1), x()]);
    pass(&node, 101);
    assert_eq!(listed(&node), [x()]);
}

#[test]
fn a_release_rate_is_kept_to() {
    let (node, mut client) = node();
    delay_by_policy(&node, json!({"delayed-release-rate": 100}));
    for number in 0..200 {
        delay_by(&mut client, "x", "k", 1000, &number.to_string());
        catch_up(&node, &mut client);
    }
    let mut counts = Vec::new();
    for second in 1..4 {
        for millisecond in 0..1000 {
            pass(&node, second * 1000 + millisecond);
        }
        counts.push(ready(&node, "q"));
    }
    assert_eq!(counts, [105, 200, 200]);
}
