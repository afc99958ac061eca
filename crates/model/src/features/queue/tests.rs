//! What a queue is to do, by its arguments and policies.

use std::sync::Arc;

use amqp::table::{TableBuf, Value};
use serde_json::json;

use super::*;
use crate::features::deduplication::DEDUPLICATION_HEADER;
use crate::features::{BackOff, RetryOf};
use crate::name::VhostName;
use crate::policy::{ApplyTo, Policy, PolicyDefinition, PolicyKind};

/// Arguments as JSON: numbers, texts, booleans.
fn arguments(queue_type: &str, set: &serde_json::Value) -> QueueArguments {
    let mut table = TableBuf::new().with("x-queue-type", Value::LongStr(queue_type.as_bytes()));
    for (name, value) in set.as_object().unwrap() {
        table = match value {
            serde_json::Value::String(text) => table.with(name, Value::LongStr(text.as_bytes())),
            serde_json::Value::Bool(is_set) => table.with(name, Value::Bool(*is_set)),
            number => table.with(name, Value::I64(number.as_i64().unwrap())),
        };
    }
    QueueArguments::from_stored(table).unwrap()
}

fn policy(kind: PolicyKind, set: &serde_json::Value) -> Option<Arc<Policy>> {
    let settings = set.as_object().unwrap().clone();
    let policy = Policy {
        vhost: VhostName::parse(b"/").unwrap(),
        name: Box::from("p"),
        kind,
        pattern: Policy::parse_pattern("").unwrap(),
        apply_to: ApplyTo::Queues,
        priority: 0,
        definition: PolicyDefinition::from_stored(settings),
    };
    (!policy.definition.settings().is_empty()).then(|| Arc::new(policy))
}

fn features(queue_type: &str, set: &serde_json::Value, users: &serde_json::Value) -> QueueFeatures {
    let effective = EffectivePolicy { user: policy(PolicyKind::User, users), operator: None };
    QueueFeatures::of(&arguments(queue_type, set), &effective)
}

fn classic(set: &serde_json::Value, users: &serde_json::Value) -> QueueFeatures {
    features("classic", set, users)
}

fn quorum(set: &serde_json::Value, users: &serde_json::Value) -> QueueFeatures {
    features("quorum", set, users)
}

fn dead_letter(exchange: &str, routing_key: Option<&str>, is_at_least_once: bool) -> Option<DeadLetter> {
    let routing_key = routing_key.map(|key| Box::from(key.as_bytes()));
    Some(DeadLetter { exchange: ExchangeName::parse(exchange.as_bytes()).unwrap(), routing_key, is_at_least_once })
}

#[test]
fn a_plain_queue_does_nothing_special() {
    assert_eq!(QueueFeatures::of(&QueueArguments::default(), &EffectivePolicy::default()), QueueFeatures::default());
    let expected = QueueFeatures {
        priority_max: Some(31),
        default_priority: 4,
        delivery_limit: Some(20),
        is_quorum: true,
        ..QueueFeatures::default()
    };
    assert_eq!(quorum(&json!({}), &json!({})), expected);
}

#[test]
fn the_smaller_number_counts() {
    let set = json!({"x-message-ttl": 7, "x-expires": 50_000, "x-max-length": 5, "x-max-length-bytes": 10});
    let users = json!({"message-ttl": 5, "expires": 60_000, "max-length": 9, "max-length-bytes": 3});
    for both in [classic(&set, &users), quorum(&set, &users)] {
        let numbers = [both.message_ttl_ms, both.expires_ms, both.length_max, both.length_bytes_max];
        assert_eq!(numbers, [Some(5), Some(50_000), Some(5), Some(3)]);
    }
    for one in [classic(&set, &json!({})), quorum(&set, &json!({}))] {
        let numbers = [one.message_ttl_ms, one.expires_ms, one.length_max, one.length_bytes_max];
        assert_eq!(numbers, [Some(7), Some(50_000), Some(5), Some(10)]);
    }
    for other in [classic(&json!({}), &users), quorum(&json!({}), &users)] {
        let numbers = [other.message_ttl_ms, other.expires_ms, other.length_max, other.length_bytes_max];
        assert_eq!(numbers, [Some(5), Some(60_000), Some(9), Some(3)]);
    }
}

#[test]
fn zero_is_a_length_and_a_ttl() {
    let both = classic(&json!({"x-max-length": 0, "x-message-ttl": 0}), &json!({"max-length": 3, "message-ttl": 3}));
    assert_eq!((both.length_max, both.message_ttl_ms), (Some(0), Some(0)));
}

#[test]
fn numbers_count_whatever_their_width() {
    let table = TableBuf::new()
        .with("x-expires", Value::I32(1))
        .with("x-message-ttl", Value::U8(2))
        .with("x-max-length", Value::I64(3))
        .with("x-max-length-bytes", Value::U32(4));
    let arguments = QueueArguments::from_stored(table).unwrap();
    let of = QueueFeatures::of(&arguments, &EffectivePolicy::default());
    assert_eq!((of.expires_ms, of.message_ttl_ms), (Some(1), Some(2)));
    assert_eq!((of.length_max, of.length_bytes_max), (Some(3), Some(4)));
}

#[test]
fn no_time_is_longer_than_an_argument_may_ask_for() {
    let of = classic(&json!({}), &json!({"message-ttl": u64::MAX, "expires": u64::MAX}));
    assert_eq!((of.message_ttl_ms, of.expires_ms), (Some(EXPIRY_MS_MAX), Some(EXPIRY_MS_MAX)));
}

#[test]
fn an_operators_number_limits_an_argument() {
    let operator = policy(PolicyKind::Operator, &json!({"expires": 40_000, "message-ttl": 9, "max-length": 3}));
    let effective = EffectivePolicy { user: policy(PolicyKind::User, &json!({"max-length": 2})), operator };
    let of = QueueFeatures::of(&arguments("classic", &json!({"x-expires": 50_000, "x-message-ttl": 7})), &effective);
    assert_eq!((of.expires_ms, of.message_ttl_ms, of.length_max), (Some(40_000), Some(7), Some(2)));
}

#[test]
fn a_dead_letter_exchange_is_the_arguments_or_else_the_policys() {
    let named = json!({"x-dead-letter-exchange": "a", "x-dead-letter-routing-key": "k"});
    let users = json!({"dead-letter-exchange": "b", "dead-letter-routing-key": "l"});
    for queue_type in ["classic", "quorum"] {
        let of = |set: &serde_json::Value, users: &serde_json::Value| features(queue_type, set, users).dead_letter;
        assert_eq!(of(&named, &users), dead_letter("a", Some("k"), false));
        assert_eq!(of(&json!({}), &users), dead_letter("b", Some("l"), false));
        // Each is merged separately: the key of a policy is for the exchange of an argument, too.
        let exchange_only = json!({"x-dead-letter-exchange": "a"});
        assert_eq!(of(&exchange_only, &json!({"dead-letter-routing-key": "l"})), dead_letter("a", Some("l"), false));
        assert_eq!(of(&json!({}), &json!({"dead-letter-routing-key": "l"})), None);
        assert_eq!(of(&json!({}), &json!({"dead-letter-exchange": ""})), dead_letter("", None, false));
    }
}

#[test]
fn dead_lettering_at_least_once_needs_reject_publish() {
    let set = |overflow| json!({"x-dead-letter-exchange": "a", "x-dead-letter-strategy": "at-least-once", "x-overflow": overflow});
    let no = &json!({});
    assert_eq!(quorum(&set("reject-publish"), no).dead_letter, dead_letter("a", None, true));
    assert_eq!(quorum(&set("drop-head"), no).dead_letter, dead_letter("a", None, false));
    assert_eq!(classic(&set("reject-publish"), no).dead_letter, dead_letter("a", None, false));
    let by_policy = json!({"dead-letter-strategy": "at-most-once"});
    assert_eq!(quorum(&set("reject-publish"), &by_policy).dead_letter, dead_letter("a", None, true));
    let set = json!({"x-dead-letter-exchange": "a", "x-overflow": "reject-publish"});
    let by_policy = json!({"dead-letter-strategy": "at-least-once"});
    assert_eq!(quorum(&set, &by_policy).dead_letter, dead_letter("a", None, true));
}

#[test]
fn the_overflow_of_a_quorum_queue_is_the_policys_and_of_a_classic_one_the_arguments() {
    let of = |queue_type, argument, users| {
        features(queue_type, &json!({"x-overflow": argument}), &json!({"overflow": users})).overflow
    };
    assert_eq!(of("classic", "reject-publish", "drop-head"), Overflow::RejectPublish);
    assert_eq!(of("classic", "drop-head", "reject-publish-dlx"), Overflow::DropHead);
    assert_eq!(of("quorum", "reject-publish", "drop-head"), Overflow::DropHead);
    assert_eq!(of("quorum", "drop-head", "reject-publish"), Overflow::RejectPublish);
    assert_eq!(classic(&json!({}), &json!({"overflow": "reject-publish-dlx"})).overflow, Overflow::RejectPublishDlx);
    assert_eq!(quorum(&json!({}), &json!({"overflow": "reject-publish-dlx"})).overflow, Overflow::DropHead);
    assert_eq!(quorum(&json!({"x-overflow": "reject-publish-dlx"}), &json!({})).overflow, Overflow::DropHead);
}

#[test]
fn a_negative_delivery_limit_is_none_and_gives_way() {
    let of = |argument: Option<i64>, users: Option<i64>| {
        let set = argument.map_or_else(|| json!({}), |limit| json!({"x-delivery-limit": limit}));
        let users = users.map_or_else(|| json!({}), |limit| json!({"delivery-limit": limit}));
        quorum(&set, &users).delivery_limit
    };
    assert_eq!(of(None, None), Some(20));
    assert_eq!(of(Some(-1), None), None);
    assert_eq!(of(None, Some(-1)), None);
    assert_eq!(of(Some(3), Some(-1)), Some(3));
    assert_eq!(of(Some(-1), Some(5)), Some(5));
    assert_eq!(of(Some(7), Some(5)), Some(5));
    assert_eq!(of(Some(-2), Some(-1)), None);
    assert_eq!(of(Some(0), None), Some(0));
    assert_eq!(of(Some(i64::MAX), None), Some(u32::MAX));
    assert_eq!(classic(&json!({}), &json!({"delivery-limit": 3})).delivery_limit, None);
}

#[test]
fn a_delayed_retry_needs_a_type_and_a_minimum() {
    let retry = |applies_to, min_ms, max_ms| {
        Some(DelayedRetry { applies_to, min_ms, max_ms: Some(max_ms), back_off: BackOff::Linear })
    };
    let of = |kind: &str, min: i64, max: i64, users: &serde_json::Value| {
        let mut set = json!({"x-delayed-retry-type": kind, "x-delayed-retry-min": min, "x-delayed-retry-max": max});
        let numbers = set.as_object_mut().unwrap();
        numbers.retain(|_, value| value.as_i64().is_none_or(|number| number >= 0));
        quorum(&set, users).retry
    };
    let no = &json!({});
    assert_eq!(of("all", -1, -1, no), None);
    assert_eq!(of("all", 100, -1, no), retry(RetryOf::All, 100, 100));
    assert_eq!(of("all", -1, 100, no), None);
    assert_eq!(of("all", 100, 50, no), retry(RetryOf::All, 100, 50));
    assert_eq!(of("all", 0, -1, no), None);
    assert_eq!(of("all", 10, 0, no), retry(RetryOf::All, 10, 10));
    let users = json!({"delayed-retry-type": "failed", "delayed-retry-min": 200, "delayed-retry-max": 600});
    assert_eq!(of("all", 100, 500, &users), retry(RetryOf::Failed, 100, 500));
    assert_eq!(quorum(no, &users).retry, retry(RetryOf::Failed, 200, 600));
    assert_eq!(of("all", 100, 500, &json!({"delayed-retry-type": "disabled"})), None);
    assert_eq!(quorum(no, &json!({"delayed-retry-min": 300})).retry, None);
    assert_eq!(classic(no, &users).retry, None);
}

#[test]
fn an_exponential_retry_needs_no_maximum() {
    let set = json!({
        "x-delayed-retry-type": "returned", "x-delayed-retry-min": 10, "x-delayed-retry-backoff": "exponential"
    });
    let expected =
        DelayedRetry { applies_to: RetryOf::Returned, min_ms: 10, max_ms: None, back_off: BackOff::Exponential };
    assert_eq!(quorum(&set, &json!({})).retry, Some(expected));
    let by_policy = quorum(&set, &json!({"delayed-retry-backoff": "linear", "delayed-retry-max": 99})).retry.unwrap();
    assert_eq!((by_policy.back_off, by_policy.max_ms), (BackOff::Exponential, Some(99)));
}

#[test]
fn what_is_for_arguments_alone_is_no_policys() {
    let users = json!({"max-priority": 3, "single-active-consumer": true});
    let by_policy = classic(&json!({}), &users);
    assert_eq!((by_policy.priority_max, by_policy.is_single_active), (None, false));
    let by_argument = classic(&json!({"x-max-priority": 10, "x-single-active-consumer": true}), &json!({}));
    assert_eq!((by_argument.priority_max, by_argument.is_single_active), (Some(10), true));
    assert_eq!(classic(&json!({"x-max-priority": 0}), &json!({})).priority_max, Some(0));
    assert!(quorum(&json!({"x-single-active-consumer": true}), &json!({})).is_single_active);
}

#[test]
fn messages_are_deduplicated_by_a_header() {
    let plain =
        Deduplication { cache_size: None, cache_ttl_ms: None, header: DEDUPLICATION_HEADER.into(), replaces: false };
    assert_eq!(classic(&json!({"x-message-deduplication": true}), &json!({})).deduplication, Some(plain.clone()));
    assert_eq!(classic(&json!({}), &json!({"message-deduplication": true})).deduplication, Some(plain.clone()));
    assert_eq!(quorum(&json!({}), &json!({"x-message-deduplication": true})).deduplication, Some(plain));
    let off = classic(&json!({"x-message-deduplication": false}), &json!({"message-deduplication": true}));
    assert_eq!(off.deduplication, None);
    let all = json!({
        "x-message-deduplication": true, "x-cache-size": 10, "x-cache-ttl": 1000, "x-deduplication-header": "id",
        "x-deduplication-replaces": true
    });
    let expected = Deduplication { cache_size: Some(10), cache_ttl_ms: Some(500), header: "id".into(), replaces: true };
    assert_eq!(classic(&all, &json!({"cache-ttl": 500, "cache-size": 20})).deduplication, Some(expected));
}

#[test]
fn messages_are_grouped_by_a_header() {
    let by_argument = classic(&json!({"x-message-group-header": "g"}), &json!({"message-group-header": "h"}));
    assert_eq!(by_argument.group_header.as_deref(), Some("g"));
    assert_eq!(quorum(&json!({}), &json!({"message-group-header": "h"})).group_header.as_deref(), Some("h"));
    assert_eq!(classic(&json!({"x-message-group-header": ""}), &json!({})).group_header, None);
}

#[test]
fn a_consumers_time_is_limited_by_quorum_queues() {
    let (set, users) = (json!({"x-consumer-timeout": 7000}), json!({"consumer-timeout": 5000}));
    assert_eq!(quorum(&set, &users).consumer_timeout_ms, Some(5000));
    assert_eq!(quorum(&set, &json!({})).consumer_timeout_ms, Some(7000));
    assert_eq!(classic(&json!({}), &users).consumer_timeout_ms, None);
}
