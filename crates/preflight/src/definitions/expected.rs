//! What exists once a document has been imported: what it may refer to.

use std::collections::{HashMap, HashSet};

use definitions::{Fields, Names, ReadError, Scope};
use model::arguments::{ExchangeType, QueueType};
use model::config::Config;
use model::name::VhostName;
use model::vhost::VhostLimits;
use serde_json::Value;

use super::refusal::Refusal;
use crate::pages;
use crate::sheet::Remark;

/// The lists of which there is something to learn.
pub(super) const LISTS: [&str; 5] = ["users", "vhosts", "parameters", "exchanges", "queues"];
/// What there is to learn of an entry; the first only for what does not come along with a broker's answer.
pub(super) const KEYS: [&str; 9] =
    ["arguments", "name", "vhost", "type", "component", "value", "limits", "metadata", "default_queue_type"];

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
const INTERNAL_EXCHANGE: &str = "correct its name; if it is an internal exchange, which RabbitMQ does not export, declare it before \
    the import, or check the running broker by its URL, which includes internal exchanges";
const EXCLUSIVE_QUEUE: &str = "correct its name; if it is an exclusive queue, which RabbitMQ does not export, its client declares \
    both again";

/// What exists before, and what documents add.
#[derive(Debug)]
pub(super) struct Expected {
    /// The virtual host of a document that names none.
    pub(super) vhost: Option<String>,
    users: HashSet<String>,
    vhosts: HashSet<String>,
    default_vhost: String,
    exchanges: Names<ExchangeType>,
    queues: Names<()>,
    /// Queues and exchanges that cannot be had here.
    left_queues: Names<()>,
    left_exchanges: Names<()>,
    default_queue_types: HashMap<String, QueueType>,
    limits: HashMap<String, VhostLimits>,
    /// Limits that the document being learnt sets by parameters: these count more than what it says of virtual hosts.
    limits_of_parameters: Vec<(VhostName, Value)>,
    /// Queues of virtual hosts that may have only so many.
    counted_queues: Names<()>,
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
            exchanges: Names::default(),
            queues: Names::default(),
            left_queues: Names::default(),
            left_exchanges: Names::default(),
            default_queue_types: HashMap::new(),
            limits: HashMap::new(),
            limits_of_parameters: Vec::new(),
            counted_queues: Names::default(),
            permits_transient_queues: config.deprecated_features.permits("transient_nonexcl_queues"),
            permits_local_random_exchanges: config.local_random_exchanges,
            default_queue_type: config.default_queue_type,
        }
    }

    pub(super) fn add_vhost(&mut self, name: &str) {
        self.vhosts.insert(name.to_owned());
    }

    /// Takes what others may refer to of an entry of one of the [`LISTS`].
    pub(super) fn learn(&mut self, list: &str, fields: Fields<'_>) {
        let text = |key: &str| fields.0.get(key).and_then(Value::as_str);
        match list {
            "users" => drop(text("name").map(|name| self.users.insert(name.to_owned()))),
            "vhosts" => self.learn_vhost(fields),
            "parameters" => {
                if text("component") == Some(model::parameter::VHOST_LIMITS)
                    && let (Ok(vhost), Some(value)) = (self.vhost_of(fields), fields.0.get("value"))
                {
                    self.limits_of_parameters.push((vhost, value.clone()));
                }
            }
            "exchanges" => {
                if let (Ok(vhost), Some(name), Some(kind)) = (self.vhost_of(fields), text("name"), text("type"))
                    && let Ok(kind) = ExchangeType::parse(kind.as_bytes())
                    && !name.is_empty()
                    && !name.starts_with(model::name::RESERVED_PREFIX)
                {
                    self.exchanges.add(vhost.as_str(), name, kind);
                }
            }
            _ => {
                if let (Ok(vhost), Some(name)) = (self.vhost_of(fields), text("name")) {
                    self.queues.add(vhost.as_str(), name, ());
                }
            }
        }
    }

    fn learn_vhost(&mut self, vhost: Fields<'_>) {
        let text = |key: &str| vhost.0.get(key).and_then(Value::as_str);
        let Some(name) = text("name") else { return };
        let of_metadata = || vhost.object("metadata").ok()??.get("default_queue_type")?.as_str();
        let queue_type =
            text("default_queue_type").filter(|name| !matches!(*name, "" | "undefined")).or_else(of_metadata);
        let queue_type = queue_type.and_then(|name| QueueType::parse(name.as_bytes())).filter(|kind| kind.is_built());
        if let Some(queue_type) = queue_type {
            self.default_queue_types.insert(name.to_owned(), queue_type);
        }
        if let Some(limits) = vhost.0.get("limits") {
            self.limit(name, limits);
        }
        self.vhosts.insert(name.to_owned());
    }

    /// All that there is to learn of a document has been learnt.
    pub(super) fn has_learnt(&mut self) {
        for (vhost, values) in std::mem::take(&mut self.limits_of_parameters) {
            self.limit(vhost.as_str(), &values);
        }
    }

    fn limit(&mut self, vhost: &str, values: &Value) {
        let Value::Object(values) = values else { return };
        let limits = self.limits.entry(vhost.to_owned()).or_default();
        for (name, value) in values {
            if let Some(value) = value.as_i64() {
                // A wrong limit is reported with its entry.
                let _ = limits.set(name, value);
            }
        }
    }

    /// What the document is of.
    pub(super) fn scope(&self) -> Scope<'_> {
        self.vhost.as_deref().map_or(Scope::Broker, Scope::Vhost)
    }

    /// The virtual host that an entry is in.
    pub(super) fn vhost_of(&self, fields: Fields<'_>) -> Result<VhostName, ReadError> {
        self.scope().vhost_of(fields)
    }

    pub(super) fn check_vhost(&self, name: &str) -> Result<(), Refusal> {
        match self.vhosts.contains(name) {
            true => Ok(()),
            false => Err(Refusal::wrong("the document does not contain the virtual host of this entry")),
        }
    }

    pub(super) fn check_user(&self, name: &str) -> Result<(), Refusal> {
        match self.users.contains(name) {
            true => Ok(()),
            false => Err(Refusal::wrong("the document does not contain the user of this entry")),
        }
    }

    /// The type of an exchange that is there without any document.
    pub(super) fn own_exchange(&self, vhost: &str, name: &str) -> Option<ExchangeType> {
        let found = OWN_EXCHANGES.iter().find(|(known, _)| *known == name);
        found.filter(|(known, _)| *known != EVENTS || vhost == self.default_vhost).map(|(_, kind)| *kind)
    }

    pub(super) fn exchange(&self, vhost: &str, name: &str) -> Option<ExchangeType> {
        let defined = || self.exchanges.get(vhost, name).copied();
        self.own_exchange(vhost, name).or_else(defined)
    }

    pub(super) fn has_queue(&self, vhost: &str, name: &str) -> bool {
        self.queues.contains(vhost, name)
    }

    pub(super) fn default_queue_type(&self, vhost: &str) -> QueueType {
        self.default_queue_types.get(vhost).copied().unwrap_or(self.default_queue_type)
    }

    pub(super) fn leave_exchange(&mut self, vhost: &str, name: &str) {
        self.left_exchanges.add(vhost, name, ());
    }

    pub(super) fn leave_queue(&mut self, vhost: &str, name: &str) {
        self.left_queues.add(vhost, name, ());
    }

    pub(super) fn has_left_exchange(&self, vhost: &str, name: &str) -> bool {
        self.left_exchanges.contains(vhost, name)
    }

    pub(super) fn has_left_queue(&self, vhost: &str, name: &str) -> bool {
        self.left_queues.contains(vhost, name)
    }

    /// Whether there is room for another queue.
    pub(super) fn take_room(&mut self, vhost: &str, name: &str) -> Result<(), Refusal> {
        let Some(queue_max) = self.limits.get(vhost).and_then(|limits| limits.queue_max) else { return Ok(()) };
        self.counted_queues.add(vhost, name, ());
        if self.counted_queues.count(vhost) as u64 <= queue_max {
            return Ok(());
        }
        Err(Refusal::wrong(format!("the document limits the virtual host to {queue_max} queues, and contains more")))
    }
}

/// Of a binding whose end is an exchange that the document does not have.
pub(super) fn without_exchange() -> Remark {
    lacking("exchange", INTERNAL_EXCHANGE)
}

/// Of a binding whose end is a queue that the document does not have.
pub(super) fn without_queue() -> Remark {
    lacking("queue", EXCLUSIVE_QUEUE)
}

fn lacking(noun: &str, advice: &str) -> Remark {
    let text = format!(
        "it is skipped, as by RabbitMQ, but with a warning: the document does not contain the {noun} that it names"
    );
    Remark::different(text, pages::MIGRATING).advising(advice)
}
