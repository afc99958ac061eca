//! Runtime parameters: values that operators set while the broker runs.
//!
//! Parameters of a vhost belong to a component, which says what their values are. `vhost-limits` are kept with their vhost
//! ([`crate::vhost::VhostLimits`]); all others are [`VhostParameter`]s.

pub mod validation;

use std::collections::BTreeSet;
use std::fmt;

use amqp::uri;
use serde_json::Value;

use crate::federation::{Upstream, UpstreamSet};
use crate::name::{NAME_LEN_MAX, VhostName};
use crate::shovel::Shovel;

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
    /// The cluster's name, which clients get.
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

/// A parameter of a vhost.
#[derive(Clone, PartialEq)]
pub struct VhostParameter {
    /// Where.
    pub vhost: VhostName,
    /// What it is for: [`SHOVEL`], for instance.
    pub component: Box<str>,
    /// Its name, among those of its component in its vhost.
    pub name: Box<str>,
    /// Its value, which may have URIs with passwords.
    pub value: Value,
}

impl Eq for VhostParameter {}

/// Without its value: this ends up in logs.
impl fmt::Debug for VhostParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let VhostParameter { vhost, component, name, value: _ } = self;
        let mut shown = f.debug_struct("VhostParameter");
        shown.field("vhost", vhost).field("component", component).field("name", name).finish_non_exhaustive()
    }
}

/// The component of shovels.
pub const SHOVEL: &str = "shovel";
/// The component of brokers from which exchanges and queues are fed.
pub const FEDERATION_UPSTREAM: &str = "federation-upstream";
/// The component of sets of such brokers.
pub const FEDERATION_UPSTREAM_SET: &str = "federation-upstream-set";
/// What names of components begin with that are the broker's own: they are kept, and neither listed nor exported.
const HIDDEN: &str = "warren.";

/// The components of a vhost's parameters that operators set, by name.
pub const COMPONENTS: [&str; 3] = [FEDERATION_UPSTREAM, FEDERATION_UPSTREAM_SET, SHOVEL];

/// Whether parameters of a component are neither listed nor exported.
#[must_use]
pub fn is_hidden(component: &str) -> bool {
    component.starts_with(HIDDEN)
}

/// Whether a vhost's parameter can have a value. That of a hidden one can be any.
pub fn check_vhost_parameter(component: &str, name: &str, value: &Value) -> Result<(), ParameterError> {
    check_name("component", component)?;
    check_name("parameter", name)?;
    match component {
        SHOVEL => Shovel::parse_named(name, value).map(drop),
        FEDERATION_UPSTREAM => Upstream::parse(name, value).map(drop),
        FEDERATION_UPSTREAM_SET => UpstreamSet::parse(name, value).map(drop),
        _ if is_hidden(component) => Ok(()),
        _ => Err(ParameterError::new(format!("component {component} not found"))),
    }
}

/// The vhosts of this broker that a checked value's URIs without a host connect to, each once: the author has to have access to them.
#[must_use]
pub fn vhosts_here(component: &str, name: &str, value: &Value) -> Vec<String> {
    let vhosts: BTreeSet<String> = match component {
        SHOVEL => Shovel::parse_named(name, value)
            .map(|shovel| shovel.vhosts_here().map(str::to_owned).collect())
            .unwrap_or_default(),
        FEDERATION_UPSTREAM => Upstream::parse(name, value)
            .map(|upstream| upstream.uris.into_iter().filter(|uri| uri.is_hostless).map(|uri| uri.vhost).collect())
            .unwrap_or_default(),
        _ => BTreeSet::new(),
    };
    vhosts.into_iter().collect()
}

fn check_name(what: &str, name: &str) -> Result<(), ParameterError> {
    match name.len() {
        1..=NAME_LEN_MAX => Ok(()),
        len => Err(ParameterError::new(format!("the name of a {what} must have 1 to {NAME_LEN_MAX} bytes, not {len}"))),
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check_refused(component: &str, name: &str, value: &Value, text: &str) {
        assert_eq!(check_vhost_parameter(component, name, value).unwrap_err().to_string(), text);
    }

    #[test]
    fn each_component_checks_its_own_values() {
        let upstream = json!({"uri": "amqp://"});
        assert_eq!(check_vhost_parameter(FEDERATION_UPSTREAM, "u", &upstream), Ok(()));
        assert_eq!(check_vhost_parameter(FEDERATION_UPSTREAM_SET, "s", &json!([{"upstream": "u"}])), Ok(()));
        check_refused(FEDERATION_UPSTREAM_SET, "s", &upstream, "s not a list #{<<\"uri\">> => <<\"amqp://\">>}");
        let shovel = json!({"src-uri": "amqp://", "src-queue": "a", "dest-uri": "amqp://", "dest-queue": "b"});
        assert_eq!(check_vhost_parameter(SHOVEL, "s", &shovel), Ok(()));
        check_refused(SHOVEL, "s", &json!(1), "Must specify 'src-exchange' or 'src-queue'\ns not a list 1");
        check_refused("nosuch", "n", &upstream, "component nosuch not found");
        assert_eq!(check_vhost_parameter("warren.own", "n", &json!(1)), Ok(()));
    }

    #[test]
    fn uris_without_a_host_name_vhosts_here() {
        let shovel = |from: &str, to: &str| {
            let value =
                json!({"src-uri": [from, "amqp://h/other"], "src-queue": "a", "dest-uri": to, "dest-queue": "b"});
            vhosts_here(SHOVEL, "s", &value)
        };
        assert_eq!(shovel("amqp://", "amqp:///v"), ["/", "v"]);
        assert_eq!(shovel("amqp:///v", "amqp://u@/v"), ["v"]);
        assert_eq!(vhosts_here(FEDERATION_UPSTREAM, "u", &json!({"uri": ["amqp:///a%20b", "amqp://h/v"]})), ["a b"]);
        assert!(vhosts_here(FEDERATION_UPSTREAM_SET, "s", &json!([{"upstream": "u"}])).is_empty());
    }

    #[test]
    fn names_have_limits() {
        let long = "n".repeat(256);
        let value = json!({});
        check_refused(SHOVEL, "", &value, "the name of a parameter must have 1 to 255 bytes, not 0");
        check_refused(SHOVEL, &long, &value, "the name of a parameter must have 1 to 255 bytes, not 256");
        check_refused(&long, "n", &value, "the name of a component must have 1 to 255 bytes, not 256");
    }

    #[test]
    fn no_value_is_in_what_is_logged_of_a_parameter() {
        let vhost = VhostName::parse(b"/").unwrap();
        let value = json!({"uri": "amqp://me:secret@h"});
        let parameter = VhostParameter { vhost, component: SHOVEL.into(), name: "s".into(), value };
        assert!(!format!("{parameter:?}").contains("secret"));
        assert_eq!(without_passwords(&json!([parameter.value])), json!([{"uri": "amqp://me:***@h"}]));
    }
}
