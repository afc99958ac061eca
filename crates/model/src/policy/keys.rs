//! The one table of what policies can set: what each key may be, whose it is, how two values are merged, and whether its
//! feature is built.

use serde_json::{Map, Value};

use super::{PolicyDefinition, PolicyKind};

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
    /// The smaller number, but a negative one is none.
    SmallerUnlessNegative,
    /// The operator's.
    Operators,
}

const MIRRORS: State = State::WithoutEffect("classic queues are not mirrored");

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
    Key { name, is_for_operators, merge, state, what, accepts }
}

const KEYS: &[Key] = {
    use Merge::{Operators, Smaller, SmallerUnlessNegative};
    use State::{Built, Unbuilt, WithoutEffect};
    &[
        key("alternate-exchange", None, Built, "alternate exchange name", is_text),
        key("dead-letter-exchange", None, Unbuilt, "dead letter exchange name", is_text),
        key("dead-letter-routing-key", None, Unbuilt, "dead letter routing key", is_text),
        key("dead-letter-strategy", None, Unbuilt, "dead letter strategy", |value| {
            is_one_of(value, &["at-most-once", "at-least-once"])
        }),
        key("message-ttl", Some(Smaller), Unbuilt, "message TTL", is_natural),
        key("expires", Some(Smaller), Unbuilt, "queue expiry", is_positive),
        key("max-length", Some(Smaller), Unbuilt, "maximum length", is_natural),
        key("max-length-bytes", Some(Smaller), Unbuilt, "maximum length in bytes", is_natural),
        key("max-in-memory-length", Some(Smaller), Unbuilt, "maximum memory in bytes", is_natural),
        key("max-in-memory-bytes", Some(Smaller), Unbuilt, "maximum memory in bytes", is_natural),
        key("overflow", Some(Operators), Unbuilt, "overflow value", |value| {
            is_one_of(value, &["drop-head", "reject-publish", "reject-publish-dlx"])
        }),
        key("delivery-limit", Some(SmallerUnlessNegative), Unbuilt, "delivery limit", is_integer),
        key(
            "queue-mode",
            None,
            WithoutEffect("every queue writes to disk what does not fit into memory"),
            "queue-mode value",
            |value| is_one_of(value, &["default", "lazy"]),
        ),
        key("queue-version", Some(Operators), WithoutEffect("queues have one format"), "queue version", |value| {
            matches!(value.as_i64(), Some(1 | 2))
        }),
        key("queue-master-locator", None, WithoutEffect("there is one node"), "queue leader locator", is_text),
        key("queue-leader-locator", None, WithoutEffect("there is one node"), "queue leader locator", |value| {
            is_one_of(value, &["client-local", "balanced", "random", "least-leaders"])
        }),
        key("target-group-size", Some(Operators), Unbuilt, "target quorum size", is_positive),
        key("max-age", None, Unbuilt, "max age", is_text),
        key("stream-max-segment-size-bytes", None, Unbuilt, "segment size", is_natural),
        key("stream-filter-size-bytes", None, Unbuilt, "filter size", is_natural),
        key("consumer-timeout", None, Unbuilt, "consumer timeout", is_natural),
        key("consumer-disconnected-timeout", None, Unbuilt, "consumer disconnected timeout", is_natural),
        key("delayed-retry-type", None, Unbuilt, "delayed retry type", |value| {
            is_one_of(value, &["disabled", "all", "failed", "returned"])
        }),
        key("delayed-retry-min", None, Unbuilt, "delayed retry minimum", is_natural),
        key("delayed-retry-max", None, Unbuilt, "delayed retry maximum", is_natural),
        key("federation-upstream", None, Unbuilt, "upstream name", is_text),
        key("federation-upstream-set", None, Unbuilt, "upstream set name", is_text),
        key("federation-upstream-pattern", None, Unbuilt, "upstream pattern", is_text),
        key("shards-per-node", None, Unbuilt, "number of shards", is_natural),
        key("routing-key", None, Unbuilt, "routing key", is_text),
        key("ha-mode", Some(Operators), MIRRORS, "ha-mode", |_| true),
        key("ha-params", Some(Operators), MIRRORS, "ha-params", |_| true),
        key("ha-sync-mode", Some(Operators), MIRRORS, "ha-sync-mode", |_| true),
        key("ha-sync-batch-size", None, MIRRORS, "ha-sync-batch-size", |_| true),
        key("ha-promote-on-shutdown", None, MIRRORS, "ha-promote-on-shutdown", |_| true),
        key("ha-promote-on-failure", None, MIRRORS, "ha-promote-on-failure", |_| true),
    ]
};

/// The row of a key, if policies of this kind may have it.
pub(super) fn find(name: &str, kind: PolicyKind) -> Option<&'static Key> {
    let row = KEYS.iter().find(|key| key.name == name)?;
    (kind == PolicyKind::User || row.is_for_operators).then_some(row)
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
        Merge::SmallerUnlessNegative if users < 0 || operators < 0 => Value::from(users.max(operators)),
        Merge::SmallerUnlessNegative => Value::from(users.min(operators)),
        Merge::Operators => operator.clone(),
    }
}

fn is_text(value: &Value) -> bool {
    value.is_string()
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
