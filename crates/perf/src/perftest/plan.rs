//! Options to a plan: what PerfTest declares, publishes and consumes for them.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::json_body;
use super::options::{BodySource, Options, QueueNames};
use super::value::{self, StreamOffset};
use crate::plan::{
    Arguments, Binding, BindingKeys, Body, ConsumedQueues, Consumers, Distribution, Exchange, Plan, Processing,
    Properties, Publishers, Queues, Random, Rate, Routing, Schedule, Segment, Settle, Sizes, Value,
};

/// Of the seed's streams, the one for names and bodies: publishers have the others.
const STREAM: u64 = u64::MAX;

/// Reads a file: `std::fs::read`, but for tests.
pub type ReadFile<'a> = &'a dyn Fn(&Path) -> io::Result<Vec<u8>>;

/// A file that the options name cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{option} {}: {problem}", path.display())]
pub struct FileError {
    /// The option.
    pub option: &'static str,
    /// The file.
    pub path: PathBuf,
    /// What is wrong.
    pub problem: String,
}

impl Options {
    /// The id of a run that was given none: `test-` and the time of day in UTC, as PerfTest's.
    #[must_use]
    pub fn generated_id(now: SystemTime) -> String {
        let since_1970 = now.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let second = since_1970.as_secs() % 86_400;
        let (hour, minute) = (second / 3600, second / 60 % 60);
        format!("test-{hour:02}{minute:02}{:02}-{:03}", second % 60, since_1970.subsec_millis())
    }

    /// What these options do. Everything random comes from the seed; files are read through `read`.
    pub fn plan(&self, id: &str, seed: u64, read: ReadFile<'_>) -> Result<Plan, FileError> {
        let mut random = Random::new(seed, STREAM);
        let topology = Topology::new(self, &mut random, read)?;
        let publishers = self.publishers(&topology, &mut random, read)?;
        Ok(Plan {
            name: id.to_owned(),
            seed,
            duration: self.time,
            warm_up: self.warm_up,
            drain: self.shutdown_timeout,
            interval: self.interval,
            exit_when: self.exit_when,
            publishers: publishers.into_iter().collect(),
            consumers: self.consumers(&topology),
            exchanges: topology.exchanges,
            queues: topology.queues,
            ..Plan::default()
        })
    }

    fn publishers(
        &self,
        topology: &Topology,
        random: &mut Random,
        read: ReadFile<'_>,
    ) -> Result<Option<Publishers>, FileError> {
        let producers = &self.producers;
        if producers.count == 0 || producers.channels == 0 {
            return Ok(None);
        }
        let (body, content_type) = self.body(random, read)?;
        let routing = match (producers.has_random_keys, producers.random_key_count) {
            (false, _) => Routing::PerPublisher(topology.keys.clone()),
            (true, 0) => Routing::Fresh,
            (true, count) => Routing::InTurn((0..count).map(|_| random.uuid()).collect()),
        };
        Ok(Some(Publishers {
            name: "producer".to_owned(),
            connections: producers.count,
            channels: producers.channels,
            exchange: self.topology.exchange.clone(),
            routing,
            body,
            properties: properties(&producers.properties, producers.is_persistent, content_type),
            mandatory: producers.is_mandatory,
            confirm_window: producers.confirm.map(|window| if window == 0 { u32::MAX } else { window }),
            confirm_timeout: producers.confirm_timeout,
            tx_size: producers.tx_size,
            schedule: self.schedule(),
            think_time: None,
            message_limit: self.producer_messages,
            start_delay_max: producers.start_delay_max,
            messages_per_connection: None,
            messages_per_channel: None,
        }))
    }

    fn schedule(&self) -> Schedule {
        let producers = &self.producers;
        if let Some(interval) = producers.interval {
            return Schedule::constant(Rate::Fixed(1.0 / interval.as_secs_f64()));
        }
        if producers.variable_rate.is_empty() {
            return Schedule::constant(producers.rate.map_or(Rate::Unlimited, Rate::Fixed));
        }
        let segments = producers.variable_rate.iter();
        let segments =
            segments.map(|(rate, duration)| Segment { rate: Rate::Fixed((*rate).into()), duration: Some(*duration) });
        Schedule { segments: segments.collect(), repeat: true }
    }

    fn body(&self, random: &mut Random, read: ReadFile<'_>) -> Result<(Body, Option<String>), FileError> {
        match &self.producers.body {
            BodySource::Stamped if self.producers.variable_size.is_empty() => {
                Ok((Body::Stamped(Sizes::Drawn(Distribution::Fixed(self.producers.size.max(12).into()))), None))
            }
            BodySource::Stamped => Ok((Body::Stamped(Sizes::Cycle(self.producers.variable_size.clone())), None)),
            BodySource::Files(paths, content_type) => {
                let bodies = paths.iter().map(|path| {
                    read(path).map_err(|error| FileError {
                        option: "--body",
                        path: path.clone(),
                        problem: error.to_string(),
                    })
                });
                Ok((Body::Given(bodies.collect::<Result<_, _>>()?), content_type.clone()))
            }
            BodySource::Json { documents, fields } => {
                let documents = json_body::documents(*documents, *fields, self.producers.size, random);
                Ok((Body::Given(documents), Some("application/json".to_owned())))
            }
        }
    }

    fn consumers(&self, topology: &Topology) -> Vec<Consumers> {
        let consumers = &self.consumers;
        let count = consumers.ack_every.max(1);
        let settle = match (consumers.is_auto_ack, consumers.is_nack) {
            (true, _) => Settle::AutoAck,
            (false, true) => Settle::NackEvery { count, requeue: consumers.is_requeue },
            (false, false) => Settle::AckEvery(count),
        };
        let work = |micros: &u32| Duration::from_micros((*micros).into());
        let processing = if !consumers.variable_latency.is_empty() {
            let cycle = consumers.variable_latency.iter();
            Processing::Cycle(cycle.map(|(micros, duration)| (work(micros), *duration)).collect())
        } else if consumers.latency.is_zero() {
            Processing::None
        } else {
            Processing::Drawn(Distribution::Fixed(consumers.latency.as_secs_f64()))
        };
        let groups = topology.consumed.iter().map(|consumed| Consumers {
            name: consumed.name.clone(),
            connections: consumed.connections,
            channels: consumed.channels,
            queues: consumed.queues.clone(),
            prefetch: consumers.prefetch,
            channel_prefetch: consumers.channel_prefetch,
            settle,
            tx_size: consumers.tx_size,
            rate: consumers.rate,
            processing: processing.clone(),
            message_limit: self.consumer_messages,
            polling: consumers.polling,
            arguments: self.consumer_arguments(),
            exclusive: false,
            start_delay: consumers.start_delay,
            start_gap: if consumers.is_slow_start { Duration::from_secs(1) } else { Duration::ZERO },
            pauses: Vec::new(),
        });
        groups.collect()
    }

    fn consumer_arguments(&self) -> Arguments {
        let mut arguments = self.consumers.arguments.clone();
        let offset = match &self.consumers.stream_offset {
            None => return arguments,
            Some(StreamOffset::Named(name)) => Value::Text(name.clone()),
            Some(StreamOffset::Number(offset)) => Value::Int(*offset),
            Some(StreamOffset::Time(second)) => Value::Timestamp(*second),
        };
        value::put(&mut arguments, "x-stream-offset", offset);
        arguments
    }
}

/// What is declared, and which clients use what of it.
struct Topology {
    exchanges: Vec<Exchange>,
    queues: Vec<Queues>,
    /// Publisher `i` uses key `i` modulo their number.
    keys: Vec<String>,
    /// None, if there are no consumers, or there is nothing to consume.
    consumed: Vec<Consumed>,
}

/// Consumers that share what they consume.
struct Consumed {
    name: String,
    connections: u32,
    channels: u32,
    queues: ConsumedQueues,
}

impl Topology {
    fn new(options: &Options, random: &mut Random, read: ReadFile<'_>) -> Result<Self, FileError> {
        let wanted = &options.topology;
        let consumer_count = u64::from(options.consumers.count) * u64::from(options.consumers.channels);
        let (mut names, in_turn) = match &wanted.queues {
            // `--predeclared` without names: queues that the user did not ask for would only pile up.
            QueueNames::ServerNamed if wanted.is_predeclared || consumer_count == 0 => (Vec::new(), false),
            QueueNames::ServerNamed => (vec![String::new()], false),
            QueueNames::Fixed(names) => (names.clone(), false),
            QueueNames::InTurn(names) => (names.clone(), true),
            QueueNames::File(path) => (queue_file(path, read)?, true),
        };
        let keys = match &wanted.routing_key {
            Some(key) => vec![key.clone()],
            None if in_turn => names.clone(),
            None => vec![random.uuid()],
        };
        if wanted.is_exclusive && in_turn {
            // Those that no consumer takes are never declared.
            names.truncate(usize::try_from(consumer_count).unwrap_or(usize::MAX));
        }
        if wanted.is_exclusive && consumer_count == 0 {
            names.clear();
        }
        let consumed =
            if consumer_count == 0 || names.is_empty() { Vec::new() } else { consumed(options, &names, in_turn) };
        if names == [""] {
            // One for each consumer: the plan shows how many there are.
            names = vec![String::new(); usize::try_from(consumer_count).unwrap_or(1)];
        }
        let binding_keys = match wanted.routing_key {
            None if in_turn => BindingKeys::QueueName,
            _ => BindingKeys::All(keys.clone()),
        };
        let is_default_exchange = wanted.exchange.is_empty();
        let bindings = if is_default_exchange || wanted.skips_bindings {
            Vec::new()
        } else {
            vec![Binding { exchange: wanted.exchange.clone(), keys: binding_keys, arguments: Vec::new() }]
        };
        let exchange = Exchange {
            name: wanted.exchange.clone(),
            kind: wanted.exchange_kind.clone(),
            durable: true,
            auto_delete: false,
            arguments: Vec::new(),
            passive: false,
            keep_existing: wanted.is_predeclared,
        };
        let queues = Queues {
            names,
            durable: options.producers.is_persistent,
            exclusive: wanted.is_exclusive,
            auto_delete: wanted.is_auto_delete,
            arguments: wanted.arguments.clone(),
            passive: false,
            keep_existing: wanted.is_predeclared,
            bindings,
            is_temporary: false,
        };
        let is_declared = !is_default_exchange && !wanted.exchange.starts_with("amq.");
        Ok(Topology {
            exchanges: is_declared.then_some(exchange).into_iter().collect(),
            queues: (!queues.names.is_empty()).then_some(queues).into_iter().collect(),
            keys,
            consumed,
        })
    }
}

/// The consumers and their queues. A queue that is exclusive and has a name is consumed over one connection, however many consumers it
/// has: no other connection may use it.
fn consumed(options: &Options, names: &[String], in_turn: bool) -> Vec<Consumed> {
    let (connections, channels) = (options.consumers.count, options.consumers.channels);
    let queues = match in_turn {
        true => ConsumedQueues::Spread(names.to_vec()),
        false => ConsumedQueues::All(names.to_vec()),
    };
    let consumer =
        |connections, channels, queues| Consumed { name: "consumer".to_owned(), connections, channels, queues };
    let total = connections.saturating_mul(channels);
    if !options.topology.is_exclusive || names == [""] {
        return vec![consumer(connections, channels, queues)];
    }
    if !in_turn {
        return vec![consumer(1, total, queues)];
    }
    let queue_count = u32::try_from(names.len()).unwrap_or(u32::MAX);
    if total <= queue_count {
        return vec![consumer(connections, channels, queues)];
    }
    let groups = (0..queue_count).zip(names).map(|(at, name)| Consumed {
        name: format!("consumer of {name}"),
        connections: 1,
        channels: (total - at).div_ceil(queue_count),
        queues: ConsumedQueues::All(vec![name.clone()]),
    });
    groups.collect()
}

fn queue_file(path: &Path, read: ReadFile<'_>) -> Result<Vec<String>, FileError> {
    let fail = |problem: String| FileError { option: "--queue-file", path: path.to_owned(), problem };
    let text = read(path).map_err(|error| fail(error.to_string()))?;
    let text = String::from_utf8(text).map_err(|_| fail("is not text in UTF-8".to_owned()))?;
    let names: Vec<String> = text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
    if names.is_empty() {
        return Err(fail("matches no queue".to_owned()));
    }
    Ok(names)
}

/// PerfTest's names of properties; all else is a header.
fn properties(given: &Arguments, is_persistent: bool, content_type: Option<String>) -> Properties {
    let mut properties = Properties { persistent: is_persistent, content_type, ..Properties::default() };
    for (key, value) in given {
        let text = match value {
            Value::Text(text) => text.clone(),
            Value::Int(number) => number.to_string(),
            other => {
                properties.headers.push((key.clone(), other.clone()));
                continue;
            }
        };
        let number = || text.parse::<u64>().ok();
        match key.as_str() {
            "contentType" => properties.content_type = Some(text),
            "contentEncoding" => properties.content_encoding = Some(text),
            "deliveryMode" => properties.persistent = text == "2",
            "priority" => properties.priority = text.parse().ok().map(Distribution::Fixed),
            "correlationId" => properties.correlation_id = Some(text),
            "replyTo" => properties.reply_to = Some(text),
            "expiration" => properties.expiration = Some(text),
            "messageId" => properties.message_id = Some(text),
            // PerfTest's is in milliseconds, AMQP's in seconds.
            "timestamp" => properties.timestamp = number().map(|ms| ms / 1000),
            "type" => properties.kind = Some(text),
            "userId" => properties.user_id = Some(text),
            "appId" => properties.app_id = Some(text),
            "clusterId" => properties.cluster_id = Some(text),
            _ => properties.headers.push((key.clone(), value.clone())),
        }
    }
    properties
}
