//! What is there once a document has been imported: what it may refer to.

use std::collections::{HashMap, HashSet};

use model::arguments::{ExchangeType, QueueType};
use model::config::Config;
use model::vhost::VhostLimits;
use serde_json::{Map, Value};

use super::Refusal;
use super::fields::Fields;
use crate::pages;

/// Exchanges that every virtual host has.
const OWN_EXCHANGES: [(&str, ExchangeType); 8] = [
    ("", ExchangeType::Direct),
    ("amq.direct", ExchangeType::Direct),
    ("amq.fanout", ExchangeType::Fanout),
    ("amq.headers", ExchangeType::Headers),
    ("amq.match", ExchangeType::Headers),
    ("amq.topic", ExchangeType::Topic),
    ("amq.rabbitmq.trace", ExchangeType::Topic),
    // Only in the default virtual host.
    (EVENTS, ExchangeType::Topic),
];
const EVENTS: &str = "amq.rabbitmq.event";

/// What to do about bindings that RabbitMQ 4 exports without one of their ends.
const INTERNAL_EXCHANGE: &str = "RabbitMQ 4 exports no internal exchanges: declare this one before the import, or have \
                                 the broker that runs checked by its URL, which tells them";
const EXCLUSIVE_QUEUE: &str = "if it is an exclusive queue, which RabbitMQ does not export, leave the binding out: its \
                               client declares both again";

type Name = (String, String);

/// What is there before, and what documents add.
#[derive(Debug)]
pub(super) struct Expected {
    /// The virtual host of a document that names none.
    pub(super) vhost: Option<String>,
    users: HashSet<String>,
    vhosts: HashSet<String>,
    default_vhost: String,
    exchanges: HashMap<Name, ExchangeType>,
    queues: HashSet<Name>,
    /// Queues and exchanges that cannot be had here.
    left_queues: HashSet<Name>,
    left_exchanges: HashSet<Name>,
    default_queue_types: HashMap<String, QueueType>,
    limits: HashMap<String, VhostLimits>,
    queue_counts: HashMap<String, HashSet<String>>,
    pub(super) permits_transient_queues: bool,
    pub(super) permits_local_random_exchanges: bool,
    default_queue_type: QueueType,
}

impl Expected {
    pub(super) fn of(config: &Config) -> Expected {
        let default_vhost = config.default_user.vhost.as_str().to_owned();
        Expected {
            vhost: None,
            users: HashSet::from([config.default_user.name.as_str().to_owned()]),
            vhosts: HashSet::from([default_vhost.clone()]),
            default_vhost,
            exchanges: HashMap::new(),
            queues: HashSet::new(),
            left_queues: HashSet::new(),
            left_exchanges: HashSet::new(),
            default_queue_types: HashMap::new(),
            limits: HashMap::new(),
            queue_counts: HashMap::new(),
            permits_transient_queues: config.deprecated_features.permits("transient_nonexcl_queues"),
            permits_local_random_exchanges: config.local_random_exchanges,
            default_queue_type: config.default_queue_type,
        }
    }

    pub(super) fn add_vhost(&mut self, name: &str) {
        self.vhosts.insert(name.to_owned());
    }

    /// Takes the names of what a document defines: entries may refer to what comes behind them.
    pub(super) fn learn(&mut self, members: &Map<String, Value>) {
        let entries = |list: &str| -> Vec<Fields<'_>> {
            let entries = members.get(list).and_then(Value::as_array).into_iter().flatten();
            entries.filter_map(Value::as_object).map(Fields).collect()
        };
        let text = |fields: Fields<'_>, name: &str| fields.0.get(name).and_then(Value::as_str).map(str::to_owned);
        self.users.extend(entries("users").into_iter().filter_map(|user| text(user, "name")));
        for vhost in entries("vhosts") {
            let Some(name) = text(vhost, "name") else { continue };
            let of_metadata = || vhost.object("metadata").ok()??.get("default_queue_type")?.as_str().map(str::to_owned);
            let queue_type = text(vhost, "default_queue_type")
                .filter(|name| !matches!(&**name, "" | "undefined"))
                .or_else(of_metadata);
            if let Some(queue_type) =
                queue_type.and_then(|name| QueueType::parse(name.as_bytes())).filter(|kind| kind.is_built())
            {
                self.default_queue_types.insert(name.clone(), queue_type);
            }
            self.limit(&name, vhost.0.get("limits"));
            self.vhosts.insert(name);
        }
        for parameter in entries("parameters") {
            if text(parameter, "component").as_deref() == Some(model::parameter::VHOST_LIMITS)
                && let Ok(vhost) = self.vhost_of(parameter)
            {
                self.limit(&vhost, parameter.0.get("value"));
            }
        }
        for exchange in entries("exchanges") {
            if let (Ok(vhost), Some(name), Some(kind)) =
                (self.vhost_of(exchange), text(exchange, "name"), text(exchange, "type"))
                && let Ok(kind) = ExchangeType::parse(kind.as_bytes())
                && !name.is_empty()
                && !name.starts_with(model::name::RESERVED_PREFIX)
            {
                self.exchanges.entry((vhost, name)).or_insert(kind);
            }
        }
        for queue in entries("queues") {
            if let (Ok(vhost), Some(name)) = (self.vhost_of(queue), text(queue, "name")) {
                self.queues.insert((vhost, name));
            }
        }
    }

    fn limit(&mut self, vhost: &str, values: Option<&Value>) {
        let Some(Value::Object(values)) = values else { return };
        let limits = self.limits.entry(vhost.to_owned()).or_default();
        for (name, value) in values {
            if let Some(value) = value.as_i64() {
                // What is wrong with one is told where it is.
                let _ = limits.set(name, value);
            }
        }
    }

    /// The virtual host that an entry is in.
    pub(super) fn vhost_of(&self, fields: Fields<'_>) -> Result<String, Refusal> {
        match &self.vhost {
            Some(vhost) => Ok(vhost.clone()),
            None => fields.required_text("vhost").map(str::to_owned),
        }
    }

    pub(super) fn check_vhost(&self, name: &str) -> Result<(), Refusal> {
        match self.vhosts.contains(name) {
            true => Ok(()),
            false => Err(Refusal::wrong("the document does not have the virtual host that the entry is in")),
        }
    }

    pub(super) fn check_user(&self, name: &str) -> Result<(), Refusal> {
        match self.users.contains(name) {
            true => Ok(()),
            false => Err(Refusal::wrong("the document does not have the user that the entry is for")),
        }
    }

    /// The type of an exchange that is there without any document.
    pub(super) fn own_exchange(&self, vhost: &str, name: &str) -> Option<ExchangeType> {
        let found = OWN_EXCHANGES.iter().find(|(known, _)| *known == name);
        found.filter(|(known, _)| *known != EVENTS || vhost == self.default_vhost).map(|(_, kind)| *kind)
    }

    pub(super) fn exchange(&self, vhost: &str, name: &str) -> Result<ExchangeType, Refusal> {
        let defined = || self.exchanges.get(&key(vhost, name)).copied();
        let found = self.own_exchange(vhost, name).or_else(defined);
        found.ok_or_else(|| lacking("exchange", INTERNAL_EXCHANGE))
    }

    pub(super) fn check_queue(&self, vhost: &str, name: &str) -> Result<(), Refusal> {
        match self.queues.contains(&key(vhost, name)) {
            true => Ok(()),
            false => Err(lacking("queue", EXCLUSIVE_QUEUE)),
        }
    }

    pub(super) fn default_queue_type(&self, vhost: &str) -> QueueType {
        self.default_queue_types.get(vhost).copied().unwrap_or(self.default_queue_type)
    }

    pub(super) fn leave_exchange(&mut self, vhost: &str, name: &str) {
        self.left_exchanges.insert(key(vhost, name));
    }

    pub(super) fn leave_queue(&mut self, vhost: &str, name: &str) {
        self.left_queues.insert(key(vhost, name));
    }

    pub(super) fn has_left_exchange(&self, vhost: &str, name: &str) -> bool {
        self.left_exchanges.contains(&key(vhost, name))
    }

    pub(super) fn has_left_queue(&self, vhost: &str, name: &str) -> bool {
        self.left_queues.contains(&key(vhost, name))
    }

    /// Whether there is room for another queue.
    pub(super) fn take_room(&mut self, vhost: &str, name: &str) -> Result<(), Refusal> {
        let Some(queue_max) = self.limits.get(vhost).and_then(|limits| limits.queue_max) else { return Ok(()) };
        let names = self.queue_counts.entry(vhost.to_owned()).or_default();
        names.insert(name.to_owned());
        if names.len() as u64 <= queue_max {
            return Ok(());
        }
        Err(Refusal::wrong(format!(
            "the virtual host may have {queue_max} queues, as the document says, and has more in it"
        )))
    }
}

fn key(vhost: &str, name: &str) -> Name {
    (vhost.to_owned(), name.to_owned())
}

/// An end of a binding that the document does not have.
fn lacking(noun: &str, advice: &str) -> Refusal {
    Refusal::unsupported(
        format!("the document does not have the {noun} that the binding names"),
        advice,
        pages::MIGRATING,
    )
}
