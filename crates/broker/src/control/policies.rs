//! Policies of both kinds: set, applied at once, deleted.

use std::sync::Arc;

use model::definition::Definition;
use model::name::VhostName;
use model::policy::{ApplyTo, Policy, PolicyDefinition, PolicyKind};
use serde_json::{Map, Value};

use super::vhosts::no_vhost;
use super::{ControlError, invalid, not_found};
use crate::broker::Broker;
use crate::events::Event;
use crate::identity::Actor;
use crate::inside::Changed;
use crate::queue_handle::QueueHandle;
use crate::vhost::Vhost;

/// A policy that somebody wants to be there.
#[derive(Debug, Clone)]
pub struct PolicyRequest {
    /// Where.
    pub vhost: VhostName,
    /// Its name.
    pub name: String,
    /// Whose.
    pub kind: PolicyKind,
    /// Names that it is for.
    pub pattern: String,
    /// Things that it is for.
    pub apply_to: ApplyTo,
    /// Of several that match, the one with the highest counts.
    pub priority: i64,
    /// What it sets.
    pub definition: Map<String, Value>,
}

impl Broker {
    /// All policies of a kind, by vhost and name.
    #[must_use]
    pub fn policies(&self, kind: PolicyKind) -> Vec<Arc<Policy>> {
        let of_vhost = |vhost: Arc<Vhost>| vhost.policies().to_vec();
        self.vhosts.all().into_iter().flat_map(of_vhost).filter(|policy| policy.kind == kind).collect()
    }

    /// Sets a policy, which holds at once. The second are remarks about keys that have no effect.
    pub fn put_policy(&self, actor: &Actor, request: PolicyRequest) -> Result<(Changed, Vec<String>), ControlError> {
        let Some(vhost) = self.vhosts.get(request.vhost.as_str()) else { return no_vhost(request.vhost.as_str()) };
        let name = Policy::parse_name(&request.name).or_else(|error| invalid(error.to_string()))?;
        let pattern = Policy::parse_pattern(&request.pattern).or_else(|error| invalid(error.to_string()))?;
        let parsed = PolicyDefinition::parse(request.definition.clone(), request.kind);
        let (definition, warnings) = parsed.or_else(|error| invalid(error.to_string()))?;
        let PolicyRequest { vhost: vhost_name, kind, apply_to, priority, .. } = request;
        let policy = Arc::new(Policy { vhost: vhost_name, name, kind, pattern, apply_to, priority, definition });
        let before = self.policies_of_queues(&vhost);
        let (is_new, position) = vhost.change_policies(|policies| {
            let position = self.put_definition(&Definition::Policy(Policy::clone(&policy)));
            let same = policies.iter_mut().find(|other| (&other.name, other.kind) == (&policy.name, kind));
            match same {
                Some(same) => {
                    *same = policy.clone();
                    (false, position)
                }
                None => {
                    policies.push(policy.clone());
                    (true, position)
                }
            }
        });
        for warning in &warnings {
            tracing::warn!(vhost = %policy.vhost, policy = %policy.name, %warning, "policy was accepted with a remark");
        }
        self.emit_by(actor, event_of(&policy, ["policy.set", "operator.policy.set"]).with_policy(&policy));
        self.tell_of_changes(actor, before);
        Ok((Changed { is_new, position: Some(position) }, warnings))
    }

    /// Deletes a policy; what it set is gone at once.
    pub fn delete_policy(
        &self,
        actor: &Actor,
        kind: PolicyKind,
        vhost: &str,
        name: &str,
    ) -> Result<Changed, ControlError> {
        let Some(vhost) = self.vhosts.get(vhost) else { return no_vhost(vhost) };
        let before = self.policies_of_queues(&vhost);
        let deleted = vhost.change_policies(|policies| {
            let is_it = |policy: &Arc<Policy>| policy.kind == kind && *policy.name == *name;
            let policy = policies.remove(policies.iter().position(is_it)?);
            let position = self.delete(&Definition::Policy(Policy::clone(&policy)));
            Some((policy, position))
        });
        let Some((policy, position)) = deleted else {
            return not_found(format!("no policy '{name}' in vhost '{}'", vhost.name()));
        };
        self.emit_by(actor, event_of(&policy, ["policy.cleared", "operator.policy.cleared"]));
        self.tell_of_changes(actor, before);
        Ok(Changed { is_new: false, position: Some(position) })
    }
}

/// Queues, and the users' policies that hold for them.
type PoliciesOfQueues = Vec<(Arc<QueueHandle>, Option<Arc<Policy>>)>;

impl Broker {
    /// What holds for a vhost's queues; nothing where nobody wants to know of changes.
    fn policies_of_queues(&self, vhost: &Vhost) -> PoliciesOfQueues {
        if !self.has_listeners() {
            return Vec::new();
        }
        let with_policy = |queue: Arc<QueueHandle>| {
            let policy = queue.policy.lock().user.clone();
            (queue, policy)
        };
        vhost.queues().into_iter().map(with_policy).collect()
    }

    /// Tells of queues for which another policy holds than before.
    fn tell_of_changes(&self, actor: &Actor, before: PoliciesOfQueues) {
        for (queue, before) in before {
            let now = queue.policy.lock().user.clone();
            if before != now {
                self.emit_by(actor, Event::queue_policy(&queue, now.as_deref()));
            }
        }
    }
}

fn event_of(policy: &Policy, [users, operators]: [&'static str; 2]) -> Event {
    let name = match policy.kind {
        PolicyKind::User => users,
        PolicyKind::Operator => operators,
    };
    Event::new(name).with_text("name", &policy.name).with_text("vhost", policy.vhost.as_str())
}
