//! A vhost: its exchanges, bindings and queues by name, and their changes.
//!
//! Readers route under a read lock, and only when no cache knows the answer; changes take the write lock, change the
//! values, and append to the journal before they let go, so the journal has them in the order in which they happened.
//! Lock order: topology, then sets of delayed messages, then shards, then the journal.
//!
//! - `policies`: what policies, types and arguments have queues and exchanges do. `routes`: where a message goes.

mod policies;
mod routes;

pub(crate) use routes::Routing;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use model::arguments::{ExchangeArguments, ExchangeType};
use model::definition::{self, Definition};
use model::features::QueueFeatures;
use model::ids::{JournalPosition, QueueId, QueueSeq};
use model::name::{ExchangeName, QueueName, VhostName};
use model::policy::{EffectivePolicy, Policy};
use parking_lot::{Mutex, RwLock};
use queue::TtlHistory;
use routing::{BindError, BindingRef, BindingSpec, DeleteError, Destination, Epoch, Exchanges, HashSeed, Removed};
use rustc_hash::FxBuildHasher;
use store::RecordBatch;

use crate::broker::Broker;
use crate::connections::Traffic;
use crate::deduplication::{ExchangeKeys, KeyWork};
use crate::delayed::DelaySet;
use crate::features::{record_ttls, tell, ttl_key};
use crate::history::{History, Kept};
use crate::inside::Changed;
use crate::outbox::News;
use crate::queue_handle::{ConnectionId, QueueHandle};
use crate::refusal::{self, Outcome};
use crate::shard::{Cell, Shards, Watermark};
use crate::sharding::ShardedExchanges;
use crate::throttle::Throttle;

/// A vhost.
#[derive(Debug)]
pub(crate) struct Vhost {
    name: VhostName,
    /// What an operator says about it.
    facts: RwLock<Arc<model::vhost::Vhost>>,
    /// The topology's epoch, to be read without its lock.
    epoch: AtomicU64,
    topology: RwLock<Topology>,
    /// Of both kinds, by name.
    policies: RwLock<Arc<[Arc<Policy>]>>,
    /// Held while policies are applied: of two changes the later one is applied last.
    applying: Mutex<()>,
    /// The exchanges that have queues of their own.
    pub(crate) sharded: ShardedExchanges,
    /// How fast may be published.
    pub(crate) throttle: Throttle,
    /// Connections that are open in it.
    pub(crate) connection_count: AtomicUsize,
    /// What connections in it have carried that have ended.
    pub(crate) traffic: Traffic,
}

#[derive(Debug)]
struct Topology {
    exchanges: Exchanges,
    queues: HashMap<QueueId, Arc<QueueHandle>, FxBuildHasher>,
    /// Those of recent-history exchanges, by name.
    histories: HashMap<Box<[u8]>, Arc<History>>,
    /// What waits at exchanges that delay, or have done so, by name.
    delays: HashMap<Box<[u8]>, Arc<DelaySet>>,
    /// Keys of exchanges that drop duplicates, by name.
    keys: HashMap<Box<[u8]>, Arc<ExchangeKeys>>,
    /// Whether the vhost is deleted: its connections may not know yet, and nothing of theirs may come into it any more.
    is_gone: bool,
}

/// What belongs to exchanges that are gone.
#[must_use]
#[derive(Default)]
struct Gone {
    delays: Vec<Arc<DelaySet>>,
    keys: Vec<Arc<ExchangeKeys>>,
}

impl Gone {
    /// Forgets it, without the lock of a shard.
    fn forget(&self, broker: &Broker) {
        self.delays.iter().for_each(|set| set.forget(broker));
        self.keys.iter().for_each(|keys| keys.forget(broker));
    }
}

/// A queue that is to be put among the others.
struct NewQueue {
    definition: definition::Queue,
    owner: Option<ConnectionId>,
    policy: EffectivePolicy,
    /// What it does, by its arguments and this policy.
    features: QueueFeatures,
    queue: queue::Queue<crate::message::Held, crate::gate::ConsumerGate>,
    watermark: Watermark,
}

/// What a queue's deletion found.
pub(crate) enum Deletion {
    /// It is gone; so many messages went with it, and these bindings and exchanges. The position is where that is durable.
    Deleted { ready_count: u64, removed: Removed, position: Option<JournalPosition> },
    /// It was gone already.
    Missing,
    /// It has consumers, and should not have.
    InUse,
    /// It has messages, and should not have.
    NotEmpty,
}

/// What a queue's declaration came to.
pub(crate) enum Declared {
    New(Arc<QueueHandle>, Option<JournalPosition>),
    /// Another has been quicker.
    Existing(Arc<QueueHandle>),
    /// The vhost has as many queues as it may.
    LimitReached {
        queue_max: u64,
    },
    /// The vhost is deleted.
    Gone,
}

/// What unbinding, or deleting an exchange, came to.
pub(crate) struct Removal {
    /// What is gone.
    pub(crate) removed: Removed,
    /// Where that is durable.
    pub(crate) position: Option<JournalPosition>,
}

/// What has to hold for a queue to be deleted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DeleteConditions {
    pub(crate) if_unused: bool,
    pub(crate) if_empty: bool,
    /// Only if its last consumer has gone (auto-delete), looked at once more under the lock.
    pub(crate) if_abandoned: bool,
    /// Only if nobody has used it for too long by this time, in milliseconds since 1970, looked at once more under the lock.
    pub(crate) if_expired_at_ms: Option<u64>,
}

impl Vhost {
    pub(crate) fn new(facts: model::vhost::Vhost, seed: HashSeed) -> Self {
        let exchanges = Exchanges::new(seed);
        let epoch = AtomicU64::new(exchanges.epoch().0);
        let topology = RwLock::new(Topology {
            exchanges,
            queues: HashMap::default(),
            histories: HashMap::new(),
            delays: HashMap::new(),
            keys: HashMap::new(),
            is_gone: false,
        });
        let throttle = Throttle::default();
        throttle.set(&facts.limits);
        Self {
            name: facts.name.clone(),
            facts: RwLock::new(Arc::new(facts)),
            epoch,
            topology,
            policies: RwLock::new(Arc::from([])),
            applying: Mutex::default(),
            sharded: ShardedExchanges::default(),
            throttle,
            connection_count: AtomicUsize::new(0),
            traffic: Traffic::default(),
        }
    }

    /// What an operator says about it.
    pub(crate) fn facts(&self) -> Arc<model::vhost::Vhost> {
        self.facts.read().clone()
    }

    /// Changes what an operator says about it; `change` says whether there is anything to change, and `record` is told
    /// before anybody sees it.
    pub(crate) fn change_facts<T>(
        &self,
        change: impl FnOnce(&mut model::vhost::Vhost) -> T,
        record: impl FnOnce(&model::vhost::Vhost) -> JournalPosition,
    ) -> (T, JournalPosition) {
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

    fn change<T>(&self, act: impl FnOnce(&mut Topology) -> T) -> T {
        let mut topology = self.topology.write();
        let result = act(&mut topology);
        self.epoch.store(topology.exchanges.epoch().0, Ordering::Release);
        result
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

    /// Whether anything is bound to an exchange.
    pub(crate) fn has_bindings_from(&self, exchange: &str) -> bool {
        self.topology.read().exchanges.bindings_from(exchange.as_bytes()).next().is_some()
    }

    /// All exchanges, by name.
    pub(crate) fn exchanges(&self) -> Vec<definition::Exchange> {
        let topology = self.topology.read();
        let mut all: Vec<_> =
            topology.exchanges.exchanges().filter_map(|exchange| self.definition_of(exchange)).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// All queues, in no particular order.
    pub(crate) fn queues(&self) -> Vec<Arc<QueueHandle>> {
        self.topology.read().queues.values().cloned().collect()
    }

    pub(crate) fn exchange_count(&self) -> usize {
        self.topology.read().exchanges.exchange_count()
    }

    /// Shows bindings: all, those from an exchange, or those to a queue or an exchange. The implicit ones, too.
    pub(crate) fn with_bindings<T>(&self, of: BindingsOf<'_>, show: impl FnMut(BindingRef<'_>) -> T) -> Vec<T> {
        let topology = self.topology.read();
        let exchanges = &topology.exchanges;
        match of {
            BindingsOf::All => exchanges.bindings().map(show).collect(),
            BindingsOf::Source(name) => exchanges.bindings_from(name.as_bytes()).map(show).collect(),
            BindingsOf::Exchange(name) => {
                exchanges.bindings_to(Destination::Exchange(name.as_bytes())).map(show).collect()
            }
            BindingsOf::Queue(name) => match exchanges.queue(name.as_bytes()) {
                Some(id) => exchanges.bindings_to(Destination::Queue(id)).map(show).collect(),
                None => Vec::new(),
            },
        }
    }

    fn definition_of(&self, exchange: &routing::Exchange) -> Option<definition::Exchange> {
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

    /// Declares an exchange that is not there. Not new when another has been quicker.
    pub(crate) fn declare_exchange(&self, broker: &Broker, exchange: &definition::Exchange) -> Changed {
        let mut changed = self.change(|topology| {
            let is_new = !topology.is_gone && declare(topology, exchange);
            if is_new {
                self.apply_to_exchange(broker, topology, exchange.name.as_bytes());
            }
            let is_kept = is_new && exchange.is_durable;
            let position = is_kept.then(|| broker.put_definition(&Definition::Exchange(exchange.clone())));
            Changed { is_new, position }
        });
        if changed.is_new {
            changed.position = changed.position.max(self.shard_new_exchange(broker, exchange));
        }
        changed
    }

    /// Deletes an exchange with its bindings.
    pub(crate) fn delete_exchange(
        &self,
        broker: &Broker,
        name: &ExchangeName,
        if_unused: bool,
    ) -> Result<Removal, DeleteError> {
        self.change(|topology| {
            let removed = topology.exchanges.delete(name.as_bytes(), if_unused)?;
            let mut records = RecordBatch::new();
            let gone = self.forget(topology, &removed, &mut records);
            let position = broker.append(&mut records);
            gone.forget(broker);
            Ok(Removal { removed, position })
        })
    }

    /// It is deleted: from now on nothing is declared or bound in it.
    pub(crate) fn close_for_good(&self) {
        self.topology.write().is_gone = true;
    }

    /// Records that all its durable exchanges are gone, with their bindings: the vhost is.
    pub(crate) fn forget_all(&self, records: &mut RecordBatch) {
        let topology = self.topology.read();
        for binding in topology.exchanges.bindings().filter(|binding| binding.is_durable && !binding.source.is_empty())
        {
            // Those to queues went with their queues.
            let (Destination::Exchange(name), Ok(source)) = (binding.destination, ExchangeName::parse(binding.source))
            else {
                continue;
            };
            let Ok(name) = ExchangeName::parse(name) else { continue };
            let destination = definition::Destination::Exchange(name);
            let (key, arguments) = (binding.routing_key, binding.arguments);
            let binding = definition::Binding::new(self.name.clone(), source, destination, key, arguments);
            records.delete(&Definition::Binding(binding).key());
        }
        topology.histories.values().flat_map(|history| history.forget()).for_each(|key| records.delete(&key));
        for exchange in topology.exchanges.exchanges().filter(|exchange| exchange.is_durable) {
            if let Some(exchange) = self.definition_of(exchange) {
                records.delete(&Definition::Exchange(exchange).key());
            }
        }
    }

    /// Records that what was removed is gone, as far as it was durable. What waited at exchanges is given back: it has to be forgotten
    /// once the exchanges are, and without the lock of a shard. Should a crash come in between, recovery finds it without its exchange.
    fn forget(&self, topology: &mut Topology, removed: &Removed, records: &mut RecordBatch) -> Gone {
        let mut gone = Gone::default();
        for exchange in &removed.exchanges {
            if let Some(history) = topology.histories.remove(&exchange.name) {
                history.forget().iter().for_each(|key| records.delete(key));
            }
            gone.delays.extend(topology.delays.remove(&exchange.name));
            gone.keys.extend(topology.keys.remove(&exchange.name));
        }
        for binding in removed.bindings.iter().filter(|binding| binding.is_durable) {
            let destination = if binding.queue.is_some() {
                QueueName::parse(&binding.destination_name).ok().map(definition::Destination::Queue)
            } else {
                ExchangeName::parse(&binding.destination_name).ok().map(definition::Destination::Exchange)
            };
            let (Some(destination), Ok(source)) = (destination, ExchangeName::parse(&binding.source)) else { continue };
            let binding = definition::Binding::new(
                self.name.clone(),
                source,
                destination,
                &binding.routing_key,
                binding.arguments.as_table(),
            );
            records.delete(&Definition::Binding(binding).key());
        }
        for exchange in removed.exchanges.iter().filter(|exchange| exchange.is_durable) {
            if let Some(exchange) = self.definition_of(exchange) {
                records.delete(&Definition::Exchange(exchange).key());
            }
        }
        gone
    }

    /// Binds. Doing it twice is the same as once. Gives the messages that the source has kept for its new destination.
    pub(crate) fn bind(
        &self,
        broker: &Broker,
        spec: &BindingSpec<'_>,
        destination: definition::Destination,
    ) -> Result<(Changed, Vec<Kept>), BindError> {
        self.change(|topology| {
            let is_new = !topology.is_gone && topology.exchanges.bind(spec)?;
            let mut position = None;
            if is_new
                && self.is_durable(topology, spec)
                && let Ok(source) = ExchangeName::parse(spec.source)
            {
                let binding =
                    definition::Binding::new(self.name.clone(), source, destination, spec.routing_key, spec.arguments);
                position = Some(broker.put_definition(&Definition::Binding(binding)));
            }
            let history = topology.histories.get(spec.source).filter(|_| is_new);
            Ok((Changed { is_new, position }, history.map_or_else(Vec::new, |history| history.messages())))
        })
    }

    /// The histories of all exchanges that keep one.
    pub(crate) fn histories(&self) -> Vec<Arc<History>> {
        self.topology.read().histories.values().cloned().collect()
    }

    /// Puts a message of a history that recovery found where it was. False if there is no such exchange.
    pub(crate) fn restore_history(&self, exchange: &[u8], seq: u64, message: Kept) -> bool {
        let topology = self.topology.read();
        let history = topology.histories.get(exchange);
        history.inspect(|history| history.restore(seq, message)).is_some()
    }

    /// Whether both ends of a binding outlive a restart.
    fn is_durable(&self, topology: &Topology, spec: &BindingSpec<'_>) -> bool {
        let of_exchange = |name| topology.exchanges.exchange(name).is_some_and(|exchange| exchange.is_durable);
        of_exchange(spec.source)
            && match spec.destination {
                Destination::Exchange(name) => of_exchange(name),
                Destination::Queue(id) => topology.queues.get(&id).is_some_and(|queue| queue.is_journalled()),
            }
    }

    /// Unbinds. What is not bound is left as it is.
    pub(crate) fn unbind(&self, broker: &Broker, spec: &BindingSpec<'_>) -> Result<Removal, BindError> {
        self.change(|topology| {
            let removed = topology.exchanges.unbind(spec)?;
            let mut records = RecordBatch::new();
            let gone = self.forget(topology, &removed, &mut records);
            let position = broker.append(&mut records);
            gone.forget(broker);
            Ok(Removal { removed, position })
        })
    }

    /// Declares a queue that is not there; gives the one that is there if another has been quicker.
    pub(crate) fn declare_queue(
        &self,
        broker: &Broker,
        owner: Option<ConnectionId>,
        make: impl FnOnce(QueueId) -> definition::Queue,
        name: &QueueName,
    ) -> Declared {
        self.change(|topology| {
            if let Some(id) = topology.exchanges.queue(name.as_bytes()) {
                return Declared::Existing(topology.queues[&id].clone());
            }
            if topology.is_gone {
                return Declared::Gone;
            }
            if let Some(queue_max) = self.facts().limits.queue_max.filter(|&max| topology.queues.len() as u64 >= max) {
                return Declared::LimitReached { queue_max };
            }
            let definition = make(broker.queue_ids.take(broker));
            let id = definition.id;
            let is_journalled = definition.is_durable && owner.is_none();
            let policy = policies::effective_for(&self.policies(), &definition);
            let features = QueueFeatures::of(&definition.arguments, &policy);
            let ttls = TtlHistory::always(features.message_ttl_ms);
            let mut position = None;
            if is_journalled {
                let mut records = RecordBatch::new();
                let stored = Definition::Queue(definition.clone());
                records.put(&stored.key(), &stored.encode());
                if !ttls.changes().is_empty() {
                    record_ttls(&mut records, id, &ttls);
                }
                records.watermark(id, Some(QueueSeq(0)));
                position = broker.append(&mut records);
            }
            let watermark = if is_journalled { Watermark::Closed(QueueSeq(0)) } else { Watermark::None };
            let mut queue = queue::Queue::new(settings_of(&definition));
            queue.restore_ttls(ttls);
            let queue =
                self.insert(broker, topology, NewQueue { definition, owner, policy, features, queue, watermark });
            broker.counters.queues_created.add(1);
            Declared::New(queue, position)
        })
    }

    /// Puts an exchange that recovery found where it was.
    pub(crate) fn restore_exchange(&self, broker: &Broker, exchange: &definition::Exchange) {
        self.change(|topology| {
            if declare(topology, exchange) {
                self.apply_to_exchange(broker, topology, exchange.name.as_bytes());
            }
        });
    }

    /// Puts a binding that recovery found where it was.
    pub(crate) fn restore_binding(&self, spec: &BindingSpec<'_>) {
        let result = self.change(|topology| topology.exchanges.bind(spec));
        if let Err(error) = result {
            tracing::warn!(vhost = %self.name, %error, "a binding could not be restored");
        }
    }

    /// Puts a queue that recovery found where it was.
    pub(crate) fn restore_queue(
        &self,
        broker: &Broker,
        definition: definition::Queue,
        queue: queue::Queue<crate::message::Held, crate::gate::ConsumerGate>,
        watermark: Watermark,
    ) {
        // Policies are restored when all that they are for is there.
        let policy = EffectivePolicy::default();
        let features = QueueFeatures::of(&definition.arguments, &policy);
        let new = NewQueue { definition, owner: None, policy, features, queue, watermark };
        self.change(|topology| self.insert(broker, topology, new));
    }

    fn insert(&self, broker: &Broker, topology: &mut Topology, new: NewQueue) -> Arc<QueueHandle> {
        let NewQueue { definition, owner, policy, features, queue, watermark } = new;
        let id = definition.id;
        let now_ms = broker.clock.now_ms();
        let (handle, due_ms) = broker.shards.with(Shards::number_of(id), |shard| {
            let cell = shard.insert(|slot| {
                let handle = Arc::new(QueueHandle::new(definition, slot, owner, policy, features));
                Cell::new(handle, queue, watermark)
            });
            let features = cell.handle.features();
            tell(cell, &features, &broker.options, now_ms);
            cell.report();
            cell.timer_at_ms = cell.next_due().unwrap_or(0);
            (cell.handle.clone(), cell.next_due())
        });
        if let Some(due_ms) = due_ms {
            broker.timers.set([(due_ms, handle.clone().into())].into_iter());
        }
        topology.exchanges.queue_added(handle.definition.name.as_bytes(), id, handle.is_journalled());
        topology.queues.insert(id, handle.clone());
        if matches!(watermark, Watermark::Open(_)) {
            broker.opened.lock().push(handle.clone());
        }
        handle
    }

    /// Deletes a queue with its messages and bindings, and tells its consumers.
    pub(crate) fn delete_queue(&self, broker: &Broker, handle: &QueueHandle, conditions: DeleteConditions) -> Deletion {
        let id = handle.id();
        let mut forgotten = KeyWork::default();
        let (deletion, cell) = self.change(|topology| {
            if !topology.queues.contains_key(&id) {
                return (Deletion::Missing, None);
            }
            let taken = broker.shards.with(Shards::number_of(id), |shard| {
                let Some(cell) = shard.get(handle) else { return Err(Deletion::Missing) };
                if conditions.if_unused && !cell.queue.is_unused() {
                    return Err(Deletion::InUse);
                }
                if conditions.if_empty && !cell.queue.is_empty() {
                    return Err(Deletion::NotEmpty);
                }
                if conditions.if_abandoned && !cell.queue.is_abandoned() {
                    return Err(Deletion::Missing);
                }
                if let Some(now_ms) = conditions.if_expired_at_ms
                    && cell.queue.expires_at().is_none_or(|at_ms| at_ms > now_ms)
                {
                    return Err(Deletion::Missing);
                }
                let mut cell = shard.remove(handle).ok_or(Deletion::Missing)?;
                topology.queues.remove(&id);
                let removed = topology.exchanges.queue_deleted(id);
                let mut records = RecordBatch::new();
                let gone = self.forget(topology, &removed, &mut records);
                if handle.is_journalled() {
                    records.delete(&Definition::Queue(handle.definition.clone()).key());
                    if !cell.queue.ttls().changes().is_empty() {
                        records.delete(&ttl_key(id));
                    }
                }
                if let Some(set) = &mut cell.key_set {
                    set.forget_all(&mut forgotten, &mut records);
                }
                let has_messages =
                    cell.queue.ready_count() + cell.queue.unacked_count() + cell.queue.set_aside_count() > 0;
                if handle.is_journalled() || has_messages {
                    records.drop_queue(id);
                }
                // Under the shard's lock: no checkpoint may find the queue gone before the journal says so.
                Ok((broker.append(&mut records), removed, cell, gone))
            });
            match taken {
                Ok((position, removed, cell, gone)) => {
                    gone.forget(broker);
                    broker.counters.queues_deleted.add(1);
                    (Deletion::Deleted { ready_count: cell.queue.ready_count(), removed, position }, Some(cell))
                }
                Err(deletion) => (deletion, None),
            }
        });
        forgotten.sweep(broker);
        if let Some(cell) = cell {
            for view in cell.queue.consumers() {
                let gate = &view.consumer.gate;
                gate.outbox.tell(News::ConsumerCancelled { consumer: gate.consumer, queue: id });
            }
            for waiter in cell.load_waiters {
                waiter.nudge();
            }
        }
        deletion
    }
}

/// Which bindings are to be shown.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BindingsOf<'a> {
    All,
    Source(&'a ExchangeName),
    Exchange(&'a ExchangeName),
    Queue(&'a QueueName),
}

/// What of a definition the queue's state machine has to know, for ever.
pub(crate) fn settings_of(definition: &definition::Queue) -> queue::Settings {
    queue::Settings {
        auto_delete: definition.is_auto_delete,
        single_active_consumer: definition.arguments.is_single_active_consumer(),
        is_quorum: definition.arguments.queue_type() == model::arguments::QueueType::Quorum,
    }
}

/// Declares an exchange. False when there is one of this name.
fn declare(topology: &mut Topology, exchange: &definition::Exchange) -> bool {
    let alternate = exchange.arguments.alternate_exchange();
    let Ok(kind) = routing::ExchangeType::parse(exchange.exchange_type.name().as_bytes()) else { return false };
    let declaration = routing::Declaration {
        name: exchange.name.as_bytes(),
        kind,
        is_durable: exchange.is_durable,
        is_auto_delete: exchange.is_auto_delete,
        is_internal: exchange.is_internal,
        alternate: alternate.as_ref().map(|name| name.as_bytes()),
        arguments: exchange.arguments.table(),
    };
    let is_new = topology.exchanges.declare(&declaration);
    let routing_type = kind.routing_type(exchange.arguments.table());
    if is_new && routing_type == routing::ExchangeType::RecentHistory {
        topology.histories.insert(exchange.name.as_bytes().into(), Arc::new(History::new(exchange)));
    }
    is_new
}
