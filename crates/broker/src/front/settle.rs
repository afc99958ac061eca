//! What becomes of deliveries: accepted, given back, or rejected.

use std::sync::atomic::Ordering::SeqCst;

use engine::Positions;
use engine::batch::still_held;
use engine::shard::QueueEntry;
use engine::work::Work;
use model::ids::QueueSeq;
use model::refusal::{self, Outcome};
use queue::{ConsumerId, Return};

use super::consumer_slots::ConsumerSlots;
use super::disposition::Disposition;
use super::lane::Lane;
use super::tracer::GIVEN_BACK;
use super::unacked::UnackedDelivery;
use super::{Front, Protocol};
use crate::limits::SETTLED_COUNT_MAX;
use crate::long_turns::take_long;
use crate::statistics::ChannelNumber;

impl<P: Protocol> Front<P> {
    /// Settles a delivery of a lane, or all up to that one if `is_multiple` (0: all there are). In a transaction when it is committed.
    pub(crate) fn settle(
        &mut self,
        lane: &mut Lane<P::Lane>,
        tag: u64,
        is_multiple: bool,
        disposition: Disposition,
    ) -> Outcome<()> {
        let mut taken = self.take_unacked(lane, tag, is_multiple)?;
        match (&mut lane.tx, disposition) {
            (Some(tx), _) => tx.settle(&taken, disposition),
            (None, Disposition::Accepted) if taken.len() > SETTLED_COUNT_MAX => self.settle_at_once(lane, &mut taken),
            (None, Disposition::Accepted) => self.settle_later(lane, &taken),
            (None, Disposition::Requeued(how)) => self.requeue(lane, &mut taken, how),
            (None, Disposition::Rejected { has_failed }) => drop(self.reject(lane, &mut taken, has_failed)),
        }
        self.deliveries.return_settled(taken);
        Ok(())
    }

    /// Returns everything unacked on the lane to its queue.
    pub(crate) fn requeue_all(&mut self, lane: &mut Lane<P::Lane>) {
        let mut taken = Vec::new();
        lane.unacked.take_up_to(0, &mut taken);
        self.requeue(lane, &mut taken, Return::Unharmed);
    }

    fn take_unacked(&mut self, lane: &mut Lane<P::Lane>, tag: u64, multiple: bool) -> Outcome<Vec<UnackedDelivery>> {
        let mut taken = self.deliveries.borrow_settled();
        let is_known = if multiple {
            lane.unacked.take_up_to(tag, &mut taken)
        } else if let Some(delivery) = lane.unacked.take(tag) {
            taken.push(delivery);
            true
        } else {
            false
        };
        if !is_known {
            return refusal::precondition_failed(format!("unknown delivery tag {tag}"));
        }
        Ok(taken)
    }

    /// Puts settled deliveries into the batch.
    pub(super) fn settle_later(&mut self, lane: &mut Lane<P::Lane>, deliveries: &[UnackedDelivery]) {
        lane.counts.add(ChannelNumber::Acked, deliveries.len() as u64);
        for delivery in deliveries {
            let Some(slot) = self.consumers.get_mut(delivery.slot) else { continue };
            slot.counters.acked.add(1);
            if !slot.is_void {
                self.batch.settle(&slot.queue, slot.consumer, delivery.seq);
            }
            self.count_settled(lane, delivery.slot, 1);
        }
    }

    /// Acknowledges more deliveries than a batch is to bring to their queues under one lock: in pieces.
    fn settle_at_once(&mut self, lane: &mut Lane<P::Lane>, deliveries: &mut [UnackedDelivery]) {
        lane.counts.add(ChannelNumber::Acked, deliveries.len() as u64);
        for delivery in &*deliveries {
            if let Some(slot) = self.consumers.get_mut(delivery.slot) {
                slot.counters.acked.add(1);
            }
        }
        self.give_back(lane, deliveries, |entry, work, seqs| work.ack(entry, seqs));
    }

    /// A lane has `count` unacked deliveries of a slot less.
    fn count_settled(&mut self, lane: &Lane<P::Lane>, number: u32, count: u32) {
        let Some(slot) = self.consumers.get_mut(number) else { return };
        slot.unacked_count -= count;
        if slot.consumer.is_some() {
            lane.limit.release(count);
        }
        self.consumers.tidy(number);
    }

    /// Gives deliveries back to their queues, to their places. They are handed out again with the batch.
    pub(super) fn requeue(&mut self, lane: &Lane<P::Lane>, deliveries: &mut [UnackedDelivery], how: Return) {
        self.give_back(lane, deliveries, |entry, work, seqs| work.give_back(entry, seqs, how));
    }

    /// Rejects these deliveries at their queues: no consumer is to get them again. Returns where that is durable. As in RabbitMQ they do
    /// not count as acknowledged.
    pub(super) fn reject(
        &mut self,
        lane: &Lane<P::Lane>,
        deliveries: &mut [UnackedDelivery],
        has_failed: bool,
    ) -> Positions {
        self.give_back(lane, deliveries, |entry, work, seqs| work.reject(entry, seqs, has_failed))
    }

    /// Queues have deliveries back at once, and are served with the batch: a consumer that ends in the same read is given nothing more.
    fn give_back(
        &mut self,
        lane: &Lane<P::Lane>,
        deliveries: &mut [UnackedDelivery],
        act: impl FnMut(&mut QueueEntry, &mut Work<'_>, &[QueueSeq]),
    ) -> Positions {
        if deliveries.len() > SETTLED_COUNT_MAX {
            take_long(|| self.give_back_by_queue(lane, deliveries, act))
        } else {
            self.give_back_by_queue(lane, deliveries, act)
        }
    }

    fn give_back_by_queue(
        &mut self,
        lane: &Lane<P::Lane>,
        deliveries: &mut [UnackedDelivery],
        mut act: impl FnMut(&mut QueueEntry, &mut Work<'_>, &[QueueSeq]),
    ) -> Positions {
        self.forget_timed(deliveries);
        let mut durable_at = Positions::NONE;
        let queue_of =
            |slots: &ConsumerSlots, delivery: &UnackedDelivery| slots.get(delivery.slot).map(|slot| slot.queue.id());
        // By queue, so that each has all back before it hands out any of it; and then in the order in which they were delivered.
        deliveries.sort_unstable_by_key(|delivery| (queue_of(&self.consumers, delivery), delivery.tag));
        let mut rest = &*deliveries;
        while let Some(first) = rest.first() {
            let id = queue_of(&self.consumers, first);
            let count = rest.iter().take_while(|delivery| queue_of(&self.consumers, delivery) == id).count();
            let group = rest.split_off(..count).unwrap_or_default();
            let Some(queue) = self.consumers.get(first.slot).map(|slot| slot.queue.clone()) else { continue };
            let held: Vec<_> = group.iter().filter_map(|delivery| self.held_of(delivery)).collect();
            group.iter().for_each(|delivery| self.count_settled(lane, delivery.slot, 1));
            if held.is_empty() {
                continue;
            }
            let client = if self.broker.engine.taps.want(GIVEN_BACK) { self.tracing_client() } else { None };
            // In pieces, where they are very many. The queue hands out nothing until all are back.
            let piece_count = held.len().div_ceil(SETTLED_COUNT_MAX);
            for (number, piece) in held.chunks(SETTLED_COUNT_MAX).enumerate() {
                let client = client.clone();
                let given = self.broker.engine.with_queue(&queue, |entry, work| {
                    if client.is_some() {
                        work.on_behalf_of(client);
                    }
                    if piece_count > 1 && number == 0 {
                        entry.queue.begin_return();
                    }
                    act(entry, work, &still_held(&entry.queue, piece));
                    if piece_count > 1 && number + 1 == piece_count {
                        entry.queue.end_return();
                    }
                });
                durable_at.add(given.map_or(Positions::NONE, |((), position)| position));
            }
            self.batch.serve(&queue);
        }
        durable_at
    }

    /// What a queue knows a delivery by, unless it has taken it back.
    fn held_of(&self, delivery: &UnackedDelivery) -> Option<(QueueSeq, Option<ConsumerId>)> {
        let slot = self.consumers.get(delivery.slot).filter(|slot| !slot.is_void)?;
        Some((delivery.seq, slot.consumer))
    }

    /// Lets consumers that could not take more try again, now that there may be room.
    pub(crate) fn resume_parked(&mut self) {
        if !self.handle.outbox.has_parked.load(SeqCst) || !self.handle.outbox.has_parked.swap(false, SeqCst) {
            return;
        }
        let engine = &self.broker.engine;
        self.consumers.resume_parked(|queue, consumer| {
            engine.with_queue(queue, |entry, work| {
                entry.queue.resume(consumer);
                work.dispatch(entry);
            });
        });
    }
}
