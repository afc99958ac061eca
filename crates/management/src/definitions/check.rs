//! Checking a document against what is there before anything is changed: what would be refused half-way is refused at once,
//! with its place in the document.

use std::collections::{HashMap, HashSet};
use std::fmt::Display;

use broker::{Broker, check_parameter_name};
use model::arguments::{ExchangeType, QueueType};
use model::name::VhostName;

use super::parse::{Definitions, EndEntry, Entry};
use super::{DefinitionsError, Scope, no_vhost};
use crate::alerting;

/// Checks a document. What passes can still fail if somebody changes the broker meanwhile.
pub fn check(broker: &Broker, definitions: &Definitions, scope: Scope<'_>) -> Result<(), DefinitionsError> {
    if let Scope::Vhost(name) = scope
        && !broker.has_vhost(name)
    {
        return Err(DefinitionsError(no_vhost(name)));
    }
    let expected = Expected::of(broker, definitions);
    each(&definitions.users, |user| broker.check_user(user))?;
    each(&definitions.vhosts, |vhost| vhost.request.check())?;
    each(&definitions.permissions, |given| {
        expected.check_vhost(&given.vhost)?;
        expected.check_user(given.user.as_str())
    })?;
    each(&definitions.exchanges, |exchange| {
        expected.check_vhost(&exchange.vhost)?;
        if exchange.is_reserved() || expected.existing_exchange(&exchange.vhost, exchange.name.as_str()).is_some() {
            return Ok(());
        }
        broker.check_exchange(&exchange.vhost, &exchange.request()).map_err(|refusal| refusal.text)
    })?;
    each(&definitions.topic_permissions, |given| {
        expected.check_vhost(&given.vhost)?;
        expected.check_user(given.user.as_str())
    })?;
    each(&definitions.global_parameters, |parameter| check_parameter_name(&parameter.name))?;
    each(&definitions.global_parameters, alerting::check_parameter)?;
    for policies in [&definitions.policies, &definitions.operator_policies] {
        each(policies, |policy| {
            expected.check_vhost(&policy.vhost)?;
            policy.check().map_err(|error| {
                format!("Validation failed\n\n{error}\n (vhost: \"{}\" key: \"{}\")", policy.vhost, policy.name)
            })
        })?;
    }
    for entry in &definitions.limits {
        expected.check_vhost(&entry.0).map_err(|reason| entry.place.refuse(reason))?;
    }
    let mut rooms = QueueRooms::default();
    each(&definitions.queues, |queue| {
        expected.check_vhost(&queue.vhost)?;
        if broker.queue_view(queue.vhost.as_str(), queue.name.as_str()).is_some() {
            return Ok(());
        }
        if queue.name.as_str().is_empty() {
            return Err("a queue must have a name".to_owned());
        }
        let default = expected.default_queue_type(&queue.vhost);
        broker.check_queue(&queue.vhost, &queue.request(), default).map_err(|refusal| refusal.text)?;
        rooms.take(&expected, &queue.vhost, queue.name.as_str())
    })?;
    each(&definitions.bindings, |binding| {
        let vhost = &binding.vhost;
        expected.check_vhost(vhost)?;
        let source = expected.check_exchange(vhost, binding.source.as_str())?;
        match &binding.destination {
            EndEntry::Queue(name) => expected.check_queue(vhost, name.as_str())?,
            EndEntry::Exchange(name) => expected.check_exchange(vhost, name.as_str()).map(drop)?,
        }
        broker.check_binding(source, &binding.request()).map_err(|refusal| refusal.text)
    })
}

/// Checks all entries of a kind; the first that is refused is named.
fn each<'a, T, E: Display>(
    entries: &'a Option<Vec<Entry<T>>>,
    mut check: impl FnMut(&'a T) -> Result<(), E>,
) -> Result<(), DefinitionsError> {
    entries.iter().flatten().try_for_each(|entry| check(entry).map_err(|reason| entry.place.refuse(reason)))
}

/// What will be there once everything that comes first has been imported.
struct Expected<'a> {
    broker: &'a Broker,
    definitions: &'a Definitions,
    users: HashSet<&'a str>,
    /// Vhosts that only the document has, with the exchanges that every vhost has.
    new_vhosts: HashMap<&'a str, Vec<(String, ExchangeType)>>,
    exchanges: HashMap<(&'a str, &'a str), ExchangeType>,
    queues: HashSet<(&'a str, &'a str)>,
    /// Types of queues that are declared without one, in vhosts of which the document says so.
    default_queue_types: HashMap<&'a str, QueueType>,
}

impl<'a> Expected<'a> {
    fn of(broker: &'a Broker, definitions: &'a Definitions) -> Self {
        let users = definitions.users.iter().flatten().map(|user| user.name.as_str()).collect();
        let vhosts = definitions.vhosts.iter().flatten().map(|vhost| &vhost.request.name);
        let new_vhosts = vhosts
            .filter(|name| !broker.has_vhost(name.as_str()))
            .map(|name| (name.as_str(), broker.exchanges_of_new_vhost(name)))
            .collect();
        let mut exchanges = HashMap::new();
        for exchange in definitions.exchanges.iter().flatten().filter(|exchange| !exchange.is_reserved()) {
            if let Ok(kind) = ExchangeType::parse(exchange.kind.as_bytes()) {
                // Of two with the same name the first one is made.
                exchanges.entry((exchange.vhost.as_str(), exchange.name.as_str())).or_insert(kind);
            }
        }
        let queues = definitions.queues.iter().flatten();
        let queues = queues.map(|queue| (queue.vhost.as_str(), queue.name.as_str())).collect();
        let default_queue_types = definitions.vhosts.iter().flatten().filter_map(|vhost| {
            let name = vhost.request.default_queue_type.as_deref()?;
            Some((vhost.request.name.as_str(), QueueType::parse(name.as_bytes())?))
        });
        let default_queue_types = default_queue_types.collect();
        Expected { broker, definitions, users, new_vhosts, exchanges, queues, default_queue_types }
    }

    fn default_queue_type(&self, vhost: &VhostName) -> QueueType {
        let own = self.default_queue_types.get(vhost.as_str()).copied();
        own.unwrap_or_else(|| self.broker.default_queue_type_in(vhost.as_str()))
    }

    fn check_vhost(&self, name: &VhostName) -> Result<(), String> {
        let is_there = self.broker.has_vhost(name.as_str()) || self.new_vhosts.contains_key(name.as_str());
        if is_there { Ok(()) } else { Err(no_vhost(name.as_str())) }
    }

    fn check_user(&self, name: &str) -> Result<(), String> {
        let is_there = self.users.contains(name) || self.broker.user(name).is_some();
        if is_there { Ok(()) } else { Err(format!("{{no_such_user,<<\"{name}\">>}}")) }
    }

    /// The type of an exchange that is there without this document, or comes with its vhost.
    fn existing_exchange(&self, vhost: &VhostName, name: &str) -> Option<ExchangeType> {
        let of_new = || self.new_vhosts.get(vhost.as_str())?.iter().find(|(own, _)| own == name).map(|(_, kind)| *kind);
        self.broker.exchange_type(vhost.as_str(), name).or_else(of_new)
    }

    fn check_exchange(&self, vhost: &VhostName, name: &str) -> Result<ExchangeType, String> {
        let defined = || self.exchanges.get(&(vhost.as_str(), name)).copied();
        let found = self.existing_exchange(vhost, name).or_else(defined);
        found.ok_or_else(|| missing(vhost, "exchange", name))
    }

    fn check_queue(&self, vhost: &VhostName, name: &str) -> Result<(), String> {
        match self.broker.queue_view(vhost.as_str(), name) {
            Some(view) if view.is_owned() => Err(format!("the queue '{name}' belongs to a connection")),
            Some(_) => Ok(()),
            None if self.queues.contains(&(vhost.as_str(), name)) => Ok(()),
            None => Err(missing(vhost, "queue", name)),
        }
    }

    /// How many queues a vhost may have, and how many it has; None for any number.
    fn queue_room(&self, vhost: &VhostName) -> Option<(u64, u64)> {
        let facts = self.broker.vhost_view(vhost.as_str());
        let of_parameters = self.definitions.limits.iter().rfind(|entry| entry.0 == *vhost).map(|entry| entry.1);
        let of_vhost = || {
            let mut vhosts = self.definitions.vhosts.iter().flatten();
            vhosts.rfind(|entry| entry.request.name == *vhost && entry.limits.is_some())?.limits
        };
        let limits = of_parameters.or_else(of_vhost).or_else(|| Some(facts.as_ref()?.facts.limits))?;
        Some((limits.queue_max?, facts.map_or(0, |view| view.queue_count as u64)))
    }
}

/// New queues by vhost, where their number is limited.
#[derive(Default)]
struct QueueRooms<'a>(HashMap<&'a str, Option<QueueRoom<'a>>>);

struct QueueRoom<'a> {
    queue_max: u64,
    /// How many are there already.
    count: u64,
    new: HashSet<&'a str>,
}

impl<'a> QueueRooms<'a> {
    fn take(&mut self, expected: &Expected<'_>, vhost: &'a VhostName, name: &'a str) -> Result<(), String> {
        let room = self.0.entry(vhost.as_str()).or_insert_with(|| {
            let (queue_max, count) = expected.queue_room(vhost)?;
            Some(QueueRoom { queue_max, count, new: HashSet::new() })
        });
        let Some(QueueRoom { queue_max, count, new }) = room else { return Ok(()) };
        new.insert(name);
        if *count + new.len() as u64 <= *queue_max {
            return Ok(());
        }
        Err(format!("cannot declare queue '{name}': queue limit in vhost '{vhost}' ({queue_max}) is reached"))
    }
}

fn missing(vhost: &VhostName, kind: &str, name: &str) -> String {
    let resource = format!("{{resource,<<\"{vhost}\">>,{kind},<<\"{name}\">>}}");
    format!("{{resources_missing,[{{not_found,{resource}}}]}}")
}
