//! What a policy sets: keys and values, checked.

use serde_json::{Map, Value};

use super::keys::{self, State};
use super::kind::{POLICY_NAME_LEN_MAX, PolicyKind};
use crate::arguments::QueueType;
use crate::erlang;

/// What a policy sets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PolicyDefinition {
    settings: Map<String, Value>,
    /// Types of queues that it is not for, as bits.
    unsuited: u8,
}

/// Why a policy cannot be set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// Unknown keys. The text is RabbitMQ's.
    #[error("[{}] are not recognised policy settings", .0.join(","))]
    Unknown(Vec<String>),
    /// A value that its key cannot have. The text is RabbitMQ's.
    #[error("{value} is not a valid {what}")]
    Value {
        /// The value.
        value: String,
        /// What it was to be.
        what: &'static str,
    },
    /// Values that exclude each other. The text is RabbitMQ's.
    #[error("{0}")]
    Together(String),
    /// The feature is not there.
    #[error("the policy key '{0}' is not implemented")]
    Unbuilt(&'static str),
    /// A name that is empty or too long.
    #[error("a policy's name must have 1 to {POLICY_NAME_LEN_MAX} bytes, not {len}")]
    Name {
        /// Its length in bytes.
        len: usize,
    },
}

impl PolicyDefinition {
    /// Checks all keys and values. The second is about keys that were accepted and have no effect.
    pub fn parse(
        settings: Map<String, Value>,
        kind: PolicyKind,
    ) -> Result<(PolicyDefinition, Vec<String>), PolicyError> {
        let unknown = settings.iter().filter(|(key, _)| keys::find(key, kind).is_none());
        let unknown: Vec<String> = unknown.map(|(key, value)| erlang::pair(key, value)).collect();
        if !unknown.is_empty() {
            return Err(PolicyError::Unknown(unknown));
        }
        for (key, value) in &settings {
            let wrong = keys::find(key, kind).filter(|row| !(row.accepts)(value));
            if let Some(row) = wrong {
                return Err(PolicyError::Value { value: erlang::term(value), what: row.what });
            }
        }
        if let Some(text) = keys::refuse_together(&settings) {
            return Err(PolicyError::Together(text));
        }
        let mut warnings = Vec::new();
        for row in settings.keys().filter_map(|key| keys::find(key, kind)) {
            match row.state {
                State::Built => {}
                State::WithoutEffect(why) => {
                    warnings.push(format!("the policy key '{}' has no effect: {why}", row.name))
                }
                State::Unbuilt => return Err(PolicyError::Unbuilt(row.name)),
            }
        }
        Ok((PolicyDefinition::from_stored(settings), warnings))
    }

    /// Takes what was checked before it was stored.
    #[must_use]
    pub fn from_stored(settings: Map<String, Value>) -> PolicyDefinition {
        let unsuited = keys::unsuited(&settings);
        PolicyDefinition { settings, unsuited }
    }

    /// The keys and their values.
    #[must_use]
    pub fn settings(&self) -> &Map<String, Value> {
        &self.settings
    }

    /// Whether queues of this type take all that it sets. A policy that sets anything that they do not is passed over, and
    /// the next that matches counts.
    #[must_use]
    pub(crate) fn suits(&self, queue_type: QueueType) -> bool {
        self.unsuited & queue_type.bit() == 0
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(kind: PolicyKind, settings: &Value) -> Result<Vec<String>, String> {
        let parsed = PolicyDefinition::parse(settings.as_object().unwrap().clone(), kind);
        parsed.map(|(_, warnings)| warnings).map_err(|error| error.to_string())
    }

    #[track_caller]
    fn check_refused(settings: &Value, reason: &str) {
        assert_eq!(parse(PolicyKind::User, settings), Err(reason.to_owned()));
    }

    #[test]
    fn unknown_keys_are_named_with_their_values() {
        check_refused(
            &json!({"foo": 1, "bar": "b", "alternate-exchange": "ae"}),
            "[{<<\"bar\">>,<<\"b\">>},{<<\"foo\">>,1}] are not recognised policy settings",
        );
    }

    #[test]
    fn values_are_checked_in_rabbitmqs_words() {
        check_refused(&json!({"alternate-exchange": 1}), "1 is not a valid alternate exchange name");
        check_refused(&json!({"max-length": -1}), "-1 is not a valid maximum length");
        check_refused(&json!({"overflow": "x"}), "<<\"x\">> is not a valid overflow value");
        check_refused(&json!({"expires": 0}), "0 is not a valid queue expiry");
    }

    #[test]
    fn what_is_not_built_is_refused_by_name() {
        check_refused(&json!({"max-age": "7D"}), "the policy key 'max-age' is not implemented");
    }

    #[test]
    fn upstreams_are_said_in_one_way() {
        for key in ["federation-upstream", "federation-upstream-set", "federation-upstream-pattern"] {
            check_accepted(PolicyKind::User, &json!({ key: "all" }));
        }
        check_refused(
            &json!({"federation-upstream": "u", "federation-upstream-set": "all"}),
            "cannot specify federation-upstream, federation-upstream-set or federation-upstream-pattern together",
        );
        check_refused(&json!({"federation-upstream": 5}), "5 is not a valid federation upstream name");
        let refused = parse(PolicyKind::User, &json!({"federation-upstream-pattern": "("})).unwrap_err();
        assert!(refused.starts_with("could not compile pattern ( to a regular expression. Error: "), "{refused}");
    }

    #[track_caller]
    fn check_accepted(kind: PolicyKind, settings: &Value) {
        assert_eq!(parse(kind, settings), Ok(vec![]), "{settings}");
    }

    #[test]
    fn limits_of_queues_are_for_users_and_operators() {
        for kind in [PolicyKind::User, PolicyKind::Operator] {
            check_accepted(kind, &json!({"max-length": 0, "max-length-bytes": 0, "message-ttl": 0, "expires": 1}));
            check_accepted(kind, &json!({"overflow": "reject-publish-dlx", "delivery-limit": -1}));
            check_accepted(kind, &json!({"delayed-retry-type": "all", "delayed-retry-min": 1, "delayed-retry-max": 1}));
        }
        check_accepted(PolicyKind::User, &json!({"dead-letter-exchange": "", "dead-letter-routing-key": "k"}));
        check_accepted(PolicyKind::User, &json!({"dead-letter-strategy": "at-least-once", "consumer-timeout": 0}));
        for key in ["dead-letter-exchange", "consumer-timeout", "message-group-header", "shards-per-node"] {
            let refused = parse(PolicyKind::Operator, &json!({key: 1})).unwrap_err();
            assert_eq!(refused, format!("[{{<<\"{key}\">>,1}}] are not recognised policy settings"));
        }
    }

    #[test]
    fn retries_are_checked_together() {
        check_accepted(PolicyKind::User, &json!({"delayed-retry-type": "disabled"}));
        check_accepted(PolicyKind::User, &json!({"delayed-retry-max": 5}));
        check_refused(
            &json!({"delayed-retry-type": "returned", "delayed-retry-max": 5}),
            "delayed-retry-min is required when delayed-retry-type is returned",
        );
        check_refused(
            &json!({"delayed-retry-type": "disabled", "delayed-retry-min": 9, "delayed-retry-max": 5}),
            "delayed-retry-max (5) must not be smaller than delayed-retry-min (9)",
        );
        check_refused(
            &json!({"delayed-retry-min": 0}),
            "0 is not a valid delayed retry minimum delay. Must be a positive integer",
        );
        check_refused(&json!({"delayed-retry-backoff": "z"}), "<<\"z\">> is not a valid delayed retry back-off");
    }

    #[test]
    fn shards_are_checked_together() {
        check_accepted(PolicyKind::User, &json!({"shards-per-node": 0, "routing-key": "k"}));
        check_accepted(PolicyKind::User, &json!({"shards-per-node": 1.5}));
        check_accepted(PolicyKind::User, &json!({"shards-per-node": 1024}));
        check_refused(&json!({"shards-per-node": 1025}), "shards-per-node should be 1024 at most, actually was 1025");
        check_refused(&json!({"shards-per-node": -1}), "shards-per-node should be greater than 0, actually was -1");
        check_refused(&json!({"shards-per-node": "x"}), "shards-per-node should be a number, actually was <<\"x\">>");
        check_refused(&json!({"routing-key": "k"}), "shards-per-node must be specified");
        check_refused(&json!({"shards-per-node": 1, "routing-key": 5}), "routing-key should be binary, actually was 5");
    }

    #[test]
    fn groups_are_by_any_header() {
        check_accepted(PolicyKind::User, &json!({"message-group-header": "h"}));
        check_refused(&json!({"message-group-header": ""}), "<<>> is not a valid message group header");
        check_refused(&json!({"message-group-header": 1}), "1 is not a valid message group header");
    }

    #[test]
    fn deduplication_is_checked() {
        for key in ["message-deduplication", "deduplication-replaces", "x-message-deduplication"] {
            check_accepted(PolicyKind::User, &json!({ key: true }));
            assert!(parse(PolicyKind::User, &json!({ key: 1 })).is_err());
        }
        for key in ["cache-size", "cache-ttl", "x-cache-size", "x-cache-ttl"] {
            check_accepted(PolicyKind::User, &json!({ key: 1 }));
        }
        check_accepted(PolicyKind::User, &json!({"deduplication-header": "h"}));
        check_refused(&json!({"cache-size": 0}), "0 is not a valid number of keys to remember");
        let warnings = parse(PolicyKind::User, &json!({"x-cache-persistence": "disk"})).unwrap();
        assert_eq!(
            warnings,
            ["the policy key 'x-cache-persistence' has no effect: keys are as durable as their messages"]
        );
    }

    #[test]
    fn mirroring_is_accepted_with_a_warning() {
        let warnings = parse(PolicyKind::User, &json!({"ha-mode": "all", "alternate-exchange": "ae"})).unwrap();
        assert_eq!(warnings, ["the policy key 'ha-mode' has no effect: classic queues are not mirrored"]);
    }

    #[test]
    fn operators_have_fewer_keys() {
        let refused = parse(PolicyKind::Operator, &json!({"alternate-exchange": "ae"})).unwrap_err();
        assert_eq!(refused, "[{<<\"alternate-exchange\">>,<<\"ae\">>}] are not recognised policy settings");
        assert!(parse(PolicyKind::Operator, &json!({})).unwrap().is_empty());
    }
}
