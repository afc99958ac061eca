//! tx.select, commit, rollback: publishes and settlements that wait for a decision.
//!
//! RabbitMQ promises atomicity for one queue only; here a commit is one batch of the journal, so it is durable as a whole.

use std::sync::Arc;

use amqp::frame::put_method;
use amqp::method::{confirm, tx};

use crate::channel::{Channel, Confirms, UnackedDelivery};
use crate::message::Parts;
use crate::publish::Whole;
use crate::queue_handle::Targets;
use crate::refusal::{self, Outcome};
use crate::session::Session;

/// What a transactional channel has done since its last commit.
#[derive(Debug, Default)]
pub(crate) struct Transaction {
    publishes: Vec<Pending>,
    /// Settled deliveries, and what with: acked or dropped (`None`, `Some(false)`), or requeued (`Some(true)`).
    settled: Vec<(UnackedDelivery, Option<bool>)>,
}

/// A publish that waits. Its content lies in no chunk: who never commits must not keep one from being freed.
#[derive(Debug)]
struct Pending {
    content: Box<[u8]>,
    is_mandatory: bool,
    /// `None` for a direct reply.
    targets: Option<Arc<Targets>>,
    is_persistent: bool,
}

impl Transaction {
    /// How many publishes, and how many settlements.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.publishes.len(), self.settled.len())
    }

    /// `targets` is `None` for a direct reply.
    pub(crate) fn publish(
        &mut self,
        parts: &Parts<'_>,
        is_mandatory: bool,
        targets: Option<Arc<Targets>>,
        is_persistent: bool,
    ) {
        let mut content = vec![0; parts.len()].into_boxed_slice();
        parts.write(&mut content);
        self.publishes.push(Pending { content, is_mandatory, targets, is_persistent });
    }

    /// `requeue` is `None` for an ack.
    pub(crate) fn settle(&mut self, deliveries: &[UnackedDelivery], requeue: Option<bool>) {
        self.settled.extend(deliveries.iter().map(|&delivery| (delivery, requeue)));
    }

    /// The deliveries that were to be settled: the channel is gone, so they were not.
    pub(crate) fn into_settled(self) -> impl Iterator<Item = UnackedDelivery> {
        self.settled.into_iter().map(|(delivery, _)| delivery)
    }
}

impl Session {
    /// confirm.select.
    pub(crate) fn confirm_select(&mut self, channel: &mut Channel, no_wait: bool) -> Outcome<()> {
        if channel.tx.is_some() {
            return refusal::precondition_failed("cannot switch from tx to confirm mode");
        }
        channel.confirms.get_or_insert_with(Confirms::new);
        if !no_wait {
            put_method(&mut self.out, channel.number, &confirm::SelectOk);
        }
        Ok(())
    }

    pub(crate) fn tx_select(&mut self, channel: &mut Channel) -> Outcome<()> {
        if channel.confirms.is_some() {
            return refusal::precondition_failed("cannot switch from confirm to tx mode");
        }
        channel.tx.get_or_insert_default();
        put_method(&mut self.out, channel.number, &tx::SelectOk);
        Ok(())
    }

    pub(crate) fn tx_commit(&mut self, channel: &mut Channel) -> Outcome<()> {
        let Some(tx) = channel.tx.as_deref_mut().map(std::mem::take) else {
            return refusal::precondition_failed("channel is not transactional");
        };
        let mut requeued = Vec::new();
        for (delivery, requeue) in tx.settled {
            match requeue {
                Some(true) => requeued.push(delivery),
                _ => self.settle_later(channel, &[delivery]),
            }
        }
        for pending in &tx.publishes {
            self.commit_publish(channel, pending)?;
        }
        let broker = self.broker.clone();
        let mut batch = std::mem::take(&mut self.batch);
        self.charge(&batch);
        let position = batch.apply(&broker, |_, _| ());
        self.batch = batch;
        self.requeue(channel, &mut requeued);
        if !tx.publishes.is_empty() {
            self.slow_down();
        }
        let number = channel.number;
        self.reply_when_durable(position, |out| put_method(out, number, &tx::CommitOk));
        Ok(())
    }

    fn commit_publish(&mut self, channel: &mut Channel, pending: &Pending) -> Outcome<()> {
        let Some(parts) = Parts::read(&pending.content) else {
            return refusal::internal_error("a message's content was unreadable");
        };
        let whole = Whole {
            exchange: parts.exchange,
            routing_key: parts.routing_key,
            mandatory: pending.is_mandatory,
            header: parts.header,
            body: parts.body,
        };
        match &pending.targets {
            Some(targets) => self.publish_to(channel, &whole, targets, pending.is_persistent),
            None => self.send_reply(channel, &whole),
        }
        Ok(())
    }

    pub(crate) fn tx_rollback(&mut self, channel: &mut Channel) -> Outcome<()> {
        let Some(tx) = channel.tx.as_deref_mut().map(std::mem::take) else {
            return refusal::precondition_failed("channel is not transactional");
        };
        // Settlements are undone: the deliveries are unacked again, and may be settled anew.
        let mut all = Vec::new();
        channel.unacked.take_up_to(0, &mut all);
        all.extend(tx.into_settled());
        all.sort_unstable_by_key(|delivery| delivery.tag);
        for delivery in all {
            channel.unacked.push(delivery);
        }
        put_method(&mut self.out, channel.number, &tx::RollbackOk);
        Ok(())
    }
}
