//! What a front does besides receiving: brings its batch to the queues, writes confirms, and waits for the journal.
//!
//! A connection waits for one position of a journal at a time, the earliest that anything of it needs; when that is
//! durable it looks again and asks for the next.

use std::task::Waker;
use std::time::Instant;

use engine::Positions;
use engine::batch::{Batch, BatchRoute};
use engine::outbox::ConnectionEvent;
use engine::position::{Marks, Position};
use engine::watchers::Watchers;
use model::refusal;
use sampler::{Work, working_on};

use super::tracer::OF_BATCHES;
use super::{Front, Protocol};
use crate::broker::Broker;
use crate::changed::Changed;

/// Does what the outbox and the journal ask for. True when something was done; else `waker` is woken when there is.
pub(super) fn drain_outbox<P: Protocol>(session: &mut P, waker: &Waker) -> bool {
    let _working = working_on(Work::Delivering);
    let front = session.front_mut();
    let has_found = front.refill(waker);
    if let Some(events) = front.deliveries.take_events() {
        on_events(session, events);
    }
    let front = session.front_mut();
    let is_woken = front.deliveries.is_woken();
    let has_encoded = front.encode_deliveries();
    front.write_confirms();
    if is_woken {
        recheck_waits(session);
    }
    // Whatever was done above may have made room.
    session.front_mut().resume_parked();
    has_found || has_encoded
}

#[cold]
fn on_events<P: Protocol>(session: &mut P, all: Vec<ConnectionEvent>) {
    let mut cancelled = Vec::new();
    for event in all {
        match event {
            // They may be very many, and are dealt with together.
            ConnectionEvent::ConsumerCancelled { consumer, queue } => cancelled.push((consumer, queue)),
            event => {
                session.front_mut().queues_deleted(std::mem::take(&mut cancelled));
                on_event(session, event);
            }
        }
    }
    session.front_mut().queues_deleted(cancelled);
}

/// Handles an event of the connection.
pub(super) fn on_event<P: Protocol>(session: &mut P, event: ConnectionEvent) {
    let front = session.front_mut();
    match event {
        ConnectionEvent::ConsumerCancelled { consumer, queue } => front.queues_deleted(vec![(consumer, queue)]),
        ConnectionEvent::ConsumerTimedOut { consumer, queue } => {
            if let Some(lane) = front.consumer_timed_out(consumer, queue)
                && let Err(refusal) = refusal::precondition_failed::<()>(format!(
                    "delivery acknowledgement on channel {lane} timed out. Timeout value used: -1 ms. This timeout value can be \
                     configured, see consumers doc guide to learn more"
                ))
            {
                session.fail_lane(lane, refusal);
            }
        }
        // Credit is drained where consumers grant it, which no protocol here lets them do: a window is not drained.
        ConnectionEvent::CreditDrained { .. } => {}
        ConnectionEvent::Reply { lane, address, content } => front.deliver_reply(lane, &address, &content),
        ConnectionEvent::AlarmsChanged => front.alarms_changed(),
        ConnectionEvent::AccessChanged => front.access_changed(),
        ConnectionEvent::Close { reason } => session.close_by_server(&reason),
        ConnectionEvent::Pause { unheard } => front.pause(unheard),
        ConnectionEvent::Cut => front.end_at_once(),
    }
}

/// Something came that may be what the connection waits for. If it was not, it is asked for once more.
fn recheck_waits<P: Protocol>(session: &mut P) {
    let front = session.front_mut();
    front.recheck_journal();
    if let Some(get) = front.waits.take_get() {
        session.retry_get(get);
        let front = session.front_mut();
        if front.stages.is_timing() {
            front.read_followed();
        }
    }
}

impl<P: Protocol> Front<P> {
    /// Brings the batch to its queues and notes which confirms that settles.
    pub(crate) fn apply_batch(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let _working = working_on(Work::Queueing);
        let mut batch = std::mem::take(&mut self.batch);
        let has_published = !batch.publishes().is_empty();
        self.charge(&batch);
        let broker = self.broker.clone();
        self.note_places(batch.routes());
        let is_sampled = has_published && self.stages.times_next_batch();
        if self.followers().with(broker.engine.taps.wanted_among(OF_BATCHES)).with(is_sampled).are_there() {
            self.apply_watched(&broker, &mut batch, is_sampled);
        } else {
            self.bring_to_queues(&broker, &mut batch);
        }
        self.batch = batch;
        self.resume_parked();
        // Acks are what makes room again: a client that only acknowledges is read from all the time.
        if has_published {
            self.slow_down();
        }
    }

    /// The watchers that follow what the connection did before, in any of its turns.
    #[inline(always)]
    fn followers(&self) -> Watchers {
        self.stages.watchers().with_left(&self.tracer)
    }

    #[inline(always)]
    fn bring_to_queues(&mut self, broker: &Broker, batch: &mut Batch) -> Positions {
        batch.apply(&broker.engine, |publish, position| {
            self.turn.counted.written += u64::from(publish.outcome.waits_for_disk);
            if publish.confirm_seq != 0 {
                self.lanes.complete(publish.lane, publish.confirm_seq, publish.outcome.is_refused, position);
            }
        })
    }

    /// Brings a batch to its queues for those that watch.
    #[cold]
    #[inline(never)]
    fn apply_watched(&mut self, broker: &Broker, batch: &mut Batch, is_sampled: bool) {
        if broker.engine.taps.want(OF_BATCHES) {
            self.apply_reported(batch);
        } else {
            self.forget_reported();
        }
        self.time_acks(batch);
        if is_sampled {
            self.stages.time_batch(batch);
        }
        let position = self.bring_to_queues(broker, batch);
        if let Some(probe) = batch.take_probe() {
            self.batch_timed(*probe, position);
        }
    }

    /// Notes where each lane publishes, and how much of it is to be confirmed.
    fn note_places(&mut self, bound: &[BatchRoute]) {
        let has_rates = self.broker.engine.statistics.options.has_rates();
        for BatchRoute { targets, lane, count } in bound {
            let Some(lane) = self.lanes.get_mut(*lane) else { continue };
            if lane.confirms.is_some() {
                self.turn.counted.published_to_confirm += u64::from(*count);
            }
            if has_rates {
                lane.note_places(targets, *count);
            }
        }
    }

    /// Counts what is published towards the vhost's limit of rates.
    pub(crate) fn charge(&mut self, batch: &Batch) {
        if !batch.publishes().is_empty() {
            let time = self.vhost().throttle.charge_batch(batch, Instant::now);
            self.flow.throttle_for(time);
        }
    }

    /// The connection has published: if the store is behind, nothing more is received until it has caught up (`flow`).
    pub(super) fn slow_down(&mut self) {
        self.wait_if_congested();
        if self.flow.is_congested() {
            self.broker.counters.flow_entered.add(1);
        }
    }

    /// Writes the confirms that may leave, and asks to be woken for the rest.
    pub(crate) fn write_confirms(&mut self) {
        if self.followers().are_there() {
            return self.write_watched_confirms();
        }
        if self.lanes.are_confirming() {
            self.write_confirms_up_to(self.broker.engine.durable());
        }
    }

    /// The same, where it is looked at what is confirmed: each confirm that is written, then.
    #[cold]
    #[inline(never)]
    fn write_watched_confirms(&mut self) {
        let durable = self.broker.engine.durable();
        self.time_commits(durable);
        if self.lanes.are_confirming() {
            self.report_confirmed(durable);
            self.write_confirms_up_to(durable);
        }
    }

    #[inline]
    fn write_confirms_up_to(&mut self, durable: Marks) {
        let (out, vhost) = (&mut self.out, &self.principal.access().vhost.counters);
        let put = |lane, confirm| P::put_confirm(out, lane, confirm);
        let (count, waits_for) = self.lanes.write_confirms(durable, vhost, put);
        self.turn.counted.confirmed += count;
        waits_for.iter().for_each(|position| self.wake_at(position));
    }

    /// Writes the confirms that may leave, if only they wait for the journal, and nothing else waits. Otherwise returns false, and does
    /// nothing.
    pub(super) fn write_durable(&mut self) -> bool {
        let waits_for_more = self.waits.has_any()
            || self.flow.is_stopped()
            || !self.broker.engine.durable().reach_all(self.deliveries.hold_until())
            || !self.deliveries.is_empty()
            || !self.is_running();
        if waits_for_more {
            return false;
        }
        self.write_confirms();
        true
    }

    /// Asks to be woken when the journal is durable up to `position`, unless that has been asked for.
    fn wake_at(&mut self, position: Position) {
        let engine = &self.broker.engine;
        if self.waits.note_wake_at(position, engine.durable()) {
            engine.when_durable(position, self.handle.as_durable_waiter());
        }
    }

    fn wake_at_all(&mut self, positions: Positions) {
        positions.iter().for_each(|position| self.wake_at(position));
    }

    /// Sends the reply that `put` writes when the journal is durable up to `position`, and receives nothing before.
    pub(crate) fn reply_when_durable(&mut self, position: Positions, put: impl FnOnce(&mut Vec<u8>)) {
        if self.broker.engine.durable().reach_all(position) {
            return put(&mut self.out);
        }
        let mut reply = Vec::new();
        put(&mut reply);
        self.waits.hold_reply(position, reply);
        self.wake_at_all(position);
    }

    /// Where what a declaration or a binding came to is durable, or in a group on a majority's disks: what was answered is there, as in
    /// RabbitMQ. A client that finds it done waits no less than the one that did it. Empty: it is answered at once.
    pub(crate) fn defined_position(&self, changed: Changed) -> Positions {
        if self.broker.options.answers_definitions_at_once && !self.broker.engine.is_replicated() {
            return Positions::NONE;
        }
        if changed.is_new {
            return changed.position;
        }
        changed.position.and(self.vhost().defined_at())
    }

    /// Answers what has changed the topology, or found it so, when that is durable.
    pub(crate) fn answer_change(&mut self, changed: Changed, put: impl FnOnce(&mut Vec<u8>)) {
        self.answer_definition(self.defined_position(changed), put);
    }

    /// The same for what defines something: what defines more is received meanwhile.
    pub(crate) fn answer_definition(&mut self, position: Positions, put: impl FnOnce(&mut Vec<u8>)) {
        self.reply_when_durable(position, put);
        self.waits.begin_following();
    }

    /// What was settled has made room for deliveries: they leave before anything more is received. A cancellation that came with it would
    /// take them back, marked as redelivered without ever having been sent.
    pub(super) fn send_before_more(&mut self) {
        if self.waits.reply_position().is_none() {
            self.waits.hold_reply(self.broker.engine.durable().into(), Vec::new());
            self.handle.outbox.wake_up();
        }
    }

    /// Takes back what was written since `start` and sends it when the journal is durable up to `position`. It holds deliveries, or
    /// their end: none with a higher tag may leave before.
    pub(crate) fn send_when_durable(&mut self, position: Positions, start: usize) {
        if !self.broker.engine.durable().reach_all(position) {
            let held = self.out.split_off(start);
            self.reply_when_durable(position, |out| out.extend_from_slice(&held));
            self.waits.hold_deliveries();
        }
    }

    /// Takes what the outbox has, and asks to be woken for what may not leave yet. False when there was nothing.
    fn refill(&mut self, waker: &Waker) -> bool {
        let has_found = self.deliveries.refill(&self.handle.outbox, waker);
        if has_found {
            self.wake_for_held();
            if let Some(timed) = self.deliveries.take_timed() {
                self.time_deliveries(timed);
            }
        }
        has_found
    }

    /// Where the journal has to be before deliveries may leave.
    pub(crate) fn held_until(&self) -> Positions {
        self.deliveries.hold_until()
    }

    /// Deliveries are to leave only when the journal is durable up to `position`.
    pub(crate) fn hold(&mut self, position: Positions) {
        self.deliveries.hold(position);
        self.wake_for_held();
    }

    /// Asks to be woken when deliveries that are held may leave.
    fn wake_for_held(&mut self) {
        let (durable, held_until) = (self.broker.engine.durable(), self.deliveries.hold_until());
        for position in held_until.iter().filter(|&position| !durable.reach(position)) {
            self.wake_at(position);
        }
    }

    /// The journal may be as far as the connection waits for. If it is not, that is asked for once more.
    fn recheck_journal(&mut self) {
        let durable = self.broker.engine.durable();
        if self.waits.take_due(durable, &mut self.out) && self.stages.is_timing() {
            self.answer_followed(durable);
        }
        if let Some(cancels) = self.waits.end_reply() {
            self.consumers_cancelled(cancels);
        } else if let Some(position) = self.waits.reply_position() {
            self.wake_at_all(position);
        }
        self.wake_for_held();
        if self.flow.is_congested() {
            self.wait_if_congested();
        }
    }

    /// Receives nothing more until the store has caught up.
    fn wait_if_congested(&mut self) {
        let store = &self.broker.engine.store;
        self.flow.set_congested(store.is_congested());
        if self.flow.is_congested() {
            store.when_uncongested(Waker::from(self.handle.outbox.clone()));
        }
    }
}
