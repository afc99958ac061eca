//! The one table of what policies can set: what each key may be, whose it is, how two values are merged, and whether its
//! feature is built.

use serde_json::{Map, Value};

use super::definition::PolicyDefinition;
use super::kind::PolicyKind;
use crate::arguments::QueueType;
use crate::erlang;
use crate::pattern::Pattern;

/// The most queues that an exchange can have of its own on a node. All are made at once, while the caller that sets the policy waits.
pub(crate) const SHARDS_PER_NODE_MAX: u64 = 1024;

/// A row of the table.
pub(super) struct Key {
    pub(super) name: &'static str,
    /// Whether operators' policies may have it.
    is_for_operators: bool,
    merge: Merge,
    pub(super) state: State,
    /// What RabbitMQ calls it when it refuses a value: `5 is not a valid …`.
    pub(super) what: &'static str,
    pub(super) accepts: fn(&Value) -> bool,
    /// Types of queues for which RabbitMQ passes over policies that have it, as bits of [`QueueType::bit`].
    unsuited: u8,
}

/// What a key does today.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It does what it says.
    Built,
    /// Accepted, because older definitions have it, and without effect.
    WithoutEffect(&'static str),
    /// Its feature is not there.
    Unbuilt,
}

/// How a user's and an operator's values become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Merge {
    /// The smaller number.
    Smaller,
    /// The smaller number, but negative ones do not count.
    SmallerUnlessNegative,
    /// The greater number.
    Greater,
    /// The operator's.
    Operators,
}

const MIRRORS: State = State::WithoutEffect("classic queues are not mirrored");
const ONE_NODE: State = State::WithoutEffect("all queues are on one node, the leader");
const ONE_STORAGE: State = State::WithoutEffect("queues always write to disk what does not fit into memory");

const fn key(
    name: &'static str,
    merge: Option<Merge>,
    state: State,
    what: &'static str,
    accepts: fn(&Value) -> bool,
) -> Key {
    let (is_for_operators, merge) = match merge {
        Some(merge) => (true, merge),
        None => (false, Merge::Operators),
    };
    Key { name, is_for_operators, merge, state, what, accepts, unsuited: 0 }
}

const C: u8 = QueueType::Classic.bit();
const Q: u8 = QueueType::Quorum.bit();
const S: u8 = QueueType::Stream.bit();

impl Key {
    const fn not_for(self, unsuited: u8) -> Key {
        Key { unsuited, ..self }
    }
}

const KEYS: &[Key] = {
    use Merge::{Greater, Operators, Smaller, SmallerUnlessNegative};
    use State::{Built, Unbuilt, WithoutEffect};
    &[
        key("alternate-exchange", None, Built, "alternate exchange name", is_text),
        key("dead-letter-exchange", None, Built, "dead letter exchange name", is_text).not_for(S),
        key("dead-letter-routing-key", None, Built, "dead letter routing key", is_text).not_for(S),
        key("dead-letter-strategy", None, Built, "dead letter strategy", |value| {
            is_one_of(value, &["at-most-once", "at-least-once"])
        })
        .not_for(C | S),
        key("message-ttl", Some(Smaller), Built, "message TTL", is_natural).not_for(S),
        key("expires", Some(Smaller), Built, "queue expiry", is_positive).not_for(S),
        key("max-length", Some(Smaller), Built, "maximum length", is_natural).not_for(S),
        key("max-length-bytes", Some(Smaller), Built, "maximum length in bytes", is_natural),
        key("max-in-memory-length", Some(Smaller), ONE_STORAGE, "maximum memory in bytes", is_natural).not_for(C | S),
        key("max-in-memory-bytes", Some(Smaller), ONE_STORAGE, "maximum memory in bytes", is_natural).not_for(C | S),
        key("overflow", Some(Operators), Built, "overflow value", |value| {
            is_one_of(value, &["drop-head", "reject-publish", "reject-publish-dlx"])
        })
        .not_for(S),
        key("delivery-limit", Some(SmallerUnlessNegative), Built, "delivery limit", is_integer).not_for(C | S),
        key("queue-mode", None, ONE_STORAGE, "queue-mode value", |value| is_one_of(value, &["default", "lazy"]))
            .not_for(Q | S),
        key(
            "queue-version",
            Some(Operators),
            WithoutEffect("all queues have the same format"),
            "queue-version value",
            |value| matches!(value.as_i64(), Some(1 | 2)),
        ),
        key("queue-master-locator", None, ONE_NODE, "queue leader locator", is_text).not_for(Q | S),
        key("queue-leader-locator", None, ONE_NODE, "queue leader locator value", |value| {
            is_one_of(value, &["client-local", "balanced", "random", "least-leaders"])
        }),
        key("target-group-size", Some(Greater), ONE_NODE, "qq target count value", is_positive).not_for(C | S),
        key("max-age", None, Unbuilt, "max age", is_text).not_for(C | Q),
        key("stream-max-segment-size-bytes", None, Unbuilt, "segment size", is_natural).not_for(C | Q),
        key("stream-filter-size-bytes", None, Unbuilt, "filter size. Valid range is 16-255", |value| {
            matches!(value.as_u64(), Some(16..=255))
        }),
        key("initial-cluster-size", None, Unbuilt, "cluster size", is_natural).not_for(C | Q),
        key("consumer-timeout", None, Built, "consumer timeout", is_natural),
        key("consumer-disconnected-timeout", None, ONE_NODE, "consumer disconnected timeout", is_natural),
        key(
            "delayed-retry-type",
            Some(Operators),
            Built,
            "delayed retry type. Must be one of: all, failed, returned, disabled",
            |value| is_one_of(value, &["all", "failed", "returned", "disabled"]),
        ),
        key(
            "delayed-retry-min",
            Some(Greater),
            Built,
            "delayed retry minimum delay. Must be a positive integer",
            is_positive,
        ),
        key(
            "delayed-retry-max",
            Some(Smaller),
            Built,
            "delayed retry maximum delay. Must be a positive integer",
            is_positive,
        ),
        key("delayed-retry-backoff", Some(Operators), Built, "delayed retry back-off", |value| {
            is_one_of(value, &["linear", "exponential"])
        }),
        key("message-group-header", None, Built, "message group header", is_name),
        key("message-deduplication", None, Built, DEDUPLICATION, Value::is_boolean),
        key("cache-size", None, Built, CACHE_SIZE, is_positive),
        key("cache-ttl", None, Built, CACHE_TTL, is_positive),
        key("deduplication-header", None, Built, "deduplication header", is_name),
        key("deduplication-replaces", None, Built, "choice of whether new messages replace others", Value::is_boolean),
        // As the deduplication plugin names them.
        key("x-message-deduplication", None, Built, DEDUPLICATION, Value::is_boolean),
        key("x-cache-size", None, Built, CACHE_SIZE, is_positive),
        key("x-cache-ttl", None, Built, CACHE_TTL, is_positive),
        key(
            "x-cache-persistence",
            None,
            WithoutEffect("keys are as durable as their messages"),
            "place for a cache",
            |value| is_one_of(value, &["disk", "memory"]),
        ),
        key("delayed-message", None, Built, "choice of whether messages are delayed", Value::is_boolean),
        key("delayed-release-rate", Some(Smaller), Built, "number of delayed messages a second", is_positive),
        key("federation-upstream", None, Built, "federation upstream name", is_text),
        key("federation-upstream-set", None, Built, "federation upstream set name", is_text),
        key("federation-upstream-pattern", None, Built, "federation upstream pattern name", is_text),
        // Refused by `refuse_together`, whose texts are the sharding plugin's.
        key("shards-per-node", None, Built, "", |_| true),
        key("routing-key", None, Built, "", |_| true),
        key("ha-mode", Some(Operators), MIRRORS, "ha-mode", |_| true).not_for(Q | S),
        key("ha-params", Some(Operators), MIRRORS, "ha-params", |_| true).not_for(Q | S),
        key("ha-sync-mode", Some(Operators), MIRRORS, "ha-sync-mode", |_| true).not_for(Q | S),
        key("ha-sync-batch-size", None, MIRRORS, "ha-sync-batch-size", |_| true),
        key("ha-promote-on-shutdown", None, MIRRORS, "ha-promote-on-shutdown", |_| true).not_for(Q | S),
        key("ha-promote-on-failure", None, MIRRORS, "ha-promote-on-failure", |_| true).not_for(Q | S),
    ]
};

const DEDUPLICATION: &str = "choice of whether duplicates are dropped";
const CACHE_SIZE: &str = "number of keys to remember";
const CACHE_TTL: &str = "time to remember a key, in milliseconds";

/// The row of a key, if policies of this kind may have it.
pub(super) fn find(name: &str, kind: PolicyKind) -> Option<&'static Key> {
    let row = KEYS.iter().find(|key| key.name == name)?;
    (kind == PolicyKind::User || row.is_for_operators).then_some(row)
}

/// Why a key that may be set has no effect; nothing for all others.
#[must_use]
pub fn without_effect(name: &str) -> Option<&'static str> {
    match KEYS.iter().find(|row| row.name == name)?.state {
        State::WithoutEffect(why) => Some(why),
        State::Built | State::Unbuilt => None,
    }
}

/// What is wrong with values that are right by themselves, in RabbitMQ's words.
pub(super) fn refuse_together(settings: &Map<String, Value>) -> Option<String> {
    refuse_retries(settings).or_else(|| refuse_shards(settings)).or_else(|| refuse_upstreams(settings))
}

fn refuse_retries(settings: &Map<String, Value>) -> Option<String> {
    let number = |key| settings.get(key).and_then(Value::as_u64);
    let (min, max) = (number("delayed-retry-min"), number("delayed-retry-max"));
    let kind = settings.get("delayed-retry-type").and_then(Value::as_str).filter(|kind| *kind != "disabled");
    match (kind, min, max) {
        (Some(kind), None, _) => Some(format!("delayed-retry-min is required when delayed-retry-type is {kind}")),
        (_, Some(min), Some(max)) if max < min => {
            Some(format!("delayed-retry-max ({max}) must not be smaller than delayed-retry-min ({min})"))
        }
        (_, _, _) => None,
    }
}

fn refuse_shards(settings: &Map<String, Value>) -> Option<String> {
    let (shards, routing_key) = (settings.get("shards-per-node"), settings.get("routing-key"));
    match (shards, routing_key) {
        (None, None) => None,
        (None, Some(_)) => Some("shards-per-node must be specified".to_owned()),
        (Some(shards), _) if !shards.is_number() => {
            Some(format!("shards-per-node should be a number, actually was {}", erlang::term(shards)))
        }
        (Some(shards), _) if shards.as_f64().is_none_or(|count| count < 0.0) => {
            Some(format!("shards-per-node should be greater than 0, actually was {}", erlang::term(shards)))
        }
        (Some(shards), _) if shards.as_f64().is_none_or(|count| count > SHARDS_PER_NODE_MAX as f64) => {
            let actual = erlang::term(shards);
            Some(format!("shards-per-node should be {SHARDS_PER_NODE_MAX} at most, actually was {actual}"))
        }
        (Some(_), Some(key)) if !key.is_string() => {
            Some(format!("routing-key should be binary, actually was {}", erlang::term(key)))
        }
        (Some(_), _) => None,
    }
}

fn refuse_upstreams(settings: &Map<String, Value>) -> Option<String> {
    let names = ["federation-upstream", "federation-upstream-set", "federation-upstream-pattern"];
    if names.iter().filter(|name| settings.contains_key(**name)).count() > 1 {
        let text =
            "cannot specify federation-upstream, federation-upstream-set or federation-upstream-pattern together";
        return Some(text.to_owned());
    }
    let pattern = settings.get("federation-upstream-pattern").and_then(Value::as_str)?;
    let error = Pattern::parse(pattern).err()?;
    Some(format!("could not compile pattern {pattern} to a regular expression. Error: {error}"))
}

/// Types of queues for which RabbitMQ passes over a policy that sets these, as bits of [`QueueType::bit`].
pub(super) fn unsuited(settings: &Map<String, Value>) -> u8 {
    let rows = KEYS.iter().filter(|row| settings.contains_key(row.name));
    rows.fold(0, |types, row| types | row.unsuited)
}

/// Both policies in one.
pub(super) fn merge(user: &PolicyDefinition, operator: &PolicyDefinition) -> Map<String, Value> {
    let mut merged = user.settings().clone();
    for (key, value) in operator.settings() {
        let value = match merged.get(key) {
            Some(users) => merge_value(key, users, value),
            None => value.clone(),
        };
        merged.insert(key.clone(), value);
    }
    merged
}

/// Both values of a key in one.
pub(super) fn merge_value(key: &str, user: &Value, operator: &Value) -> Value {
    let rule = KEYS.iter().find(|row| row.name == key).map_or(Merge::Operators, |row| row.merge);
    let (Some(users), Some(operators)) = (user.as_i64(), operator.as_i64()) else { return operator.clone() };
    match rule {
        Merge::Smaller => Value::from(users.min(operators)),
        Merge::Greater => Value::from(users.max(operators)),
        Merge::SmallerUnlessNegative if users < 0 || operators < 0 => Value::from(users.max(operators)),
        Merge::SmallerUnlessNegative => Value::from(users.min(operators)),
        Merge::Operators => operator.clone(),
    }
}

fn is_text(value: &Value) -> bool {
    value.is_string()
}

fn is_name(value: &Value) -> bool {
    value.as_str().is_some_and(|name| !name.is_empty())
}

fn is_natural(value: &Value) -> bool {
    value.as_u64().is_some()
}

fn is_positive(value: &Value) -> bool {
    value.as_u64().is_some_and(|number| number > 0)
}

fn is_integer(value: &Value) -> bool {
    value.as_i64().is_some()
}

fn is_one_of(value: &Value, words: &[&str]) -> bool {
    value.as_str().is_some_and(|word| words.contains(&word))
}
