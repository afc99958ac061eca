//! tx.select, commit, rollback: publishes and settlements that wait for a decision.
//!
//! RabbitMQ promises atomicity for one queue only; here a commit is one batch of the journal, so it is durable as a whole.

use amqp::frame::put_method;
use amqp::method::{confirm, tx};

use crate::limits::{LONG_COMMIT_LEN, SETTLED_COUNT_MAX};
use crate::long_turns::take_long;
use crate::refusal::{self, Outcome};
use crate::session::Session;
use crate::session::assembly::CompletePublish;
use crate::session::channel::Channel;
use crate::session::confirms::Confirms;
use crate::session::told;
use crate::session::transaction::{PendingPublish, PendingTarget, Transaction, TxSettlement};
use engine::message::Parts;

impl Session {
    /// confirm.select.
    pub(super) fn confirm_select(&mut self, channel: &mut Channel, no_wait: bool) -> Outcome<()> {
        if channel.tx.is_some() {
            return refusal::precondition_failed("cannot switch from tx to confirm mode");
        }
        channel.confirms.get_or_insert_with(Confirms::new);
        if !no_wait {
            put_method(&mut self.out, channel.number, &confirm::SelectOk);
        }
        Ok(())
    }

    pub(super) fn tx_select(&mut self, channel: &mut Channel) -> Outcome<()> {
        if channel.confirms.is_some() {
            return refusal::precondition_failed("cannot switch from confirm to tx mode");
        }
        channel.tx.get_or_insert_default();
        put_method(&mut self.out, channel.number, &tx::SelectOk);
        Ok(())
    }

    pub(super) fn tx_commit(&mut self, channel: &mut Channel) -> Outcome<()> {
        let Some(tx) = channel.tx.as_deref_mut().map(std::mem::take) else {
            return refusal::precondition_failed("channel is not transactional");
        };
        let (content_len, (publish_count, settlement_count)) = (tx.content_len(), tx.counts());
        if content_len <= LONG_COMMIT_LEN && publish_count + settlement_count <= SETTLED_COUNT_MAX {
            return self.commit(channel, tx);
        }
        let _coming = self.broker.engine.store.admit(content_len as u64);
        take_long(|| self.commit(channel, tx))
    }

    fn commit(&mut self, channel: &mut Channel, tx: Transaction) -> Outcome<()> {
        let mut given_back = Vec::new();
        let has_settled = !tx.settled.is_empty();
        for (delivery, settlement) in tx.settled {
            match settlement {
                TxSettlement::Ack => self.settle_later(channel, &[delivery]),
                TxSettlement::Reject { .. } | TxSettlement::Requeue(_) => given_back.push((delivery, settlement)),
            }
        }
        let (has_published, has_settled) = (!tx.publishes.is_empty(), !channel.consumers.is_empty() && has_settled);
        for pending in tx.publishes {
            self.commit_publish(channel, pending)?;
        }
        let broker = self.broker.clone();
        let mut batch = std::mem::take(&mut self.batch);
        self.charge(&batch);
        batch.routes().iter().for_each(|route| channel.note_places(&route.targets, route.count));
        if broker.engine.taps.want(told::OF_BATCHES) {
            self.tell_published(&batch);
            batch.client = self.told_client();
            self.forget_told();
        }
        let mut is_partial = false;
        let mut position =
            batch.apply_as_a_whole(&broker.engine, |publish, _| is_partial |= publish.outcome.is_refused);
        self.batch = batch;
        for group in given_back.chunk_by(|a, b| a.1 == b.1) {
            let mut deliveries: Vec<_> = group.iter().map(|(delivery, _)| *delivery).collect();
            match group[0].1 {
                TxSettlement::Reject { has_failed } => {
                    position = position.max(self.reject(channel, &mut deliveries, has_failed));
                }
                TxSettlement::Requeue(how) => self.requeue(channel, &mut deliveries, how),
                TxSettlement::Ack => {}
            }
        }
        if has_published {
            self.slow_down();
        }
        if is_partial {
            return refusal::precondition_failed("partial tx completion");
        }
        let number = channel.number;
        self.reply_when_durable(position, |out| put_method(out, number, &tx::CommitOk));
        if has_settled {
            self.send_before_more();
        }
        Ok(())
    }

    fn commit_publish(&mut self, channel: &mut Channel, pending: PendingPublish) -> Outcome<()> {
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
        match pending.target {
            PendingTarget::Queues(targets) => self.publish_to(channel, &whole, &targets, pending.terms, parts.history),
            PendingTarget::Reply(permitted) => self.send_reply(channel, &whole, permitted),
        }
        Ok(())
    }

    pub(super) fn tx_rollback(&mut self, channel: &mut Channel) -> Outcome<()> {
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
