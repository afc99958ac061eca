//! What rabbitmqadmin's successor does to definitions before it writes them: for moving to another broker.

use serde_json::{Value, json};

use crate::commands::policies::is_mirroring_key;
use crate::failure::Failure;

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
             obfuscate_usernames, exclude_users, exclude_permissions, exclude_runtime_parameters, exclude_policies"
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

/// Users are numbered, have no password any more, and what speaks of them speaks of the numbers.
fn obfuscate_users(definitions: &mut Value) {
    let mut names: Vec<(Value, Value)> = Vec::new();
    for (number, user) in list(definitions, "users").into_iter().flatten().enumerate() {
        let name = json!(format!("obfuscated-username-{}", number + 1));
        names.push((user["name"].clone(), name.clone()));
        user["name"] = name;
        user["password_hash"] = json!("");
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
    fn users_become_numbers_everywhere() {
        let definitions = transformed("obfuscate_usernames");
        assert_eq!(definitions["users"][1], json!({"name": "obfuscated-username-2", "password_hash": ""}));
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
