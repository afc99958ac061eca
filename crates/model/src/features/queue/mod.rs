//! What a queue does.

use super::deduplication::Deduplication;
use super::retry::DelayedRetry;
use super::settings::Settings;
use crate::arguments::{EXPIRY_MS_MAX, Overflow, QueueArguments, QueueType};
use crate::name::ExchangeName;
use crate::policy::EffectivePolicy;

/// The highest priority of a quorum queue's messages.
pub(crate) const QUORUM_PRIORITY_MAX: u8 = 31;
/// The priority of a quorum queue's messages without one.
pub(crate) const QUORUM_DEFAULT_PRIORITY: u8 = 4;
/// How often a quorum queue delivers a message again, unless an argument or a policy says otherwise.
pub(crate) const DELIVERY_LIMIT_DEFAULT: u32 = 20;

/// What a queue does, from its arguments, its policies and its type.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueueFeatures {
    /// A message expires after this time.
    pub message_ttl_ms: Option<u64>,
    /// The queue expires after this time without use.
    pub expires_ms: Option<u64>,
    /// The destination of messages that the queue gives up.
    pub dead_letter: Option<DeadLetter>,
    /// The most ready messages.
    pub length_max: Option<u64>,
    /// The most bytes in bodies of ready messages.
    pub length_bytes_max: Option<u64>,
    /// What happens to messages beyond that.
    pub overflow: Overflow,
    /// The highest priority, if the queue has priorities.
    pub priority_max: Option<u8>,
    /// The priority of messages without one.
    pub default_priority: u8,
    /// Whether only one consumer at a time gets messages.
    pub is_single_active: bool,
    /// How often a message may fail. None: as often as it does.
    pub delivery_limit: Option<u32>,
    /// How long a consumer may hold a message, if that is not the broker's default.
    pub consumer_timeout_ms: Option<u64>,
    /// How messages wait that came back.
    pub retry: Option<DelayedRetry>,
    /// How messages of the same key are dropped.
    pub deduplication: Option<Deduplication>,
    /// The header that says which messages are delivered one after another to the same consumer.
    pub group_header: Option<Box<str>>,
    /// Whether it is a quorum queue, with its own rules of returning and counting.
    pub is_quorum: bool,
}

/// The destination of messages that a queue gives up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    /// The exchange.
    pub exchange: ExchangeName,
    /// The routing key, if it is not the message's own.
    pub routing_key: Option<Box<[u8]>>,
    /// Whether a message stays in the queue until it has arrived.
    pub is_at_least_once: bool,
}

impl QueueFeatures {
    /// Beyond the rule of the module: of a quorum queue a policy's `overflow` counts before the argument (of a classic queue
    /// it does not), a negative delivery limit means no limit and gives way to any other, and priorities and the single active
    /// consumer are for arguments alone.
    #[must_use]
    pub fn of(arguments: &QueueArguments, policy: &EffectivePolicy) -> QueueFeatures {
        let settings = Settings::new(arguments.table(), policy);
        let is_quorum = arguments.queue_type() == QueueType::Quorum;
        let overflow = overflow(settings, is_quorum);
        QueueFeatures {
            message_ttl_ms: settings.number("x-message-ttl").map(|ttl| ttl.min(EXPIRY_MS_MAX)),
            expires_ms: settings.number("x-expires").filter(|expires| *expires > 0).map(|ms| ms.min(EXPIRY_MS_MAX)),
            dead_letter: DeadLetter::of(settings, is_quorum && overflow == Overflow::RejectPublish),
            length_max: settings.number("x-max-length"),
            length_bytes_max: settings.number("x-max-length-bytes"),
            overflow,
            priority_max: if is_quorum { Some(QUORUM_PRIORITY_MAX) } else { arguments.max_priority() },
            default_priority: if is_quorum { QUORUM_DEFAULT_PRIORITY } else { 0 },
            is_single_active: arguments.is_single_active_consumer(),
            delivery_limit: if is_quorum { delivery_limit(settings) } else { None },
            consumer_timeout_ms: if is_quorum { settings.number("x-consumer-timeout") } else { None },
            retry: if is_quorum { DelayedRetry::of(settings) } else { None },
            deduplication: Deduplication::of(settings),
            group_header: group_header(settings),
            is_quorum,
        }
    }
}

impl DeadLetter {
    fn of(settings: Settings<'_>, permits_at_least_once: bool) -> Option<DeadLetter> {
        let exchange = ExchangeName::parse(&settings.text("x-dead-letter-exchange")?).ok()?;
        let routing_key = settings.text("x-dead-letter-routing-key");
        let strategy = if permits_at_least_once { settings.text("x-dead-letter-strategy") } else { None };
        Some(DeadLetter { exchange, routing_key, is_at_least_once: strategy.as_deref() == Some(b"at-least-once") })
    }
}

fn overflow(settings: Settings<'_>, is_quorum: bool) -> Overflow {
    let name = if is_quorum { settings.text_of_policy_first("x-overflow") } else { settings.text("x-overflow") };
    match name.as_deref().and_then(Overflow::parse).unwrap_or_default() {
        Overflow::RejectPublishDlx if is_quorum => Overflow::DropHead,
        overflow => overflow,
    }
}

fn delivery_limit(settings: Settings<'_>) -> Option<u32> {
    let argument = settings.argument("x-delivery-limit").and_then(|value| value.as_i64());
    let policy = settings.policy("x-delivery-limit").and_then(|value| value.as_i64());
    let limit = match (argument, policy) {
        (Some(argument), Some(policy)) if argument < 0 || policy < 0 => argument.max(policy),
        (Some(argument), Some(policy)) => argument.min(policy),
        (one, other) => one.or(other).unwrap_or(i64::from(DELIVERY_LIMIT_DEFAULT)),
    };
    (limit >= 0).then(|| u32::try_from(limit).unwrap_or(u32::MAX))
}

fn group_header(settings: Settings<'_>) -> Option<Box<str>> {
    let name = String::from_utf8(settings.text("x-message-group-header")?.into_vec()).ok()?;
    (!name.is_empty()).then(|| name.into_boxed_str())
}

#[cfg(test)]
mod tests;
