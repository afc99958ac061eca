//! Exchanges, queues and bindings.

use amqp::table::{Table, TableBuf, Value as TableValue};
use definitions::{Fields, QueueEntry};
use model::arguments::{
    ExchangeArguments, ExchangeType, QueueArguments, QueueShape, check_queue_type, default_queue_type,
    parse_delayed_type,
};
use model::name::RESERVED_PREFIX;
use model::resource::Resource;

use super::expected::{Expected, without_exchange, without_queue};
use super::refusal::{Judgement, Refusal};
use crate::pages;
use crate::sheet::Remark;
use crate::support::{self, WITHOUT_STREAMS};

/// The longest routing key, in bytes.
const ROUTING_KEY_LEN_MAX: usize = 255;
/// The most `#` of a topic binding's key.
const HASH_COUNT_MAX: usize = 2;

fn wrong(error: impl std::fmt::Display) -> Refusal {
    Refusal::wrong(error.to_string())
}

pub(super) fn exchange(expected: &mut Expected, fields: Fields<'_>) -> Judgement {
    let entry = definitions::exchange(fields, expected.scope())?;
    let (vhost, name) = (entry.vhost.as_str(), entry.name.as_str());
    expected.check_vhost(vhost)?;
    if name.is_empty() || name.starts_with(RESERVED_PREFIX) {
        return Ok(match expected.own_exchange(vhost, name) {
            Some(_) => Vec::new(),
            None => {
                expected.leave_exchange(vhost, name);
                let text = "exchanges whose names begin with 'amq.' are not imported, and Warren does not create this one itself";
                let advice = "queues bound to it get no messages; logs are written to stderr, and events are published to \
                     amq.rabbitmq.event";
                vec![Remark::different(text, pages::EVENTS).advising(advice)]
            }
        });
    }
    let resource = Resource::exchange(&entry.vhost, &entry.name);
    let judged = new_exchange(expected, &entry.kind, entry.arguments.as_table(), resource);
    if judged.as_ref().is_err_and(|refusal| refusal.is_unsupported) {
        expected.leave_exchange(vhost, name);
    }
    judged
}

fn new_exchange(expected: &Expected, kind: &str, arguments: Table<'_>, resource: Resource<'_>) -> Judgement {
    let foreign = |kind: &str, text: String| match kind.is_empty() {
        true => Refusal::wrong(text),
        false => {
            Refusal::unsupported(text, "declare it with another type, and change its publishers", pages::EXCHANGES)
        }
    };
    let exchange_type = ExchangeType::parse(kind.as_bytes()).map_err(|error| foreign(kind, error.to_string()))?;
    let unbuilt =
        |kind: ExchangeType| foreign(kind.name(), format!("the exchange type '{}' is not supported", kind.name()));
    if !exchange_type.is_built() {
        return Err(unbuilt(exchange_type));
    }
    let parsed = ExchangeArguments::parse(arguments, resource).map_err(wrong)?;
    let routing_type = match exchange_type {
        ExchangeType::DelayedMessage => parse_delayed_type(arguments).map_err(wrong)?,
        other => other,
    };
    if !routing_type.is_built() {
        return Err(unbuilt(routing_type));
    }
    if routing_type == ExchangeType::LocalRandom && !expected.permits_local_random_exchanges {
        return Err(Refusal::wrong("the configuration does not permit local random exchanges"));
    }
    parsed.check_for(exchange_type, resource).map_err(wrong)?;
    Ok(differences(exchange_type).into_iter().collect())
}

/// What applications may notice of a type.
fn differences(exchange_type: ExchangeType) -> Option<Remark> {
    let (text, page) = match exchange_type {
        ExchangeType::ConsistentHash => (
            "consistent hash exchanges route keys to other queues than RabbitMQ's, and always to the same ones",
            pages::EXCHANGES,
        ),
        ExchangeType::RecentHistory => ("a recent history exchange keeps at most 16 MiB", pages::EXCHANGES),
        ExchangeType::DelayedMessage => (
            "delayed messages are as durable as others, and mandatory ones are returned only if no queue would receive them",
            pages::DELAYED,
        ),
        ExchangeType::MessageDeduplication => {
            ("keys of a deduplicating exchange are as durable as its messages", pages::DEDUPLICATION)
        }
        ExchangeType::ModulusHash => {
            ("shards of a sharded exchange are used for as long as they are bound", pages::SHARDING)
        }
        _ => return None,
    };
    Some(Remark::different(text, page))
}

pub(super) fn queue(expected: &mut Expected, fields: Fields<'_>) -> Judgement {
    let QueueEntry { vhost: vhost_name, name: queue_name, is_durable, is_auto_delete, mut arguments } =
        definitions::queue(fields, expected.scope())?;
    let (vhost, name) = (vhost_name.as_str(), queue_name.as_str());
    let shape = QueueShape { is_durable, is_auto_delete, is_exclusive: false };
    expected.check_vhost(vhost)?;
    if name.is_empty() {
        return Err(Refusal::wrong("a queue must have a name"));
    }
    if arguments.as_table().get(model::arguments::QUEUE_TYPE).is_none() {
        set_type(&mut arguments, default_queue_type(expected.default_queue_type(vhost), shape).name())?;
    }
    let judged = new_queue(expected, arguments.as_table(), shape, Resource::queue(&vhost_name, &queue_name));
    if judged.as_ref().is_err_and(|refusal| refusal.is_unsupported) {
        expected.leave_queue(vhost, name);
    }
    let mut remarks = judged?;
    remarks.extend(of_session(name));
    expected.take_room(vhost, name)?;
    Ok(remarks)
}

/// Queues that a protocol makes for its clients.
fn of_session(name: &str) -> Option<Remark> {
    let of_protocol = [("mqtt-subscription-", support::MQTT, "MQTT"), ("stomp-subscription-", support::STOMP, "STOMP")];
    let (_, _, protocol) =
        of_protocol.into_iter().find(|(start, sign, _)| name.starts_with(start) && !sign.is_there())?;
    let text = format!(
        "the queue belongs to a session of {protocol}, which is not supported: it fills, and no client consumes from it"
    );
    Some(Remark::different(text, pages::DIFFERENCES).advising("remove it, or delete it after the import"))
}

fn set_type(arguments: &mut TableBuf, kind: &str) -> Result<(), Refusal> {
    let value = TableValue::LongStr(kind.as_bytes());
    arguments.set(model::arguments::QUEUE_TYPE.as_bytes(), value).map_err(|error| Refusal::wrong(format!("{error:?}")))
}

fn new_queue(expected: &Expected, table: Table<'_>, shape: QueueShape, resource: Resource<'_>) -> Judgement {
    let arguments = QueueArguments::parse(table, resource).map_err(wrong)?;
    let queue_type = arguments.queue_type();
    check_queue_type(queue_type, shape, resource).map_err(wrong)?;
    if !queue_type.is_built() {
        let text = format!("the queue type '{}' is not supported", queue_type.name());
        return Err(Refusal::unsupported(text, WITHOUT_STREAMS, pages::QUEUES));
    }
    if !shape.is_durable && !expected.permits_transient_queues {
        let text = "the configuration does not permit queues that are neither durable nor exclusive";
        return Err(Refusal::wrong(text));
    }
    let names = table.iter().filter_map(|(name, _)| std::str::from_utf8(name).ok());
    let remark = |name: &str| {
        let why = model::policy::without_effect(name.strip_prefix("x-")?)?;
        Some(Remark::different(format!("the argument '{name}' has no effect: {why}"), pages::QUEUES))
    };
    Ok(names.filter_map(remark).collect())
}

pub(super) fn binding(expected: &mut Expected, fields: Fields<'_>) -> Judgement {
    let entry = definitions::binding(fields, expected.scope())?;
    let (vhost, source, destination) = (entry.vhost.as_str(), entry.source.as_str(), entry.destination.name());
    let is_queue = entry.destination.is_queue();
    if source.is_empty() {
        // The default exchange has its bindings without any being made.
        return Ok(Vec::new());
    }
    expected.check_vhost(vhost)?;
    let has_left = |name: &str| expected.has_left_exchange(vhost, name);
    let is_left =
        has_left(source) || if is_queue { expected.has_left_queue(vhost, destination) } else { has_left(destination) };
    if is_left && [source, destination].iter().any(|name| name.starts_with(RESERVED_PREFIX)) {
        return Ok(vec![Remark::different(
            "it is skipped with a warning: its source or destination is not imported",
            pages::HTTP_API,
        )]);
    }
    if is_left {
        let advice = "see the exchanges and queues that are refused";
        return Err(Refusal::unsupported(
            "the source or destination of the binding is refused",
            advice,
            pages::HTTP_API,
        ));
    }
    let Some(source_type) = expected.exchange(vhost, source) else { return Ok(vec![without_exchange()]) };
    match is_queue {
        true if !expected.has_queue(vhost, destination) => return Ok(vec![without_queue()]),
        false if expected.exchange(vhost, destination).is_none() => return Ok(vec![without_exchange()]),
        _ => {}
    }
    if !is_queue && destination.is_empty() {
        return Err(Refusal::wrong("bindings to the default exchange are not allowed"));
    }
    check_key(source_type, &entry.routing_key, is_queue, entry.arguments.as_table())?;
    Ok(Vec::new())
}

fn check_key(source: ExchangeType, routing_key: &str, is_queue: bool, arguments: Table<'_>) -> Result<(), Refusal> {
    if routing_key.len() > ROUTING_KEY_LEN_MAX {
        return Err(Refusal::wrong(format!("the routing key is longer than {ROUTING_KEY_LEN_MAX} bytes")));
    }
    match source {
        ExchangeType::Topic if routing_key.split('.').filter(|word| *word == "#").count() > HASH_COUNT_MAX => {
            Err(Refusal::wrong(format!("the key of a topic binding may contain '#' at most {HASH_COUNT_MAX} times")))
        }
        ExchangeType::Headers if !routing::is_valid_match(arguments) => {
            Err(Refusal::wrong("x-match must be all, any, all-with-x or any-with-x"))
        }
        ExchangeType::ConsistentHash if routing::parse_weight(routing_key.as_bytes()).is_err() => {
            Err(Refusal::wrong("the key of a consistent hash binding must be an integer from 1: it is a weight"))
        }
        ExchangeType::LocalRandom if !routing_key.is_empty() || !is_queue => {
            Err(Refusal::wrong("a local random exchange accepts only bindings to queues, without a key"))
        }
        _ => Ok(()),
    }
}
