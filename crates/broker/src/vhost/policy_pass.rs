//! Changed policies are brought to what there is in a vhost, some queues and exchanges a turn, so that others are served in between.
//!
//! Passes may overlap. Each turn is under the lock of those that apply policies, and takes the policies as they are then: so what a pass
//! finds changed by a later one is the later one's, which comes to every queue, too.

use std::sync::Arc;
use std::vec;

use engine::Positions;
use model::policy::{ChangedPolicies, Policy, PolicyChange, PolicyRanking, Target};

use super::topology::Vhost;
use crate::broker::Broker;
use crate::limits::POLICY_TURN_COUNT;
use engine::queue_handle::QueueHandle;

/// A change of policies that is under way.
pub(crate) struct PolicyPass {
    vhost: Arc<Vhost>,
    changed: ChangedPolicies,
    was_federating: bool,
    queues: vec::IntoIter<Arc<QueueHandle>>,
    exchanges: vec::IntoIter<Box<[u8]>>,
}

/// What a turn came to.
pub(crate) struct PolicyTurn {
    /// Queues for which another user's policy holds than before, and that policy.
    pub(crate) changed: Vec<(Arc<QueueHandle>, Option<Arc<Policy>>)>,
    /// None: there is more to do. Else where that is durable which follows from the change.
    pub(crate) end: Option<Positions>,
}

impl PolicyPass {
    /// One for policies that have been changed: whatever is declared from here on has them.
    pub(super) fn new(vhost: Arc<Vhost>, changed: ChangedPolicies, was_federating: bool) -> Self {
        let (queues, exchanges) = (vhost.queues().into_iter(), vhost.exchange_names().into_iter());
        Self { vhost, changed, was_federating, queues, exchanges }
    }

    /// Continues the pass.
    pub(crate) fn turn(&mut self, broker: &Broker) -> PolicyTurn {
        let mut changed = Vec::new();
        {
            let _turn = self.vhost.applying.lock();
            let policies = self.vhost.policies();
            let change = PolicyChange::new(&policies, &self.changed);
            for queue in self.queues.by_ref().take(POLICY_TURN_COUNT) {
                let target = Target::Queue(queue.definition.arguments.queue_type());
                let before = queue.policy.lock().clone();
                let effective = change.effective(&before, target, queue.name());
                if effective == before {
                    continue;
                }
                let user = effective.user.clone();
                if let Some(features) = queue.set_policy(effective) {
                    broker.engine.change_features(&queue, &features);
                }
                if user != before.user {
                    changed.push((queue, user));
                }
            }
            if self.queues.len() == 0 {
                let names = self.exchanges.by_ref().take(POLICY_TURN_COUNT);
                self.vhost.apply_to_exchanges(broker, &PolicyRanking::of(&policies), names);
            }
        }
        let is_over = self.queues.len() + self.exchanges.len() == 0;
        PolicyTurn { changed, end: is_over.then(|| self.end(broker)) }
    }

    fn end(&self, broker: &Broker) -> Positions {
        if self.was_federating || self.vhost.is_federating() {
            broker.federated_changed();
        }
        self.vhost.shard_exchanges(broker)
    }
}
