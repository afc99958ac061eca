//! The keys of shovels, as the values that parameters have: what they mean is said in one place, which is not here.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::schema::shovels as keys;
use super::values::Values;
use crate::shovel::Shovel;

/// Shovels of the configuration.
#[derive(Clone, Default, PartialEq)]
pub struct ShovelOptions {
    /// Shovels by their names, as parameters have them.
    pub shovels: BTreeMap<String, Value>,
    /// What shovels consume and publish to has to be there already, where they do not say otherwise.
    pub is_predeclared: bool,
}

/// Debugging output has no secrets.
impl std::fmt::Debug for ShovelOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ShovelOptions { shovels, is_predeclared } = self;
        f.debug_struct("ShovelOptions")
            .field("shovels", &shovels.keys())
            .field("is_predeclared", is_predeclared)
            .finish()
    }
}

/// What makes no shovel stops the start.
pub(super) fn check(values: &mut Values) {
    let refused = |(name, value): (String, Value)| {
        let error = Shovel::parse_named(&name, &value).err()?;
        let origin = values.below(&["warren", "shovels", &name]).map(|(.., origin)| origin.clone()).next()?;
        Some((origin, format!("'warren.shovels.{name}': {error}")))
    };
    let problems: Vec<_> = shovels(values).into_iter().filter_map(refused).collect();
    problems.into_iter().for_each(|(origin, text)| values.refuse(origin, text));
}

pub(super) fn read(values: &Values) -> ShovelOptions {
    ShovelOptions { shovels: shovels(values), is_predeclared: values.get(&keys::SHOVEL_TOPOLOGY_PREDECLARED) }
}

fn shovels(values: &Values) -> BTreeMap<String, Value> {
    let mut shovels: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    for (rest, text, _) in values.below(&["warren", "shovels"]) {
        let [name, key, below @ ..] = rest else { continue };
        let shovel = shovels.entry(name.clone()).or_default();
        match below {
            [] => drop(shovel.insert(key.clone(), member(key, text))),
            [_] if key.ends_with("-uri") => {
                let list = shovel.entry(key.clone()).or_insert_with(|| Value::Array(Vec::new()));
                list.as_array_mut().into_iter().for_each(|list| list.push(Value::from(text)));
            }
            [of, ..] => {
                let object = shovel.entry(key.clone()).or_insert_with(|| Value::Object(Map::new()));
                object.as_object_mut().into_iter().for_each(|object| drop(object.insert(of.clone(), scalar(text))));
            }
        }
    }
    shovels.into_iter().map(|(name, shovel)| (name, Value::Object(shovel))).collect()
}

/// A value of the type that a parameter has for it.
fn member(key: &str, text: &str) -> Value {
    match key {
        "src-predeclared" | "dest-predeclared" | "dest-add-forward-headers" | "dest-add-timestamp-header" => {
            Value::from(text == "true")
        }
        "src-prefetch-count"
        | "src-delete-after"
        | "src-delete-after-duration"
        | "reconnect-delay"
        | "dest-timeout" => scalar(text),
        _ => Value::from(text),
    }
}

/// A number or a truth value, if it looks like one.
fn scalar(text: &str) -> Value {
    match text {
        "true" => Value::from(true),
        "false" => Value::from(false),
        _ => text.parse::<i64>().map_or_else(|_| Value::from(text), Value::from),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::config::Config;

    #[test]
    fn shovels_are_as_parameters_have_them() {
        let sets = [
            "shovel.topology.predeclared = true",
            "warren.links.allowed_hosts.1 = *.example.com",
            "warren.shovels.orders.src-uri.1 = amqp://u:t0ps@a.example.com",
            "warren.shovels.orders.src-uri.2 = amqp://b.example.com",
            "warren.shovels.orders.src-queue = orders",
            "warren.shovels.orders.src-queue-args.x-queue-type = quorum",
            "warren.shovels.orders.src-queue-args.x-max-length = 5",
            "warren.shovels.orders.src-prefetch-count = 7",
            "warren.shovels.orders.dest-uri = amqp://",
            "warren.shovels.orders.dest-add-forward-headers = true",
            "warren.shovels.orders.dest-publish-properties.delivery_mode = 2",
            "warren.shovels.orders.ack-mode = on-publish",
        ];
        let config = Config::parse(&[], &[], &sets.map(str::to_owned)).unwrap().0;
        assert_eq!(config.links.allowed_hosts, ["*.example.com"]);
        assert!(config.shovels.is_predeclared);
        let orders = json!({
            "src-uri": ["amqp://u:t0ps@a.example.com", "amqp://b.example.com"], "src-queue": "orders",
            "src-queue-args": {"x-queue-type": "quorum", "x-max-length": 5}, "src-prefetch-count": 7, "dest-uri": "amqp://",
            "dest-add-forward-headers": true, "dest-publish-properties": {"delivery_mode": 2}, "ack-mode": "on-publish",
        });
        assert_eq!(json!(config.shovels.shovels), json!({"orders": orders}));
        assert!(super::Shovel::parse(&orders).is_ok());
        let shown = format!("{config:?} {:?}", config.effective());
        assert!(!shown.contains("t0ps"), "secrets are not shown");
    }
}
