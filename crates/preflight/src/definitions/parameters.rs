//! Policies, operators' policies, and other parameters.

use model::name::VhostName;
use model::parameter::{COMPONENTS, VHOST_LIMITS, check_vhost_parameter};
use model::policy::{ApplyTo, Policy, PolicyDefinition, PolicyError, PolicyKind};
use model::vhost::VhostLimits;
use serde_json::{Map, Value};

use super::expected::Expected;
use super::fields::{Fields, wrong_type};
use super::{Judgement, Refusal};
use crate::pages;
use crate::sheet::Remark;
use crate::support;

pub(super) fn policy(expected: &mut Expected, fields: Fields<'_>) -> Judgement {
    policy_of(expected, fields, fields, PolicyKind::User)
}

/// A policy, whose name and virtual host may be told apart from the rest.
fn policy_of(expected: &Expected, named: Fields<'_>, fields: Fields<'_>, kind: PolicyKind) -> Judgement {
    let (vhost, name) = (expected.vhost_of(named)?, named.required_text("name")?);
    VhostName::parse(vhost.as_bytes()).map_err(|error| Refusal::wrong(error.to_string()))?;
    Policy::parse_pattern(fields.required_text("pattern")?)
        .map_err(|error| Refusal::wrong(format!("invalid pattern: {error}")))?;
    let definition = match fields.required("definition")? {
        Value::Object(definition) => definition,
        other => return Err(wrong_type("definition", "an object", other)),
    };
    if definition.is_empty() {
        return Err(Refusal::wrong("the policy definition is empty"));
    }
    if let Some(priority) = fields.0.get("priority").filter(|priority| !priority.is_number()) {
        return Err(wrong_type("priority", "a number", priority));
    }
    if let Some(apply_to) = fields.text("apply-to")?.filter(|name| ApplyTo::parse(name).is_none()) {
        return Err(Refusal::wrong(format!("policies cannot apply to '{apply_to}'")));
    }
    expected.check_vhost(&vhost)?;
    Policy::parse_name(name).map_err(|error| Refusal::wrong(error.to_string()))?;
    match PolicyDefinition::parse(definition.clone(), kind) {
        Ok(_) => Ok(definition.keys().filter_map(|key| key_without_effect(key)).collect()),
        Err(PolicyError::Unbuilt(key)) => Err(unbuilt(key)),
        Err(PolicyError::Unknown(_)) => {
            let is_unknown = |key: &&String| {
                let alone = definition.get(*key).map(|value| Map::from_iter([((*key).clone(), value.clone())]));
                alone.is_some_and(|alone| matches!(PolicyDefinition::parse(alone, kind), Err(PolicyError::Unknown(_))))
            };
            let keys: Vec<String> = definition.keys().filter(is_unknown).map(|key| format!("'{key}'")).collect();
            let text = format!("a policy of this kind cannot have the key {}", keys.join(", "));
            let advice =
                "remove it from the policy, if nothing depends on it; with such a key the whole policy is skipped";
            Err(Refusal::unsupported(text, advice, pages::POLICIES))
        }
        Err(error) => Err(Refusal::wrong(error.to_string())),
    }
}

fn key_without_effect(key: &str) -> Option<Remark> {
    let why = model::policy::without_effect(key)?;
    // What goes together is told together.
    let (name, advice) = match key.starts_with("ha-") {
        true => (
            "keys 'ha-…' have",
            "change queues that must survive a node to quorum queues, or run a cluster, which stores all queues on all nodes",
        ),
        false => ("key", ""),
    };
    let (text, page) = match key.starts_with("ha-") {
        true => (format!("the policy {name} no effect: {why}"), pages::CLUSTERING),
        false => (format!("the policy {name} '{key}' has no effect: {why}"), pages::POLICIES),
    };
    Some(Remark::different(text, page).advising(advice))
}

fn unbuilt(key: &str) -> Refusal {
    let text = format!("the policy key '{key}' is for streams, which are not supported");
    Refusal::unsupported(text, "remove the policy; otherwise the whole policy is skipped", pages::POLICIES)
}

pub(super) fn parameter(expected: &mut Expected, fields: Fields<'_>) -> Judgement {
    let component = fields.required_text("component")?;
    let value = fields.required("value")?;
    if COMPONENTS.contains(&component) {
        return of_vhost(expected, fields, component, value);
    }
    if !OWN_COMPONENTS.contains(&component) {
        let vhost = expected.vhost_of(fields)?;
        VhostName::parse(vhost.as_bytes()).map_err(|error| Refusal::wrong(error.to_string()))?;
        return Err(missing(component));
    }
    let Value::Object(members) = value else { return Err(wrong_type("value", "an object", value)) };
    match component {
        "operator_policy" => policy_of(expected, fields, Fields(members), PolicyKind::Operator),
        "policy" => policy_of(expected, fields, Fields(members), PolicyKind::User),
        _ => {
            let mut limits = VhostLimits::default();
            for (name, value) in members {
                let number = value.as_i64().ok_or_else(|| wrong_type(name, "an integer", value))?;
                limits.set(name, number).map_err(|error| Refusal::wrong(error.to_string()))?;
            }
            expected.check_vhost(&expected.vhost_of(fields)?)?;
            Ok(Vec::new())
        }
    }
}

/// Components that are no plugin's.
const OWN_COMPONENTS: [&str; 3] = ["operator_policy", "policy", VHOST_LIMITS];

/// Shovels, and what federation is fed from.
fn of_vhost(expected: &Expected, fields: Fields<'_>, component: &str, value: &Value) -> Judgement {
    let (vhost, name) = (expected.vhost_of(fields)?, fields.required_text("name")?);
    VhostName::parse(vhost.as_bytes()).map_err(|error| Refusal::wrong(error.to_string()))?;
    expected.check_vhost(&vhost)?;
    if let Err(error) = check_vhost_parameter(component, name, value) {
        let text = error.to_string();
        let speaks_amqp_1_0 = ["src-protocol", "dest-protocol"].iter().any(|key| value[key] == "amqp10");
        if !speaks_amqp_1_0 {
            return Err(Refusal::wrong(text));
        }
        // What else is said of that end follows from it.
        let text = text.lines().find(|line| line.contains("amqp10")).unwrap_or(&text);
        let advice = "use AMQP 0-9-1 at both ends, or run this shovel on another RabbitMQ";
        return Err(Refusal::unsupported(text, advice, pages::SHOVELS));
    }
    Ok(Vec::new())
}

/// What there is to say of a component that is not there.
fn missing(component: &str) -> Refusal {
    match component {
        // Of RabbitMQ 2 and 3.0.
        "federation" => {
            let advice = "replace it by parameters federation-upstream and federation-upstream-set and a policy, as in RabbitMQ since 3.1";
            Refusal::unsupported("this component no longer exists", advice, pages::FEDERATION)
        }
        other => {
            let advice = "find out which plugin reads it, and whether it is needed";
            Refusal::unsupported(
                format!("parameters of the component '{other}' are not supported"),
                advice,
                pages::DIFFERENCES,
            )
        }
    }
}

/// Global parameters that only one protocol reads.
const OF_MQTT: [&str; 2] = ["mqtt_port_to_vhost_mapping", "mqtt_default_vhosts"];

pub(super) fn global_parameter(_: &mut Expected, fields: Fields<'_>) -> Judgement {
    let name = fields.required_text("name")?;
    fields.required("value")?;
    if name.is_empty() {
        return Err(Refusal::wrong("the name is empty"));
    }
    if OF_MQTT.contains(&name) && !support::MQTT.is_there() {
        let remark = Remark::different("it is stored, and has no effect: MQTT is not supported", pages::DIFFERENCES);
        return Ok(vec![remark.advising(support::KEEP_FOR_PROTOCOL)]);
    }
    Ok(Vec::new())
}
