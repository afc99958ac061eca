//! Changing what policies that are there say, and what of it RabbitMQ has done away with.

use serde_json::{Map, Value, json};

use super::POLICIES;
use crate::command::{Argument, Command, repeated, required};
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::listing::{show, text};
use crate::step::{Ask, StepResult, done, each, path, remark, say};

/// The same for policies and for the operator's own.
macro_rules! definition_commands {
    ($group:literal, $kind:expr) => {
        &[
            Command::new(concat!($group, " update_definition"), "changes one key of a policy", |input| {
                change_one($kind, input, set_key(input))
            })
            .taking(&[required("name"), required("definition-key"), required("new-value")]),
            Command::new(
                concat!($group, " update_definitions_of_all_in"),
                "changes one key of all policies of a virtual host",
                |input| change_all($kind, Some(input.vhost()), set_key(input)),
            )
            .taking(&[required("definition-key"), required("new-value")]),
            Command::new(
                concat!($group, " update_definitions_of_all"),
                "changes one key of all policies of all virtual hosts",
                |input| change_all($kind, None, set_key(input)),
            )
            .taking(&[required("definition-key"), required("new-value")]),
            Command::new(concat!($group, " patch"), "changes some keys of a policy", |input| {
                change_one($kind, input, merge(input)?)
            })
            .taking(&[required("name"), required("definition")]),
            Command::new(
                concat!($group, " delete_definition_keys"),
                "removes keys from a policy, unless it would be empty",
                |input| change_one($kind, input, delete_keys(input)?),
            )
            .also(&[concat!($group, " delete_definition_key")])
            .taking(&[required("name"), KEYS]),
            Command::new(
                concat!($group, " delete_definition_keys_from_all_in"),
                "removes keys from all policies of a virtual host, except those that would be empty",
                |input| change_all($kind, Some(input.vhost()), delete_keys(input)?),
            )
            .also(&[concat!($group, " delete_definition_key_from_all_in")])
            .taking(&[KEYS]),
            Command::new(
                concat!($group, " delete_definition_keys_from_all"),
                "removes keys from all policies of all virtual hosts, except those that would be empty",
                |input| change_all($kind, None, delete_keys(input)?),
            )
            .taking(&[KEYS]),
        ]
    };
}

const KEYS: Argument = repeated("definition-keys").also(&["definition-key"]);

pub(crate) const COMMANDS: &[Command] = definition_commands!("policies", "policies");
pub(crate) const OPERATOR_COMMANDS: &[Command] = definition_commands!("operator_policies", "operator-policies");

/// Of classic queue mirroring, which RabbitMQ 4.0 has done away with.
pub(crate) const MIRRORING_COMMANDS: &[Command] = &[
    Command::new(
        "remove_classic_queue_mirroring_from_policies",
        "removes the keys that start with ha- from all policies",
        |_| strip("policies", || strip("operator-policies", done)),
    )
    .saying("Will remove all classic queue mirroring keys from policies. The operation does not accept any arguments."),
    Command::new(
        "list_policies_with_classic_queue_mirroring",
        "lists policies with keys that start with ha-",
        |input| mirroring(input, "policies"),
    )
    .saying("Listing policies with classic queue mirroring ..."),
    Command::new(
        "list_operator_policies_with_classic_queue_mirroring",
        "lists operator policies with mirroring keys",
        |input| mirroring(input, "operator-policies"),
    )
    .saying("Listing operator policies with classic queue mirroring ..."),
    Command::new(
        "check_if_cluster_has_classic_queue_mirroring_policy",
        "fails if a policy has keys that start with ha-",
        |_| {
            Ask::get("policies".to_owned()).then(|reply| {
                let mirroring = reply.list()?.iter().filter(|policy| is_mirroring(policy)).count();
                match mirroring {
                    0 => say("No policy has classic queue mirroring"),
                    count => Err(Failure::unavailable(format!(
                        "health check failed: {count} policies have classic queue mirroring, see list_policies_with_classic_queue_mirroring"
                    ))),
                }
            })
        },
    ),
];

/// Keys of a policy's definition, and what becomes of them; nothing if they stay.
type Change = Box<dyn Fn(&Map<String, Value>) -> Result<Option<Map<String, Value>>, Failure>>;

fn set_key(input: &Invocation) -> Change {
    let (key, text) = (input.text("definition-key").to_owned(), input.text("new-value"));
    // What is no JSON is a text.
    let value = serde_json::from_str(text).unwrap_or_else(|_| json!(text));
    set_keys([(key, value)].into_iter().collect())
}

fn merge(input: &Invocation) -> Result<Change, Failure> {
    Ok(set_keys(super::definition_of(input)?))
}

fn set_keys(keys: Map<String, Value>) -> Change {
    Box::new(move |definition| {
        let mut changed = definition.clone();
        changed.extend(keys.clone());
        Ok((changed != *definition).then_some(changed))
    })
}

fn delete_keys(input: &Invocation) -> Result<Change, Failure> {
    let words = input.all("definition-keys").iter().flat_map(|word| word.split(',')).map(str::trim);
    let keys: Vec<String> = words.filter(|key| !key.is_empty()).map(str::to_owned).collect();
    if keys.is_empty() {
        return Err(Failure::usage(format!("{} needs --definition-keys", input.command.name)));
    }
    Ok(Box::new(move |definition| {
        let mut left = definition.clone();
        left.retain(|key, _| !keys.contains(key));
        if left.len() == definition.len() {
            return Ok(None);
        }
        if left.is_empty() {
            return Err(Failure::data(format!(
                "nothing but '{}' is in the policy's definition: delete the policy instead",
                keys.join("', '")
            )));
        }
        Ok(Some(left))
    }))
}

/// The request that makes a policy that is there say something else.
fn put(kind: &str, policy: &Value, definition: Map<String, Value>) -> Ask {
    let body = json!({
        "pattern": policy["pattern"], "priority": policy["priority"], "apply-to": policy["apply-to"],
        "definition": definition,
    });
    Ask::put(path(&[kind, text(policy, "vhost"), text(policy, "name")]), &body)
}

fn definition(policy: &Value) -> Map<String, Value> {
    policy["definition"].as_object().cloned().unwrap_or_default()
}

fn change_one(kind: &'static str, input: &Invocation, change: Change) -> StepResult {
    super::one(kind, input.vhost(), input.text("name"), move |policy| match change(&definition(&policy))? {
        Some(definition) => put(kind, &policy, definition).say("policy changed"),
        None => remark("policy is as it should be"),
    })
}

fn change_all(kind: &'static str, vhost: Option<&str>, change: Change) -> StepResult {
    let place = path(&[&[kind][..], vhost.as_slice()].concat());
    let vhost = vhost.unwrap_or_default().to_owned();
    Ask::get(place).then(move |reply| {
        let mut asks = Vec::new();
        for policy in reply.unless(404, || Failure::no_such_vhost(&vhost))?.list()? {
            // Those that would have nothing left stay.
            if let Ok(Some(definition)) = change(&definition(&policy)) {
                asks.push(put(kind, &policy, definition));
            }
        }
        let text = format!("{} policies changed", asks.len());
        each(asks, || remark(text))
    })
}

fn is_mirroring(policy: &Value) -> bool {
    policy["definition"].as_object().is_some_and(|definition| definition.keys().any(|key| is_mirroring_key(key)))
}

/// Whether a key of a definition is about classic queue mirroring.
pub(crate) fn is_mirroring_key(key: &str) -> bool {
    matches!(
        key,
        "ha-mode"
            | "ha-params"
            | "ha-promote-on-shutdown"
            | "ha-promote-on-failure"
            | "ha-sync-mode"
            | "ha-sync-batch-size"
    )
}

fn strip(kind: &'static str, next: impl FnOnce() -> StepResult + 'static) -> StepResult {
    Ask::get(kind.to_owned()).then(move |reply| {
        let ask = |policy: &Value| {
            let mut left = definition(policy);
            left.retain(|key, _| !is_mirroring_key(key));
            match left.is_empty() {
                true => Ask::delete(path(&[kind, text(policy, "vhost"), text(policy, "name")])),
                false => put(kind, policy, left),
            }
        };
        each(reply.list()?.iter().filter(|policy| is_mirroring(policy)).map(ask).collect(), next)
    })
}

fn mirroring(input: &Invocation, kind: &str) -> StepResult {
    let columns = POLICIES.chosen(input)?;
    Ask::get(kind.to_owned()).then(move |reply| {
        let mut policies = reply.list()?;
        policies.retain(is_mirroring);
        show(&columns, &policies)
    })
}
