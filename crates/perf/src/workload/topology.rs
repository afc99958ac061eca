//! Exchanges, queues and bindings, and how others refer to them.

use std::collections::{BTreeMap, HashSet};

use super::document::{SourcePlace, Value as Written};
use super::error::{Fault, suggestion};
use super::pattern::{self, Numbers};
use super::scale::Scale;
use super::table::{Field, Table};
use super::values;
use crate::plan::{Binding, BindingKeys, Exchange, Queues, Value};

pub(super) const EXCHANGE_KEYS: &[&str] =
    &["name", "count", "from", "to", "type", "durable", "auto_delete", "arguments", "passive", "keep_existing"];
pub(super) const QUEUE_KEYS: &[&str] = &[
    "name",
    "count",
    "from",
    "to",
    "type",
    "durable",
    "exclusive",
    "auto_delete",
    "arguments",
    "passive",
    "keep_existing",
    "bindings",
    "keep",
];
const BINDING_KEYS: &[&str] = &["exchange", "key", "keys", "spread", "arguments"];

/// Exchanges that every broker has.
const PREDECLARED: [&str; 7] =
    ["", "amq.direct", "amq.fanout", "amq.topic", "amq.headers", "amq.match", "amq.rabbitmq.trace"];

/// What there is to publish to and to consume from.
#[derive(Default)]
pub(super) struct Topology {
    pub(super) exchanges: Vec<Exchange>,
    pub(super) queues: Vec<Queues>,
    exchange_sets: BTreeMap<String, Vec<String>>,
    exchange_names: HashSet<String>,
    queue_sets: BTreeMap<String, Vec<String>>,
    queue_names: HashSet<String>,
}

impl Topology {
    pub(super) fn read(workload: &Table<'_>, scale: Scale) -> Result<Self, Fault> {
        let mut topology = Topology::default();
        if let Some(list) = workload.get("exchanges") {
            for field in list.list("[[exchanges]]")? {
                topology.read_exchange(&field)?;
            }
        }
        if let Some(list) = workload.get("queues") {
            for field in list.list("[[queues]]")? {
                topology.read_queues(&field, scale)?;
            }
        }
        Ok(topology)
    }

    /// Names of exchanges that a set's name or an exchange's own stands for.
    pub(super) fn exchanges(&self, field: &Field<'_>) -> Result<Vec<String>, Fault> {
        let name = field.text()?;
        if let Some(names) = self.exchange_sets.get(name) {
            return Ok(names.clone());
        }
        if PREDECLARED.contains(&name) || self.exchange_names.contains(name) {
            return Ok(vec![name.to_owned()]);
        }
        let known = self.exchange_sets.keys().map(String::as_str).chain(PREDECLARED.into_iter().skip(1));
        Err(field.fault(format!("unknown exchange \"{name}\"{}", suggestion(name, known))))
    }

    /// Names of queues that a set's name, a queue's own, or a list of such stands for.
    pub(super) fn queues(&self, field: &Field<'_>) -> Result<Vec<String>, Fault> {
        let mut found = Vec::new();
        for field in field.one_or_more() {
            let name = field.text()?;
            if let Some(names) = self.queue_sets.get(name) {
                found.extend(names.iter().cloned());
            } else if self.queue_names.contains(name) {
                found.push(name.to_owned());
            } else {
                let hint = suggestion(name, self.queue_sets.keys().map(String::as_str));
                return Err(field.fault(format!("unknown queue \"{name}\"{hint}")));
            }
        }
        if found.is_empty() {
            return Err(field.fault("matches no queue"));
        }
        Ok(found)
    }

    /// Routing keys: a text, a list of texts, a pattern with numbers, or the names of queues.
    pub(super) fn keys(&self, field: &Field<'_>) -> Result<Vec<String>, Fault> {
        if let Written::Table(_) = field.node.value {
            let table = field.table(&["pattern", "count", "from", "to", "queues"])?;
            if let Some(queues) = table.get("queues") {
                table.not_both("queues", "pattern")?;
                return self.queues(&queues);
            }
            let pattern = table.require("pattern", "such as \"key-%d\"")?;
            return pattern::names(&pattern, &Numbers::read(&table, |count| count)?);
        }
        let mut keys = Vec::new();
        for field in field.one_or_more() {
            let key = field.text()?;
            if pattern::split(key).is_some() {
                let message = format!("\"{key}\" requires a range of numbers: {{ pattern = \"{key}\", count = 10 }}");
                return Err(field.fault(message));
            }
            keys.push(key.to_owned());
        }
        if keys.is_empty() {
            return Err(field.fault("the list of keys is empty"));
        }
        Ok(keys)
    }

    fn read_exchange(&mut self, field: &Field<'_>) -> Result<(), Fault> {
        let mut table = field.table(EXCHANGE_KEYS)?;
        let name = table.require("name", "what the exchange is called")?;
        table.rename("exchange", name.text()?);
        if PREDECLARED.contains(&name.text()?) {
            return Err(name.fault(format!("{} is predeclared and cannot be declared", name.node.value)));
        }
        // A broker's exchanges are few: they are not scaled.
        let names = pattern::names(&name, &Numbers::read(&table, |count| count)?)?;
        let kind = table.text("type")?.unwrap_or("direct");
        let arguments = values::arguments(&table, "arguments")?;
        let is_delayed = kind == "x-delayed-message";
        if is_delayed && !arguments.iter().any(|(key, _)| key == "x-delayed-type") {
            let place = table.place_of("type");
            let message = "an x-delayed-message exchange needs arguments = { x-delayed-type = \"direct\" }, \
                           or another type";
            return Err(Fault::new(place, message));
        }
        for name in &names {
            if !self.exchange_names.insert(name.clone()) {
                return Err(table.fault(format!("the exchange \"{name}\" is declared twice")));
            }
            self.exchanges.push(Exchange {
                name: name.clone(),
                kind: kind.to_owned(),
                durable: table.bool("durable", true)?,
                auto_delete: table.bool("auto_delete", false)?,
                arguments: arguments.clone(),
                passive: table.bool("passive", false)?,
                keep_existing: table.bool("keep_existing", false)?,
            });
        }
        self.exchange_sets.entry(name.text()?.to_owned()).or_default().extend(names);
        Ok(())
    }

    fn read_queues(&mut self, field: &Field<'_>, scale: Scale) -> Result<(), Fault> {
        let mut table = field.table(QUEUE_KEYS)?;
        let name = table.require("name", "what the queues are called; \"\" lets the broker choose")?;
        table.rename("queue", name.text()?);
        let numbers = Numbers::read(&table, |count| scale.count(count))?;
        let names = pattern::names(&name, &numbers)?;
        for queue in &names {
            if !self.queue_names.insert(queue.clone()) {
                return Err(table.fault(format!("the queue \"{queue}\" is declared twice")));
            }
        }
        let exclusive = table.bool("exclusive", false)?;
        let passive = table.bool("passive", false)?;
        let keep_existing = table.bool("keep_existing", false)?;
        table.not_both("passive", "keep_existing")?;
        let durable = table.bool("durable", !exclusive)?;
        let auto_delete = table.bool("auto_delete", false)?;
        let mut arguments = values::arguments(&table, "arguments")?;
        if let Some(kind) = table.get("type") {
            let kind_name = kind.word(&["classic", "quorum", "stream"])?;
            if kind_name != "classic" && (exclusive || !durable || auto_delete) {
                let message = format!("a {kind_name} queue must be durable, and neither exclusive nor auto-delete");
                return Err(kind.fault(message));
            }
            if arguments.iter().any(|(key, _)| key == "x-queue-type") {
                return Err(kind.fault("the type is also in \"arguments\""));
            }
            arguments.insert(0, ("x-queue-type".to_owned(), Value::Text(kind_name.to_owned())));
        }
        let bindings = match table.get("bindings") {
            Some(bindings) => self.read_bindings(&bindings)?,
            None => Vec::new(),
        };
        self.queue_sets.entry(name.text()?.to_owned()).or_default().extend(names.iter().cloned());
        self.queues.push(Queues {
            names,
            durable,
            exclusive,
            auto_delete,
            arguments,
            passive,
            keep_existing,
            bindings,
            is_temporary: !table.bool("keep", passive || keep_existing)?,
        });
        Ok(())
    }

    fn read_bindings(&self, field: &Field<'_>) -> Result<Vec<Binding>, Fault> {
        let mut bindings = Vec::new();
        for field in field.one_or_more() {
            let table = field.table(BINDING_KEYS)?;
            let exchange = table.require("exchange", "what the queues are bound to")?;
            if exchange.text()?.is_empty() {
                return Err(
                    exchange.fault("queues cannot be bound to the default exchange: it routes to every queue by name")
                );
            }
            table.not_both("key", "keys")?;
            let spread = table.bool("spread", false)?;
            let keys = match table.get("key").or(table.get("keys")) {
                Some(keys) if spread => BindingKeys::Spread(self.keys(&keys)?),
                Some(keys) => BindingKeys::All(self.keys(&keys)?),
                None if spread => return Err(table.fault("\"spread\" requires \"keys\"")),
                None => BindingKeys::QueueName,
            };
            let arguments = values::arguments(&table, "arguments")?;
            for exchange in self.exchanges(&exchange)? {
                bindings.push(Binding { exchange, keys: keys.clone(), arguments: arguments.clone() });
            }
        }
        Ok(bindings)
    }
}

/// How many connections and channels each a group has.
pub(super) struct Layout {
    pub(super) connections: u32,
    pub(super) channels: u32,
}

impl Layout {
    /// Of `count` and `connections`. The group is then cut into `parts`, which share neither.
    pub(super) fn read(table: &Table<'_>, scale: Scale, parts: u32) -> Result<Self, Fault> {
        const GROUP_MAX: u32 = 1_000_000;
        const CHANNELS_MAX: u32 = 65_535;
        let count = table.count("count", 1..=GROUP_MAX)?;
        let connections = table.count("connections", 1..=GROUP_MAX)?;
        let written = count.unwrap_or_else(|| connections.unwrap_or(1).max(parts));
        let written_connections = connections.unwrap_or(written);
        let place = |key: &str| -> &SourcePlace { table.place_of(key) };
        if !written.is_multiple_of(written_connections) {
            let message = format!("{written} cannot be divided evenly among {written_connections} connections");
            return Err(Fault::new(place("connections"), message));
        }
        if written / written_connections > CHANNELS_MAX {
            let message = format!(
                "{written} on {written_connections} connections would exceed {CHANNELS_MAX} channels per connection"
            );
            return Err(Fault::new(place("connections"), message));
        }
        if !written_connections.is_multiple_of(parts) {
            let message = format!("{written_connections} connections cannot be shared evenly by {parts} exchanges");
            return Err(Fault::new(place(if connections.is_some() { "connections" } else { "count" }), message));
        }
        if scale.is_one() {
            return Ok(Layout { connections: written_connections / parts, channels: written / written_connections });
        }
        let connections = scale.small_count(written_connections).min(GROUP_MAX).div_ceil(parts);
        let count = scale.small_count(written).min(GROUP_MAX);
        let channels = (f64::from(count) / f64::from(connections * parts)).round() as u32;
        Ok(Layout { connections, channels: channels.clamp(1, CHANNELS_MAX) })
    }

    pub(super) fn count(&self) -> u32 {
        self.connections * self.channels
    }
}
