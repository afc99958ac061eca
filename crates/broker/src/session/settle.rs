//! basic.ack, nack, reject, recover: what becomes of deliveries.

use amqp::frame::put_method;
use amqp::method::basic;
use model::ids::{JournalPosition, QueueSeq};
use queue::{ConsumerId, Return};

use crate::limits::SETTLED_COUNT_MAX;
use crate::long_turns::take_long;
use crate::refusal::{self, Outcome};
use crate::session::Session;
use crate::session::channel::Channel;
use crate::session::consumer_slots::ConsumerSlots;
use crate::session::told;
use crate::session::transaction::TxSettlement;
use crate::session::unacked::UnackedDelivery;
use crate::statistics::ChannelNumber;
use engine::batch::still_held;
use engine::shard::QueueEntry;
use engine::work::Work;

impl Session {
    /// basic.ack.
    pub(super) fn ack(&mut self, channel: &mut Channel, tag: u64, multiple: bool) -> Outcome<()> {
        let mut taken = self.take_unacked(channel, tag, multiple)?;
        match &mut channel.tx {
            Some(tx) => tx.settle(&taken, TxSettlement::Ack),
            None if taken.len() > SETTLED_COUNT_MAX => self.settle_at_once(channel, &mut taken),
            None => self.settle_later(channel, &taken),
        }
        self.deliveries.return_settled(taken);
        Ok(())
    }

    /// basic.nack and basic.reject. As in RabbitMQ only the latter counts as a failure.
    pub(super) fn nack(
        &mut self,
        channel: &mut Channel,
        tag: u64,
        multiple: bool,
        requeue: bool,
        has_failed: bool,
    ) -> Outcome<()> {
        let mut taken = self.take_unacked(channel, tag, multiple)?;
        let how = if has_failed { Return::Failed } else { Return::Unharmed };
        match &mut channel.tx {
            Some(tx) if requeue => tx.settle(&taken, TxSettlement::Requeue(how)),
            Some(tx) => tx.settle(&taken, TxSettlement::Reject { has_failed }),
            None if requeue => self.requeue(channel, &mut taken, how),
            None => drop(self.reject(channel, &mut taken, has_failed)),
        }
        self.deliveries.return_settled(taken);
        Ok(())
    }

    /// basic.recover and basic.recover-async: everything unacked on the channel goes back to its queue.
    pub(super) fn recover(&mut self, channel: &mut Channel, requeue: bool, is_answered: bool) -> Outcome<()> {
        if !requeue {
            return refusal::not_implemented("requeue=false");
        }
        let mut taken = Vec::new();
        channel.unacked.take_up_to(0, &mut taken);
        self.requeue(channel, &mut taken, Return::Unharmed);
        if is_answered {
            put_method(&mut self.out, channel.number, &basic::RecoverOk);
        }
        Ok(())
    }

    fn take_unacked(&mut self, channel: &mut Channel, tag: u64, multiple: bool) -> Outcome<Vec<UnackedDelivery>> {
        let mut taken = self.deliveries.borrow_settled();
        let is_known = if multiple {
            channel.unacked.take_up_to(tag, &mut taken)
        } else if let Some(delivery) = channel.unacked.take(tag) {
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
    pub(super) fn settle_later(&mut self, channel: &mut Channel, deliveries: &[UnackedDelivery]) {
        channel.counts.add(ChannelNumber::Acked, deliveries.len() as u64);
        for delivery in deliveries {
            let Some(slot) = self.consumers.get_mut(delivery.slot) else { continue };
            slot.counters.acked.add(1);
            if !slot.is_void {
                self.batch.settle(&slot.queue, slot.consumer, delivery.seq);
            }
            self.count_settled(channel, delivery.slot, 1);
        }
    }

    /// Acknowledges more deliveries than a batch is to bring to their queues under one lock: in pieces.
    fn settle_at_once(&mut self, channel: &mut Channel, deliveries: &mut [UnackedDelivery]) {
        channel.counts.add(ChannelNumber::Acked, deliveries.len() as u64);
        for delivery in &*deliveries {
            if let Some(slot) = self.consumers.get_mut(delivery.slot) {
                slot.counters.acked.add(1);
            }
        }
        self.give_back(channel, deliveries, |entry, work, seqs| work.ack(entry, seqs));
    }

    /// A channel has `count` unacked deliveries of a slot less.
    fn count_settled(&mut self, channel: &Channel, number: u32, count: u32) {
        let Some(slot) = self.consumers.get_mut(number) else { return };
        slot.unacked_count -= count;
        if slot.consumer.is_some() {
            channel.limit.release(count);
        }
        self.consumers.tidy(number);
    }

    /// Gives deliveries back to their queues, to their places. They are handed out again with the batch.
    pub(super) fn requeue(&mut self, channel: &Channel, deliveries: &mut [UnackedDelivery], how: Return) {
        self.give_back(channel, deliveries, |entry, work, seqs| work.give_back(entry, seqs, how));
    }

    /// Tells queues that no consumer is to get these deliveries again. Says where that is durable. As in RabbitMQ they do not count as
    /// acknowledged.
    pub(super) fn reject(
        &mut self,
        channel: &Channel,
        deliveries: &mut [UnackedDelivery],
        has_failed: bool,
    ) -> Option<JournalPosition> {
        self.give_back(channel, deliveries, |entry, work, seqs| work.reject(entry, seqs, has_failed))
    }

    /// Queues have deliveries back at once, and are served with the batch: a consumer that ends in the same read is given nothing more.
    fn give_back(
        &mut self,
        channel: &Channel,
        deliveries: &mut [UnackedDelivery],
        act: impl FnMut(&mut QueueEntry, &mut Work<'_>, &[QueueSeq]),
    ) -> Option<JournalPosition> {
        if deliveries.len() > SETTLED_COUNT_MAX {
            take_long(|| self.give_back_by_queue(channel, deliveries, act))
        } else {
            self.give_back_by_queue(channel, deliveries, act)
        }
    }

    fn give_back_by_queue(
        &mut self,
        channel: &Channel,
        deliveries: &mut [UnackedDelivery],
        mut act: impl FnMut(&mut QueueEntry, &mut Work<'_>, &[QueueSeq]),
    ) -> Option<JournalPosition> {
        self.forget_timed(deliveries);
        let mut durable_at = None;
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
            group.iter().for_each(|delivery| self.count_settled(channel, delivery.slot, 1));
            if held.is_empty() {
                continue;
            }
            let client = if self.broker.engine.taps.want(told::GIVEN_BACK) { self.told_client() } else { None };
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
                durable_at = durable_at.max(given.and_then(|((), position)| position));
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
    pub(super) fn resume_parked(&mut self) {
        use std::sync::atomic::Ordering::SeqCst;
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
