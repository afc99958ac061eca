//! Importing: making what a document says, in RabbitMQ's order.

use std::sync::Arc;

use broker::{
    Actor, BindingEnd, BindingRequest, Broker, Changed, ControlError, ExchangeRequest, Identity, Inside, Outcome,
    QueueRequest,
};
use model::ids::JournalPosition;
use model::name::VhostName;

use super::parse::{BindingEntry, Definitions, EndEntry, ExchangeEntry, QueueEntry};
use super::{DefinitionsError, Scope};

/// What an import came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// When all of it lasts; see [`Broker::until_durable`].
    pub position: Option<JournalPosition>,
    /// What has no effect.
    pub warnings: Vec<String>,
}

impl Imported {
    fn note(&mut self, changed: Changed) {
        self.position = self.position.max(changed.position);
    }
}

/// Imports a document. Doing it twice is the same as once.
pub fn import(
    broker: &Arc<Broker>,
    actor: &Actor,
    definitions: &Definitions,
    scope: Scope<'_>,
) -> Result<Imported, DefinitionsError> {
    let mut imported = Imported { position: None, warnings: definitions.warnings.clone() };
    let refused = |error: ControlError| DefinitionsError(error.to_string());
    if let Scope::Vhost(vhost) = scope {
        check_vhost(broker, vhost)?;
    }
    for request in definitions.users.iter().flatten() {
        imported.note(broker.put_user(actor, request.clone()).map_err(refused)?);
    }
    for entry in definitions.vhosts.iter().flatten() {
        imported.note(broker.put_vhost(actor, entry.request.clone()).map_err(refused)?);
        if let Some(limits) = entry.limits {
            let name = entry.request.name.as_str();
            imported.note(broker.set_vhost_limits(actor, name, |own| *own = limits).map_err(refused)?);
        }
    }
    check_vhosts(broker, definitions)?;
    for given in definitions.permissions.iter().flatten() {
        check_user(broker, given.user.as_str())?;
        imported.note(broker.put_permission(actor, given.clone()).map_err(refused)?);
    }
    let mut rooms = Rooms::new(broker, actor);
    for entry in definitions.exchanges.iter().flatten() {
        imported.note(declare_exchange(&mut rooms, entry)?);
    }
    for given in definitions.topic_permissions.iter().flatten() {
        check_user(broker, given.user.as_str())?;
        imported.note(broker.put_topic_permission(actor, given.clone()).map_err(refused)?);
    }
    for parameter in definitions.global_parameters.iter().flatten() {
        let set = broker.put_global_parameter(actor, &parameter.name, parameter.value.clone());
        imported.note(set.map_err(refused)?);
    }
    for request in definitions.policies.iter().chain(&definitions.operator_policies).flatten() {
        let (changed, warnings) = broker.put_policy(actor, request.clone()).map_err(|error| {
            let (vhost, name) = (&request.vhost, &request.name);
            DefinitionsError(format!("Validation failed\n\n{error}\n (vhost: \"{vhost}\" key: \"{name}\")"))
        })?;
        imported.note(changed);
        imported.warnings.extend(warnings);
    }
    for (vhost, limits) in &definitions.limits {
        imported.note(broker.set_vhost_limits(actor, vhost.as_str(), |own| *own = *limits).map_err(refused)?);
    }
    for entry in definitions.queues.iter().flatten() {
        imported.note(declare_queue(&mut rooms, entry)?);
    }
    for entry in definitions.bindings.iter().flatten() {
        imported.note(bind(&mut rooms, entry)?);
    }
    Ok(imported)
}

/// Vhosts that definitions are imported into. Whoever may import may do so whatever its permissions in them.
pub(super) struct Rooms<'a> {
    broker: &'a Arc<Broker>,
    actor: Actor,
    entered: Vec<(VhostName, Inside)>,
}

impl<'a> Rooms<'a> {
    pub(super) fn new(broker: &'a Arc<Broker>, actor: &Actor) -> Self {
        let actor = Actor { identity: Arc::new(Identity::local_operator()), origin: actor.origin };
        Rooms { broker, actor, entered: Vec::new() }
    }

    pub(super) fn enter(&mut self, vhost: &VhostName) -> Result<&Inside, DefinitionsError> {
        // Documents are sorted by vhost more often than not, so the last one is the likeliest.
        let at = match self.entered.iter().rposition(|(name, _)| name == vhost) {
            Some(at) => at,
            None => {
                let inside = self.broker.approach(&self.actor, vhost.as_str());
                self.entered.push((vhost.clone(), inside.ok_or_else(|| no_vhost(vhost.as_str()))?));
                self.entered.len() - 1
            }
        };
        Ok(&self.entered[at].1)
    }
}

fn no_vhost(name: &str) -> DefinitionsError {
    DefinitionsError(format!("Please create virtual host \"{name}\" prior to importing definitions."))
}

fn check_vhost(broker: &Broker, name: &str) -> Result<(), DefinitionsError> {
    if broker.has_vhost(name) { Ok(()) } else { Err(no_vhost(name)) }
}

/// All vhosts that the rest is about must be there before any of it is.
fn check_vhosts(broker: &Broker, definitions: &Definitions) -> Result<(), DefinitionsError> {
    let mut wanted: Vec<&VhostName> = Vec::new();
    wanted.extend(definitions.permissions.iter().flatten().map(|given| &given.vhost));
    wanted.extend(definitions.topic_permissions.iter().flatten().map(|given| &given.vhost));
    wanted.extend(definitions.policies.iter().chain(&definitions.operator_policies).flatten().map(|p| &p.vhost));
    wanted.extend(definitions.exchanges.iter().flatten().map(|exchange| &exchange.vhost));
    wanted.extend(definitions.queues.iter().flatten().map(|queue| &queue.vhost));
    wanted.extend(definitions.bindings.iter().flatten().map(|binding| &binding.vhost));
    wanted.sort_unstable();
    wanted.dedup();
    wanted.into_iter().try_for_each(|name| check_vhost(broker, name.as_str()))
}

fn check_user(broker: &Broker, name: &str) -> Result<(), DefinitionsError> {
    if broker.user(name).is_some() { Ok(()) } else { Err(DefinitionsError(format!("{{no_such_user,<<\"{name}\">>}}"))) }
}

fn told<T>(outcome: Outcome<T>) -> Result<T, DefinitionsError> {
    outcome.map_err(|refusal| DefinitionsError(refusal.text))
}

/// An exchange that is there stays as it is, whatever the document says of it.
fn declare_exchange(rooms: &mut Rooms<'_>, entry: &ExchangeEntry) -> Result<Changed, DefinitionsError> {
    if rooms.broker.exchange_view(entry.vhost.as_str(), entry.name.as_str()).is_some() {
        return Ok(Changed::default());
    }
    let request = ExchangeRequest {
        name: &entry.name,
        kind: entry.kind.as_bytes(),
        is_durable: entry.is_durable,
        is_auto_delete: entry.is_auto_delete,
        is_internal: entry.is_internal,
        arguments: entry.arguments.as_table(),
    };
    told(rooms.enter(&entry.vhost)?.declare_exchange(&request))
}

/// A queue that is there stays as it is, whatever the document says of it.
fn declare_queue(rooms: &mut Rooms<'_>, entry: &QueueEntry) -> Result<Changed, DefinitionsError> {
    if rooms.broker.queue_view(entry.vhost.as_str(), entry.name.as_str()).is_some() {
        return Ok(Changed::default());
    }
    let request = QueueRequest {
        name: &entry.name,
        is_durable: entry.is_durable,
        is_auto_delete: entry.is_auto_delete,
        is_exclusive: false,
        arguments: entry.arguments.as_table(),
    };
    told(rooms.enter(&entry.vhost)?.declare_queue(&request))
}

fn bind(rooms: &mut Rooms<'_>, entry: &BindingEntry) -> Result<Changed, DefinitionsError> {
    let (broker, vhost) = (rooms.broker, entry.vhost.as_str());
    if broker.exchange_view(vhost, entry.source.as_str()).is_none() {
        return Err(missing(vhost, "exchange", entry.source.as_str()));
    }
    let destination = match &entry.destination {
        EndEntry::Queue(name) if broker.queue_view(vhost, name.as_str()).is_none() => {
            return Err(missing(vhost, "queue", name.as_str()));
        }
        EndEntry::Exchange(name) if broker.exchange_view(vhost, name.as_str()).is_none() => {
            return Err(missing(vhost, "exchange", name.as_str()));
        }
        EndEntry::Queue(name) => BindingEnd::Queue(name),
        EndEntry::Exchange(name) => BindingEnd::Exchange(name),
    };
    let request = BindingRequest {
        source: &entry.source,
        destination,
        routing_key: entry.routing_key.as_bytes(),
        arguments: entry.arguments.as_table(),
    };
    told(rooms.enter(&entry.vhost)?.bind(&request))
}

fn missing(vhost: &str, kind: &str, name: &str) -> DefinitionsError {
    let resource = format!("{{resource,<<\"{vhost}\">>,{kind},<<\"{name}\">>}}");
    DefinitionsError(format!("{{resources_missing,[{{not_found,{resource}}}]}}"))
}
