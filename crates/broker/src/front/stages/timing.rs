//! What of the stages of messages is timed as they pass ([`super`] has what is being timed).

use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::Positions;
use engine::batch::Batch;
use engine::outbox::Outgoing;
use engine::position::Marks;
use engine::probe::{BatchProbe, DeliveryProbe, push_bounded};
use engine::queue_handle::QueueHandle;
use engine::statistics::Stage;

use super::{Committing, Unacked, Writing};
use crate::front::unacked::UnackedDelivery;
use crate::front::{Front, Protocol};

impl<P: Protocol> Front<P> {
    /// A message of this queue was in a stage from then until then.
    fn add_stage(&self, stage: Stage, queue: Option<&Arc<QueueHandle>>, time: Duration, weight: u64) {
        self.broker.engine.statistics.stages.add(stage, time, weight);
        match queue {
            Some(queue) => queue.add_stage(stage, time, weight),
            None => self.vhost().counters.stages().add(stage, time, weight),
        }
    }

    /// A batch of which a message was timed has been brought to its queues.
    #[cold]
    pub(in crate::front) fn batch_timed(&mut self, probe: BatchProbe, position: Positions) {
        let BatchProbe { weight, routed_at, queue, is_confirmed, waits_for_disk, .. } = probe;
        let received_at = self.turn.received_at.unwrap_or(routed_at);
        self.add_stage(Stage::SocketToRoute, queue.as_ref(), routed_at.saturating_duration_since(received_at), weight);
        if waits_for_disk && !position.is_empty() {
            let committing = Committing { position, since: routed_at, weight, queue, is_confirmed };
            push_bounded(
                &mut self.stages.in_flight().committing,
                committing,
                |c| &mut c.weight,
                position.journal_len(),
            );
            return;
        }
        let now = Instant::now();
        self.add_stage(Stage::RouteToCommit, queue.as_ref(), now.saturating_duration_since(routed_at), weight);
        if is_confirmed {
            self.time_write(Writing { stage: Stage::CommitToConfirm, since: now, weight, queue });
        }
    }

    fn time_write(&mut self, writing: Writing) {
        let dice = writing.weight + self.turn.now_ms;
        push_bounded(&mut self.stages.in_flight().writing, writing, |writing| &mut writing.weight, dice);
    }

    /// The journal may have become durable, and confirms been put into the output.
    #[cold]
    pub(in crate::front) fn time_commits(&mut self, durable: Marks) {
        self.follow_confirms(durable);
        let Some(in_flight) = &mut self.stages.in_flight else { return };
        if in_flight.committing.is_empty() {
            return;
        }
        let (broker, now) = (self.broker.clone(), Instant::now());
        let done: Vec<_> =
            in_flight.committing.extract_if(.., |committing| durable.reach_all(committing.position)).collect();
        for Committing { position, since, weight, queue, is_confirmed } in done {
            let at = broker.engine.durable_since(position).unwrap_or(now);
            self.add_stage(Stage::RouteToCommit, queue.as_ref(), at.saturating_duration_since(since), weight);
            if is_confirmed {
                self.time_write(Writing { stage: Stage::CommitToConfirm, since: at, weight, queue });
            }
        }
        self.stages.tidy();
    }

    /// All of the output is with the kernel.
    #[cold]
    fn time_written(&mut self, now: Instant) {
        let Some(in_flight) = &mut self.stages.in_flight else { return };
        in_flight.answers.written(now);
        in_flight.unacked.iter_mut().for_each(|unacked| _ = unacked.since.get_or_insert(now));
        for Writing { stage, since, weight, queue } in std::mem::take(&mut in_flight.writing) {
            self.add_stage(stage, queue.as_ref(), now.saturating_duration_since(since), weight);
        }
        self.stages.tidy();
    }

    /// The same, looked at where something is timed.
    #[inline]
    pub(in crate::front) fn note_written(&mut self, now: Instant) {
        if self.stages.is_timing() {
            self.time_written(now);
        }
    }

    /// Deliveries have been taken from the outbox of which these are timed. What was taken before is written, or will not be.
    #[cold]
    pub(in crate::front) fn time_deliveries(&mut self, timed: Vec<DeliveryProbe>) {
        self.stages.in_flight().delivering = timed;
    }

    /// Deliveries have been put into the output.
    #[cold]
    pub(in crate::front) fn time_encoded<'d>(&mut self, encoded: impl ExactSizeIterator<Item = &'d Outgoing> + Clone) {
        if let Some(in_flight) = &mut self.stages.in_flight {
            let is_encoded = |probe: &mut DeliveryProbe| {
                encoded.clone().any(|outgoing| outgoing.seq == probe.seq && outgoing.consumer == probe.consumer)
            };
            let done: Vec<_> = in_flight.delivering.extract_if(.., is_encoded).collect();
            for DeliveryProbe { queue, weight, at, .. } in done {
                let (stage, queue) = (Stage::EnqueueToDeliver, Some(queue));
                self.time_write(Writing { stage, since: at, weight, queue });
            }
        }
        if self.stages.delivered.left == 0 {
            let weight = encoded.len() as u64 * self.stages.delivered.take(Instant::now());
            let index = self.stages.delivered.roll() as usize % encoded.len();
            if let Some(outgoing) = encoded.clone().nth(index)
                && let Some(slot) = self.consumers.get(outgoing.consumer).filter(|slot| !slot.no_ack)
            {
                let (seq, queue) = (outgoing.seq, slot.queue.clone());
                let unacked = Unacked { slot: outgoing.consumer, seq, queue, weight, since: None };
                push_bounded(&mut self.stages.in_flight().unacked, unacked, |unacked| &mut unacked.weight, seq.0);
            }
        }
        self.stages.tidy();
    }

    /// What the client has settled is about to be brought to its queues.
    #[cold]
    pub(in crate::front) fn time_acks(&mut self, batch: &Batch) {
        let Some(in_flight) = &mut self.stages.in_flight else { return };
        let consumers = &self.consumers;
        let mut acked = Vec::new();
        for unacked in std::mem::take(&mut in_flight.unacked) {
            if batch.settles(&unacked.queue, unacked.seq) {
                acked.push(unacked);
            } else if consumers.get(unacked.slot).is_some_and(|slot| slot.unacked_count > 0) {
                in_flight.unacked.push(unacked);
            }
        }
        let now = self.turn.received_at.unwrap_or_else(Instant::now);
        for Unacked { queue, weight, since, .. } in acked {
            if let Some(since) = since {
                self.add_stage(Stage::DeliverToAck, Some(&queue), now.saturating_duration_since(since), weight);
            }
        }
        self.stages.tidy();
    }

    /// These go back to their queues, or elsewhere, and will not be acknowledged.
    #[inline]
    pub(in crate::front) fn forget_timed(&mut self, deliveries: &[UnackedDelivery]) {
        if let Some(in_flight) = &mut self.stages.in_flight {
            let is_there = |unacked: &Unacked| {
                deliveries.iter().any(|delivery| delivery.slot == unacked.slot && delivery.seq == unacked.seq)
            };
            in_flight.unacked.retain(|unacked| !is_there(unacked));
            self.stages.tidy();
        }
    }
}
