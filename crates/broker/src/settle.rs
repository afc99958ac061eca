//! basic.ack, nack, reject, recover: what becomes of deliveries.

use amqp::frame::put_method;
use amqp::method::basic;
use model::ids::QueueSeq;

use crate::batch;
use crate::channel::{Channel, UnackedDelivery};
use crate::refusal::{self, Outcome};
use crate::session::Session;

impl Session {
    /// basic.ack.
    pub(crate) fn ack(&mut self, channel: &mut Channel, tag: u64, multiple: bool) -> Outcome<()> {
        let mut taken = self.take_unacked(channel, tag, multiple)?;
        match &mut channel.tx {
            Some(tx) => tx.settle(&taken, None),
            None => self.settle_later(channel, &taken),
        }
        taken.clear();
        self.taken_unacked = taken;
        Ok(())
    }

    /// basic.nack and basic.reject.
    pub(crate) fn nack(&mut self, channel: &mut Channel, tag: u64, multiple: bool, requeue: bool) -> Outcome<()> {
        let mut taken = self.take_unacked(channel, tag, multiple)?;
        match &mut channel.tx {
            Some(tx) => tx.settle(&taken, Some(requeue)),
            None if requeue => self.requeue(channel, &mut taken),
            None => self.settle_later(channel, &taken),
        }
        taken.clear();
        self.taken_unacked = taken;
        Ok(())
    }

    /// basic.recover and basic.recover-async: everything unacked on the channel goes back to its queue.
    pub(crate) fn recover(&mut self, channel: &mut Channel, requeue: bool, is_answered: bool) -> Outcome<()> {
        if !requeue {
            return refusal::not_implemented("requeue=false");
        }
        let mut taken = Vec::new();
        channel.unacked.take_up_to(0, &mut taken);
        self.requeue(channel, &mut taken);
        if is_answered {
            put_method(&mut self.out, channel.number, &basic::RecoverOk);
        }
        Ok(())
    }

    fn take_unacked(&mut self, channel: &mut Channel, tag: u64, multiple: bool) -> Outcome<Vec<UnackedDelivery>> {
        let mut taken = std::mem::take(&mut self.taken_unacked);
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
    pub(crate) fn settle_later(&mut self, channel: &Channel, deliveries: &[UnackedDelivery]) {
        for delivery in deliveries {
            let Some(link) = self.links.get_mut(delivery.link) else { continue };
            self.batch.settle(&link.queue, delivery.seq);
            self.count_settled(channel, delivery.link, 1);
        }
    }

    /// A channel has `count` unacked deliveries of a link less.
    fn count_settled(&mut self, channel: &Channel, number: u32, count: u32) {
        let Some(link) = self.links.get_mut(number) else { return };
        link.unacked_count -= count;
        if link.consumer.is_some() {
            channel.limit.release(count);
        }
        self.links.tidy(number);
    }

    /// Gives deliveries back to their queues, to their places, and hands them out again.
    pub(crate) fn requeue(&mut self, channel: &Channel, deliveries: &mut [UnackedDelivery]) {
        // By queue and then by place, so that each queue is visited once and gets them in its own order.
        deliveries.sort_unstable_by_key(|delivery| (delivery.link, delivery.seq));
        for group in deliveries.chunk_by(|a, b| a.link == b.link) {
            let number = group[0].link;
            let Some(link) = self.links.get(number) else { continue };
            let seqs: Vec<QueueSeq> = group.iter().map(|delivery| delivery.seq).collect();
            let queue = link.queue.clone();
            self.count_settled(channel, number, group.len() as u32);
            let broker = &self.broker;
            batch::with_queue(broker, &queue, |cell, work| {
                cell.queue.requeue(&seqs);
                work.dispatch(cell, broker);
            });
        }
        self.resume_parked();
    }

    /// Lets consumers that could not take more try again, now that there may be room.
    pub(crate) fn resume_parked(&mut self) {
        use std::sync::atomic::Ordering::SeqCst;
        if !self.outbox.has_parked.load(SeqCst) || !self.outbox.has_parked.swap(false, SeqCst) {
            return;
        }
        // The first one takes what it can get: each time it is another's turn to be the first.
        let start = std::mem::take(&mut self.resume_from);
        for (number, link) in self.links.from(start) {
            let Some(consumer) = link.consumer else { continue };
            if !link.is_live || !link.is_parked.swap(false, SeqCst) {
                continue;
            }
            if self.resume_from == 0 {
                self.resume_from = number as usize + 1;
            }
            let broker = &self.broker;
            batch::with_queue(broker, &link.queue, |cell, work| {
                cell.queue.resume(consumer);
                work.dispatch(cell, broker);
            });
        }
    }
}
