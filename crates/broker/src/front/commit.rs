//! Transactions: publishes and settlements that wait for a decision.
//!
//! RabbitMQ promises atomicity for one queue only; here a commit is one batch of the journal, so it is durable as a whole.

use engine::Positions;
use message::Parts;
use model::refusal::{self, Outcome};

use super::confirms::Confirms;
use super::disposition::Disposition;
use super::incoming::Incoming;
use super::lane::Lane;
use super::tracer::OF_BATCHES;
use super::transaction::{PendingPublish, PendingTarget, Transaction};
use super::{Front, Protocol};
use crate::limits::{LONG_COMMIT_LEN, SETTLED_COUNT_MAX};
use crate::long_turns::take_long;

/// What has to be done once a commit is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Committed {
    /// Where it is durable; empty: nothing has to be.
    pub(crate) position: Positions,
    /// Whether deliveries may have got room, which leave before anything more is received.
    has_settled: bool,
}

impl<P: Protocol> Front<P> {
    /// Publishes on the lane are confirmed from now on.
    pub(crate) fn begin_confirming(&mut self, lane: &mut Lane<P::Lane>) -> Outcome<()> {
        if lane.tx.is_some() {
            return refusal::precondition_failed("cannot switch from tx to confirm mode");
        }
        lane.confirms.get_or_insert_with(Confirms::new);
        Ok(())
    }

    /// What happens on the lane waits for commits from now on.
    pub(crate) fn begin_transactions(&mut self, lane: &mut Lane<P::Lane>) -> Outcome<()> {
        if lane.confirms.is_some() {
            return refusal::precondition_failed("cannot switch from confirm to tx mode");
        }
        lane.tx.get_or_insert_default();
        Ok(())
    }

    /// Commits the lane's transaction. The protocol answers when the journal is durable up to what this gives, and then calls
    /// [`Front::end_commit`].
    pub(crate) fn commit(&mut self, lane: &mut Lane<P::Lane>) -> Outcome<Committed> {
        let Some(tx) = lane.tx.as_deref_mut().map(std::mem::take) else {
            return refusal::precondition_failed("channel is not transactional");
        };
        let (content_len, (publish_count, settlement_count)) = (tx.content_len(), tx.counts());
        if content_len <= LONG_COMMIT_LEN && publish_count + settlement_count <= SETTLED_COUNT_MAX {
            return self.commit_all(lane, tx);
        }
        let _coming = self.broker.engine.store.admit(content_len as u64);
        take_long(|| self.commit_all(lane, tx))
    }

    /// A commit has been answered.
    pub(crate) fn end_commit(&mut self, committed: Committed) {
        if committed.has_settled {
            self.send_before_more();
        }
    }

    fn commit_all(&mut self, lane: &mut Lane<P::Lane>, tx: Transaction) -> Outcome<Committed> {
        let mut given_back = Vec::new();
        let has_settled = !tx.settled.is_empty();
        for (delivery, disposition) in tx.settled {
            match disposition {
                Disposition::Accepted => self.settle_later(lane, &[delivery]),
                Disposition::Rejected { .. } | Disposition::Requeued(_) => given_back.push((delivery, disposition)),
            }
        }
        let (has_published, has_settled) = (!tx.publishes.is_empty(), !lane.consumers.is_empty() && has_settled);
        for pending in tx.publishes {
            self.commit_publish(lane, pending)?;
        }
        let broker = self.broker.clone();
        let mut batch = std::mem::take(&mut self.batch);
        self.charge(&batch);
        batch.routes().iter().for_each(|route| lane.note_places(&route.targets, route.count));
        if broker.engine.taps.want(OF_BATCHES) {
            self.report_published(&batch);
            batch.client = self.tracing_client();
            self.forget_reported();
        }
        let mut is_partial = false;
        let mut position =
            batch.apply_as_a_whole(&broker.engine, |publish, _| is_partial |= publish.outcome.is_refused);
        self.batch = batch;
        for group in given_back.chunk_by(|a, b| a.1 == b.1) {
            let mut deliveries: Vec<_> = group.iter().map(|(delivery, _)| *delivery).collect();
            match group[0].1 {
                Disposition::Rejected { has_failed } => {
                    position.add(self.reject(lane, &mut deliveries, has_failed));
                }
                Disposition::Requeued(how) => self.requeue(lane, &mut deliveries, how),
                Disposition::Accepted => {}
            }
        }
        if has_published {
            self.slow_down();
        }
        if is_partial {
            return refusal::precondition_failed("partial tx completion");
        }
        Ok(Committed { position, has_settled })
    }

    fn commit_publish(&mut self, lane: &mut Lane<P::Lane>, pending: PendingPublish) -> Outcome<()> {
        let Some(parts) = Parts::read(&pending.content) else {
            return refusal::internal("a message's content was unreadable");
        };
        let Parts { exchange, routing_key, header, body, .. } = parts;
        let message = Incoming { exchange, routing_key, is_mandatory: pending.is_mandatory, header, body };
        match pending.target {
            PendingTarget::Queues(targets) => {
                self.publish_to(lane, &message, &targets, pending.options, parts.history);
            }
            PendingTarget::Reply(permitted) => self.send_reply(lane, &message, permitted),
        }
        Ok(())
    }

    /// Undoes what has been done on the lane since the last commit.
    pub(crate) fn roll_back(&mut self, lane: &mut Lane<P::Lane>) -> Outcome<()> {
        let Some(tx) = lane.tx.as_deref_mut().map(std::mem::take) else {
            return refusal::precondition_failed("channel is not transactional");
        };
        // Settlements are undone: the deliveries are unacked again, and may be settled anew.
        let mut all = Vec::new();
        lane.unacked.take_up_to(0, &mut all);
        all.extend(tx.into_settled());
        all.sort_unstable_by_key(|delivery| delivery.tag);
        for delivery in all {
            lane.unacked.push(delivery);
        }
        Ok(())
    }
}
