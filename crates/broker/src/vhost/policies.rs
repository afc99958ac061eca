//! What policies, types and arguments have a vhost's queues and exchanges do.

use std::collections::HashMap;
use std::sync::Arc;

use model::arguments::{ExchangeArguments, ExchangeType};
use model::definition;
use model::features::{Deduplication, ExchangeFeatures};
use model::policy::{ChangedPolicies, EffectivePolicy, Policy, PolicyRanking, Target};
use queue::RestoredGeneration;
use store::RecordBatch;

use super::PolicyPass;
use super::topology::{Topology, Vhost};
use crate::broker::Broker;
use engine::deduplication::{ExchangeKeys, Site as KeySite};
use engine::delayed::DelaySet;
use engine::delayed::definition::Site;

impl Vhost {
    /// All policies, of both kinds, by name.
    pub(crate) fn policies(&self) -> Arc<[Arc<Policy>]> {
        self.policies.read().clone()
    }

    /// Changes the policies. They hold when the pass has come to its end.
    pub(crate) fn change_policies<T>(
        self: &Arc<Self>,
        changed: ChangedPolicies,
        change: impl FnOnce(&mut Vec<Arc<Policy>>) -> T,
    ) -> (T, PolicyPass) {
        let mut policies = self.policies.write();
        let mut after = policies.to_vec();
        let result = change(&mut after);
        after.sort_by(|a, b| (&a.name, a.kind).cmp(&(&b.name, b.kind)));
        *policies = after.into();
        let was_federating = self.note_federation(&policies);
        drop(policies);
        (result, PolicyPass::new(self.clone(), changed, was_federating))
    }

    /// Puts policies that recovery found where they were, and applies them.
    pub(crate) fn restore_policies(&self, broker: &Broker, mut restored: Vec<Arc<Policy>>) {
        restored.sort_by(|a, b| (&a.name, a.kind).cmp(&(&b.name, b.kind)));
        self.note_federation(&restored);
        *self.policies.write() = restored.into();
        let policies = self.policies();
        let ranking = PolicyRanking::of(&policies);
        for queue in self.queues() {
            let target = Target::Queue(queue.definition.arguments.queue_type());
            if let Some(features) = queue.set_policy(ranking.effective(target, queue.name())) {
                broker.engine.restore_features(&queue, &features);
            }
        }
        self.apply_to_exchanges(broker, &ranking, self.exchange_names());
        self.shard_exchanges(broker);
    }

    /// The names of all exchanges, in no particular order.
    pub(super) fn exchange_names(&self) -> Vec<Box<[u8]>> {
        self.topology.read().exchanges.exchanges().map(|exchange| exchange.name.clone()).collect()
    }

    /// Gives exchanges the policies that hold for them now. Matched without the topology's lock, so that messages go on being routed: what
    /// is declared meanwhile has these policies or newer ones already.
    pub(super) fn apply_to_exchanges(
        &self,
        broker: &Broker,
        ranking: &PolicyRanking<'_>,
        names: impl IntoIterator<Item = Box<[u8]>>,
    ) {
        let found = names.into_iter().filter_map(|name| {
            let effective = ranking.effective(Target::Exchange, std::str::from_utf8(&name).ok()?);
            Some((name, effective))
        });
        let mut found: Vec<_> = found.collect();
        {
            let topology = self.topology.read();
            found.retain(|(name, effective)| !adjust(broker, &topology, name, effective));
        }
        if found.is_empty() {
            return;
        }
        self.change(|topology| {
            for (name, effective) in &found {
                self.set_policy(broker, topology, name, effective);
            }
        });
    }

    /// Gives a new exchange the policies that hold for it.
    pub(super) fn apply_to_exchange(&self, broker: &Broker, topology: &mut Topology, name: &[u8]) {
        let Ok(text) = std::str::from_utf8(name) else { return };
        let effective = EffectivePolicy::of(&self.policies(), Target::Exchange, text);
        self.set_policy(broker, topology, name, &effective);
    }

    /// Has an exchange use an alternate exchange, delay messages and drop duplicates, or not, as its type, its arguments and its
    /// policies say. What waits there waits on.
    fn set_policy(&self, broker: &Broker, topology: &mut Topology, name: &[u8], policy: &EffectivePolicy) {
        let Some(exchange) = topology.exchanges.exchange(name) else { return };
        let (is_durable, before) = (exchange.is_durable, exchange.is_delaying);
        let (features, alternate) = (features_of(exchange, policy), alternate_of(policy));
        topology.exchanges.set_policy_alternate(name, alternate.as_deref().map(str::as_bytes));
        let Some(features) = features else { return };
        let is_delaying = features.delay.is_some();
        if is_delaying != before {
            topology.exchanges.set_delaying(name, is_delaying);
        }
        if is_delaying {
            self.delay_set(broker, topology, name, is_durable);
        }
        if let Some(set) = topology.delays.get(name) {
            set.set_release_rate(features.release_rate_max_per_s);
        }
        self.set_deduplication(broker, topology, name, is_durable, features.deduplication.as_ref());
    }

    /// Has an exchange drop duplicates, or not. Where keys mean something else than before, all of them are forgotten.
    fn set_deduplication(
        &self,
        broker: &Broker,
        topology: &mut Topology,
        name: &[u8],
        is_durable: bool,
        deduplication: Option<&Deduplication>,
    ) {
        let before = topology.keys.get(name);
        if before.is_none() && deduplication.is_none() {
            return;
        }
        let goes_on = |keys: &Arc<ExchangeKeys>| {
            deduplication.is_some_and(|deduplication| keys.set_rules(&broker.engine, deduplication))
        };
        if before.is_some_and(goes_on) {
            return;
        }
        if let Some(keys) = topology.keys.remove(name) {
            keys.forget(&broker.engine);
        }
        if let Some(deduplication) = deduplication {
            let site = KeySite::Exchange { vhost: self.name.as_str().into(), exchange: name.into() };
            topology.keys.insert(name.into(), ExchangeKeys::new(&broker.engine, deduplication, site, is_durable));
        }
        topology.exchanges.advance_epoch();
    }

    /// The keys of all its exchanges that drop duplicates, by their names.
    pub(crate) fn exchange_keys(&self) -> HashMap<Box<[u8]>, Arc<ExchangeKeys>> {
        self.topology.read().keys.clone()
    }

    /// The keys of an exchange, if it drops duplicates.
    pub(crate) fn keys_at(&self, exchange: &[u8]) -> Option<Arc<ExchangeKeys>> {
        self.topology.read().keys.get(exchange).cloned()
    }

    /// What waits at an exchange.
    fn delay_set(&self, broker: &Broker, topology: &mut Topology, name: &[u8], is_durable: bool) -> Arc<DelaySet> {
        let site = || Site { vhost: self.name.as_str().into(), exchange: name.into() };
        let set =
            topology.delays.entry(name.into()).or_insert_with(|| DelaySet::new(&broker.engine, site(), is_durable));
        set.clone()
    }

    /// What waits at an exchange, if it delays or has done so.
    pub(crate) fn delays_at(&self, exchange: &str) -> Option<Arc<DelaySet>> {
        self.topology.read().delays.get(exchange.as_bytes()).cloned()
    }

    /// What waits at all its exchanges, by name.
    pub(crate) fn delays(&self) -> Vec<Arc<DelaySet>> {
        let mut all: Vec<_> = self.topology.read().delays.values().cloned().collect();
        all.sort_by(|a, b| a.site.cmp(&b.site));
        all
    }

    /// The same, without exchanges that delay no more and at which nothing waits either.
    pub(crate) fn delays_in_use(&self) -> Vec<Arc<DelaySet>> {
        let mut all = self.delays();
        let topology = self.topology.read();
        let is_delaying = |set: &DelaySet| {
            topology.exchanges.exchange(&set.site.exchange).is_some_and(|exchange| exchange.is_delaying)
        };
        all.retain(|set| set.waiting_count() > 0 || is_delaying(set));
        all
    }

    /// What waited at an exchange when the process ended waits on. It is given back if there is no such exchange.
    pub(crate) fn restore_delays(
        &self,
        broker: &Broker,
        exchange: &[u8],
        generations: Vec<RestoredGeneration<engine::queued_message::QueuedMessage>>,
        records: &mut RecordBatch,
    ) -> Result<(), Vec<RestoredGeneration<engine::queued_message::QueuedMessage>>> {
        let set = self.change(|topology| {
            let is_durable = topology.exchanges.exchange(exchange)?.is_durable;
            Some(self.delay_set(broker, topology, exchange, is_durable))
        });
        match set {
            Some(set) => {
                set.restore(&broker.engine, generations, records);
                Ok(())
            }
            None => Err(generations),
        }
    }
}

/// Has an exchange do what its policies say, as far as the topology stays as it is. False: it has to change.
fn adjust(broker: &Broker, topology: &Topology, name: &[u8], policy: &EffectivePolicy) -> bool {
    let Some(exchange) = topology.exchanges.exchange(name) else { return true };
    let has_alternate = alternate_of(policy).as_deref().map(str::as_bytes) == exchange.policy_alternate.as_deref();
    let Some(features) = features_of(exchange, policy) else { return has_alternate };
    let (is_delaying, delays) = (features.delay.is_some(), topology.delays.get(name));
    if let Some(set) = delays {
        set.set_release_rate(features.release_rate_max_per_s);
    }
    let go_on = match (topology.keys.get(name), &features.deduplication) {
        (None, None) => true,
        (Some(keys), Some(deduplication)) => keys.set_rules(&broker.engine, deduplication),
        _ => false,
    };
    has_alternate && go_on && is_delaying == exchange.is_delaying && (!is_delaying || delays.is_some())
}

/// What an exchange does, by its type, its arguments and its policies.
fn features_of(exchange: &routing::Exchange, policy: &EffectivePolicy) -> Option<ExchangeFeatures> {
    let exchange_type = ExchangeType::parse(exchange.kind.name().as_bytes()).ok()?;
    let arguments = ExchangeArguments::from_stored(exchange.arguments.clone());
    Some(ExchangeFeatures::of(exchange_type, &arguments, policy))
}

pub(super) fn effective_for(policies: &[Arc<Policy>], queue: &definition::Queue) -> EffectivePolicy {
    EffectivePolicy::of(policies, Target::Queue(queue.arguments.queue_type()), queue.name.as_str())
}

/// The alternate exchange that policies give to an exchange.
fn alternate_of(policy: &EffectivePolicy) -> Option<String> {
    policy.get("alternate-exchange")?.as_str().map(str::to_owned)
}
