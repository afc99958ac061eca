//! What of one broker's definitions the other one is to get: at first all of them, later what it lacks.

use std::collections::{BTreeSet, HashSet};

use definitions::comparison::{self, FOR_CLIENTS, entries, lists, retain_bindings_with_ends};
use definitions::is_internal;
use serde_json::{Map, Value, json};

use crate::link::PREFIX;
use crate::queue::Queue;

const GLOBAL_PARAMETERS: &str = "global_parameters";

/// Global parameters that say which cluster a broker is: the new one keeps its own.
const OWN_NAMES: &[&str] = &["cluster_name", "internal_cluster_id"];

/// Exchanges that every vhost has. Others whose names begin with `amq.` are a broker's own, and not the other's.
const EVERYWHERE: &[&str] =
    &["amq.direct", "amq.fanout", "amq.headers", "amq.match", "amq.topic", "amq.rabbitmq.trace"];

fn is_ours(entry: &Value) -> bool {
    ["name", "source"].iter().any(|member| entry[*member].as_str().is_some_and(|name| name.starts_with(PREFIX)))
}

/// Adds those of all bindings that are from or to an internal exchange: Warren exports neither these exchanges nor their bindings.
pub(crate) fn add_bindings_of_internal(document: &mut Value, exchanges: &[Value], bindings: Vec<Value>) {
    let internal: HashSet<(&Value, &Value)> = exchanges
        .iter()
        .filter(|exchange| is_internal(exchange))
        .map(|exchange| (&exchange["vhost"], &exchange["name"]))
        .collect();
    let is_of_internal = |binding: &Value| {
        let is_internal = |end: &str| internal.contains(&(&binding["vhost"], &binding[end]));
        is_internal("source") || binding["destination_type"] == "exchange" && is_internal("destination")
    };
    if let Some(Value::Array(known)) = document.get_mut("bindings") {
        known.extend(bindings.into_iter().filter(is_of_internal));
    }
}

/// Everything of the source that the destination is to have. `user` asks at the destination: it keeps its password, and the permissions
/// that it has there, which could otherwise change in the middle.
pub(crate) fn all(source: Value, destination: &Value, user: &str) -> Value {
    let permitted = permitted(destination, user);
    let is_kept = |entry: &Value| entry["vhost"].as_str().is_some_and(|vhost| permitted.contains(vhost));
    let Value::Object(mut document) = source else { return json!({}) };
    for (list, value) in &mut document {
        let Value::Array(entries) = value else { continue };
        entries.retain(|entry| !is_ours(entry));
        match list.as_str() {
            "users" => entries.retain(|entry| entry["name"] != user),
            "permissions" => entries.retain(|entry| entry["user"] != user || !is_kept(entry)),
            GLOBAL_PARAMETERS => {
                entries.retain(|entry| !entry["name"].as_str().is_some_and(|name| OWN_NAMES.contains(&name)));
            }
            _ => {}
        }
    }
    Value::Object(document)
}

/// What the source has and the destination lacks, of what clients need: no policies, no parameters. Queues that go with their clients
/// are left to these.
pub(crate) fn lacking(mut source: Value, destination: &Value, user: &str) -> Value {
    let mut document = Map::new();
    for (list, members) in FOR_CLIENTS {
        let Value::Array(mut lacking) = source.get_mut(list).map(Value::take).unwrap_or_default() else {
            document.insert(list.to_owned(), json!([]));
            continue;
        };
        lacking.retain(|entry| !is_ours(entry));
        comparison::retain_lacking(&mut lacking, destination, list, members);
        match list {
            "users" => lacking.retain(|entry| entry["name"] != user),
            "exchanges" => {
                lacking.retain(|entry| !entry["name"].as_str().is_some_and(|name| name.starts_with("amq.")));
            }
            "queues" => {
                lacking.retain(|entry| Queue::read(entry).is_some_and(|(_, queue)| queue.stays().is_none()));
            }
            _ => {}
        }
        document.insert(list.to_owned(), Value::Array(lacking));
    }
    // A binding without one of its ends would be left out with a warning each time.
    retain_bindings_with_ends(&mut document, destination, |name| EVERYWHERE.contains(&name));
    Value::Object(document)
}

/// Policies and parameters of the source that the destination has not, or has otherwise: the first import sets them, and only that.
pub(crate) fn differing(source: &Value, destination: &Value) -> Vec<(&'static str, Vec<Value>)> {
    let is_own = |entry: &Value| entry["name"].as_str().is_some_and(|name| OWN_NAMES.contains(&name));
    let differing = |list: &'static str| {
        let wanted = comparison::differing(source, destination, list).filter(|entry| !is_ours(entry));
        (list, wanted.filter(|entry| list != GLOBAL_PARAMETERS || !is_own(entry)).cloned().collect())
    };
    [GLOBAL_PARAMETERS, "policies", "parameters"].map(differing).into()
}

/// How many entries a document has, by list.
pub(crate) fn counted(document: &Value) -> Vec<(String, usize)> {
    lists(document).into_iter().map(|(list, entries)| (list.to_owned(), entries.len())).collect()
}

/// What one entry of a list is called.
pub(crate) fn noun(list: &str) -> String {
    match list {
        "policies" => "policy".to_owned(),
        _ => list.trim_end_matches('s').replace('_', " "),
    }
}

/// Counts of lists, for people.
pub(crate) fn enumerated(counts: &[(String, usize)]) -> String {
    let count = |(list, count): &(String, usize)| {
        let noun = if *count == 1 { noun(list) } else { list.replace('_', " ") };
        format!("{} {noun}", preflight::grouped(*count))
    };
    counts.iter().map(count).collect::<Vec<_>>().join(", ")
}

/// Vhosts of a document.
pub(crate) fn vhosts(document: &Value) -> BTreeSet<String> {
    entries(document, "vhosts").iter().filter_map(|entry| entry["name"].as_str()).map(str::to_owned).collect()
}

/// Vhosts in which a user may read, write and configure something, according to a document.
pub(crate) fn permitted(document: &Value, user: &str) -> BTreeSet<String> {
    let permissions = entries(document, "permissions").iter().filter(|entry| entry["user"] == user);
    permissions.filter_map(|entry| entry["vhost"].as_str()).map(str::to_owned).collect()
}

/// Permissions for everything, as a document.
pub(crate) fn permissions(user: &str, vhosts: &[String]) -> Value {
    let permissions = vhosts
        .iter()
        .map(|vhost| json!({"user": user, "vhost": vhost, "configure": ".*", "write": ".*", "read": ".*"}));
    json!({"permissions": permissions.collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source() -> Value {
        let binding = |source: &str, destination: &str, key: &str| {
            json!({"vhost": "/", "source": source, "destination": destination, "destination_type": "queue",
                   "routing_key": key, "arguments": {}})
        };
        json!({
            "rabbit_version": "3.10.8",
            "vhosts": [{"name": "/"}, {"name": "v"}],
            "users": [{"name": "admin", "password_hash": "x"}, {"name": "shop", "password_hash": "y"}],
            "permissions": [{"user": "admin", "vhost": "/"}, {"user": "shop", "vhost": "v"}],
            "global_parameters": [{"name": "cluster_name", "value": "old"}, {"name": "mine", "value": 1}],
            "parameters": [{"component": "shovel", "vhost": "/", "name": "warren-migrate.back.1", "value": {}}],
            "policies": [{"name": "p", "vhost": "/"}],
            "exchanges": [{"vhost": "/", "name": "e"}, {"vhost": "/", "name": "warren-migrate.forward.1"}],
            "queues": [{"vhost": "/", "name": "q"}, {"vhost": "/", "name": "gone", "auto_delete": true}],
            "bindings": [
                binding("e", "q", "a"),
                binding("amq.topic", "q", "a"),
                binding("e", "gone", "a"),
                binding("warren-migrate.forward.1", "q", ""),
            ],
        })
    }

    #[test]
    fn who_asks_stays_and_what_is_ours_does_not_come_along() {
        let document = all(source(), &json!({"permissions": [{"user": "admin", "vhost": "/"}]}), "admin");
        assert_eq!(document["users"], json!([{"name": "shop", "password_hash": "y"}]));
        assert_eq!(document["permissions"], json!([{"user": "shop", "vhost": "v"}]));
        assert_eq!(document["global_parameters"], json!([{"name": "mine", "value": 1}]));
        assert_eq!(document["parameters"], json!([]));
        assert_eq!(document["exchanges"], json!([{"vhost": "/", "name": "e"}]));
        assert_eq!(document["bindings"].as_array().unwrap().len(), 3);
        assert_eq!(document["rabbit_version"], "3.10.8");
    }

    #[test]
    fn later_only_what_is_lacking_comes() {
        let permissions = all(source(), &json!({}), "admin")["permissions"].clone();
        assert_eq!(permissions.as_array().unwrap().len(), 2, "where it has none it gets the old ones");
        let everything = lacking(source(), &json!({}), "admin");
        let expected: Vec<(String, usize)> =
            [("bindings", 2), ("exchanges", 1), ("permissions", 2), ("queues", 1), ("users", 1), ("vhosts", 2)]
                .map(|(list, count)| (list.to_owned(), count))
                .into();
        assert_eq!(
            enumerated(&counted(&everything)),
            "2 vhosts, 1 user, 2 permissions, 1 exchange, 1 queue, 2 bindings"
        );
        let mut counts = counted(&everything);
        counts.sort();
        assert_eq!(counts, expected);
        assert_eq!(counted(&lacking(source(), &source(), "admin")), []);
        // The other broker says more of a queue than this one.
        let richer = json!({"queues": [{"vhost": "/", "name": "q", "arguments": {"x-queue-type": "classic"}}],
            "exchanges": [{"vhost": "/", "name": "e", "policy": "p"}]});
        let counts = counted(&lacking(source(), &richer, "admin"));
        assert!(counts.iter().all(|(list, _)| list != "queues" && list != "exchanges"), "{counts:?}");
    }

    #[test]
    fn policies_and_parameters_that_differ_are_told() {
        let mine = json!({"name": "mine", "value": 1});
        let policy = json!({"name": "p", "vhost": "/"});
        let all =
            [("global_parameters", vec![mine.clone()]), ("policies", vec![policy.clone()]), ("parameters", vec![])];
        assert_eq!(differing(&source(), &json!({})), all);
        let there = json!({"policies": [policy], "global_parameters": [{"name": "mine", "value": 2}]});
        assert_eq!(
            differing(&source(), &there),
            [("global_parameters", vec![mine]), ("policies", vec![]), ("parameters", vec![])]
        );
    }

    #[test]
    fn bindings_of_internal_exchanges_come_along() {
        let binding = |vhost: &str, source: &str, kind: &str, destination: &str| {
            json!({"vhost": vhost, "source": source,
                "destination_type": kind, "destination": destination})
        };
        let known = binding("/", "e", "queue", "inner");
        let of_inner = [binding("/", "e", "exchange", "inner"), binding("/", "inner", "queue", "q")];
        let mut document = json!({ "bindings": [known] });
        let exchanges = [
            json!({"vhost": "/", "name": "inner", "internal": true}),
            json!({"vhost": "/", "name": "e", "internal": false}),
        ];
        let all = vec![known.clone(), of_inner[0].clone(), binding("v", "inner", "queue", "q"), of_inner[1].clone()];
        add_bindings_of_internal(&mut document, &exchanges, all);
        assert_eq!(document["bindings"], json!([known, of_inner[0], of_inner[1]]));
    }

    #[test]
    fn permissions_are_asked_for_where_they_lack() {
        assert_eq!(permitted(&source(), "shop"), BTreeSet::from(["v".to_owned()]));
        let document = permissions("shop", &["/".to_owned()]);
        assert_eq!(permitted(&document, "shop"), BTreeSet::from(["/".to_owned()]));
        assert_eq!(vhosts(&source()).len(), 2);
    }
}
