//! Pruning: deleting what a document does not have, so that only objects of the document exist.
//!
//! Only of kinds that the document mentions at all, and never the caller's own user, users and vhosts that are protected, vhosts with
//! open connections, and what belongs to a connection, to every vhost or to the cluster itself.

use std::collections::HashSet;
use std::fmt::Display;
use std::sync::Arc;

use broker::view::{BindingEndView, BindingFilter, BindingView, VhostView};
use broker::{Actor, BindingEnd, BindingRequest, Broker, Changed, ControlError, Positions};
use definitions::{Definitions, DefinitionsError, Scope};
use model::name::{ExchangeName, QueueName, VhostName};
use model::parameter::{GlobalParameter, VhostParameter};
use model::policy::{Policy, PolicyKind};
use model::refusal::{Outcome, RefusalKind};
use model::vhost::VhostLimits;

use super::binding::BindingIdentity;
use super::hidden::{HiddenEnds, is_defined_exchange, is_defined_queue};
use super::import::TargetVhosts;

/// Names by kind; each with its vhost in front of it where it has one.
type Names = Vec<(&'static str, Vec<String>)>;

/// What pruning came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PruneResult {
    /// What it deletes.
    pub deleted: Names,
    /// What the document does not have either and stays, and why.
    pub spared: Names,
    /// When all of it is durable.
    pub position: Positions,
}

fn note(names: &mut Names, kind: &'static str, name: String) {
    match names.iter_mut().find(|(own, _)| *own == kind) {
        Some((_, names)) => names.push(name),
        None => names.push((kind, vec![name])),
    }
}

/// Deletes what a document does not have; or only reports what it would delete.
pub(crate) fn prune(
    broker: &Arc<Broker>,
    actor: &Actor,
    definitions: &Definitions,
    scope: Scope<'_>,
    is_dry_run: bool,
) -> Result<PruneResult, DefinitionsError> {
    let mut run =
        PruneRun { broker, actor, is_dry_run, rooms: TargetVhosts::new(broker, actor), result: PruneResult::default() };
    let vhosts = run.vhosts(definitions, scope)?;
    for vhost in &vhosts {
        run.bindings(definitions, vhost)?;
        run.queues(definitions, vhost)?;
        run.exchanges(definitions, vhost)?;
    }
    run.policies(definitions, &vhosts)?;
    run.limits(definitions, &vhosts)?;
    run.vhost_parameters(definitions, &vhosts)?;
    if scope == Scope::Broker {
        run.global_parameters(definitions)?;
        run.permissions(definitions, &vhosts)?;
        run.users(definitions)?;
    }
    Ok(run.result)
}

struct PruneRun<'a> {
    broker: &'a Arc<Broker>,
    actor: &'a Actor,
    is_dry_run: bool,
    rooms: TargetVhosts<'a>,
    result: PruneResult,
}

/// What no longer exists counts as deleted: auto-delete exchanges are deleted with their last binding.
fn controlled(result: Result<Changed, ControlError>) -> Result<Changed, String> {
    match result {
        Err(ControlError::NotFound(_)) => Ok(Changed::default()),
        other => other.map_err(|error| error.to_string()),
    }
}

/// The same of what happens inside a vhost.
fn or_text(outcome: Outcome<Changed>) -> Result<Changed, String> {
    match outcome {
        Err(refusal) if refusal.kind == RefusalKind::NotFound => Ok(Changed::default()),
        other => other.map_err(|refusal| refusal.text),
    }
}

fn text(error: impl Display) -> String {
    error.to_string()
}

impl PruneRun<'_> {
    fn delete(
        &mut self,
        kind: &'static str,
        what: String,
        delete: impl FnOnce(&mut Self) -> Result<Changed, String>,
    ) -> Result<(), DefinitionsError> {
        if !self.is_dry_run {
            let changed = delete(self).map_err(|reason| {
                DefinitionsError(format!(
                    "{kind}, '{what}' cannot be deleted: {reason}. The objects before it have been deleted."
                ))
            })?;
            self.result.position.add(changed.position);
        }
        note(&mut self.result.deleted, kind, what);
        Ok(())
    }

    fn spare(&mut self, kind: &'static str, name: &str, reason: &str) {
        note(&mut self.result.spared, kind, format!("{name}: {reason}"));
    }

    /// Deletes vhosts that the document does not have, and says which it has: those that are spared are left as they are.
    fn vhosts(&mut self, definitions: &Definitions, scope: Scope<'_>) -> Result<Vec<VhostName>, DefinitionsError> {
        let mut names = self.broker.vhost_names();
        if let Scope::Vhost(only) = scope {
            names.retain(|name| name.as_str() == only);
            return Ok(names);
        }
        let Some(wanted) = &definitions.vhosts else { return Ok(names) };
        let wanted: HashSet<&VhostName> = wanted.iter().map(|entry| &entry.request.name).collect();
        let (kept, deleted): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| wanted.contains(name));
        for name in deleted {
            let Some(view) = self.broker.vhost_view(name.as_str()) else { continue };
            if let Some(reason) = reason_to_stay(&view) {
                self.spare("vhosts", name.as_str(), &reason);
                continue;
            }
            self.delete("vhosts", name.to_string(), |own| {
                controlled(own.broker.delete_vhost(own.actor, name.as_str()))
            })?;
        }
        Ok(kept)
    }

    fn bindings(&mut self, definitions: &Definitions, vhost: &VhostName) -> Result<(), DefinitionsError> {
        let Some(wanted) = &definitions.bindings else { return Ok(()) };
        let of_vhost = wanted.iter().filter(|entry| entry.vhost == *vhost);
        let wanted: HashSet<BindingIdentity> = of_vhost.map(|entry| BindingIdentity::of_entry(entry)).collect();
        let hidden = HiddenEnds::of(self.broker, vhost.as_str());
        for view in self.broker.binding_views(vhost.as_str(), BindingFilter::All) {
            if hidden.identity(&view).is_none_or(|identity| wanted.contains(&identity)) {
                continue;
            }
            let (BindingEndView::Queue(name) | BindingEndView::Exchange(name)) = &view.destination;
            let what = format!("{vhost}: {} to {name} by {}", view.source, String::from_utf8_lossy(&view.routing_key));
            self.delete("bindings", what, |own| own.unbind(vhost, &view))?;
        }
        Ok(())
    }

    fn unbind(&mut self, vhost: &VhostName, view: &BindingView) -> Result<Changed, String> {
        let (queue, exchange);
        let destination = match &view.destination {
            BindingEndView::Queue(name) => {
                queue = QueueName::parse(name.as_bytes()).map_err(text)?;
                BindingEnd::Queue(&queue)
            }
            BindingEndView::Exchange(name) => {
                exchange = ExchangeName::parse(name.as_bytes()).map_err(text)?;
                BindingEnd::Exchange(&exchange)
            }
        };
        let source = ExchangeName::parse(view.source.as_bytes()).map_err(text)?;
        let (routing_key, arguments) = (&view.routing_key, view.arguments.as_table());
        let request = BindingRequest { source: &source, destination, routing_key, arguments };
        or_text(self.rooms.enter(vhost)?.unbind(&request))
    }

    fn queues(&mut self, definitions: &Definitions, vhost: &VhostName) -> Result<(), DefinitionsError> {
        let Some(wanted) = &definitions.queues else { return Ok(()) };
        let wanted: HashSet<&str> =
            wanted.iter().filter(|entry| entry.vhost == *vhost).map(|entry| entry.name.as_str()).collect();
        for view in self.broker.queue_views(vhost.as_str()) {
            let name = view.definition().name.clone();
            if !is_defined_queue(&view) || wanted.contains(name.as_str()) {
                continue;
            }
            self.delete("queues", format!("{vhost}: {name}"), |own| {
                or_text(own.rooms.enter(vhost)?.delete_queue(&name, false, false))
            })?;
        }
        Ok(())
    }

    fn exchanges(&mut self, definitions: &Definitions, vhost: &VhostName) -> Result<(), DefinitionsError> {
        let Some(wanted) = &definitions.exchanges else { return Ok(()) };
        let wanted: HashSet<&str> =
            wanted.iter().filter(|entry| entry.vhost == *vhost).map(|entry| entry.name.as_str()).collect();
        for view in self.broker.exchange_views(vhost.as_str()) {
            let name = view.definition.name.clone();
            if !is_defined_exchange(&view) || wanted.contains(name.as_str()) {
                continue;
            }
            self.delete("exchanges", format!("{vhost}: {name}"), |own| {
                or_text(own.rooms.enter(vhost)?.delete_exchange(&name, false))
            })?;
        }
        Ok(())
    }

    /// All of a vhost at once: each time its queues are looked at.
    fn policies(&mut self, definitions: &Definitions, vhosts: &[VhostName]) -> Result<(), DefinitionsError> {
        let kinds = [
            (PolicyKind::User, "policies", &definitions.policies),
            (PolicyKind::Operator, "operator_policies", &definitions.operator_policies),
        ];
        for (kind, title, wanted) in kinds {
            let Some(wanted) = wanted else { continue };
            let wanted: HashSet<(&str, &str)> =
                wanted.iter().map(|request| (request.vhost.as_str(), &*request.name)).collect();
            let policies = self.broker.policies(kind);
            for vhost in vhosts {
                let is_extra =
                    |policy: &Policy| policy.kind == kind && !wanted.contains(&(vhost.as_str(), &*policy.name));
                let of_vhost = policies.iter().filter(|policy| policy.vhost == *vhost && is_extra(policy));
                let names: Vec<String> = of_vhost.map(|policy| policy.name.to_string()).collect();
                let Some((last, others)) = names.split_last() else { continue };
                self.delete(title, format!("{vhost}: {last}"), |own| {
                    let deleted = own.broker.delete_policies(own.actor, vhost.as_str(), is_extra);
                    controlled(deleted.map(|(_, changed)| changed))
                })?;
                for name in others {
                    note(&mut self.result.deleted, title, format!("{vhost}: {name}"));
                }
            }
        }
        Ok(())
    }

    /// Limits of vhosts are parameters, and members of the vhosts themselves.
    fn limits(&mut self, definitions: &Definitions, vhosts: &[VhostName]) -> Result<(), DefinitionsError> {
        if definitions.operator_policies.is_none() {
            return Ok(());
        }
        let of_vhosts = definitions.vhosts.iter().flatten().filter(|entry| entry.limits.is_some());
        let wanted: HashSet<&VhostName> =
            definitions.limits.iter().map(|entry| &entry.0).chain(of_vhosts.map(|entry| &entry.request.name)).collect();
        for vhost in vhosts {
            let Some(view) = self.broker.vhost_view(vhost.as_str()) else { continue };
            if wanted.contains(vhost) || view.facts.limits == VhostLimits::default() {
                continue;
            }
            self.delete("vhost_limits", vhost.to_string(), |own| {
                controlled(own.broker.set_vhost_limits(own.actor, vhost.as_str(), |own| *own = VhostLimits::default()))
            })?;
        }
        Ok(())
    }

    fn vhost_parameters(&mut self, definitions: &Definitions, vhosts: &[VhostName]) -> Result<(), DefinitionsError> {
        let Some(wanted) = &definitions.vhost_parameters else { return Ok(()) };
        let wanted: HashSet<_> = wanted.iter().map(|entry| (&entry.vhost, &*entry.component, &*entry.name)).collect();
        for VhostParameter { vhost, component, name, value: _ } in self.broker.vhost_parameters(None, None) {
            if !vhosts.contains(&vhost) || wanted.contains(&(&vhost, &*component, &*name)) {
                continue;
            }
            self.delete("parameters", format!("{vhost}: {component} {name}"), |own| {
                controlled(own.broker.delete_vhost_parameter(own.actor, vhost.as_str(), &component, &name))
            })?;
        }
        Ok(())
    }

    fn global_parameters(&mut self, definitions: &Definitions) -> Result<(), DefinitionsError> {
        let Some(wanted) = &definitions.global_parameters else { return Ok(()) };
        let wanted: HashSet<&str> = wanted.iter().map(|parameter| &*parameter.name).collect();
        for parameter in self.broker.global_parameters() {
            let is_of_cluster =
                [GlobalParameter::CLUSTER_NAME, GlobalParameter::CLUSTER_ID].contains(&&*parameter.name);
            if is_of_cluster || wanted.contains(&*parameter.name) {
                continue;
            }
            self.delete("global_parameters", parameter.name.to_string(), |own| {
                controlled(own.broker.delete_global_parameter(own.actor, &parameter.name))
            })?;
        }
        Ok(())
    }

    fn permissions(&mut self, definitions: &Definitions, vhosts: &[VhostName]) -> Result<(), DefinitionsError> {
        let vhosts: HashSet<&VhostName> = vhosts.iter().collect();
        if let Some(wanted) = &definitions.permissions {
            let wanted: HashSet<_> = wanted.iter().map(|given| (&given.user, &given.vhost)).collect();
            for given in self.broker.permissions() {
                let is_left = wanted.contains(&(&given.user, &given.vhost)) || !vhosts.contains(&given.vhost);
                if is_left || self.reason_to_keep(given.user.as_str()).is_some() {
                    continue;
                }
                self.delete("permissions", format!("{}: {}", given.vhost, given.user), |own| {
                    controlled(own.broker.delete_permission(own.actor, given.user.as_str(), given.vhost.as_str()))
                })?;
            }
        }
        let Some(wanted) = &definitions.topic_permissions else { return Ok(()) };
        let wanted: HashSet<_> = wanted.iter().map(|given| (&given.user, &given.vhost, &given.exchange)).collect();
        for given in self.broker.topic_permissions() {
            let is_wanted = wanted.contains(&(&given.user, &given.vhost, &given.exchange));
            if is_wanted || !vhosts.contains(&given.vhost) || self.reason_to_keep(given.user.as_str()).is_some() {
                continue;
            }
            let what = format!("{}: {} on {}", given.vhost, given.user, given.exchange);
            self.delete("topic_permissions", what, |own| {
                let (user, vhost, exchange) = (given.user.as_str(), given.vhost.as_str(), given.exchange.as_str());
                controlled(own.broker.delete_topic_permissions(own.actor, user, vhost, Some(exchange)))
            })?;
        }
        Ok(())
    }

    fn users(&mut self, definitions: &Definitions) -> Result<(), DefinitionsError> {
        let Some(wanted) = &definitions.users else { return Ok(()) };
        let wanted: HashSet<_> = wanted.iter().map(|request| &request.name).collect();
        for user in self.broker.users() {
            if wanted.contains(&user.name) {
                continue;
            }
            if let Some(reason) = self.reason_to_keep(user.name.as_str()) {
                self.spare("users", user.name.as_str(), reason);
                continue;
            }
            self.delete("users", user.name.to_string(), |own| {
                controlled(own.broker.delete_user(own.actor, user.name.as_str()))
            })?;
        }
        Ok(())
    }

    /// The caller's own user stays, and so do users that are protected.
    fn reason_to_keep(&self, user: &str) -> Option<&'static str> {
        if self.actor.identity.name() == user {
            return Some("it is the user of the request");
        }
        self.broker.user(user).filter(|user| user.tags.has("protected")).map(|_| "it is protected")
    }
}

/// Why a vhost is not deleted although the document does not have it. Deleting one in use would delete exclusive queues and close
/// connections: an operator who wants that deletes it by its name.
fn reason_to_stay(view: &VhostView) -> Option<String> {
    if view.facts.is_protected {
        return Some("it is protected".to_owned());
    }
    (view.connection_count > 0).then(|| format!("it has open connections ({})", view.connection_count))
}
