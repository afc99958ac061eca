//! What an exchange does besides routing. `routing` takes the exchange for unroutable messages from its arguments and its policy.

use super::deduplication::Deduplication;
use super::settings::Settings;
use crate::arguments::{ExchangeArguments, ExchangeType, parse_delayed_type};
use crate::policy::{EffectivePolicy, SHARDS_PER_NODE_MAX};

/// What an exchange does, from its type, its arguments and its policies.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExchangeFeatures {
    /// How messages of the same key are dropped before they are routed.
    pub deduplication: Option<Deduplication>,
    /// How it routes a message that asked for a delay, when its time has come. None: messages are not delayed.
    pub delay: Option<DelayedType>,
    /// The most delayed messages that are routed in a second. None: all whose time has come.
    pub release_rate_max_per_s: Option<u64>,
    /// The queues that it has of its own.
    pub sharding: Option<Sharding>,
}

/// The type of exchange as which delayed messages are routed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelayedType(pub ExchangeType);

/// Queues that an exchange has of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sharding {
    /// How many.
    pub shards_per_node: u64,
    /// The routing key by which they are bound.
    pub routing_key: Box<[u8]>,
}

impl ExchangeFeatures {
    /// An `x-message-deduplication` exchange drops duplicates, as any other does with the policy or the argument for it.
    ///
    /// An `x-delayed-message` exchange routes as its argument says. Any other one delays, too, by its policy (`delayed-message`) or its
    /// argument (`x-delayed-exchange`).
    #[must_use]
    pub fn of(
        exchange_type: ExchangeType,
        arguments: &ExchangeArguments,
        policy: &EffectivePolicy,
    ) -> ExchangeFeatures {
        let settings = Settings::new(arguments.table(), policy);
        let of_type = exchange_type == ExchangeType::MessageDeduplication;
        let deduplication = of_type.then(|| Deduplication::as_set(settings)).or_else(|| Deduplication::of(settings));
        let deduplication = deduplication.map(|of| Deduplication { replaces: false, ..of });
        ExchangeFeatures {
            deduplication,
            delay: DelayedType::of(exchange_type, arguments, settings),
            release_rate_max_per_s: settings.number("x-delayed-release-rate").filter(|rate| *rate > 0),
            sharding: Sharding::of(settings),
        }
    }
}

impl DelayedType {
    fn of(exchange_type: ExchangeType, arguments: &ExchangeArguments, settings: Settings<'_>) -> Option<DelayedType> {
        if exchange_type == ExchangeType::DelayedMessage {
            return parse_delayed_type(arguments.table()).ok().map(DelayedType);
        }
        let by_policy = settings.policy("delayed-message").and_then(|value| value.as_bool()).unwrap_or_default();
        (by_policy || settings.is_set("x-delayed-exchange")).then_some(DelayedType(exchange_type))
    }
}

impl Sharding {
    /// By policy alone.
    fn of(settings: Settings<'_>) -> Option<Sharding> {
        let shards_per_node = settings.policy("shards-per-node")?;
        // Half a shard is none: RabbitMQ takes such numbers.
        let shards_per_node = shards_per_node.as_u64().or_else(|| Some(shards_per_node.as_f64()?.floor() as u64))?;
        let shards_per_node = shards_per_node.min(SHARDS_PER_NODE_MAX);
        let routing_key = settings.policy("routing-key");
        let routing_key = routing_key.as_ref().and_then(|key| key.as_str()).unwrap_or_default();
        Some(Sharding { shards_per_node, routing_key: Box::from(routing_key.as_bytes()) })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use amqp::table::{TableBuf, Value};
    use serde_json::json;

    use super::*;
    use crate::features::deduplication::DEDUPLICATION_HEADER;
    use crate::name::VhostName;
    use crate::policy::{ApplyTo, Policy, PolicyDefinition, PolicyKind};

    fn features(exchange_type: ExchangeType, arguments: TableBuf, set: &serde_json::Value) -> ExchangeFeatures {
        let policy = Policy {
            vhost: VhostName::parse(b"/").unwrap(),
            name: Box::from("p"),
            kind: PolicyKind::User,
            pattern: Policy::parse_pattern("").unwrap(),
            apply_to: ApplyTo::Exchanges,
            priority: 0,
            definition: PolicyDefinition::from_stored(set.as_object().unwrap().clone()),
        };
        let effective = EffectivePolicy { user: Some(Arc::new(policy)), operator: None };
        ExchangeFeatures::of(exchange_type, &ExchangeArguments::from_stored(arguments), &effective)
    }

    #[test]
    fn a_plain_exchange_does_nothing_special() {
        let plain = features(ExchangeType::Topic, TableBuf::new(), &json!({"alternate-exchange": "ae"}));
        assert_eq!(plain, ExchangeFeatures::default());
    }

    #[test]
    fn a_delayed_exchange_routes_as_its_argument_says() {
        let topic = TableBuf::new().with("x-delayed-type", Value::LongStr(b"topic"));
        let delayed = features(ExchangeType::DelayedMessage, topic.clone(), &json!({}));
        assert_eq!(delayed.delay, Some(DelayedType(ExchangeType::Topic)));
        assert_eq!(features(ExchangeType::Direct, topic, &json!({})).delay, None);
    }

    #[test]
    fn any_exchange_delays_with_the_policy_or_the_argument() {
        let by_policy = features(ExchangeType::Fanout, TableBuf::new(), &json!({"delayed-message": true}));
        assert_eq!(by_policy.delay, Some(DelayedType(ExchangeType::Fanout)));
        let flag = TableBuf::new().with("x-delayed-exchange", Value::Bool(true));
        assert_eq!(features(ExchangeType::Headers, flag, &json!({})).delay, Some(DelayedType(ExchangeType::Headers)));
        let off = features(ExchangeType::Fanout, TableBuf::new(), &json!({"delayed-message": false}));
        assert_eq!(off.delay, None);
    }

    #[test]
    fn the_lower_release_rate_counts() {
        let rate = |argument| TableBuf::new().with("x-delayed-release-rate", Value::I32(argument));
        let of =
            |arguments, set: &serde_json::Value| features(ExchangeType::Direct, arguments, set).release_rate_max_per_s;
        assert_eq!(of(rate(100), &json!({"delayed-release-rate": 50})), Some(50));
        assert_eq!(of(rate(100), &json!({})), Some(100));
        assert_eq!(of(TableBuf::new(), &json!({"delayed-release-rate": 50})), Some(50));
    }

    #[test]
    fn shards_are_a_policys() {
        let shards = |shards_per_node, routing_key: &str| {
            Some(Sharding { shards_per_node, routing_key: Box::from(routing_key.as_bytes()) })
        };
        let of = |set: &serde_json::Value| features(ExchangeType::ModulusHash, TableBuf::new(), set).sharding;
        assert_eq!(of(&json!({"shards-per-node": 3, "routing-key": "k"})), shards(3, "k"));
        assert_eq!(of(&json!({"shards-per-node": 0})), shards(0, ""));
        assert_eq!(of(&json!({"shards-per-node": 1.5})), shards(1, ""));
        assert_eq!(of(&json!({"shards-per-node": u64::MAX})), shards(SHARDS_PER_NODE_MAX, ""));
        assert_eq!(of(&json!({"routing-key": "k"})), None);
    }

    #[test]
    fn duplicates_are_dropped_but_replace_nothing() {
        let set = json!({"message-deduplication": true, "cache-size": 5, "deduplication-replaces": true});
        let expected = Deduplication {
            cache_size: Some(5),
            cache_ttl_ms: None,
            header: DEDUPLICATION_HEADER.into(),
            replaces: false,
        };
        assert_eq!(features(ExchangeType::Direct, TableBuf::new(), &set).deduplication, Some(expected));
        let size = TableBuf::new().with("x-cache-size", Value::I32(5));
        let of_type = features(ExchangeType::MessageDeduplication, size.clone(), &json!({})).deduplication;
        assert_eq!(of_type.unwrap().cache_size, Some(5));
        assert_eq!(features(ExchangeType::Fanout, size, &json!({})).deduplication, None);
    }
}
