//! Importing: making what a document says, in RabbitMQ's order but for policies, which come after queues, and parameters of
//! vhosts, which come last.

use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::sync::Arc;

use broker::view::BindingFilter;
use broker::{Actor, Broker, Changed, Identity, Positions, VhostAccess};
use definitions::{BindingEntry, Definitions, DefinitionsError, ExchangeEntry, QueueEntry, Scope, Unsupported};
use model::name::VhostName;
use model::refusal::Outcome;

use super::binding::BindingIdentity;
use super::check::{check, no_vhost};
use super::requests;

/// What an import came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportResult {
    /// When all of it is durable; see [`Broker::until_durable`].
    pub position: Positions,
    /// What has no effect.
    pub warnings: Vec<String>,
    /// What this broker cannot do and was left out.
    pub left_out: Vec<String>,
}

impl ImportResult {
    fn note(&mut self, changed: Changed) {
        self.position.add(changed.position);
    }
}

/// Imports a document that passes [`check`]. Doing it twice is the same as once.
pub fn import(
    broker: &Arc<Broker>,
    actor: &Actor,
    definitions: &mut Definitions,
    scope: Scope<'_>,
    unsupported: Unsupported,
) -> Result<ImportResult, DefinitionsError> {
    check(broker, definitions, scope, unsupported)?;
    let definitions = &*definitions;
    let mut imported = ImportResult {
        position: Positions::NONE,
        warnings: definitions.warnings.clone(),
        left_out: definitions.unsupported.clone(),
    };
    for entry in definitions.users.iter().flatten() {
        if broker.check_unprotected(actor, entry.name.as_str()).is_err() {
            imported.warnings.push(format!("{} was not changed: it is protected", entry.place));
            continue;
        }
        imported.note(broker.put_user(actor, (**entry).clone()).map_err(|error| late(&entry.place, error))?);
    }
    for entry in definitions.vhosts.iter().flatten() {
        let refused = |error| late(&entry.place, error);
        imported.note(broker.put_vhost(actor, entry.request.clone()).map_err(refused)?);
        if let Some(limits) = entry.limits {
            let name = entry.request.name.as_str();
            imported.note(broker.set_vhost_limits(actor, name, |own| *own = limits).map_err(refused)?);
        }
    }
    for entry in definitions.permissions.iter().flatten() {
        imported.note(broker.put_permission(actor, (**entry).clone()).map_err(|error| late(&entry.place, error))?);
    }
    let mut rooms = TargetVhosts::new(broker, actor);
    for entry in definitions.exchanges.iter().flatten() {
        if entry.is_reserved() {
            if broker.exchange_type(entry.vhost.as_str(), entry.name.as_str()).is_none() {
                imported.warnings.push(format!("{} was left out: its name is reserved", entry.place));
            }
            continue;
        }
        imported.note(declare_exchange(&mut rooms, entry).map_err(|reason| late(&entry.place, reason))?);
    }
    for entry in definitions.topic_permissions.iter().flatten() {
        let set = broker.put_topic_permission(actor, (**entry).clone());
        imported.note(set.map_err(|error| late(&entry.place, error))?);
    }
    for entry in definitions.global_parameters.iter().flatten() {
        let set = broker.put_global_parameter(actor, &entry.name, entry.value.clone());
        imported.note(set.map_err(|error| late(&entry.place, error))?);
    }
    for entry in &definitions.limits {
        let (vhost, limits) = &**entry;
        let set = broker.set_vhost_limits(actor, vhost.as_str(), |own| *own = *limits);
        imported.note(set.map_err(|error| late(&entry.place, error))?);
    }
    for entry in definitions.queues.iter().flatten() {
        imported.note(declare_queue(&mut rooms, entry).map_err(|reason| late(&entry.place, reason))?);
    }
    // After queues: a policy that gives an exchange shards finds those of the document, and makes no others.
    let policies: Vec<_> = definitions.policies.iter().chain(&definitions.operator_policies).flatten().collect();
    if !policies.is_empty() {
        let requests = policies.iter().map(|entry| (***entry).clone()).collect();
        let (changed, warnings) = broker.put_policies(actor, requests).map_err(|error| late(&"policies", error))?;
        imported.note(changed);
        imported.warnings.extend(warnings);
    }
    for entry in definitions.bindings.iter().flatten() {
        imported.note(bind(&mut rooms, entry).map_err(|reason| late(&entry.place, reason))?);
    }
    // Last: what shovels move between is there before they start.
    for entry in definitions.vhost_parameters.iter().flatten() {
        let set = broker.put_vhost_parameter(actor, (**entry).clone());
        imported.note(set.map_err(|error| late(&entry.place, error))?);
    }
    Ok(imported)
}

/// Why something could not be done although it has been checked: the broker has been changed meanwhile.
fn late(place: &impl Display, reason: impl Display) -> DefinitionsError {
    DefinitionsError(format!("{place}: {reason}. The entries before it have been imported."))
}

/// Vhosts that definitions are imported into. A user who may import needs no permissions in them.
pub(super) struct TargetVhosts<'a> {
    broker: &'a Arc<Broker>,
    actor: Actor,
    entered: Vec<(VhostName, VhostAccess)>,
    /// The bindings that were there at first, by vhost.
    bindings: HashMap<VhostName, HashSet<BindingIdentity>>,
}

impl<'a> TargetVhosts<'a> {
    pub(super) fn new(broker: &'a Arc<Broker>, actor: &Actor) -> Self {
        let actor = Actor { identity: Arc::new(Identity::local_operator()), origin: actor.origin };
        TargetVhosts { broker, actor, entered: Vec::new(), bindings: HashMap::new() }
    }

    pub(super) fn enter(&mut self, vhost: &VhostName) -> Result<&VhostAccess, String> {
        // Documents are sorted by vhost more often than not, so the last one is the likeliest.
        let at = match self.entered.iter().rposition(|(name, _)| name == vhost) {
            Some(at) => at,
            None => {
                let inside = self.broker.open_vhost(&self.actor, vhost.as_str());
                self.entered.push((vhost.clone(), inside.ok_or_else(|| no_vhost(vhost.as_str()))?));
                self.entered.len() - 1
            }
        };
        Ok(&self.entered[at].1)
    }

    /// Whether there is a binding that is exported as this one is.
    fn has_binding(&mut self, entry: &BindingEntry) -> bool {
        let bindings = self.bindings.entry(entry.vhost.clone()).or_insert_with(|| {
            let views = self.broker.binding_views(entry.vhost.as_str(), BindingFilter::All);
            views.iter().filter_map(BindingIdentity::of_view).collect()
        });
        bindings.contains(&BindingIdentity::of_entry(entry))
    }
}

fn or_text(outcome: Outcome<Changed>) -> Result<Changed, String> {
    outcome.map_err(|refusal| refusal.text)
}

/// An exchange that is there stays as it is, whatever the document says of it.
fn declare_exchange(rooms: &mut TargetVhosts<'_>, entry: &ExchangeEntry) -> Result<Changed, String> {
    if rooms.broker.exchange_type(entry.vhost.as_str(), entry.name.as_str()).is_some() {
        return Ok(Changed::default());
    }
    or_text(rooms.enter(&entry.vhost)?.declare_exchange(&requests::exchange(entry)))
}

/// A queue that is there stays as it is, whatever the document says of it.
fn declare_queue(rooms: &mut TargetVhosts<'_>, entry: &QueueEntry) -> Result<Changed, String> {
    if rooms.broker.queue_view(entry.vhost.as_str(), entry.name.as_str()).is_some() {
        return Ok(Changed::default());
    }
    or_text(rooms.enter(&entry.vhost)?.import_queue(&requests::queue(entry)))
}

fn bind(rooms: &mut TargetVhosts<'_>, entry: &BindingEntry) -> Result<Changed, String> {
    if rooms.has_binding(entry) {
        return Ok(Changed::default());
    }
    or_text(rooms.enter(&entry.vhost)?.bind(&requests::binding(entry)))
}
