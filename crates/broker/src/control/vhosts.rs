//! Vhosts: made, changed, deleted.

use definitions::{PasswordChange, PolicyRequest, UserRequest, VhostRequest};
use engine::Positions;
use model::arguments::QueueType;
use model::definition::{Definition, UserPermission};
use model::name::VhostName;
use model::parameter::VHOST_LIMITS_NAME;
use model::policy::PolicyKind;
use model::vhost::{Vhost as Facts, VhostLimits};
use store::RecordBatch;

use super::{ControlError, invalid, not_found};
use crate::broker::Broker;
use crate::changed::Changed;
use crate::events::Event;
use crate::identity::Actor;
use crate::long_turns::take_long;
use crate::recovery::declare_event_exchange;
use crate::vhost::{DeleteConditions, Deletion, Vhost};
use engine::outbox::ConnectionEvent;

/// Gives a vhost what is requested of it.
fn apply(request: VhostRequest, facts: &mut Facts) {
    let metadata = &mut facts.metadata;
    metadata.description = request.description.unwrap_or_else(|| std::mem::take(&mut metadata.description));
    metadata.tags = request.tags.unwrap_or_else(|| std::mem::take(&mut metadata.tags));
    if let Some(queue_type) = request.default_queue_type {
        metadata.default_queue_type = Some(queue_type).filter(|name| !name.is_empty());
    }
    facts.is_protected = request.is_protected.unwrap_or(facts.is_protected);
}

impl Broker {
    /// Makes a vhost, or changes what is said about it.
    pub fn put_vhost(&self, actor: &Actor, request: VhostRequest) -> Result<Changed, ControlError> {
        request.check().or_else(invalid)?;
        let (name, is_traced) = (request.name.clone(), request.is_traced);
        let mut changed = loop {
            if let Some(vhost) = self.vhosts.get(name.as_str()) {
                break self.change_vhost(&vhost, |facts| apply(request, facts));
            }
            let mut facts = self.new_vhost(name.clone());
            apply(request.clone(), &mut facts);
            let definition = Definition::Vhost(facts.clone());
            let added = self.vhosts.add(Vhost::new(facts, self.hash_seed), || self.put_definition(&definition));
            // None: another operator has made it meanwhile.
            if let Some(position) = added {
                break Changed { is_new: true, position };
            }
        };
        if let Some(is_traced) = is_traced {
            self.trace_vhost(name.as_str(), is_traced);
        }
        if let Some(vhost) = self.vhosts.get(name.as_str()) {
            if changed.is_new && name == self.options.default_user.vhost {
                changed.position.add(declare_event_exchange(self, &vhost).position);
            }
            let event = if changed.is_new { "vhost.created" } else { "vhost.updated" };
            self.emit_by(actor, Event::of_vhost(event, &vhost.facts()));
        }
        if !changed.is_new {
            return Ok(changed);
        }
        if let Some(limits) = self.options.vhost_defaults.limits_of(&name) {
            self.emit_by(actor, event_of_limits(name.as_str(), &limits));
        }
        let furnished = self.create_default_exchanges(actor, &name)?;
        Ok(Changed { position: changed.position.and(furnished), ..changed })
    }

    /// A vhost with the limits that the configuration has for it.
    pub(crate) fn new_vhost(&self, name: VhostName) -> Facts {
        let limits = self.options.vhost_defaults.limits_of(&name).unwrap_or_default();
        Facts { limits, ..Facts::new(name) }
    }

    /// Gives a new vhost the users and the operators' policies that the configuration has for it. A user that is there already keeps its
    /// password and its tags.
    pub(crate) fn create_default_exchanges(&self, actor: &Actor, vhost: &VhostName) -> Result<Positions, ControlError> {
        let mut position = Positions::NONE;
        for default in self.options.vhost_defaults.users_of(vhost) {
            if self.users.get(default.name.as_str()).is_none() {
                let password = default.password.clone().map_or(PasswordChange::Clear, PasswordChange::Plain);
                let mut request = UserRequest::named(default.name.clone(), password);
                request.tags = Some(default.tags.clone());
                self.put_user(actor, request)?;
            }
            let (vhost, user) = (vhost.clone(), default.name.clone());
            let permission = default.permission.clone();
            position.add(self.put_permission(actor, UserPermission { vhost, user, permission })?.position);
        }
        let policies = self.options.vhost_defaults.policies_of(vhost).map(|default| PolicyRequest {
            vhost: vhost.clone(),
            name: default.name.clone(),
            kind: PolicyKind::Operator,
            pattern: default.pattern.clone(),
            apply_to: default.apply_to,
            priority: 0,
            definition: default.definition.clone(),
        });
        let policies: Vec<PolicyRequest> = policies.collect();
        if !policies.is_empty() {
            let (changed, _) = self.put_policies(actor, policies)?;
            position.add(changed.position);
        }
        Ok(position)
    }

    /// From now on messages of a vhost are traced, or no longer: until the broker ends. Says whether there is such a vhost.
    pub fn trace_vhost(&self, name: &str, is_traced: bool) -> bool {
        let is_there = self.vhosts.get(name).is_some();
        if is_there {
            self.firehose.turn(&self.engine, &self.options.node, name, is_traced);
        }
        is_there
    }

    fn change_vhost(&self, vhost: &Vhost, change: impl FnOnce(&mut Facts)) -> Changed {
        let record = |facts: &Facts| self.put_definition(&Definition::Vhost(facts.clone()));
        let ((), position) = vhost.change_facts(change, record);
        Changed { is_new: false, position }
    }

    /// Protects a vhost from being deleted, or no longer.
    pub fn protect_vhost(&self, actor: &Actor, name: &str, is_protected: bool) -> Result<Changed, ControlError> {
        let Some(vhost) = self.vhosts.get(name) else { return no_vhost(name) };
        let changed = self.change_vhost(&vhost, |facts| facts.is_protected = is_protected);
        self.emit_by(actor, Event::of_vhost("vhost.updated", &vhost.facts()));
        Ok(changed)
    }

    /// Sets how much a vhost may have at once.
    pub fn set_vhost_limits(
        &self,
        actor: &Actor,
        name: &str,
        change: impl FnOnce(&mut VhostLimits),
    ) -> Result<Changed, ControlError> {
        let Some(vhost) = self.vhosts.get(name) else { return no_vhost(name) };
        let changed = self.change_vhost(&vhost, |facts| change(&mut facts.limits));
        self.emit_by(actor, event_of_limits(name, &vhost.facts().limits));
        Ok(changed)
    }

    /// Deletes a vhost with everything in it, and closes its connections.
    pub fn delete_vhost(&self, actor: &Actor, name: &str) -> Result<Changed, ControlError> {
        let Some(vhost) = self.vhosts.get(name) else { return no_vhost(name) };
        if vhost.facts().is_protected {
            return Err(ControlError::Protected(format!(
                "Cannot delete virtual host '{name}': it is protected from deletion"
            )));
        }
        // No client can open the vhost from here on.
        let removed = {
            let _opening = self.opening.lock();
            let mut deleted = self.statistics.deleted_vhosts.lock();
            let removed = self.vhosts.remove(name);
            deleted.leave_all(removed.iter().map(|vhost| vhost.counters.clone()));
            removed
        };
        let Some(vhost) = removed else { return no_vhost(name) };
        vhost.close_for_good();
        vhost.notify_federation(self);
        self.firehose.turn(&self.engine, &self.options.node, name, false);
        let reason = format!("vhost '{name}' is deleted");
        let is_in_it = |connection: &crate::connections::ConnectionHandle| {
            connection.opened.get().is_some_and(|opened| opened.vhost.as_str() == name)
        };
        take_long(|| self.delete_queues_of(actor, &vhost));
        for exchange in vhost.exchanges().iter().filter(|exchange| !exchange.name.is_default()) {
            self.emit_by(actor, Event::exchange_deleted(vhost.name(), &exchange.name));
        }
        self.connections.notify(is_in_it, || ConnectionEvent::Close { reason: reason.clone() });
        let mut records = RecordBatch::new();
        vhost.forget_all(&mut records);
        for policy in &*vhost.policies() {
            records.delete(&Definition::Policy((**policy).clone()).key());
        }
        let parameters = vhost.forget_parameters(&mut records);
        self.engine.append(&mut records);
        self.emit_parameters_cleared(actor, &parameters);
        vhost.delays().iter().for_each(|set| set.forget(&self.engine));
        vhost.exchange_keys().values().for_each(|keys| keys.forget(&self.engine));
        self.users.forget_vhost(
            vhost.name(),
            |permission| {
                self.delete(&Definition::Permission(permission.clone()));
            },
            |topic| {
                self.delete(&Definition::TopicPermission(topic.clone()));
            },
        );
        // Last: after a crash the vhost is still there, with what is left in it, and can be deleted again.
        let position = self.delete(&Definition::Vhost(Facts::clone(&vhost.facts())));
        self.emit_by(actor, Event::new("vhost.deleted").with_text("name", name));
        Ok(Changed { is_new: false, position })
    }

    fn delete_queues_of(&self, actor: &Actor, vhost: &Vhost) {
        for queue in vhost.queues() {
            let deletion = vhost.delete_queue(self, &queue, DeleteConditions::default());
            if let Deletion::Deleted { removed, .. } = deletion {
                self.emit_removals_with_queue(&queue, &removed);
                self.emit_by(actor, Event::queue_deleted(&queue));
            }
        }
    }
}

impl Broker {
    /// The type of queues that are declared without one in a vhost.
    #[must_use]
    pub fn default_queue_type(&self, vhost: &Facts) -> QueueType {
        let own = vhost.metadata.default_queue_type.as_deref().and_then(|name| QueueType::parse(name.as_bytes()));
        own.unwrap_or(self.options.default_queue_type)
    }

    /// The type of queues that are declared without one in the vhost of this name, if it is there, or else in a new one.
    #[must_use]
    pub fn default_queue_type_in(&self, vhost: &str) -> QueueType {
        let vhost = self.vhosts.get(vhost);
        vhost.map_or(self.options.default_queue_type, |vhost| self.default_queue_type(&vhost.facts()))
    }
}

fn event_of_limits(vhost: &str, limits: &VhostLimits) -> Event {
    let event = match *limits == VhostLimits::default() {
        true => Event::new("vhost.limits.cleared"),
        false => {
            limits.iter().fold(Event::new("vhost.limits.set"), |event, (name, limit)| event.with_number(name, limit))
        }
    };
    event.with_text("name", VHOST_LIMITS_NAME).with_text("vhost", vhost)
}

pub(crate) fn no_vhost<T>(name: &str) -> Result<T, ControlError> {
    not_found(format!("vhost '{name}' not found"))
}
