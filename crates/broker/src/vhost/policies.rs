//! What policies, types and arguments have a vhost's queues and exchanges do.

use std::collections::HashMap;
use std::sync::Arc;

use model::arguments::{ExchangeArguments, ExchangeType};
use model::definition;
use model::features::{Deduplication, ExchangeFeatures, QueueFeatures};
use model::ids::JournalPosition;
use model::policy::{EffectivePolicy, Policy, PolicyRanking, Target};
use queue::RestoredGeneration;
use store::RecordBatch;

use super::{Topology, Vhost};
use crate::broker::Broker;
use crate::deduplication::{ExchangeKeys, Site as KeySite};
use crate::delayed::DelaySet;
use crate::delayed::definition::Site;
use crate::queue_handle::QueueHandle;

impl Vhost {
    /// All policies, of both kinds, by name.
    pub(crate) fn policies(&self) -> Arc<[Arc<Policy>]> {
        self.policies.read().clone()
    }

    /// Changes the policies, and applies them at once. The position is where that is durable which follows from the change.
    pub(crate) fn change_policies<T>(
        &self,
        broker: &Broker,
        change: impl FnOnce(&mut Vec<Arc<Policy>>) -> T,
    ) -> (T, Option<JournalPosition>) {
        let mut policies = self.policies.write();
        let mut changed = policies.to_vec();
        let result = change(&mut changed);
        changed.sort_by(|a, b| (&a.name, a.kind).cmp(&(&b.name, b.kind)));
        *policies = changed.into();
        drop(policies);
        self.apply_policies(broker, |queue, features| broker.change_features(queue, features));
        (result, self.shard_exchanges(broker))
    }

    /// Puts policies that recovery found where they were, and applies them.
    pub(crate) fn restore_policies(&self, broker: &Broker, mut restored: Vec<Arc<Policy>>) {
        restored.sort_by(|a, b| (&a.name, a.kind).cmp(&(&b.name, b.kind)));
        *self.policies.write() = restored.into();
        self.apply_policies(broker, |queue, features| broker.restore_features(queue, features));
        self.shard_exchanges(broker);
    }

    /// Gives every queue and every exchange the policies that hold for it now; `change` is told of queues that do something else by it.
    fn apply_policies(&self, broker: &Broker, mut change: impl FnMut(&Arc<QueueHandle>, &QueueFeatures)) {
        let _turn = self.applying.lock();
        let policies = self.policies();
        let ranking = PolicyRanking::of(&policies);
        // Matched without the topology's lock, so that messages go on being routed: what is declared meanwhile has these
        // policies or newer ones already.
        for queue in self.queues() {
            let target = Target::Queue(queue.definition.arguments.queue_type());
            let effective = ranking.effective(target, queue.name());
            if let Some(features) = queue.set_policy(effective) {
                change(&queue, &features);
            }
        }
        let exchanges: Vec<_> = {
            let topology = self.topology.read();
            let shown = |exchange: &routing::Exchange| (exchange.name.clone(), exchange.policy_alternate.clone());
            topology.exchanges.exchanges().map(shown).collect()
        };
        let found = exchanges.into_iter().filter_map(|(name, before)| {
            let effective = ranking.effective(Target::Exchange, std::str::from_utf8(&name).ok()?);
            let alternate = alternate_of(&effective);
            let is_new = alternate.as_deref().map(str::as_bytes) != before.as_deref();
            Some((name, effective, is_new.then_some(alternate)))
        });
        let found: Vec<_> = found.collect();
        self.change(|topology| {
            for (name, effective, alternate) in &found {
                if let Some(alternate) = alternate {
                    topology.exchanges.set_policy_alternate(name, alternate.as_deref().map(str::as_bytes));
                }
                self.set_features(broker, topology, name, effective);
            }
        });
    }

    /// Gives a new exchange the policies that hold for it.
    pub(super) fn apply_to_exchange(&self, broker: &Broker, topology: &mut Topology, name: &[u8]) {
        let Ok(text) = std::str::from_utf8(name) else { return };
        let effective = EffectivePolicy::of(&self.policies(), Target::Exchange, text);
        let alternate = alternate_of(&effective);
        topology.exchanges.set_policy_alternate(name, alternate.as_deref().map(str::as_bytes));
        self.set_features(broker, topology, name, &effective);
    }

    /// Has an exchange delay messages and drop duplicates, or not, as its type, its arguments and its policies say. What waits there
    /// waits on.
    fn set_features(&self, broker: &Broker, topology: &mut Topology, name: &[u8], policy: &EffectivePolicy) {
        let Some(exchange) = topology.exchanges.exchange(name) else { return };
        let Ok(exchange_type) = ExchangeType::parse(exchange.kind.name().as_bytes()) else { return };
        let (is_durable, before) = (exchange.is_durable, exchange.is_delaying);
        let arguments = ExchangeArguments::from_stored(exchange.arguments.clone());
        let features = ExchangeFeatures::of(exchange_type, &arguments, policy);
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
        let goes_on =
            |keys: &Arc<ExchangeKeys>| deduplication.is_some_and(|deduplication| keys.set_rules(broker, deduplication));
        if before.is_some_and(goes_on) {
            return;
        }
        if let Some(keys) = topology.keys.remove(name) {
            keys.forget(broker);
        }
        if let Some(deduplication) = deduplication {
            let site = KeySite::Exchange { vhost: self.name.as_str().into(), exchange: name.into() };
            topology.keys.insert(name.into(), ExchangeKeys::new(broker, deduplication, site, is_durable));
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
        let set = topology.delays.entry(name.into()).or_insert_with(|| DelaySet::new(broker, site(), is_durable));
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

    /// What waited at an exchange when the process ended waits on. It is given back if there is no such exchange.
    pub(crate) fn restore_delays(
        &self,
        broker: &Broker,
        exchange: &[u8],
        generations: Vec<RestoredGeneration<crate::message::Held>>,
        records: &mut RecordBatch,
    ) -> Result<(), Vec<RestoredGeneration<crate::message::Held>>> {
        let set = self.change(|topology| {
            let is_durable = topology.exchanges.exchange(exchange)?.is_durable;
            Some(self.delay_set(broker, topology, exchange, is_durable))
        });
        match set {
            Some(set) => {
                set.restore(broker, generations, records);
                Ok(())
            }
            None => Err(generations),
        }
    }
}

pub(super) fn effective_for(policies: &[Arc<Policy>], queue: &definition::Queue) -> EffectivePolicy {
    EffectivePolicy::of(policies, Target::Queue(queue.arguments.queue_type()), queue.name.as_str())
}

/// The alternate exchange that policies give to an exchange.
fn alternate_of(policy: &EffectivePolicy) -> Option<String> {
    policy.get("alternate-exchange")?.as_str().map(str::to_owned)
}
