//! What rabbitmqadmin's successor does to definitions before it writes them: for moving to another broker.

use serde_json::{Map, Value, json};

use crate::commands::policies::is_mirroring_key;
use crate::failure::Failure;
use crate::password;

/// One of them.
pub(crate) type Transformation = fn(&mut Value);

/// By their names, with commas between.
pub(crate) fn named(names: &str) -> Result<Vec<Transformation>, Failure> {
    names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(one).collect()
}

fn one(name: &str) -> Result<Transformation, Failure> {
    match name {
        "no_op" => Ok(|_| {}),
        "strip_cmq_keys_from_policies" => Ok(strip_mirroring),
        "prepare_for_quorum_queue_migration" => Ok(prepare_for_quorum_queues),
        "drop_empty_policies" => Ok(|definitions| {
            retain(definitions, "policies", |policy| {
                policy["definition"].as_object().is_some_and(|keys| !keys.is_empty())
            });
        }),
        "obfuscate_usernames" => Ok(obfuscate_users),
        "exclude_users" => Ok(|definitions| empty(definitions, &["users"])),
        "exclude_permissions" => Ok(|definitions| empty(definitions, &["permissions", "topic_permissions"])),
        "exclude_runtime_parameters" => Ok(|definitions| empty(definitions, &["parameters"])),
        "exclude_policies" => Ok(|definitions| empty(definitions, &["policies"])),
        other => Err(Failure::usage(format!(
            "unknown transformation '{other}': one of no_op, strip_cmq_keys_from_policies, drop_empty_policies, \
             prepare_for_quorum_queue_migration, obfuscate_usernames, exclude_users, exclude_permissions, \
             exclude_runtime_parameters, exclude_policies"
        ))),
    }
}

fn list<'a>(definitions: &'a mut Value, name: &str) -> Option<&'a mut Vec<Value>> {
    definitions.get_mut(name)?.as_array_mut()
}

fn retain(definitions: &mut Value, name: &str, is_kept: impl Fn(&Value) -> bool) {
    if let Some(items) = list(definitions, name) {
        items.retain(is_kept);
    }
}

fn empty(definitions: &mut Value, names: &[&str]) {
    for name in names {
        retain(definitions, name, |_| false);
    }
}

fn strip_mirroring(definitions: &mut Value) {
    for policy in list(definitions, "policies").into_iter().flatten() {
        if let Some(keys) = policy["definition"].as_object_mut() {
            keys.retain(|key, _| !is_mirroring_key(key));
        }
    }
}

/// Removes what quorum queues do not have, and makes quorum queues of classic queues that can become ones. Those that belong to a
/// connection, or are deleted when it closes, cannot.
fn prepare_for_quorum_queues(definitions: &mut Value) {
    strip_mirroring(definitions);
    let never = |key: &str| matches!(key, "queue-mode" | "queue-master-locator" | "max-priority" | "queue-version");
    for policy in list(definitions, "policies").into_iter().flatten() {
        if let Some(keys) = policy["definition"].as_object_mut() {
            keys.retain(|key, _| !never(key));
            replace_overflow(keys, "overflow");
        }
    }
    for queue in list(definitions, "queues").into_iter().flatten() {
        let is_durable = queue["durable"] != json!(false)
            && queue["auto_delete"] != json!(true)
            && queue["exclusive"] != json!(true);
        let Some(arguments) = queue["arguments"].as_object_mut() else { continue };
        if !is_durable || !matches!(arguments.get("x-queue-type").and_then(Value::as_str), None | Some("classic")) {
            continue;
        }
        arguments.retain(|key, _| !key.strip_prefix("x-").is_some_and(never));
        replace_overflow(arguments, "x-overflow");
        arguments.insert("x-queue-type".to_owned(), json!("quorum"));
        if queue.get("type").is_some() {
            queue["type"] = json!("quorum");
        }
    }
    retain(definitions, "policies", |policy| policy["definition"].as_object().is_some_and(|keys| !keys.is_empty()));
}

/// Quorum queues dead-letter what they reject when they are full by no means.
fn replace_overflow(keys: &mut Map<String, Value>, key: &str) {
    if let Some(overflow) = keys.get_mut(key).filter(|overflow| **overflow == "reject-publish-dlx") {
        *overflow = json!("reject-publish");
    }
}

/// Users and their passwords are numbered, and what speaks of them speaks of the numbers.
fn obfuscate_users(definitions: &mut Value) {
    let mut names: Vec<(Value, Value)> = Vec::new();
    for (number, user) in list(definitions, "users").into_iter().flatten().enumerate() {
        let name = json!(format!("obfuscated-username-{}", number + 1));
        names.push((user["name"].clone(), name.clone()));
        user["name"] = name;
        let algorithm = user["hashing_algorithm"].as_str().unwrap_or("sha256").to_owned();
        user["password_hash"] =
            json!(password::hashed(&format!("password-{}", number + 1), &algorithm).unwrap_or_default());
    }
    for of_users in ["permissions", "topic_permissions"] {
        for item in list(definitions, of_users).into_iter().flatten() {
            if let Some((_, name)) = names.iter().find(|(before, _)| *before == item["user"]) {
                item["user"] = name.clone();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transformed(names: &str) -> Value {
        let mut definitions = json!({
            "users": [{"name": "a", "password_hash": "h"}, {"name": "b", "password_hash": "h"}],
            "permissions": [{"user": "b", "vhost": "/"}],
            "topic_permissions": [],
            "policies": [
                {"name": "p", "definition": {"ha-mode": "all", "max-length": 1}},
                {"name": "q", "definition": {"ha-mode": "all"}},
            ],
            "parameters": [{"name": "x"}],
        });
        for transformation in named(names).unwrap() {
            transformation(&mut definitions);
        }
        definitions
    }

    #[test]
    fn mirroring_goes_and_with_it_policies_that_were_nothing_else() {
        let policies = json!([{"name": "p", "definition": {"max-length": 1}}]);
        assert_eq!(transformed("strip_cmq_keys_from_policies,drop_empty_policies")["policies"], policies);
    }

    #[test]
    fn classic_queues_that_can_become_quorum_queues_do() {
        let queue = |name: &str, durable: bool, arguments: Value| {
            json!({
                "name": name, "durable": durable, "type": "classic", "arguments": arguments,
            })
        };
        let overflow = "reject-publish-dlx";
        let arguments = json!({"x-queue-mode": "lazy", "x-max-priority": 5, "x-overflow": overflow, "x-max-length": 1});
        let mut definitions = json!({
            "queues": [
                queue("c", true, arguments),
                queue("t", false, json!({"x-max-priority": 5})),
                {"name": "s", "durable": true, "arguments": {"x-queue-type": "stream"}},
            ],
            "policies": [{"name": "p", "definition": {"ha-mode": "all", "queue-mode": "lazy"}}],
        });
        prepare_for_quorum_queues(&mut definitions);
        let expected = json!({"x-overflow": "reject-publish", "x-max-length": 1, "x-queue-type": "quorum"});
        assert_eq!(
            (&definitions["queues"][0]["arguments"], &definitions["queues"][0]["type"]),
            (&expected, &json!("quorum"))
        );
        assert_eq!(definitions["queues"][1]["arguments"], json!({"x-max-priority": 5}));
        assert_eq!(definitions["queues"][2]["arguments"], json!({"x-queue-type": "stream"}));
        assert_eq!(definitions["policies"], json!([]));
    }

    #[test]
    fn users_become_numbers_everywhere() {
        let definitions = transformed("obfuscate_usernames");
        assert_eq!(definitions["users"][1]["name"], "obfuscated-username-2");
        assert_eq!(definitions["users"][1]["password_hash"].as_str().unwrap().len(), 48);
        assert_eq!(definitions["permissions"][0]["user"], "obfuscated-username-2");
    }

    #[test]
    fn what_is_excluded_is_an_empty_list() {
        let all = "exclude_users,exclude_permissions,exclude_runtime_parameters,exclude_policies";
        let definitions = transformed(all);
        assert!(definitions.as_object().unwrap().values().all(|list| list == &json!([])), "{definitions}");
        assert_eq!(transformed("no_op"), transformed(""));
        assert!(named("shuffle").is_err());
    }
}
