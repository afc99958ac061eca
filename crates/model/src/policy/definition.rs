//! What a policy sets: keys and values, checked.

use serde_json::{Map, Value};

use super::keys::{self, State};
use super::{POLICY_NAME_LEN_MAX, PolicyKind};
use crate::erlang;

/// What a policy sets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PolicyDefinition(Map<String, Value>);

/// Why a policy cannot be set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// Keys that nobody knows. The text is RabbitMQ's.
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
    /// The feature is not there.
    #[error("the policy key '{0}' is not implemented")]
    Unbuilt(&'static str),
    /// A name that is empty or too long.
    #[error("a policy's name has 1 to {POLICY_NAME_LEN_MAX} bytes, not {len}")]
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
        let mut warnings = Vec::new();
        for (key, value) in &settings {
            let Some(row) = keys::find(key, kind) else { continue };
            if !(row.accepts)(value) {
                return Err(PolicyError::Value { value: erlang::term(value), what: row.what });
            }
            match row.state {
                State::Built => {}
                State::WithoutEffect(why) => warnings.push(format!("the policy key '{key}' has no effect: {why}")),
                State::Unbuilt => return Err(PolicyError::Unbuilt(row.name)),
            }
        }
        Ok((PolicyDefinition(settings), warnings))
    }

    /// Takes what was checked before it was stored.
    #[must_use]
    pub fn from_stored(settings: Map<String, Value>) -> PolicyDefinition {
        PolicyDefinition(settings)
    }

    /// The keys and their values.
    #[must_use]
    pub fn settings(&self) -> &Map<String, Value> {
        &self.0
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
        check_refused(&json!({"max-length": 5}), "the policy key 'max-length' is not implemented");
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
