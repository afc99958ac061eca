//! What a session does besides receiving: brings its batch to the queues, writes confirms, and waits for the journal.
//!
//! A connection waits for one position of the journal at a time, the earliest that anything of it needs; when that is
//! durable it looks again and asks for the next.

use std::task::Waker;
use std::time::Instant;

use model::ids::JournalPosition;
use sampler::{Work, working_on};

use crate::session::{Phase, Session, told};
use engine::batch::{Batch, BatchRoute};
use engine::outbox::ConnectionEvent;

impl Session {
    /// Brings the batch to its queues and notes which confirms that settles.
    pub(super) fn apply_batch(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let _working = working_on(Work::Queueing);
        let mut batch = std::mem::take(&mut self.batch);
        let has_published = !batch.publishes().is_empty();
        self.charge(&batch);
        let broker = self.broker.clone();
        self.note_places(batch.routes());
        if broker.engine.taps.want(told::OF_BATCHES) {
            self.apply_told(&mut batch);
        } else if self.told.is_some() {
            self.forget_told();
        }
        if self.stages.is_timing() {
            self.time_acks(&batch);
        }
        if has_published {
            self.stages.begin_batch(&mut batch);
        }
        let position = batch.apply(&broker.engine, |publish, position| {
            self.turn.gathered.written += u64::from(publish.outcome.waits_for_disk);
            if publish.confirm_seq != 0 {
                self.channels.complete(publish.channel, publish.confirm_seq, publish.outcome.is_refused, position);
            }
        });
        if let Some(probe) = batch.take_probe() {
            self.batch_timed(*probe, position);
        }
        self.batch = batch;
        self.resume_parked();
        // Acks are what makes room again: who only acknowledges is listened to all the time.
        if has_published {
            self.slow_down();
        }
    }

    /// Notes where each channel publishes, and how much of it is to be confirmed.
    fn note_places(&mut self, bound: &[BatchRoute]) {
        let has_rates = self.broker.engine.statistics.options.has_rates();
        for BatchRoute { targets, channel, count } in bound {
            let Some(channel) = self.channels.get_mut(*channel) else { continue };
            if channel.confirms.is_some() {
                self.turn.gathered.published_to_confirm += u64::from(*count);
            }
            if has_rates {
                channel.note_places(targets, *count);
            }
        }
    }

    /// Counts what is published towards the vhost's limit of rates.
    pub(super) fn charge(&mut self, batch: &Batch) {
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
    pub(super) fn write_confirms(&mut self) {
        if self.stages.is_timing() {
            return self.write_timed_confirms();
        }
        if self.channels.are_confirming() {
            self.write_confirms_up_to(self.broker.engine.store.durable());
        }
    }

    /// The same, where it is looked at what is confirmed: each confirm that is written, then.
    #[cold]
    fn write_timed_confirms(&mut self) {
        let durable = self.broker.engine.store.durable();
        self.time_commits(durable);
        if self.channels.are_confirming() {
            self.write_confirms_up_to(durable);
        }
    }

    #[inline]
    fn write_confirms_up_to(&mut self, durable: JournalPosition) {
        if self.told.is_some() {
            self.tell_confirmed(durable);
        }
        let (count, waits_for) =
            self.channels.write_confirms(durable, &self.principal.access().vhost.counters, &mut self.out);
        self.turn.gathered.confirmed += count;
        if let Some(position) = waits_for {
            self.wake_at(position);
        }
    }

    /// Writes the confirms that may leave, if they are all that the journal is waited for with, and nothing else is. Else says so, and does
    /// nothing.
    pub(crate) fn write_durable(&mut self) -> bool {
        let waits_for_more = self.waits.has_any()
            || self.flow.is_stopped()
            || self.deliveries.hold_until() > Some(self.broker.engine.store.durable())
            || !self.deliveries.is_empty()
            || !matches!(self.phase, Phase::Running);
        if waits_for_more {
            return false;
        }
        self.write_confirms();
        true
    }

    /// Asks to be woken when the journal is durable up to `position`, unless that has been asked for.
    fn wake_at(&mut self, position: JournalPosition) {
        let store = &self.broker.engine.store;
        if self.waits.note_wake_at(position, store.durable()) {
            store.when_durable(position, self.handle.as_durable_waiter());
        }
    }

    /// Sends the reply that `put` writes when the journal is durable up to `position`, and receives nothing before.
    pub(super) fn reply_when_durable(&mut self, position: Option<JournalPosition>, put: impl FnOnce(&mut Vec<u8>)) {
        match position {
            Some(position) if position > self.broker.engine.store.durable() => {
                let mut reply = Vec::new();
                put(&mut reply);
                self.waits.hold_reply(position, reply);
                self.wake_at(position);
            }
            _ => put(&mut self.out),
        }
    }

    /// The same for what defines something: what defines more is received meanwhile.
    pub(super) fn answer_definition(&mut self, position: Option<JournalPosition>, put: impl FnOnce(&mut Vec<u8>)) {
        self.reply_when_durable(position, put);
        self.waits.begin_following();
    }

    /// What was settled has made room for deliveries: they leave before anything more is received. A cancellation that came with it would
    /// take them back, marked as redelivered without ever having been sent.
    pub(super) fn send_before_more(&mut self) {
        if self.waits.reply_position().is_none() {
            self.waits.hold_reply(self.broker.engine.store.durable(), Vec::new());
            self.handle.outbox.wake_up();
        }
    }

    /// Takes back what was written since `start` and sends it when the journal is durable up to `position`. It holds deliveries, or
    /// their end: none with a higher tag may leave before.
    pub(super) fn send_when_durable(&mut self, position: Option<JournalPosition>, start: usize) {
        if position.is_some_and(|position| position > self.broker.engine.store.durable()) {
            let held = self.out.split_off(start);
            self.reply_when_durable(position, |out| out.extend_from_slice(&held));
            self.waits.hold_deliveries();
        }
    }

    /// Does what the outbox and the journal ask for. True when something was done; else `waker` is woken when there is.
    pub(crate) fn drain_outbox(&mut self, waker: &Waker) -> bool {
        let _working = working_on(Work::Delivering);
        let has_found = self.deliveries.refill(&self.handle.outbox, waker);
        if has_found {
            self.wake_for_held();
            if let Some(timed) = self.deliveries.take_timed() {
                self.time_deliveries(timed);
            }
        }
        if let Some(events) = self.deliveries.take_events() {
            self.on_events(events);
        }
        let is_woken = self.deliveries.is_woken();
        let has_encoded = self.encode_deliveries();
        self.write_confirms();
        if is_woken {
            self.recheck_waits();
        }
        // Whatever was done above may have made room.
        self.resume_parked();
        has_found || has_encoded
    }

    #[cold]
    fn on_events(&mut self, all: Vec<ConnectionEvent>) {
        let mut gone = Vec::new();
        for news in all {
            match news {
                // They may be very many, and are dealt with together.
                ConnectionEvent::ConsumerCancelled { consumer, queue } => gone.push((consumer, queue)),
                news => {
                    self.queues_gone(std::mem::take(&mut gone));
                    self.on_event(news);
                }
            }
        }
        self.queues_gone(gone);
    }

    /// Deliveries are to leave only when the journal is durable up to `position`.
    pub(super) fn hold(&mut self, position: Option<JournalPosition>) {
        self.deliveries.hold(position);
        self.wake_for_held();
    }

    /// Asks to be woken when deliveries that are held may leave.
    fn wake_for_held(&mut self) {
        let durable = self.broker.engine.store.durable();
        if let Some(position) = self.deliveries.hold_until().filter(|&position| position > durable) {
            self.wake_at(position);
        }
    }

    /// Something came that may be what the connection waits for. If it was not, it is asked for once more.
    fn recheck_waits(&mut self) {
        let durable = self.broker.engine.store.durable();
        if self.waits.take_due(durable, &mut self.out) && self.stages.is_timing() {
            self.answer_followed(durable);
        }
        if let Some(cancels) = self.waits.end_reply() {
            self.consumers_cancelled(cancels);
        } else if let Some(position) = self.waits.reply_position() {
            self.wake_at(position);
        }
        self.wake_for_held();
        if self.flow.is_congested() {
            self.wait_if_congested();
        }
        if let Some(get) = self.waits.take_get() {
            self.retry_get(get);
            if self.stages.is_timing() {
                self.read_followed();
            }
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
