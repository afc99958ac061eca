//! Which policies count, and what they come to.

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::arguments::QueueType;
use crate::name::VhostName;

fn policy(name: &str, kind: PolicyKind, pattern: &str, apply_to: ApplyTo, priority: i64, set: &Value) -> Arc<Policy> {
    Arc::new(Policy {
        vhost: VhostName::parse(b"/").unwrap(),
        name: Box::from(name),
        kind,
        pattern: Policy::parse_pattern(pattern).unwrap(),
        apply_to,
        priority,
        definition: PolicyDefinition::from_stored(set.as_object().unwrap().clone()),
    })
}

const CLASSIC: Target = Target::Queue(QueueType::Classic);

#[test]
fn the_highest_priority_counts() {
    let low = policy("low", PolicyKind::User, ".*", ApplyTo::All, 0, &json!({"max-length": 1}));
    let high = policy("high", PolicyKind::User, "^q", ApplyTo::All, 5, &json!({"expires": 2}));
    let policies = [low.clone(), high.clone()];
    assert_eq!(EffectivePolicy::of(&policies, CLASSIC, "q1").user, Some(high));
    assert_eq!(EffectivePolicy::of(&policies, CLASSIC, "other").user, Some(low));
    assert_eq!(EffectivePolicy::of(&[], CLASSIC, "q1").definition(), None);
}

#[test]
fn the_first_by_name_counts_among_equals() {
    let [b, a] = ["b", "a"].map(|name| policy(name, PolicyKind::User, "", ApplyTo::All, 1, &json!({})));
    assert_eq!(EffectivePolicy::of(&[b, a.clone()], CLASSIC, "q").user, Some(a));
}

#[test]
fn a_ranking_finds_what_looking_at_each_finds() {
    let named =
        |name: &str, kind, pattern: &str, priority| policy(name, kind, pattern, ApplyTo::All, priority, &json!({}));
    let policies = [
        named("c", PolicyKind::User, "^q", 1),
        named("b", PolicyKind::User, "^q", 1),
        named("a", PolicyKind::User, "", i64::MIN),
        named("z", PolicyKind::User, "^x", i64::MAX),
        named("o", PolicyKind::Operator, "1$", 0),
        policy("e", PolicyKind::Operator, "", ApplyTo::Exchanges, 9, &json!({})),
    ];
    let ranking = PolicyRanking::of(&policies);
    for (name, user, operator) in [("q1", "b", Some("o")), ("x", "z", None), ("other", "a", None)] {
        let effective = ranking.effective(CLASSIC, name);
        assert_eq!(effective, EffectivePolicy::of(&policies, CLASSIC, name));
        assert_eq!(effective.user.as_ref().map(|policy| &*policy.name), Some(user));
        assert_eq!(effective.operator.as_ref().map(|policy| &*policy.name), operator);
    }
}

#[test]
fn a_policy_applies_to_what_it_says() {
    let check = |apply_to: ApplyTo, exchange, classic, quorum, stream| {
        let covers = |target| apply_to.covers(target);
        let all = [
            covers(Target::Exchange),
            covers(CLASSIC),
            covers(Target::Queue(QueueType::Quorum)),
            covers(Target::Queue(QueueType::Stream)),
        ];
        assert_eq!(all, [exchange, classic, quorum, stream], "{apply_to:?}");
        assert_eq!(ApplyTo::parse(apply_to.name()), Some(apply_to));
        assert_eq!(ApplyTo::from_byte(apply_to as u8), Some(apply_to));
    };
    check(ApplyTo::All, true, true, true, true);
    check(ApplyTo::Queues, false, true, true, true);
    check(ApplyTo::Exchanges, true, false, false, false);
    check(ApplyTo::ClassicQueues, false, true, false, false);
    check(ApplyTo::QuorumQueues, false, false, true, false);
    check(ApplyTo::Streams, false, false, false, true);
    assert_eq!(ApplyTo::parse("bindings"), None);
}

#[test]
fn a_policy_that_a_type_of_queue_cannot_follow_is_passed_over() {
    let of = |name, kind, priority, set| policy(name, kind, "", ApplyTo::All, priority, &set);
    let policies = [
        of("low", PolicyKind::User, 0, json!({"max-length": 5})),
        of("mid", PolicyKind::User, 5, json!({"max-length": 6, "delivery-limit": 3})),
        of("high", PolicyKind::User, 9, json!({"max-length": 7, "queue-mode": "lazy", "delivery-limit": 1})),
        of("operators", PolicyKind::Operator, 5, json!({"max-length": 4, "delivery-limit": 2})),
    ];
    let names = |target| {
        let effective = EffectivePolicy::of(&policies, target, "q");
        assert_eq!(effective, PolicyRanking::of(&policies).effective(target, "q"));
        [effective.user, effective.operator].map(|policy| policy.map(|policy| policy.name.to_string()))
    };
    let name = |name: &str| Some(name.to_owned());
    assert_eq!(names(CLASSIC), [name("low"), None]);
    assert_eq!(names(Target::Queue(QueueType::Quorum)), [name("mid"), name("operators")]);
    assert_eq!(names(Target::Queue(QueueType::Stream)), [None, None]);
    assert_eq!(names(Target::Exchange), [name("high"), name("operators")]);
}

#[test]
fn an_operators_policy_limits_a_users() {
    let user = json!({"max-length": 10, "message-ttl": 5, "overflow": "drop-head", "alternate-exchange": "ae"});
    let operator = json!({"max-length": 7, "message-ttl": 50, "overflow": "reject-publish", "expires": 3});
    let effective = EffectivePolicy {
        user: Some(policy("u", PolicyKind::User, "", ApplyTo::All, 0, &user)),
        operator: Some(policy("o", PolicyKind::Operator, "", ApplyTo::Queues, 0, &operator)),
    };
    let expected = json!({
        "max-length": 7, "message-ttl": 5, "overflow": "reject-publish", "alternate-exchange": "ae", "expires": 3
    });
    assert_eq!(effective.definition().map(Value::Object), Some(expected));
    assert_eq!(effective.get("max-length"), Some(json!(7)));
    assert_eq!(effective.get("expires"), Some(json!(3)));
    assert_eq!(effective.get("max-age"), None);
}

#[test]
fn delivery_limits_are_merged_to_the_stricter_but_none_is_none() {
    let merged = |user: i64, operator: i64| keys::merge_value("delivery-limit", &json!(user), &json!(operator));
    assert_eq!(merged(3, 5), json!(3));
    assert_eq!(merged(-1, 5), json!(5));
    assert_eq!(merged(3, -1), json!(3));
}

#[test]
fn an_operators_delay_of_retries_is_at_least_and_at_most() {
    let merged = |key, user: i64, operator: i64| keys::merge_value(key, &json!(user), &json!(operator));
    assert_eq!(merged("delayed-retry-min", 5, 10), json!(10));
    assert_eq!(merged("delayed-retry-min", 10, 5), json!(10));
    assert_eq!(merged("delayed-retry-max", 5, 10), json!(5));
    assert_eq!(merged("target-group-size", 3, 5), json!(5));
    assert_eq!(merged("delayed-release-rate", 3, 5), json!(3));
    let kinds = keys::merge_value("delayed-retry-type", &json!("all"), &json!("failed"));
    assert_eq!(kinds, json!("failed"));
}

#[test]
fn the_empty_pattern_matches_every_name() {
    assert!(policy("p", PolicyKind::User, "", ApplyTo::All, 0, &json!({})).matches(CLASSIC, "any"));
}
