//! tx.select, commit, rollback: publishes and settlements that wait for a decision.
//!
//! RabbitMQ promises atomicity for one queue only; here a commit is one batch of the journal, so it is durable as a whole.

use std::sync::Arc;

use amqp::frame::put_method;
use amqp::method::{confirm, tx};
use store::Content;

use crate::batch::Publish;
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

#[derive(Debug)]
struct Pending {
    content: Content,
    is_mandatory: bool,
    targets: Arc<Targets>,
    body_len: u32,
    is_persistent: bool,
}

impl Transaction {
    pub(crate) fn publish(
        &mut self,
        content: Content,
        is_mandatory: bool,
        targets: Arc<Targets>,
        body_len: u32,
        is_persistent: bool,
    ) {
        self.publishes.push(Pending { content, is_mandatory, targets, body_len, is_persistent });
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
        for pending in tx.publishes {
            self.commit_publish(channel, pending);
        }
        let broker = self.broker.clone();
        let position = self.batch.apply(&broker, |_, _| ());
        self.requeue(channel, &mut requeued);
        let number = channel.number;
        self.reply_when_durable(position, |out| put_method(out, number, &tx::CommitOk));
        Ok(())
    }

    fn commit_publish(&mut self, channel: &Channel, pending: Pending) {
        if pending.targets.queues.is_empty() {
            if pending.is_mandatory
                && let Some(parts) = Parts::read(pending.content.bytes())
            {
                let whole = Whole {
                    exchange: parts.exchange,
                    routing_key: parts.routing_key,
                    mandatory: true,
                    header: parts.header,
                    body: parts.body,
                };
                self.return_unroutable(channel.number, &whole);
            }
            return;
        }
        self.batch.publish(&pending.targets, |targets| Publish {
            content: pending.content,
            body_len: pending.body_len,
            is_persistent: pending.is_persistent,
            targets,
            channel: channel.number,
            confirm_seq: 0,
        });
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
