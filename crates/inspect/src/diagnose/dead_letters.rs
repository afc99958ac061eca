//! Where dead letters go, of each queue: read of its arguments, its policy and the bindings.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::facts::DeadLetters;
use super::samples::{Place, Samples, count, list, place, text};

/// The ways of dead letters in all vhosts.
#[derive(Debug, Default)]
pub(super) struct DeadLetterWays<'a> {
    /// Of queues that have an exchange for them.
    of: HashMap<Place<'a>, DeadLetters>,
    /// Queues that have had dead letters, by where these go.
    to: HashMap<Place<'a>, Vec<&'a str>>,
}

impl<'a> DeadLetterWays<'a> {
    pub(super) fn new(samples: &'a Samples) -> Self {
        let mut bound: HashMap<Place<'a>, Vec<&'a Value>> = HashMap::new();
        for binding in list(&samples.bindings) {
            bound.entry((text(binding, "vhost"), text(binding, "source"))).or_default().push(binding);
        }
        let names: HashSet<Place<'a>> = list(&samples.last.queues).map(place).collect();
        let mut ways = DeadLetterWays::default();
        for queue in list(&samples.last.queues) {
            let (vhost, name) = place(queue);
            let said = |key: &str| {
                let of_policy = &queue["effective_policy_definition"][key];
                queue["arguments"][format!("x-{key}")].as_str().or(of_policy.as_str())
            };
            let Some(exchange) = said("dead-letter-exchange") else { continue };
            let key = said("dead-letter-routing-key");
            let targets = match exchange {
                // To itself, where no other key is said.
                "" => vec![key.unwrap_or(name)],
                exchange => targets(&bound, vhost, exchange, key),
            };
            let is_nowhere = match exchange {
                "" => targets.iter().all(|target| !names.contains(&(vhost, *target))),
                exchange => !samples.bindings.is_null() && !bound.contains_key(&(vhost, exchange)),
            };
            let kept = if is_nowhere { DeadLetters::Nowhere(exchange.to_owned()) } else { DeadLetters::Kept };
            ways.of.insert((vhost, name), kept);
            let died = &queue["messages_dropped_by_reason"];
            let has_died =
                ["rejected", "expired", "maxlen", "delivery_limit"].iter().any(|reason| count(died, reason) > 0);
            for target in targets.into_iter().filter(|target| *target != name && has_died) {
                ways.to.entry((vhost, target)).or_default().push(name);
            }
        }
        ways
    }

    /// Where those of a queue go.
    pub(super) fn of(&self, queue: Place<'_>) -> DeadLetters {
        self.of.get(&queue).cloned().unwrap_or_default()
    }

    /// Which queues' come to a queue.
    pub(super) fn to(&self, queue: Place<'_>) -> Vec<String> {
        self.to.get(&queue).into_iter().flatten().map(|name| (*name).to_owned()).collect()
    }
}

/// Queues that an exchange brings dead letters to: all that are bound, where their key is not known or may match in other ways than being
/// the same.
fn targets<'a>(
    bound: &HashMap<Place<'a>, Vec<&'a Value>>,
    vhost: &'a str,
    exchange: &'a str,
    key: Option<&str>,
) -> Vec<&'a str> {
    let mut found = Vec::new();
    for binding in bound.get(&(vhost, exchange)).into_iter().flatten() {
        let binding_key = text(binding, "routing_key");
        let may_match =
            key.is_none_or(|key| key == binding_key || binding_key.is_empty() || binding_key.contains(['*', '#']));
        if !may_match && text(binding, "destination_type") == "queue" {
            continue;
        }
        // An exchange behind it may bring them anywhere: it stands for itself.
        found.push(text(binding, "destination"));
    }
    found
}
