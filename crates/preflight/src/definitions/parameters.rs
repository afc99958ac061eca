//! Policies, operators' policies, and other parameters.

use definitions::{Fields, Parameter, PolicyRequest};
use model::parameter::{VhostParameter, check_vhost_parameter};
use model::policy::{Policy, PolicyDefinition, PolicyError, PolicyKind};
use serde_json::Map;

use super::expected::Expected;
use super::refusal::{Judgement, Refusal};
use crate::pages;
use crate::sheet::Remark;
use crate::support;

pub(super) fn policy(expected: &mut Expected, fields: Fields<'_>) -> Judgement {
    let (vhost, name) = (expected.vhost_of(fields)?, fields.required_text("name")?);
    judge_policy(expected, &definitions::policy(vhost, name, PolicyKind::User, fields)?)
}

fn judge_policy(expected: &Expected, request: &PolicyRequest) -> Judgement {
    expected.check_vhost(request.vhost.as_str())?;
    Policy::parse_name(&request.name).map_err(|error| Refusal::wrong(error.to_string()))?;
    let PolicyRequest { definition, kind, .. } = request;
    let kind = *kind;
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
    // Keys that belong together are reported together.
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
    match definitions::parameter(fields, expected.scope())? {
        Parameter::Policy(request) => judge_policy(expected, &request),
        Parameter::Limits(vhost, _) => expected.check_vhost(vhost.as_str()).map(|()| Vec::new()),
        Parameter::OfVhost(parameter) => judge_vhost_parameter(expected, &parameter),
    }
}

/// Shovels, and what federation is fed from.
fn judge_vhost_parameter(expected: &Expected, parameter: &VhostParameter) -> Judgement {
    let VhostParameter { vhost, component, name, value } = parameter;
    expected.check_vhost(vhost.as_str())?;
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
