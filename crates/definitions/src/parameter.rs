//! An entry of `parameters`: operators' policies, limits of vhosts, shovels, and what federation is fed from.

use model::name::VhostName;
use model::parameter::{COMPONENTS, VHOST_LIMITS, VhostParameter};
use model::policy::PolicyKind;
use model::vhost::VhostLimits;
use serde_json::Value;

use crate::fields::{Fields, limits_of, wrong_type};
use crate::policy::{PolicyRequest, policy};
use crate::read_error::ReadError;
use crate::scope::Scope;
use crate::vhost::vhost_limits;

/// What a parameter sets.
#[derive(Debug)]
pub enum Parameter {
    /// A policy, of operators or of users.
    Policy(PolicyRequest),
    /// Limits of a vhost.
    Limits(VhostName, VhostLimits),
    /// Anything else of a vhost.
    OfVhost(VhostParameter),
}

/// Reads an entry.
pub fn parameter(fields: Fields<'_>, scope: Scope<'_>) -> Result<Parameter, ReadError> {
    let component = fields.required_text("component")?;
    let value = fields.required("value")?;
    if COMPONENTS.contains(&component) {
        let (vhost, name) = (scope.vhost_of(fields)?, fields.required_text("name")?.into());
        let parameter = VhostParameter { vhost, component: component.into(), name, value: value.clone() };
        return Ok(Parameter::OfVhost(parameter));
    }
    let kind = match component {
        "operator_policy" => Some(PolicyKind::Operator),
        "policy" => Some(PolicyKind::User),
        VHOST_LIMITS => None,
        other => {
            let (vhost, name) = (scope.vhost_of(fields)?, fields.text("name")?.unwrap_or_default());
            let (component, vhost, name) = (other.to_owned(), vhost.to_string(), name.to_owned());
            return Err(ReadError::UnknownComponent { component, vhost, name });
        }
    };
    let Value::Object(members) = value else { return Err(wrong_type("value", "an object", value)) };
    match kind {
        Some(kind) => {
            let (vhost, name) = (scope.vhost_of(fields)?, fields.required_text("name")?);
            policy(vhost, name, kind, Fields(members)).map(Parameter::Policy)
        }
        None => {
            let limits = limits_of(members)?;
            Ok(Parameter::Limits(scope.vhost_of(fields)?, vhost_limits(limits)?))
        }
    }
}
