//! A policy, as a document has it, or a request.

use model::erlang;
use model::name::VhostName;
use model::policy::{ApplyTo, Policy, PolicyDefinition, PolicyError, PolicyKind};
use serde_json::{Map, Value};

use crate::fields::{Fields, wrong_type};
use crate::read_error::ReadError;

/// A policy that is to be there.
#[derive(Debug, Clone)]
pub struct PolicyRequest {
    /// Where.
    pub vhost: VhostName,
    /// Its name.
    pub name: String,
    /// Whose.
    pub kind: PolicyKind,
    /// Names that it is for.
    pub pattern: String,
    /// Things that it is for.
    pub apply_to: ApplyTo,
    /// Of several that match, the one with the highest counts.
    pub priority: i64,
    /// What it sets.
    pub definition: Map<String, Value>,
}

impl PolicyRequest {
    /// Whether it can be set at all, wherever it is; else why not.
    pub fn check(&self) -> Result<(), String> {
        self.clone().into_policy().map(drop)
    }

    /// Whether it makes sense, but sets what this broker does not have: features that are not built, settings of foreign plugins.
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        let parsed = PolicyDefinition::parse(self.definition.clone(), self.kind);
        matches!(parsed, Err(PolicyError::Unbuilt(_) | PolicyError::Unknown(_)))
    }

    /// The policy, and remarks about keys that have no effect; or why it cannot be set.
    pub fn into_policy(self) -> Result<(Policy, Vec<String>), String> {
        let PolicyRequest { vhost, name, kind, pattern, apply_to, priority, definition } = self;
        let name = Policy::parse_name(&name).map_err(|error| error.to_string())?;
        let pattern = Policy::parse_pattern(&pattern).map_err(|error| error.to_string())?;
        let parsed = PolicyDefinition::parse(definition, kind);
        let (definition, remarks) = parsed.map_err(|error| error.to_string())?;
        Ok((Policy { vhost, name, kind, pattern, apply_to, priority, definition }, remarks))
    }
}

/// Reads a policy; its vhost and its name may be apart from the rest.
pub fn policy(vhost: VhostName, name: &str, kind: PolicyKind, fields: Fields<'_>) -> Result<PolicyRequest, ReadError> {
    fields.require(&["pattern", "definition"])?;
    let pattern = match fields.required("pattern")? {
        Value::String(text) => text,
        other => {
            let of_rabbitmq = format!("pattern should be a binary but was {}", erlang::term(other));
            return Err(ReadError::validation(wrong_type("pattern", "a string", other), of_rabbitmq));
        }
    };
    Policy::parse_pattern(pattern).map_err(|error| {
        let of_rabbitmq = format!("pattern should be regular expression but is invalid: {error}");
        ReadError::validation(format!("invalid pattern: {error}"), of_rabbitmq)
    })?;
    let definition = match fields.required("definition")? {
        Value::Object(settings) => settings,
        other => return Err(wrong_type("definition", "an object", other)),
    };
    if definition.is_empty() {
        return Err(ReadError::validation("the policy definition is empty", "no policy provided".to_owned()));
    }
    let priority = match fields.get("priority") {
        None => 0,
        Some(Value::Number(number)) => number.as_i64().or(number.as_f64().map(|number| number as i64)).unwrap_or(0),
        Some(other) => {
            let of_rabbitmq = format!("priority should be a number, actually was {}", erlang::term(other));
            return Err(ReadError::validation(wrong_type("priority", "a number", other), of_rabbitmq));
        }
    };
    let unknown = |name: &str| {
        let of_rabbitmq = format!(
            "apply-to '{name}' unrecognised; should be one of: 'queues', 'classic_queues',  'quorum_queues', 'streams', \
             'exchanges', or 'all'"
        );
        ReadError::validation(format!("policies cannot apply to '{name}'"), of_rabbitmq)
    };
    let apply_to = match fields.text("apply-to")? {
        None => ApplyTo::All,
        Some(name) => ApplyTo::parse(name).ok_or_else(|| unknown(name))?,
    };
    let (name, pattern, definition) = (name.to_owned(), pattern.clone(), definition.clone());
    Ok(PolicyRequest { vhost, name, kind, pattern, apply_to, priority, definition })
}
