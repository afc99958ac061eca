//! Runtime parameters: values that operators set while the broker runs.
//!
//! Parameters of a vhost belong to a component. The only component without a plugin is `vhost-limits`, which is kept with
//! its vhost ([`crate::vhost::VhostLimits`]); those of federation and shovels come with these.

pub mod validation;

use amqp::uri;
use serde_json::Value;

/// A parameter of the whole cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct GlobalParameter {
    /// Its name.
    pub name: Box<str>,
    /// Its value.
    pub value: Value,
}

impl Eq for GlobalParameter {}

impl GlobalParameter {
    /// The cluster's name, which clients are told.
    pub const CLUSTER_NAME: &'static str = "cluster_name";
    /// An id that never changes.
    pub const CLUSTER_ID: &'static str = "internal_cluster_id";
    /// What the names of alerts' rules and webhooks begin with: their values may have secrets.
    pub const ALERTS: &'static str = "warren-alerts.";
    /// What the names of stored sessions begin with ([`crate::login_session`]): no parameter has such a name.
    pub const SESSIONS: &'static str = "warren-session.";

    /// Whether the value of a parameter of this name may have secrets: only administrators may see it.
    #[must_use]
    pub fn may_be_secret(name: &str) -> bool {
        name.starts_with(Self::ALERTS)
    }
}

/// Why a parameter cannot have a value: sentences, of which none has a password. The texts are RabbitMQ's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct ParameterError(Vec<String>);

impl ParameterError {
    /// Of one sentence.
    #[must_use]
    pub fn new(text: impl Into<String>) -> ParameterError {
        ParameterError(vec![text.into()])
    }

    /// Whatever is wrong with a value; nothing, if nothing is.
    pub fn check(texts: Vec<String>) -> Result<(), ParameterError> {
        if texts.is_empty() { Ok(()) } else { Err(ParameterError(texts)) }
    }
}

/// A value as it may be shown: without the passwords of URIs in it.
#[must_use]
pub fn without_passwords(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(uri::without_passwords(text)),
        Value::Array(values) => values.iter().map(without_passwords).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| (uri::without_passwords(key), without_passwords(value))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// The component of vhosts' limits.
pub const VHOST_LIMITS: &str = "vhost-limits";
/// The only name that a parameter of [`VHOST_LIMITS`] has.
pub const VHOST_LIMITS_NAME: &str = "limits";
