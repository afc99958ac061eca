//! The keys of alerts, as the values that the HTTP API takes, too: what they mean is said in one place, which is not here.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use super::schema::alerts as keys;
use super::value;
use super::values::Values;

/// Alerts. The rules' and the webhooks' members are as the HTTP API takes them.
#[derive(Clone, PartialEq)]
pub struct AlertOptions {
    /// How often rules are looked at.
    pub interval: Duration,
    /// Rules by their names.
    pub rules: BTreeMap<String, Map<String, Value>>,
    /// Webhooks by their names.
    pub webhooks: BTreeMap<String, Map<String, Value>>,
}

/// Debugging output has no secrets.
impl std::fmt::Debug for AlertOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let AlertOptions { interval, rules, webhooks } = self;
        let names: Vec<&String> = webhooks.keys().collect();
        f.debug_struct("AlertOptions")
            .field("interval", interval)
            .field("rules", rules)
            .field("webhooks", &names)
            .finish()
    }
}

pub(super) fn read(values: &Values) -> AlertOptions {
    AlertOptions {
        interval: values.get(&keys::INTERVAL),
        rules: objects(values, "rules"),
        webhooks: objects(values, "webhooks"),
    }
}

fn objects(values: &Values, family: &str) -> BTreeMap<String, Map<String, Value>> {
    let mut objects: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    for (rest, text, _) in values.below(&["warren", "alerts", family]) {
        let [name, key, below @ ..] = rest else { continue };
        let object = objects.entry(name.clone()).or_default();
        match below {
            [] => drop(object.insert(key.clone(), member(key, text))),
            [of, ..] if key == "headers" => {
                let headers = object.entry(key.clone()).or_insert_with(|| Value::Object(Map::new()));
                headers.as_object_mut().map(|headers| headers.insert(of.clone(), Value::from(text)));
            }
            _ => {
                let list = object.entry(key.clone()).or_insert_with(|| Value::Array(Vec::new()));
                list.as_array_mut().into_iter().for_each(|list| list.push(Value::from(text)));
            }
        }
    }
    objects
}

/// A value of the type that JSON has for it.
fn member(key: &str, text: &str) -> Value {
    match key {
        "above" | "clear" => value::parse_float(text).map_or(Value::Null, Value::from),
        "for" | "clear_for" | "repeat" | "window" | "timeout" => {
            value::parse_duration_ms(text).map_or(Value::Null, Value::from)
        }
        "unacked" => Value::from(text == "true"),
        _ => Value::from(text),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::config::Config;

    #[test]
    fn rules_and_webhooks_are_as_over_http() {
        let sets = [
            "warren.alerts.interval = 100ms",
            "warren.alerts.rules.long-queue.kind = queue-length",
            "warren.alerts.rules.long-queue.queue = ^orders",
            "warren.alerts.rules.long-queue.above = 1000",
            "warren.alerts.rules.long-queue.unacked = true",
            "warren.alerts.rules.long-queue.for = 1m",
            "warren.alerts.rules.long-queue.webhooks.1 = pager",
            "warren.alerts.rules.low.kind = memory-alarm",
            "warren.alerts.webhooks.pager.url = https://u:p@pager.example/x",
            "warren.alerts.webhooks.pager.headers.X-Token = t0ken",
            "warren.alerts.webhooks.pager.timeout = 2s",
        ];
        let config = Config::parse(&[], &[], &sets.map(str::to_owned)).unwrap().0;
        let alerts = &config.alerts;
        assert_eq!(alerts.interval.as_millis(), 100);
        let long = json!({
            "kind": "queue-length", "queue": "^orders", "above": 1000.0, "unacked": true, "for": 60_000, "webhooks": ["pager"]
        });
        assert_eq!(json!(alerts.rules), json!({"long-queue": long, "low": {"kind": "memory-alarm"}}));
        let pager = json!({"url": "https://u:p@pager.example/x", "headers": {"X-Token": "t0ken"}, "timeout": 2000});
        assert_eq!(json!(alerts.webhooks), json!({"pager": pager}));
        let shown = format!("{config:?} {:?}", config.effective());
        assert!(!shown.contains("u:p@") && !shown.contains("t0ken"), "secrets are not shown");
    }

    #[test]
    fn values_that_are_none_stop_the_start() {
        for set in [
            "warren.alerts.interval = 10",
            "warren.alerts.rules.r.kind = lenght",
            "warren.alerts.rules.r.above = -1",
            "warren.alerts.rules.r.queue = (",
            "warren.alerts.rules.r.abov = 1",
            "warren.alerts.webhooks.w.timeout = 1h",
        ] {
            assert!(Config::parse(&[], &[], &[set.to_owned()]).is_err(), "{set}");
        }
    }
}
