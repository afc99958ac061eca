//! What policies have fed by other brokers.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use model::definition;
use model::federation::Choice;
use model::policy::{EffectivePolicy, Policy, PolicyRanking, Target};

use super::topology::Vhost;
use crate::broker::Broker;
use engine::queue_handle::QueueHandle;

/// A queue or an exchange that a policy has fed by other brokers.
#[derive(Debug, Clone, PartialEq)]
pub struct Federated<T> {
    /// Which.
    pub what: T,
    /// The name of the policy.
    pub policy: Box<str>,
    /// By which brokers.
    pub choice: Choice,
}

impl Vhost {
    /// Notes whether some policy has anything fed. Says what was noted before.
    pub(super) fn note_federation(&self, policies: &[Arc<Policy>]) -> bool {
        let is_federating = policies.iter().any(|policy| Choice::is_in(policy));
        self.is_federating.swap(is_federating, Ordering::AcqRel)
    }

    pub(super) fn is_federating(&self) -> bool {
        self.is_federating.load(Ordering::Acquire)
    }

    /// The vhost is deleted.
    pub(crate) fn notify_federation(&self, broker: &Broker) {
        if self.is_federating() {
            broker.federated_changed();
        }
    }

    /// Exchanges were made or deleted. Policies that change meanwhile are reported when they have changed.
    pub(super) fn notify_federation_of_exchanges<'a>(
        &self,
        broker: &Broker,
        names: impl IntoIterator<Item = &'a [u8]>,
    ) {
        if !self.is_federating() {
            return;
        }
        let policies = self.policies();
        let is_fed = |name: &[u8]| {
            let Ok(name) = std::str::from_utf8(name) else { return false };
            let EffectivePolicy { user, operator } = EffectivePolicy::of(&policies, Target::Exchange, name);
            user.iter().chain(&operator).any(|policy| Choice::is_in(policy))
        };
        if names.into_iter().any(is_fed) {
            broker.federated_changed();
        }
    }

    /// A queue was made or deleted.
    pub(super) fn notify_federation_of(&self, broker: &Broker, queue: &QueueHandle) {
        if self.is_federating() && Choice::of(&queue.policy.lock()).is_some() {
            broker.federated_changed();
        }
    }

    /// The exchanges that are fed.
    pub(crate) fn federated_exchanges(&self) -> Vec<Federated<definition::Exchange>> {
        if !self.is_federating() {
            return Vec::new();
        }
        let policies = self.policies();
        let ranking = PolicyRanking::of(&policies);
        let federated = |exchange: definition::Exchange| {
            let policy = ranking.effective(Target::Exchange, exchange.name.as_str());
            federated(exchange, &policy)
        };
        self.exchanges().into_iter().filter_map(federated).collect()
    }

    /// The queues that are fed.
    pub(crate) fn federated_queues(&self) -> Vec<Federated<definition::Queue>> {
        if !self.is_federating() {
            return Vec::new();
        }
        let federated = |queue: Arc<QueueHandle>| {
            let policy = queue.policy.lock().clone();
            Choice::of(&policy)?;
            federated(queue.definition.clone(), &policy)
        };
        self.queues().into_iter().filter_map(federated).collect()
    }
}

fn federated<T>(what: T, policy: &EffectivePolicy) -> Option<Federated<T>> {
    let choice = Choice::of(policy)?;
    let name = policy.user.as_ref().or(policy.operator.as_ref())?.name.clone();
    Some(Federated { what, policy: name, choice })
}
