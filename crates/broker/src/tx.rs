//! tx.select, commit, rollback: publishes and settlements that wait for a decision.
//!
//! RabbitMQ promises atomicity for one queue only; here a commit is one batch of the journal, so it is durable as a whole.

use std::sync::Arc;

use amqp::frame::put_method;
use amqp::method::{confirm, tx};
use queue::Return;

use crate::channel::{Channel, Confirms, UnackedDelivery};
use crate::publish::CompletePublish;
use crate::refusal::{self, Outcome};
use crate::session::Session;
use engine::message::Parts;
use engine::publish::PublishOptions;
use engine::targets::Targets;

/// What a transactional channel has done since its last commit.
#[derive(Debug, Default)]
pub(crate) struct Transaction {
    publishes: Vec<Pending>,
    /// Settled deliveries.
    settled: Vec<(UnackedDelivery, Settlement)>,
}

/// A publish that waits. Its content lies in no chunk: who never commits must not keep one from being freed.
#[derive(Debug)]
struct Pending {
    content: Box<[u8]>,
    is_mandatory: bool,
    /// `None` for a direct reply.
    targets: Option<Arc<Targets>>,
    terms: PublishOptions,
}

/// What a client has decided about a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settlement {
    Ack,
    /// Nobody is to get it again; `has_failed` if that was said with `basic.reject`, which RabbitMQ counts as a failure.
    Reject {
        has_failed: bool,
    },
    Requeue(Return),
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
        terms: PublishOptions,
    ) {
        let mut content = vec![0; parts.len()].into_boxed_slice();
        parts.write(&mut content);
        self.publishes.push(Pending { content, is_mandatory, targets, terms });
    }

    pub(crate) fn settle(&mut self, deliveries: &[UnackedDelivery], settlement: Settlement) {
        self.settled.extend(deliveries.iter().map(|&delivery| (delivery, settlement)));
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
        let mut given_back = Vec::new();
        for (delivery, settlement) in tx.settled {
            match settlement {
                Settlement::Ack => self.settle_later(channel, &[delivery]),
                Settlement::Reject { .. } | Settlement::Requeue(_) => given_back.push((delivery, settlement)),
            }
        }
        for pending in &tx.publishes {
            self.commit_publish(channel, pending)?;
        }
        let broker = self.broker.clone();
        let mut batch = std::mem::take(&mut self.batch);
        self.charge(&batch);
        batch.routes().iter().for_each(|route| channel.note_places(&route.targets, route.count));
        let mut is_partial = false;
        let mut position = batch.apply(&broker.engine, |publish, _| is_partial |= publish.outcome.is_refused);
        self.batch = batch;
        for group in given_back.chunk_by(|a, b| a.1 == b.1) {
            let mut deliveries: Vec<_> = group.iter().map(|(delivery, _)| *delivery).collect();
            match group[0].1 {
                Settlement::Reject { has_failed } => {
                    position = position.max(self.reject(channel, &mut deliveries, has_failed));
                }
                Settlement::Requeue(how) => self.requeue(channel, &mut deliveries, how),
                Settlement::Ack => {}
            }
        }
        if !tx.publishes.is_empty() {
            self.slow_down();
        }
        if is_partial {
            return refusal::precondition_failed("partial tx completion");
        }
        let number = channel.number;
        self.reply_when_durable(position, |out| put_method(out, number, &tx::CommitOk));
        Ok(())
    }

    fn commit_publish(&mut self, channel: &mut Channel, pending: &Pending) -> Outcome<()> {
        let Some(parts) = Parts::read(&pending.content) else {
            return refusal::internal_error("a message's content was unreadable");
        };
        let whole = CompletePublish {
            exchange: parts.exchange,
            routing_key: parts.routing_key,
            mandatory: pending.is_mandatory,
            header: parts.header,
            body: parts.body,
        };
        match &pending.targets {
            Some(targets) => self.publish_to(channel, &whole, targets, pending.terms, parts.history),
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
