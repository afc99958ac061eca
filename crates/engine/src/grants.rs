//! Credit that consumers grant, and how their connections learn of drains.
//!
//! A session grants under the queue's lock ([`Work::grant`]) and learns at once how things stand. A drain that finds what it needs in
//! memory has ended by then. Others end when messages have been read or the connection's window opens again, in whichever section that
//! happens; then the connection gets a [`CreditDrained`](crate::outbox::ConnectionEvent::CreditDrained).
//!
//! Deliveries come by the outbox and may come later than that news or the answer to a grant. So both say what the delivery count is, with
//! what the drain has given back: a session that writes a flow frame first writes all deliveries before that.

use queue::{ConsumerId, Grant};

use crate::outbox::EndedDrain;
use crate::shard::QueueEntry;
use crate::work::Work;

/// How things stand after a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Granted {
    /// Ready messages that wait for credit.
    pub available: u64,
    /// Deliveries so far, some of which may wait in the outbox, and what was given back.
    pub delivery_count: u32,
    /// How much more the consumer may be handed.
    pub left: u32,
    /// How much a drain has given back. `None` if there was none or it continues.
    pub drained: Option<u32>,
}

impl Work<'_> {
    /// A consumer grants credit, instead of what it granted before, and gets what is ready. `None` if it has ended, or its credit
    /// is not granted.
    pub fn grant(&mut self, entry: &mut QueueEntry, consumer: ConsumerId, grant: Grant) -> Option<Granted> {
        if !entry.queue.grant(consumer, grant) {
            return None;
        }
        self.dispatch(entry);
        let drained =
            self.section_effects.drained.as_mut().and_then(|drained| drained.take(entry.handle.id(), consumer));
        let credit = entry.queue.consumer(consumer)?.consumer.credit;
        Some(Granted {
            available: entry.queue.available_to(consumer),
            delivery_count: credit.delivery_count(),
            left: credit.left().unwrap_or(u32::MAX),
            drained,
        })
    }

    /// Drains of a queue's consumers have ended: their connections get an event when the locks are released.
    #[cold]
    pub(crate) fn take_drained(&mut self, entry: &QueueEntry) {
        let ended = self.section_effects.drained.get_or_insert_default();
        for credit in self.section_effects.queue_effects.drained.drain(..) {
            let Some(of_queue) = entry.queue.consumer(credit.consumer) else { continue };
            let gate = &of_queue.consumer.gate;
            let (queue, outbox, number) = (entry.handle.id(), gate.outbox.clone(), gate.consumer);
            ended.push(EndedDrain { queue, outbox, number, credit });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::task::Waker;
    use std::time::Duration;

    use model::arguments::QueueArguments;
    use model::definition;
    use model::features::QueueFeatures;
    use model::name::{QueueName, VhostName};
    use model::policy::EffectivePolicy;
    use queue::{Consumer, Credit, Queue, Settings};
    use store::Store;
    use store::file::SimDisk;

    use super::*;
    use crate::clock::Clock;
    use crate::engine::{Engine, Options};
    use crate::gate::ConsumerGate;
    use crate::limits::OUTBOX_WINDOW_LEN;
    use crate::outbox::{ConnectionEvent, Outbox, Taken};
    use crate::queue_handle::QueueHandle;
    use crate::queued_message::QueuedMessage;
    use crate::router::{Router, VhostRouter};
    use crate::statistics::{self, VhostCounters};
    use crate::watermark::Watermark;
    use message::{Header, History, Parts};

    struct Nowhere;

    impl Router for Nowhere {
        fn vhost(&self, _: &str) -> Option<Arc<dyn VhostRouter>> {
            None
        }
    }

    /// An engine with one transient queue, and a consumer of it that grants.
    struct World {
        engine: Engine,
        queue: Arc<QueueHandle>,
        outbox: Arc<Outbox>,
        consumer: ConsumerId,
    }

    impl World {
        fn new() -> World {
            let options = store::Options::small(PathBuf::from("/data"), 1);
            let (store, _) = Store::open_stepped(options, Arc::new(SimDisk::new(1))).expect("the store opens");
            let options =
                Options { consumer_timeout: Duration::from_secs(1800), statistics: statistics::Options::default() };
            let engine = Engine::new(options, store, Clock::start(None), Arc::new(Nowhere));
            let definition = definition::Queue {
                vhost: VhostName::parse(b"/").expect("a name"),
                name: QueueName::parse(b"q").expect("a name"),
                id: engine.queue_ids.take(),
                is_durable: false,
                is_auto_delete: false,
                is_exclusive: false,
                arguments: QueueArguments::default(),
            };
            let features = QueueFeatures::of(&definition.arguments, &EffectivePolicy::default());
            let (vhost, clock) = (Arc::new(VhostCounters::default()), engine.clock.clone());
            let queue = engine.shards.with(crate::shard_of(definition.id), |shard| {
                let entry = shard.insert(|slot| {
                    let policy = EffectivePolicy::default();
                    let handle = QueueHandle::new(definition, slot, None, vhost, clock, policy, features);
                    QueueEntry::new(Arc::new(handle), Queue::new(Settings::default()), Watermark::NONE)
                });
                entry.handle.clone()
            });
            let outbox = Outbox::new();
            let gate =
                ConsumerGate { outbox: outbox.clone(), consumer: 7, channel_limit: None, is_parked: Arc::default() };
            let consumer = Consumer {
                gate,
                no_ack: false,
                exclusive: false,
                priority: 0,
                credit: Credit::granted(0),
                timeout_ms: None,
            };
            let consumed = engine.with_queue(&queue, |entry, _| entry.queue.consume(consumer));
            let (consumer, _) = consumed.expect("the queue is there");
            World { engine, queue, outbox, consumer: consumer.expect("it is the first") }
        }

        fn publish(&self, count: usize) {
            let parts = Parts {
                published_at_ms: 1,
                history: History::default(),
                exchange: b"",
                routing_key: b"q",
                header: Header::amqp091(b""),
                body: b"body",
            };
            self.engine.with_queue(&self.queue, |entry, work| {
                for _ in 0..count {
                    let content =
                        self.engine.chunks.write(store::Kind::Transient, parts.len(), |bytes| parts.write(bytes));
                    entry.queue.publish(QueuedMessage::new(content, 4, false, false, 0));
                }
                work.dispatch(entry);
            });
        }

        fn grant(&self, limit: u32, is_draining: bool) -> Granted {
            let grant = Grant { limit, is_draining };
            let granted = self.engine.with_queue(&self.queue, |entry, work| work.grant(entry, self.consumer, grant));
            granted.expect("the queue is there").0.expect("the consumer is there")
        }

        /// What the connection takes: so many deliveries, and of drains how much each gave back and the delivery count.
        fn take(&self) -> (usize, Vec<(u32, u32)>) {
            let (mut taken, mut deliveries) = (Taken::default(), VecDeque::new());
            self.outbox.take(&mut taken, &mut deliveries, Waker::noop());
            let drained = taken.events.iter().map(|event| match event {
                ConnectionEvent::CreditDrained { consumer: 7, count, delivery_count, queue } => {
                    assert_eq!(*queue, self.queue.id());
                    (*count, *delivery_count)
                }
                other => panic!("{other:?}"),
            });
            (deliveries.len(), drained.collect())
        }
    }

    fn standing(available: u64, delivery_count: u32, left: u32, drained: Option<u32>) -> Granted {
        Granted { available, delivery_count, left, drained }
    }

    #[test]
    fn a_grant_is_answered_with_how_things_stand_after_it() {
        let world = World::new();
        world.publish(5);
        assert_eq!(world.take().0, 0);
        assert_eq!(world.grant(2, false), standing(3, 2, 0, None));
        assert_eq!(world.take(), (2, vec![]));
        assert_eq!(world.grant(9, false), standing(0, 5, 4, None));
        assert_eq!(world.take(), (3, vec![]));
    }

    #[test]
    fn a_drain_that_ends_at_once_is_an_answer_and_no_news() {
        let world = World::new();
        world.publish(2);
        assert_eq!(world.grant(5, true), standing(0, 5, 0, Some(3)));
        assert_eq!(world.take(), (2, vec![]));
        world.publish(1);
        assert_eq!(world.take(), (0, vec![]));
        assert_eq!(world.grant(6, true), standing(0, 6, 0, Some(0)));
    }

    #[test]
    fn a_drain_waits_for_the_window_and_is_told_when_it_ends() {
        let world = World::new();
        world.publish(2);
        assert!(world.outbox.try_acquire(OUTBOX_WINDOW_LEN));
        assert_eq!(world.grant(5, true), standing(2, 0, 5, None));
        world.publish(1);
        assert_eq!(world.take(), (0, vec![]));
        world.outbox.release(OUTBOX_WINDOW_LEN);
        world.engine.with_queue(&world.queue, |entry, work| {
            entry.queue.resume(world.consumer);
            work.dispatch(entry);
        });
        assert_eq!(world.take(), (3, vec![(2, 5)]));
    }

    #[test]
    fn who_is_gone_grants_nothing() {
        let world = World::new();
        let granted = world.engine.with_queue(&world.queue, |entry, work| {
            entry.queue.cancel(world.consumer);
            work.grant(entry, world.consumer, Grant { limit: 1, is_draining: true })
        });
        assert_eq!(granted.expect("the queue is there").0, None);
    }
}
