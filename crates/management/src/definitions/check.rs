//! Checking a document against existing objects before anything is changed: what would be refused half-way is refused at once, with its
//! place in the document.

use std::collections::{HashMap, HashSet};
use std::fmt::Display;

use broker::{Broker, check_parameter_name};
use definitions::{
    BindingEntry, Definitions, DefinitionsError, EndEntry, ExchangeEntry, Fault, FaultKind, Findings, ParsedEntry,
    Scope, Unsupported,
};
use model::arguments::{ExchangeType, QueueType};
use model::name::{RESERVED_PREFIX, VhostName};
use model::parameter::{VhostParameter, check_vhost_parameter};

use super::requests;
use observe::alerting;

/// Checks a document, and takes out of it what is to be left out. What passes can still fail if a client changes the broker meanwhile.
pub fn check(
    broker: &Broker,
    definitions: &mut Definitions,
    scope: Scope<'_>,
    unsupported: Unsupported,
) -> Result<(), DefinitionsError> {
    if let Scope::Vhost(name) = scope
        && !broker.has_vhost(name)
    {
        return Err(DefinitionsError(no_vhost(name)));
    }
    let mut findings = examine(broker, definitions, unsupported);
    // What was left out when the document was read.
    findings.unsupported.splice(0..0, std::mem::take(&mut definitions.unsupported));
    let is_refused = findings.is_wrong() || unsupported == Unsupported::Refused;
    let refusal = findings.refusal().filter(|_| is_refused);
    keep(&mut definitions.exchanges, &findings);
    keep(&mut definitions.policies, &findings);
    keep(&mut definitions.operator_policies, &findings);
    keep(&mut definitions.vhost_parameters, &findings);
    keep(&mut definitions.queues, &findings);
    keep(&mut definitions.bindings, &findings);
    definitions.unsupported = findings.unsupported;
    definitions.warnings.extend(findings.passed_over);
    refusal.map_or(Ok(()), Err)
}

/// Why what a vhost is to have cannot be imported, in RabbitMQ's words.
pub(super) fn no_vhost(name: &str) -> String {
    format!("Please create virtual host \"{name}\" prior to importing definitions.")
}

fn keep<T>(entries: &mut Option<Vec<ParsedEntry<T>>>, findings: &Findings) {
    entries.iter_mut().for_each(|entries| entries.retain(|entry| !findings.leaves_out(&entry.place)));
}

fn examine(broker: &Broker, definitions: &Definitions, unsupported: Unsupported) -> Findings {
    let mut findings = Findings::default();
    let found = &mut findings;
    let mut expected = ExpectedObjects::of(broker, definitions, unsupported);
    each(&definitions.users, found, |user| Ok(broker.check_user(user).map_err(text)?));
    each(&definitions.vhosts, found, |vhost| Ok(vhost.request.check().map_err(text)?));
    each(&definitions.permissions, found, |given| {
        expected.check_vhost(&given.vhost)?;
        Ok(expected.check_user(given.user.as_str())?)
    });
    each(&definitions.exchanges, found, |exchange| {
        expected.check_vhost(&exchange.vhost)?;
        if exchange.is_reserved() {
            // It is skipped, and there is none: what is bound to it cannot be.
            if expected.existing_exchange(&exchange.vhost, exchange.name.as_str()).is_none() {
                expected.left_exchanges.insert((exchange.vhost.as_str(), exchange.name.as_str()));
            }
            return Ok(());
        }
        let checked = check_exchange(&expected, exchange);
        if checked.as_ref().is_err_and(Fault::is_unsupported) {
            expected.left_exchanges.insert((exchange.vhost.as_str(), exchange.name.as_str()));
        }
        checked
    });
    each(&definitions.topic_permissions, found, |given| {
        expected.check_vhost(&given.vhost)?;
        Ok(expected.check_user(given.user.as_str())?)
    });
    each(&definitions.global_parameters, found, |parameter| Ok(check_parameter_name(&parameter.name).map_err(text)?));
    each(&definitions.global_parameters, found, |parameter| Ok(alerting::check_parameter(parameter).map_err(text)?));
    for policies in [&definitions.policies, &definitions.operator_policies] {
        each(policies, found, |policy| {
            expected.check_vhost(&policy.vhost)?;
            policy.check().map_err(|error| Fault {
                reason: format!(
                    "Validation failed\n\n{error}\n (vhost: \"{}\" key: \"{}\")",
                    policy.vhost, policy.name
                ),
                kind: FaultKind::of(policy.is_unsupported()),
            })
        });
    }
    each(&definitions.vhost_parameters, found, |parameter| {
        expected.check_vhost(&parameter.vhost)?;
        check_parameter(parameter)
    });
    for entry in &definitions.limits {
        expected.check_vhost(&entry.0).unwrap_or_else(|reason| found.note(&entry.place, reason.into()));
    }
    let mut rooms = QueueQuotas::default();
    each(&definitions.queues, found, |queue| {
        expected.check_vhost(&queue.vhost)?;
        if broker.queue_view(queue.vhost.as_str(), queue.name.as_str()).is_some() {
            return Ok(());
        }
        if queue.name.as_str().is_empty() {
            return Err("a queue must have a name".to_owned().into());
        }
        let default = expected.default_queue_type(&queue.vhost);
        let checked = broker.check_queue(&queue.vhost, &requests::queue(queue), default).map_err(Fault::from);
        if checked.as_ref().is_err_and(Fault::is_unsupported) {
            expected.left_queues.insert((queue.vhost.as_str(), queue.name.as_str()));
        }
        checked?;
        Ok(rooms.take(&expected, &queue.vhost, queue.name.as_str())?)
    });
    each(&definitions.bindings, found, |binding| {
        let vhost = &binding.vhost;
        expected.check_vhost(vhost)?;
        if let Some(end) = expected.left_end(binding) {
            match unsupported {
                Unsupported::LeftOut => return Err(Fault::unsupported(format!("'{end}' was left out"))),
                // That end is refused already, unless it is only skipped.
                Unsupported::Refused if !end.starts_with(RESERVED_PREFIX) => return Ok(()),
                Unsupported::Refused => {}
            }
        }
        let source = expected.check_exchange(vhost, binding.source.as_str())?;
        match &binding.destination {
            EndEntry::Queue(name) => expected.check_queue(vhost, name.as_str())?,
            EndEntry::Exchange(name) => expected.check_exchange(vhost, name.as_str()).map(drop)?,
        }
        Ok(broker.check_binding(source, &requests::binding(binding))?)
    });
    findings
}

/// A shovel that speaks AMQP 1.0 makes sense, but not here.
fn check_parameter(parameter: &VhostParameter) -> Result<(), Fault> {
    let VhostParameter { vhost, component, name, value } = parameter;
    check_vhost_parameter(component, name, value).map_err(|error| Fault {
        reason: format!(
            "Validation failed\n\n{error}\n (vhost: \"{vhost}\" / component: \"{component}\" / key: \"{name}\")"
        ),
        kind: FaultKind::of(["src-protocol", "dest-protocol"].iter().any(|key| value[key] == "amqp10")),
    })
}

/// An unknown type is refused also of an exchange that is there already and stays as it is.
fn check_exchange(expected: &ExpectedObjects<'_>, exchange: &ExchangeEntry) -> Result<(), Fault> {
    if let Err(error) = ExchangeType::parse(exchange.kind.as_bytes()) {
        return Err(Fault { reason: error.to_string(), kind: FaultKind::of(!exchange.kind.is_empty()) });
    }
    if expected.existing_exchange(&exchange.vhost, exchange.name.as_str()).is_some() {
        return Ok(());
    }
    Ok(expected.broker.check_exchange(&exchange.vhost, &requests::exchange(exchange))?)
}

fn text(error: impl Display) -> String {
    error.to_string()
}

/// Checks all entries of a kind, and notes what is the matter with each.
fn each<'a, T>(
    entries: &'a Option<Vec<ParsedEntry<T>>>,
    findings: &mut Findings,
    mut check: impl FnMut(&'a T) -> Result<(), Fault>,
) {
    for entry in entries.iter().flatten() {
        check(entry).unwrap_or_else(|fault| findings.note(&entry.place, fault));
    }
}

/// What will be there once everything that comes first has been imported.
struct ExpectedObjects<'a> {
    broker: &'a Broker,
    definitions: &'a Definitions,
    unsupported: Unsupported,
    users: HashSet<&'a str>,
    /// Vhosts that only the document has, with the exchanges that every vhost has.
    new_vhosts: HashMap<&'a str, Vec<(String, ExchangeType)>>,
    exchanges: HashMap<(&'a str, &'a str), ExchangeType>,
    queues: HashSet<(&'a str, &'a str)>,
    /// Types of queues that are declared without one, in vhosts for which the document has such a type.
    default_queue_types: HashMap<&'a str, QueueType>,
    /// Exchanges and queues of the document that this broker cannot have.
    left_exchanges: HashSet<(&'a str, &'a str)>,
    left_queues: HashSet<(&'a str, &'a str)>,
}

impl<'a> ExpectedObjects<'a> {
    fn of(broker: &'a Broker, definitions: &'a Definitions, unsupported: Unsupported) -> Self {
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
        let (left_exchanges, left_queues) = Default::default();
        ExpectedObjects {
            broker,
            definitions,
            unsupported,
            users,
            new_vhosts,
            exchanges,
            queues,
            default_queue_types,
            left_exchanges,
            left_queues,
        }
    }

    /// The end of a binding that this broker cannot have, and has not under the same name.
    fn left_end<'b>(&self, binding: &'b BindingEntry) -> Option<&'b str> {
        let vhost = binding.vhost.as_str();
        let is_left = |name: &str| {
            self.left_exchanges.contains(&(vhost, name)) && self.existing_exchange(&binding.vhost, name).is_none()
        };
        let destination = match &binding.destination {
            EndEntry::Queue(name) => Some(name.as_str()).filter(|name| self.left_queues.contains(&(vhost, *name))),
            EndEntry::Exchange(name) => Some(name.as_str()).filter(|name| is_left(name)),
        };
        Some(binding.source.as_str()).filter(|name| is_left(name)).or(destination)
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
        if is_there { Ok(()) } else { Err(format!("no user '{name}'")) }
    }

    /// The type of an exchange that is there without this document, or comes with its vhost.
    fn existing_exchange(&self, vhost: &VhostName, name: &str) -> Option<ExchangeType> {
        let of_new = || self.new_vhosts.get(vhost.as_str())?.iter().find(|(own, _)| own == name).map(|(_, kind)| *kind);
        self.broker.exchange_type(vhost.as_str(), name).or_else(of_new)
    }

    fn check_exchange(&self, vhost: &VhostName, name: &str) -> Result<ExchangeType, Fault> {
        let defined = || self.exchanges.get(&(vhost.as_str(), name)).copied();
        let found = self.existing_exchange(vhost, name).or_else(defined);
        found.ok_or_else(|| self.missing(vhost, "exchange", name))
    }

    fn check_queue(&self, vhost: &VhostName, name: &str) -> Result<(), Fault> {
        match self.broker.queue_view(vhost.as_str(), name) {
            Some(view) if view.is_owned() => Err(format!("the queue '{name}' belongs to a connection").into()),
            Some(_) => Ok(()),
            None if self.queues.contains(&(vhost.as_str(), name)) => Ok(()),
            None => Err(self.missing(vhost, "queue", name)),
        }
    }

    /// A binding without one of its ends is left out, as by RabbitMQ, which says nothing of it: its exports have bindings of exclusive
    /// queues and of internal exchanges without these.
    fn missing(&self, vhost: &VhostName, kind: &str, name: &str) -> Fault {
        match self.unsupported {
            Unsupported::Refused => {
                let reason = format!("no {kind} '{name}' in vhost '{vhost}'");
                Fault { reason, kind: FaultKind::PassedOver }
            }
            Unsupported::LeftOut => {
                Fault::unsupported(format!("{kind} '{name}' is neither in the document nor on the broker"))
            }
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
struct QueueQuotas<'a>(HashMap<&'a str, Option<QueueQuota<'a>>>);

struct QueueQuota<'a> {
    queue_max: u64,
    /// How many are there already.
    count: u64,
    new: HashSet<&'a str>,
}

impl<'a> QueueQuotas<'a> {
    fn take(&mut self, expected: &ExpectedObjects<'_>, vhost: &'a VhostName, name: &'a str) -> Result<(), String> {
        let room = self.0.entry(vhost.as_str()).or_insert_with(|| {
            let (queue_max, count) = expected.queue_room(vhost)?;
            Some(QueueQuota { queue_max, count, new: HashSet::new() })
        });
        let Some(QueueQuota { queue_max, count, new }) = room else { return Ok(()) };
        new.insert(name);
        if *count + new.len() as u64 <= *queue_max {
            return Ok(());
        }
        Err(format!("cannot declare queue '{name}': queue limit in vhost '{vhost}' ({queue_max}) is reached"))
    }
}
