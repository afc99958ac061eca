//! A vhost and its topology: what they hold, and what can be seen of it. The files beside this one change it.

use super::sharded_exchanges::ShardedExchanges;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use engine::Positions;
use engine::position::SharedPositions;
use model::arguments::{ExchangeArguments, ExchangeType};
use model::definition;
use model::ids::QueueId;
use model::name::{ExchangeName, VhostName};
use model::policy::Policy;
use parking_lot::{Mutex, RwLock};
use routing::{Epoch, Exchanges, HashSeed};
use rustc_hash::FxBuildHasher;
use telemetry::trace;

use super::by_name::QueuesByName;
use super::followed_bindings::FollowedBindings;
use super::parameters::Parameters;
use crate::history::History;
use crate::statistics::{ExchangeCounters, VhostCounters};
use crate::throttle::Throttle;
use engine::deduplication::ExchangeKeys;
use engine::delayed::DelaySet;
use engine::queue_handle::QueueHandle;
use model::refusal::{self, Outcome};

/// A vhost.
#[derive(Debug)]
pub(crate) struct Vhost {
    pub(super) name: VhostName,
    /// What an operator says about it.
    pub(super) facts: RwLock<Arc<model::vhost::Vhost>>,
    /// The topology's epoch, to be read without its lock.
    pub(super) epoch: AtomicU64,
    pub(super) topology: trace::locks::RwLock<Topology>,
    /// Up to where the journal has to be for all that was declared, bound, deleted or unbound so far.
    pub(super) defined_at: SharedPositions,
    /// Of both kinds, by name.
    pub(super) policies: RwLock<Arc<[Arc<Policy>]>>,
    /// Whether some policy has anything fed by other brokers.
    pub(super) is_federating: AtomicBool,
    /// Held while policies are brought to some queues and exchanges: these are the newest ones then.
    pub(super) applying: Mutex<()>,
    pub(super) parameters: Mutex<Parameters>,
    /// The exchanges that have queues of their own.
    pub(crate) sharded: ShardedExchanges,
    /// How fast may be published.
    pub(crate) throttle: Throttle,
    /// Connections that are open in it.
    pub(crate) connection_count: AtomicUsize,
    /// What happens in it.
    pub(crate) counters: Arc<VhostCounters>,
    /// What happens at its exchanges, by name: of those that have been published to.
    pub(super) exchange_counters: RwLock<HashMap<Box<[u8]>, Arc<ExchangeCounters>>>,
}

#[derive(Debug)]
pub(super) struct Topology {
    pub(super) exchanges: Exchanges,
    pub(super) queues: HashMap<QueueId, Arc<QueueHandle>, FxBuildHasher>,
    pub(super) by_name: QueuesByName,
    /// Those of recent-history exchanges, by name.
    pub(super) histories: HashMap<Box<[u8]>, Arc<History>>,
    /// What waits at exchanges that delay, or have done so, by name.
    pub(super) delays: HashMap<Box<[u8]>, Arc<DelaySet>>,
    /// Keys of exchanges that drop duplicates, by name.
    pub(super) keys: HashMap<Box<[u8]>, Arc<ExchangeKeys>>,
    pub(super) followed: FollowedBindings,
    /// Whether the vhost is deleted: its connections may not know yet, and may no longer bring anything into it.
    pub(super) is_gone: bool,
}

impl Vhost {
    pub(crate) fn new(facts: model::vhost::Vhost, seed: HashSeed) -> Self {
        let exchanges = Exchanges::new(seed);
        let epoch = AtomicU64::new(exchanges.epoch().0);
        let topology = Topology {
            exchanges,
            queues: HashMap::default(),
            by_name: QueuesByName::default(),
            histories: HashMap::new(),
            delays: HashMap::new(),
            keys: HashMap::new(),
            followed: FollowedBindings::default(),
            is_gone: false,
        };
        let topology = trace::locks::RwLock::new("the topology of a vhost", topology);
        let throttle = Throttle::default();
        throttle.set(&facts.limits);
        Self {
            name: facts.name.clone(),
            facts: RwLock::new(Arc::new(facts)),
            epoch,
            topology,
            defined_at: SharedPositions::default(),
            policies: RwLock::new(Arc::from([])),
            is_federating: AtomicBool::new(false),
            applying: Mutex::default(),
            parameters: Mutex::default(),
            sharded: ShardedExchanges::default(),
            throttle,
            connection_count: AtomicUsize::new(0),
            counters: Arc::default(),
            exchange_counters: RwLock::default(),
        }
    }

    /// What an operator says about it.
    pub(crate) fn facts(&self) -> Arc<model::vhost::Vhost> {
        self.facts.read().clone()
    }

    /// Changes what an operator says about it; `change` says whether there is anything to change, and `record` is called before it is seen.
    pub(crate) fn change_facts<T>(
        &self,
        change: impl FnOnce(&mut model::vhost::Vhost) -> T,
        record: impl FnOnce(&model::vhost::Vhost) -> Positions,
    ) -> (T, Positions) {
        let mut facts = self.facts.write();
        let mut changed = model::vhost::Vhost::clone(&facts);
        let result = change(&mut changed);
        let position = record(&changed);
        self.throttle.set(&changed.limits);
        *facts = Arc::new(changed);
        (result, position)
    }

    /// Every route is looked up anew: something that is asked once a route has changed.
    pub(crate) fn forget_routes(&self) {
        self.change(|topology| topology.exchanges.advance_epoch());
    }

    pub(crate) fn name(&self) -> &VhostName {
        &self.name
    }

    /// Changes whenever a route may have.
    #[inline]
    pub(crate) fn epoch(&self) -> Epoch {
        Epoch(self.epoch.load(Ordering::Acquire))
    }

    pub(super) fn change<T>(&self, act: impl FnOnce(&mut Topology) -> T) -> T {
        let mut topology = self.topology.write();
        let result = act(&mut topology);
        self.epoch.store(topology.exchanges.epoch().0, Ordering::Release);
        result
    }

    /// Something was defined, or is no longer, and is durable there. Called under the topology's lock: a client that finds it done knows
    /// where.
    pub(crate) fn note_defined(&self, positions: Positions) {
        self.defined_at.add(positions);
    }

    /// Where all definitions that can be seen are durable. A request whose change is made already waits for it: the one that made it may
    /// still.
    pub(crate) fn defined_at(&self) -> Positions {
        self.defined_at.get()
    }

    /// 404 for an exchange.
    pub(crate) fn no_exchange<T>(&self, name: &[u8]) -> Outcome<T> {
        refusal::not_found(format!("no exchange '{}' in vhost '{}'", String::from_utf8_lossy(name), self.name))
    }

    /// 404 for a queue.
    pub(crate) fn no_queue<T>(&self, name: &str) -> Outcome<T> {
        refusal::not_found(format!("no queue '{name}' in vhost '{}'", self.name))
    }

    pub(crate) fn queue(&self, name: &[u8]) -> Option<Arc<QueueHandle>> {
        let topology = self.topology.read();
        let id = topology.exchanges.queue(name)?;
        topology.queues.get(&id).cloned()
    }

    /// The exchange of this name, as a definition.
    pub(crate) fn exchange(&self, name: &str) -> Option<definition::Exchange> {
        let topology = self.topology.read();
        self.definition_of(topology.exchanges.exchange(name.as_bytes())?)
    }

    /// Whether there is a topic exchange of this name.
    pub(crate) fn is_topic(&self, name: &str) -> bool {
        self.topology
            .read()
            .exchanges
            .exchange(name.as_bytes())
            .is_some_and(|exchange| exchange.kind == routing::ExchangeType::Topic)
    }

    /// The type as which an exchange routes.
    pub(crate) fn routing_type(&self, name: &[u8]) -> Option<routing::ExchangeType> {
        let topology = self.topology.read();
        topology.exchanges.exchange(name).map(|exchange| exchange.kind.routing_type(exchange.arguments.as_table()))
    }

    pub(crate) fn queue_of(&self, id: QueueId) -> Option<Arc<QueueHandle>> {
        self.topology.read().queues.get(&id).cloned()
    }

    /// All exchanges, by name.
    pub(crate) fn exchanges(&self) -> Vec<definition::Exchange> {
        let topology = self.topology.read();
        let mut all: Vec<_> =
            topology.exchanges.exchanges().filter_map(|exchange| self.definition_of(exchange)).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// Adds the next `count` queues by name to `found`: those after `name`, or the first ones.
    pub(crate) fn queues_after(&self, name: Option<&str>, count: usize, found: &mut impl Extend<Arc<QueueHandle>>) {
        found.extend(self.topology.read().by_name.after(name).take(count).cloned());
    }

    /// The queue that comes `count` places after `name`, counting from one; none if there are fewer, and how many there are then.
    pub(crate) fn queue_at(&self, name: Option<&str>, count: usize) -> Result<Arc<QueueHandle>, usize> {
        let topology = self.topology.read();
        let mut passed = 0;
        for queue in topology.by_name.after(name) {
            passed += 1;
            if passed == count {
                return Ok(queue.clone());
            }
        }
        Err(passed)
    }

    /// All queues, in no particular order.
    pub(crate) fn queues(&self) -> Vec<Arc<QueueHandle>> {
        self.topology.read().queues.values().cloned().collect()
    }

    pub(crate) fn exchange_count(&self) -> usize {
        self.topology.read().exchanges.exchange_count()
    }

    /// Bytes that its exchanges, bindings and policies take, without its queues.
    pub(crate) fn memory_len(&self) -> usize {
        let policies = self.policies.read().len() * size_of::<Policy>();
        size_of::<Self>() + self.topology.read().exchanges.memory_len() + policies
    }

    /// How many queues there are.
    pub(crate) fn queue_count(&self) -> usize {
        self.topology.read().queues.len()
    }

    pub(super) fn definition_of(&self, exchange: &routing::Exchange) -> Option<definition::Exchange> {
        Some(definition::Exchange {
            vhost: self.name.clone(),
            name: ExchangeName::parse(&exchange.name).ok()?,
            exchange_type: ExchangeType::parse(exchange.kind.name().as_bytes()).ok()?,
            is_durable: exchange.is_durable,
            is_auto_delete: exchange.is_auto_delete,
            is_internal: exchange.is_internal,
            arguments: ExchangeArguments::from_stored(exchange.arguments.clone()),
        })
    }
}
