//! Policies of both kinds: set, applied at once, deleted.

use std::collections::BTreeMap;
use std::sync::Arc;

use definitions::PolicyRequest;
use model::definition::Definition;
use model::name::VhostName;
use model::policy::{ChangedPolicies, Policy, PolicyKind};
use store::RecordBatch;

use super::vhosts::no_vhost;
use super::{ControlError, invalid, not_found};
use crate::broker::Broker;
use crate::changed::Changed;
use crate::events::Event;
use crate::identity::Actor;
use crate::long_turns::take_long;
use crate::vhost::{PolicyPass, Vhost};

impl Broker {
    /// All policies of a kind, by vhost and name.
    #[must_use]
    pub fn policies(&self, kind: PolicyKind) -> Vec<Arc<Policy>> {
        let of_vhost = |vhost: Arc<Vhost>| vhost.policies().to_vec();
        self.vhosts.all().into_iter().flat_map(of_vhost).filter(|policy| policy.kind == kind).collect()
    }

    /// The policies of a vhost, of both kinds, by name.
    #[must_use]
    pub fn all_policies_of(&self, vhost: &str) -> Arc<[Arc<Policy>]> {
        self.vhosts.get(vhost).map(|vhost| vhost.policies()).unwrap_or_default()
    }

    /// Sets a policy, which holds at once. The second are remarks about keys that have no effect.
    pub fn put_policy(&self, actor: &Actor, request: PolicyRequest) -> Result<(Changed, Vec<String>), ControlError> {
        self.put_policies(actor, vec![request])
    }

    /// Sets policies, which hold at once: each vhost's queues are looked at once, however many policies there are. None is
    /// set if one of them cannot be.
    pub fn put_policies(
        &self,
        actor: &Actor,
        requests: Vec<PolicyRequest>,
    ) -> Result<(Changed, Vec<String>), ControlError> {
        let (application, warnings) = self.begin_policies(actor, requests)?;
        Ok((application.finish(self), warnings))
    }

    /// The same, in turns: the policies hold at once, and objects follow them as the application proceeds.
    pub fn begin_policies(
        &self,
        actor: &Actor,
        requests: Vec<PolicyRequest>,
    ) -> Result<(PolicyApplication, Vec<String>), ControlError> {
        let mut of_vhosts: BTreeMap<VhostName, Vec<Arc<Policy>>> = BTreeMap::new();
        let mut warnings = Vec::new();
        for request in requests {
            if self.vhosts.get(request.vhost.as_str()).is_none() {
                return no_vhost(request.vhost.as_str());
            }
            let (policy, remarks) = request.into_policy().or_else(invalid)?;
            for warning in &remarks {
                tracing::warn!(vhost = %policy.vhost, policy = %policy.name, %warning, "policy was accepted with a remark");
            }
            warnings.extend(remarks);
            of_vhosts.entry(policy.vhost.clone()).or_default().push(Arc::new(policy));
        }
        let mut application = PolicyApplication::new(actor);
        for (name, policies) in of_vhosts {
            let Some(vhost) = self.vhosts.get(name.as_str()) else { return no_vhost(name.as_str()) };
            self.put_policies_of(&mut application, &vhost, &policies);
        }
        Ok((application, warnings))
    }

    fn put_policies_of(&self, application: &mut PolicyApplication, vhost: &Arc<Vhost>, wanted: &[Arc<Policy>]) {
        let mut records = RecordBatch::new();
        for policy in wanted {
            let definition = Definition::Policy(Policy::clone(policy));
            records.put(&definition.key(), &definition.encode());
        }
        let (changed, pass) = vhost.change_policies(wanted.iter().collect(), |policies| {
            let mut is_new = false;
            for policy in wanted {
                match policies.binary_search_by(|other| (&other.name, other.kind).cmp(&(&policy.name, policy.kind))) {
                    Ok(at) => policies[at] = policy.clone(),
                    Err(at) => {
                        policies.insert(at, policy.clone());
                        is_new = true;
                    }
                }
            }
            Changed { is_new, position: self.engine.append(&mut records) }
        });
        for policy in wanted {
            let event = event_of(policy, ["policy.set", "operator.policy.set"]).with_policy(policy);
            self.emit_by(&application.actor, event);
            self.emit_parameter_of(&application.actor, "parameter.set", policy);
        }
        application.add(changed, pass);
    }

    /// Deletes a policy; what it set ends at once.
    pub fn delete_policy(
        &self,
        actor: &Actor,
        kind: PolicyKind,
        vhost: &str,
        name: &str,
    ) -> Result<Changed, ControlError> {
        Ok(self.begin_policy_deletion(actor, kind, vhost, name)?.finish(self))
    }

    /// The same, in turns.
    pub fn begin_policy_deletion(
        &self,
        actor: &Actor,
        kind: PolicyKind,
        vhost: &str,
        name: &str,
    ) -> Result<PolicyApplication, ControlError> {
        let is_meant = |policy: &Policy| policy.kind == kind && *policy.name == *name;
        let (count, application) = self.begin_deletions(actor, vhost, is_meant)?;
        if count == 0 {
            return not_found(format!("no policy '{name}' in vhost '{vhost}'"));
        }
        Ok(application)
    }

    /// Deletes policies of a vhost; what they set ends at once. Returns how many there were.
    pub fn delete_policies(
        &self,
        actor: &Actor,
        vhost: &str,
        is_meant: impl Fn(&Policy) -> bool,
    ) -> Result<(usize, Changed), ControlError> {
        let (count, application) = self.begin_deletions(actor, vhost, is_meant)?;
        Ok((count, application.finish(self)))
    }

    fn begin_deletions(
        &self,
        actor: &Actor,
        vhost: &str,
        is_meant: impl Fn(&Policy) -> bool,
    ) -> Result<(usize, PolicyApplication), ControlError> {
        let Some(vhost) = self.vhosts.get(vhost) else { return no_vhost(vhost) };
        let names: ChangedPolicies = vhost.policies().iter().filter(|policy| is_meant(policy)).collect();
        let ((deleted, position), pass) = vhost.change_policies(names.clone(), |policies| {
            let (deleted, kept): (Vec<_>, Vec<_>) = policies.drain(..).partition(|policy| names.has(policy));
            *policies = kept;
            let mut records = RecordBatch::new();
            for policy in &deleted {
                records.delete(&Definition::Policy(Policy::clone(policy)).key());
            }
            (deleted, self.engine.append(&mut records))
        });
        for policy in &deleted {
            self.emit_by(actor, event_of(policy, ["policy.cleared", "operator.policy.cleared"]));
            self.emit_parameter_of(actor, "parameter.cleared", policy);
        }
        let mut application = PolicyApplication::new(actor);
        application.add(Changed { is_new: false, position }, pass);
        Ok((deleted.len(), application))
    }

    /// An operator's policy is a parameter of its vhost, too, as in RabbitMQ.
    fn emit_parameter_of(&self, actor: &Actor, name: &'static str, policy: &Policy) {
        if policy.kind == PolicyKind::User {
            return;
        }
        let event = Event::new(name)
            .with_text("component", "operator_policy")
            .with_text("name", &policy.name)
            .with_text("vhost", policy.vhost.as_str());
        let value = Event::new(name).with_policy(policy).fields;
        let is_set = name == "parameter.set";
        self.emit_by(actor, if is_set { event.with_table("value", value.as_table()) } else { event });
    }
}

/// Policies that have been changed, on their way to the queues and exchanges that they are for. It has to be brought to its end.
#[must_use]
pub struct PolicyApplication {
    actor: Actor,
    passes: Vec<PolicyPass>,
    changed: Changed,
}

impl PolicyApplication {
    fn new(actor: &Actor) -> Self {
        Self { actor: actor.clone(), passes: Vec::new(), changed: Changed::default() }
    }

    fn add(&mut self, changed: Changed, pass: PolicyPass) {
        self.passes.push(pass);
        self.changed.is_new |= changed.is_new;
        self.changed.position.add(changed.position);
    }

    /// Brings them to some more queues and exchanges. What the change came to, when there are no more.
    pub fn turn(&mut self, broker: &Broker) -> Option<Changed> {
        let Some(pass) = self.passes.last_mut() else { return Some(self.changed) };
        let turn = pass.turn(broker);
        for (queue, policy) in turn.changed.iter().filter(|_| broker.has_listeners()) {
            broker.emit_by(&self.actor, Event::queue_policy(queue, policy.as_deref()));
        }
        if let Some(position) = turn.end {
            self.changed.position.add(position);
            self.passes.pop();
        }
        self.passes.is_empty().then_some(self.changed)
    }

    /// Brings them to all.
    pub fn finish(mut self, broker: &Broker) -> Changed {
        take_long(|| {
            loop {
                if let Some(changed) = self.turn(broker) {
                    return changed;
                }
            }
        })
    }
}

fn event_of(policy: &Policy, [users, operators]: [&'static str; 2]) -> Event {
    let name = match policy.kind {
        PolicyKind::User => users,
        PolicyKind::Operator => operators,
    };
    Event::new(name).with_text("name", &policy.name).with_text("vhost", policy.vhost.as_str())
}
