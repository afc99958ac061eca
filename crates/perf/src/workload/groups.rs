//! Publishers and consumers.

use std::time::Duration;

use super::document::Value as Written;
use super::error::Fault;
use super::phases::Course;
use super::scale::Scale;
use super::table::{Field, Table};
use super::topology::{Layout, Topology};
use super::values;
use crate::plan::{Body, ConsumedQueues, Consumers, Distribution, Processing, Publishers, Routing, Settle, Sizes};

pub(super) const PUBLISHER_KEYS: &[&str] = &[
    "name",
    "count",
    "connections",
    "exchange",
    "key",
    "keys",
    "queue",
    "queues",
    "routing",
    "size",
    "body",
    "bodies",
    "persistent",
    "priority",
    "headers",
    "properties",
    "mandatory",
    "confirm_window",
    "confirm_timeout",
    "tx_size",
    "rate",
    "rate_per",
    "think_time",
    "message_limit",
    "start_within",
    "messages_per_connection",
    "messages_per_channel",
];
pub(super) const CONSUMER_KEYS: &[&str] = &[
    "name",
    "count",
    "connections",
    "queue",
    "queues",
    "each_consumes",
    "prefetch",
    "channel_prefetch",
    "auto_ack",
    "ack_every",
    "nack",
    "tx_size",
    "rate",
    "rate_per",
    "processing",
    "message_limit",
    "polling",
    "arguments",
    "exclusive",
    "start_delay",
    "start_gap",
    "pauses",
];

/// More messages at once than this are a slip.
const BATCH_MAX: u32 = 1_000_000;

/// What all groups are read with.
pub(super) struct Context<'a> {
    pub(super) topology: &'a Topology,
    pub(super) course: &'a Course<'a>,
    pub(super) scale: Scale,
}

/// The name of a group, its own or, if it is the only one, its kind.
pub(super) fn group_name<'a>(table: &Table<'a>, kind: &'a str, others: usize) -> Result<&'a str, Fault> {
    match table.text("name")? {
        Some("") => Err(Fault::new(table.place_of("name"), "the name must not be empty")),
        Some(name) => Ok(name),
        None if others == 0 => Ok(kind),
        None => Err(table.fault(format!("\"name\" is missing: several [[{kind}]] need a name each"))),
    }
}

/// Names of the groups of a kind, each only once.
pub(super) fn group_names<'a>(workload: &Table<'a>, kind: &'a str) -> Result<Vec<&'a str>, Fault> {
    let Some(list) = workload.get(kind) else { return Ok(Vec::new()) };
    let list = list.list(&format!("[[{kind}]]"))?;
    let mut names = Vec::with_capacity(list.len());
    for field in &list {
        let name = group_name(&field.open_table()?, kind, list.len() - 1)?;
        if names.contains(&name) {
            return Err(field.fault(format!("duplicate name \"{name}\"")));
        }
        names.push(name);
    }
    Ok(names)
}

impl<'a> Context<'a> {
    /// One group as it is written; several in the plan if it publishes to several exchanges.
    pub(super) fn publishers(&self, field: &Field<'a>, name: &'a str) -> Result<Vec<Publishers>, Fault> {
        let mut table = field.table(PUBLISHER_KEYS)?;
        table.rename("publishers", name);
        let (exchanges, routing) = self.targets(&table)?;
        let parts = u32::try_from(exchanges.len()).unwrap_or(u32::MAX);
        let layout = Layout::read(&table, self.scale, parts)?;
        let factor = self.rate_factor(&table, "publisher", layout.count() * parts)?;
        let confirm_window = match table.count("confirm_window", 0..=BATCH_MAX)? {
            None | Some(0) => None,
            window => window,
        };
        let tx_size = table.count("tx_size", 0..=BATCH_MAX)?.unwrap_or(0);
        if tx_size > 0 && confirm_window.is_some() {
            let place = table.place_of("tx_size");
            return Err(Fault::new(place, "transactions and confirms cannot be used together"));
        }
        table.not_both("messages_per_connection", "messages_per_channel")?;
        let group = Publishers {
            name: name.to_owned(),
            connections: layout.connections,
            channels: layout.channels,
            exchange: String::new(),
            routing,
            body: body(&table)?,
            properties: values::properties(&table)?,
            mandatory: table.bool("mandatory", false)?,
            confirm_window,
            confirm_timeout: Some(table.duration("confirm_timeout")?.unwrap_or(Duration::from_secs(30))),
            tx_size,
            schedule: self.course.schedule(name, table.get("rate"), factor)?,
            think_time: table
                .get("think_time")
                .map(|field| values::distribution(&field, values::seconds))
                .transpose()?,
            message_limit: table.get("message_limit").map(|field| field.whole(1..=u64::MAX)).transpose()?,
            start_delay_max: table.duration("start_within")?.unwrap_or_default(),
            messages_per_connection: table.count("messages_per_connection", 1..=u32::MAX)?,
            messages_per_channel: table.count("messages_per_channel", 1..=u32::MAX)?,
        };
        let is_split = exchanges.len() > 1;
        Ok(exchanges
            .into_iter()
            .map(|exchange| Publishers {
                name: if is_split { format!("{name} to {exchange}") } else { name.to_owned() },
                exchange,
                ..group.clone()
            })
            .collect())
    }

    /// Exchanges and keys that a group publishes with.
    fn targets(&self, table: &Table<'_>) -> Result<(Vec<String>, Routing), Fault> {
        let to_queues = if table.has("queue") { "queue" } else { "queues" };
        for (one, other) in
            [("queue", "queues"), ("key", "keys"), (to_queues, "exchange"), (to_queues, "key"), (to_queues, "keys")]
        {
            table.not_both(one, other)?;
        }
        let routing = table
            .get("routing")
            .map(|field| field.word(&["in-turn", "per-publisher", "random", "fresh"]))
            .transpose()?;
        if let Some(queues) = table.get(to_queues) {
            if routing == Some("fresh") {
                return Err(Fault::new(table.place_of("routing"), "fresh routing keys do not match any queue"));
            }
            let names = self.topology.queues(&queues)?;
            if names.iter().any(String::is_empty) {
                return Err(queues.fault("a server-named queue can only be reached through an exchange"));
            }
            return Ok((vec![String::new()], self::routing(routing.unwrap_or("per-publisher"), names)));
        }
        let Some(exchange) = table.get("exchange") else {
            return Err(table.fault("\"queue\" or \"exchange\" is missing: the destination of publishes"));
        };
        let exchanges = self.topology.exchanges(&exchange)?;
        let keys = match table.get("key").or(table.get("keys")) {
            Some(field) if routing == Some("fresh") => {
                return Err(field.fault("fresh routing keys are random and cannot be set"));
            }
            Some(field) => self.topology.keys(&field)?,
            None => vec![String::new()],
        };
        Ok((exchanges, self::routing(routing.unwrap_or("in-turn"), keys)))
    }

    /// What a rate as it is written has to be multiplied by, to be that of one of the group.
    fn rate_factor(&self, table: &Table<'_>, one: &str, count: u32) -> Result<f64, Fault> {
        match table.get("rate_per").map(|field| field.word(&["group", one])).transpose()? {
            None | Some("group") => Ok(self.scale.rate(1.0) / f64::from(count)),
            Some(_) => Ok(1.0),
        }
    }

    pub(super) fn consumers(&self, field: &Field<'a>, name: &'a str) -> Result<Consumers, Fault> {
        let mut table = field.table(CONSUMER_KEYS)?;
        table.rename("consumers", name);
        table.not_both("queue", "queues")?;
        let Some(queues) = table.get("queue").or(table.get("queues")) else {
            return Err(table.fault("\"queue\" is missing: the queue to consume from"));
        };
        let queues = self.topology.queues(&queues)?;
        let each = table.get("each_consumes").map(|field| field.word(&["one", "all"])).transpose()?;
        let layout = Layout::read(&table, self.scale, 1)?;
        let factor = self.rate_factor(&table, "consumer", layout.count())?;
        let rate = match table.get("rate") {
            Some(rate) => match rate.node.value {
                Written::Text(ref text) if text == "unlimited" => None,
                Written::Int(_) | Written::Float(_) if rate.number()? > 0.0 => Some(rate.number()? * factor),
                _ => return Err(rate.expected("a number of messages per second above 0, or \"unlimited\"")),
            },
            None => None,
        };
        let prefetch = |key| table.count(key, 0..=u32::from(u16::MAX)).map(|count| count.unwrap_or(0) as u16);
        let mut pauses = self.course.pauses(name);
        if let Some(own) = table.get("pauses") {
            pauses.extend(self::pauses(&own)?);
            pauses.sort();
        }
        Ok(Consumers {
            name: name.to_owned(),
            connections: layout.connections,
            channels: layout.channels,
            queues: if each == Some("all") { ConsumedQueues::All(queues) } else { ConsumedQueues::Spread(queues) },
            prefetch: prefetch("prefetch")?,
            channel_prefetch: prefetch("channel_prefetch")?,
            settle: settle(&table)?,
            tx_size: table.count("tx_size", 0..=BATCH_MAX)?.unwrap_or(0),
            rate,
            processing: match table.get("processing") {
                Some(field) => values::processing(&field)?,
                None => Processing::None,
            },
            message_limit: table.get("message_limit").map(|field| field.whole(1..=u64::MAX)).transpose()?,
            polling: table.duration("polling")?,
            arguments: values::arguments(&table, "arguments")?,
            exclusive: table.bool("exclusive", false)?,
            start_delay: table.duration("start_delay")?.unwrap_or_default(),
            start_gap: table.duration("start_gap")?.unwrap_or_default(),
            pauses,
        })
    }
}

fn routing(kind: &str, keys: Vec<String>) -> Routing {
    match kind {
        "per-publisher" => Routing::PerPublisher(keys),
        "random" => Routing::Random(keys),
        "fresh" => Routing::Fresh,
        _ => Routing::InTurn(keys),
    }
}

fn body(table: &Table<'_>) -> Result<Body, Fault> {
    for (one, other) in [("size", "body"), ("size", "bodies"), ("body", "bodies")] {
        table.not_both(one, other)?;
    }
    if let Some(field) = table.get("body").or(table.get("bodies")) {
        let bodies: Result<Vec<_>, _> =
            field.one_or_more().iter().map(|body| body.text().map(|text| text.as_bytes().to_vec())).collect();
        let bodies = bodies?;
        if bodies.is_empty() {
            return Err(field.fault("the list of bodies is empty"));
        }
        return Ok(Body::Given(bodies));
    }
    match table.get("size") {
        Some(field) => values::sizes(&field).map(Body::Stamped),
        None => Ok(Body::Stamped(Sizes::Drawn(Distribution::Fixed(12.0)))),
    }
}

/// `auto_ack`, `ack_every` and `nack`, in a group and in a script's step.
pub(super) fn settle(table: &Table<'_>) -> Result<Settle, Fault> {
    if table.bool("auto_ack", false)? {
        table.not_both("auto_ack", "ack_every")?;
        table.not_both("auto_ack", "nack")?;
        return Ok(Settle::AutoAck);
    }
    let count = table.count("ack_every", 1..=BATCH_MAX)?.unwrap_or(1);
    if let Some(prefetch) = table.get("prefetch") {
        let prefetch = prefetch.whole(0..=u64::from(u16::MAX))?;
        if prefetch > 0 && u64::from(count) > prefetch {
            let message = format!("\"ack_every\" must not exceed \"prefetch\" ({prefetch}): found {count}");
            return Err(Fault::new(table.place_of("ack_every"), message));
        }
    }
    match table.get("nack").map(|field| field.word(&["requeue", "discard"])).transpose()? {
        Some(what) => Ok(Settle::NackEvery { count, requeue: what == "requeue" }),
        None => Ok(Settle::AckEvery(count)),
    }
}

fn pauses(field: &Field<'_>) -> Result<Vec<(Duration, Duration)>, Fault> {
    let mut pauses = Vec::new();
    for pause in field.list("[from, to]")? {
        match pause.list("two times")?.as_slice() {
            [from, to] => {
                let (from, to) = (from.duration()?, to.duration()?);
                if from >= to {
                    return Err(pause.fault("a pause must end after it starts"));
                }
                pauses.push((from, to));
            }
            _ => return Err(pause.fault("expected [from, to]")),
        }
    }
    Ok(pauses)
}
