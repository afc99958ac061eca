//! A vhost's queues: declared, deleted, put back where they were.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use engine::Positions;
use model::definition::{self, Definition};
use model::features::QueueFeatures;
use model::ids::{QueueId, QueueSeq};
use model::name::QueueName;
use model::policy::EffectivePolicy;
use queue::TtlHistory;
use routing::Removed;
use store::RecordBatch;

use super::policies::effective_for;
use super::topology::{Topology, Vhost};
use crate::broker::Broker;
use crate::limits::UNBOUND_COUNT_MAX;
use crate::watched::watch_if_wanted;
use engine::deduplication::KeyWork;
use engine::features::{self, record_ttls, ttl_key};
use engine::outbox::ConnectionEvent;
use engine::pause::pause_key;
use engine::queue_handle::{ConnectionId, QueueHandle};
use engine::shard::QueueEntry;
use engine::shard_of;
use engine::watermark::Watermark;

/// A queue's state machine, as the engine has it.
type Queue = queue::Queue<engine::queued_message::QueuedMessage, engine::gate::ConsumerGate>;

/// A queue that is to be put among the others.
struct NewQueue {
    definition: definition::Queue,
    owner: Option<ConnectionId>,
    policy: EffectivePolicy,
    /// What it does, by its arguments and this policy.
    features: QueueFeatures,
    queue: Queue,
    watermark: Watermark,
}

/// What a queue's deletion found.
pub(crate) enum Deletion {
    /// It is deleted, with so many messages, and these bindings and exchanges. The position is where that is durable.
    Deleted { ready_count: u64, removed: Removed, position: Positions },
    /// It was deleted already.
    Missing,
    /// It has consumers, and should not have.
    InUse,
    /// It has messages, and should not have.
    NotEmpty,
}

/// What a queue's declaration came to.
pub(crate) enum Declared {
    New(Arc<QueueHandle>, Positions),
    /// Another has been quicker.
    Existing(Arc<QueueHandle>),
    /// The vhost has as many queues as it may.
    LimitReached {
        queue_max: u64,
    },
    /// The vhost is deleted.
    VhostDeleted,
}

/// What has to hold for a queue to be deleted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DeleteConditions {
    pub(crate) if_unused: bool,
    pub(crate) if_empty: bool,
    /// Only if its last consumer has left (auto-delete), looked at once more under the lock.
    pub(crate) if_abandoned: bool,
    /// Only if it has been unused for too long by this time, in milliseconds since 1970, looked at once more under the lock.
    pub(crate) if_expired_at_ms: Option<u64>,
}

impl DeleteConditions {
    /// Whether they hold for a queue, looked at under its shard's lock; else why it is not deleted.
    fn check(&self, queue: &Queue) -> Result<(), Deletion> {
        if self.if_unused && !queue.is_unused() {
            return Err(Deletion::InUse);
        }
        if self.if_empty && !queue.is_empty() {
            return Err(Deletion::NotEmpty);
        }
        if self.if_abandoned && !queue.is_abandoned() {
            return Err(Deletion::Missing);
        }
        if let Some(now_ms) = self.if_expired_at_ms
            && queue.expires_at().is_none_or(|at_ms| at_ms > now_ms)
        {
            return Err(Deletion::Missing);
        }
        Ok(())
    }
}

impl Vhost {
    /// Declares a queue that is not there; gives the one that is there if another has been quicker.
    pub(crate) fn declare_queue(
        &self,
        broker: &Broker,
        owner: Option<ConnectionId>,
        make: impl FnOnce(QueueId) -> definition::Queue,
        name: &QueueName,
    ) -> Declared {
        let declared = self.change(|topology| {
            if let Some(id) = topology.exchanges.queue(name.as_bytes()) {
                return Declared::Existing(topology.queues[&id].clone());
            }
            if topology.is_gone {
                return Declared::VhostDeleted;
            }
            if let Some(queue_max) = self.facts().limits.queue_max.filter(|&max| topology.queues.len() as u64 >= max) {
                return Declared::LimitReached { queue_max };
            }
            let definition = make(broker.engine.queue_ids.take());
            let id = definition.id;
            let is_journaled = definition.is_durable && owner.is_none();
            let policy = effective_for(&self.policies(), &definition);
            let features = QueueFeatures::of(&definition.arguments, &policy);
            let ttls = TtlHistory::always(features.message_ttl_ms);
            let mut position = Positions::NONE;
            if is_journaled {
                let mut records = RecordBatch::new();
                let stored = Definition::Queue(definition.clone());
                records.put(&stored.key(), &stored.encode());
                if !ttls.changes().is_empty() {
                    record_ttls(&mut records, id, &ttls);
                }
                records.watermark(id, Some(QueueSeq(0)));
                position = broker.engine.append(&mut records);
                self.note_defined(position);
            }
            let watermark = if is_journaled { Watermark::closed_at(QueueSeq(0)) } else { Watermark::NONE };
            let mut queue = queue::Queue::new(settings_of(&definition));
            queue.restore_ttls(ttls);
            let queue =
                self.insert(broker, topology, NewQueue { definition, owner, policy, features, queue, watermark });
            broker.counters.queues_created.add(1);
            self.notify_federation_of(broker, &queue);
            Declared::New(queue, position)
        });
        if let Declared::New(queue, _) = &declared {
            watch_if_wanted(broker, queue);
        }
        declared
    }

    /// Puts a queue that recovery found where it was.
    pub(crate) fn restore_queue(
        &self,
        broker: &Broker,
        definition: definition::Queue,
        queue: Queue,
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
        let now_ms = broker.engine.clock.now_ms();
        let (handle, due_ms) = broker.engine.shards.with(shard_of(id), |shard| {
            let entry = shard.insert(|slot| {
                let handle = Arc::new(QueueHandle::new(
                    definition,
                    slot,
                    owner,
                    self.counters.clone(),
                    broker.engine.clock.clone(),
                    policy,
                    features,
                ));
                QueueEntry::new(handle, queue, watermark)
            });
            entry.handle.is_paused.store(entry.queue.is_paused(), Ordering::Relaxed);
            let features = entry.handle.features();
            features::apply(entry, &features, &broker.engine.options, now_ms);
            entry.report(&broker.engine.statistics, &broker.engine.clock);
            entry.timer_at_ms = entry.next_due().unwrap_or(0);
            (entry.handle.clone(), entry.next_due())
        });
        if let Some(due_ms) = due_ms {
            broker.engine.timers.set([(due_ms, handle.clone().into())].into_iter());
        }
        topology.exchanges.queue_added(handle.definition.name.as_bytes(), id, handle.is_journaled());
        topology.queues.insert(id, handle.clone());
        topology.by_name.insert(handle.clone());
        broker.engine.track_watermark(&handle, watermark);
        handle
    }

    /// Takes most bindings of a queue that is to be deleted away in pieces, where there are very many. The deletion is decided before the
    /// first piece: what happens to the queue meanwhile is as if it had been deleted already, so nothing is checked again.
    fn unbind_before_deletion(
        &self,
        broker: &Broker,
        handle: &QueueHandle,
        conditions: DeleteConditions,
    ) -> (Removed, DeleteConditions) {
        let id = handle.id();
        let count = self.topology.read().exchanges.binding_count_of_queue(id);
        let is_decided = count > UNBOUND_COUNT_MAX
            && broker.engine.shards.with(shard_of(id), |shard| {
                shard.get(handle).is_some_and(|entry| conditions.check(&entry.queue).is_ok())
            });
        if !is_decided {
            return (Removed::default(), conditions);
        }
        let unbound = self.unbind_in_pieces(broker, count, |exchanges, max| exchanges.unbind_from_queue(id, max));
        (unbound, DeleteConditions::default())
    }

    /// Deletes a queue with its messages and bindings, and notifies its consumers.
    pub(crate) fn delete_queue(&self, broker: &Broker, handle: &QueueHandle, conditions: DeleteConditions) -> Deletion {
        let id = handle.id();
        let (mut unbound, conditions) = self.unbind_before_deletion(broker, handle, conditions);
        let mut forgotten = KeyWork::default();
        let (deletion, entry) = self.change(|topology| {
            if !topology.queues.contains_key(&id) {
                return (Deletion::Missing, None);
            }
            let taken = broker.engine.shards.with(shard_of(id), |shard| {
                let Some(entry) = shard.get(handle) else { return Err(Deletion::Missing) };
                conditions.check(&entry.queue)?;
                let mut entry = shard.remove(handle).ok_or(Deletion::Missing)?;
                entry.leave();
                topology.queues.remove(&id);
                topology.by_name.remove(handle.name());
                let removed = topology.exchanges.queue_deleted(id);
                let mut records = RecordBatch::new();
                let dropped = self.forget(topology, &removed, &mut records);
                if handle.is_journaled() {
                    records.delete(&Definition::Queue(handle.definition.clone()).key());
                    if !entry.queue.ttls().changes().is_empty() {
                        records.delete(&ttl_key(id));
                    }
                    if entry.queue.is_paused() {
                        records.delete(&pause_key(id));
                    }
                }
                if let Some(set) = &mut entry.key_set {
                    set.forget_all(&mut forgotten, &mut records);
                }
                let has_messages =
                    entry.queue.ready_count() + entry.queue.unacked_count() + entry.queue.set_aside_count() > 0;
                if handle.is_journaled() || has_messages {
                    records.drop_queue(id);
                }
                // Under the shard's lock: no checkpoint may find the queue deleted before the journal has that.
                let position = broker.engine.append(&mut records);
                self.note_defined(position);
                Ok((position, removed, entry, dropped))
            });
            match taken {
                Ok((position, removed, entry, dropped)) => {
                    handle.observed.end();
                    broker.engine.statistics.vhosts.note(&self.counters);
                    dropped.forget(broker);
                    broker.counters.queues_deleted.add(1);
                    self.notify_federation_of(broker, handle);
                    self.notify_federation_of_exchanges(
                        broker,
                        removed.exchanges.iter().map(|exchange| &*exchange.name),
                    );
                    unbound.extend(removed);
                    let removed = std::mem::take(&mut unbound);
                    (Deletion::Deleted { ready_count: entry.queue.ready_count(), removed, position }, Some(entry))
                }
                Err(deletion) => (deletion, None),
            }
        });
        forgotten.sweep(&broker.engine.store);
        if let Some(entry) = entry {
            for view in entry.queue.consumers() {
                let gate = &view.consumer.gate;
                gate.outbox.notify(ConnectionEvent::ConsumerCancelled { consumer: gate.consumer, queue: id });
            }
            for waiter in entry.load_waiters {
                waiter.wake_up();
            }
        }
        deletion
    }
}

/// What of a definition the queue's state machine has to know, for ever.
pub(crate) fn settings_of(definition: &definition::Queue) -> queue::Settings {
    queue::Settings {
        auto_delete: definition.is_auto_delete,
        single_active_consumer: definition.arguments.is_single_active_consumer(),
        is_quorum: definition.arguments.queue_type() == model::arguments::QueueType::Quorum,
    }
}
