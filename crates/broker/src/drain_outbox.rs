//! What a session does besides receiving: brings its batch to the queues, writes confirms, and waits for the journal.
//!
//! A connection waits for one position of the journal at a time, the earliest that anything of it needs; when that is
//! durable it looks again and asks for the next.

use std::task::Waker;
use std::time::Instant;

use amqp::frame::put_method;
use amqp::method::basic;
use model::ids::JournalPosition;

use crate::session::{Awaited, Session};
use crate::statistics::ChannelNumber;
use engine::batch::{Batch, BatchRoute};
use engine::outbox::ConnectionEvent;

impl Session {
    /// Brings the batch to its queues and notes which confirms that settles.
    pub(crate) fn apply_batch(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let mut batch = std::mem::take(&mut self.batch);
        let has_published = !batch.publishes().is_empty();
        self.charge(&batch);
        let broker = self.broker.clone();
        self.note_places(batch.routes());
        batch.apply(&broker.engine, |publish, position| {
            self.gathered.written += u64::from(publish.outcome.waits_for_disk);
            if publish.confirm_seq != 0
                && let Some(channel) = self.channels.get_mut(publish.channel)
                && let Some(confirms) = &mut channel.confirms
            {
                if publish.outcome.is_refused {
                    confirms.refuse(publish.confirm_seq);
                } else {
                    confirms.complete(publish.confirm_seq, position);
                }
                note(&mut self.confirming, publish.channel);
            }
        });
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
                self.gathered.published_to_confirm += u64::from(*count);
            }
            if has_rates {
                channel.note_places(targets, *count);
            }
        }
    }

    /// Counts what is published towards the vhost's limit of rates.
    pub(crate) fn charge(&mut self, batch: &Batch) {
        if !batch.publishes().is_empty() {
            self.throttled_for = self.vhost().throttle.charge_batch(batch, Instant::now);
        }
    }

    /// The connection has published: if the store is behind, nothing more is received until it has caught up (`flow`).
    pub(crate) fn slow_down(&mut self) {
        self.wait_if_congested();
        if self.is_congested {
            self.broker.counters.flow_entered.add(1);
        }
    }

    /// Writes the confirms that may leave, and asks to be woken for the rest.
    pub(crate) fn write_confirms(&mut self) {
        if self.confirming.is_empty() {
            return;
        }
        let durable = self.broker.engine.store.durable();
        let mut waits_for: Option<JournalPosition> = None;
        let vhost = self.vhost().counters.clone();
        let Self { confirming, channels, out, gathered, .. } = self;
        confirming.retain(|&number| {
            let Some(channel) = channels.get_mut(number) else { return false };
            let Some(confirms) = &mut channel.confirms else { return false };
            for delivery_tag in confirms.take_refused() {
                vhost.stripe().refused.add(1);
                put_method(out, number, &basic::Nack { delivery_tag, multiple: false, requeue: false });
            }
            let count = confirms.write(durable, |delivery_tag, multiple| {
                put_method(out, number, &basic::Ack { delivery_tag, multiple });
            });
            channel.counts.add(ChannelNumber::Confirmed, count);
            gathered.confirmed += count;
            let position = confirms.waits_for();
            waits_for = match (waits_for, position) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
            position.is_some()
        });
        if let Some(position) = waits_for {
            self.wake_at(position);
        }
    }

    /// Asks to be woken when the journal is durable up to `position`, unless that has been asked for.
    fn wake_at(&mut self, position: JournalPosition) {
        if self.woken_at.is_none_or(|at| position < at || at <= self.broker.engine.store.durable()) {
            self.woken_at = Some(position);
            self.broker.engine.store.when_durable(position, Waker::from(self.outbox.clone()));
        }
    }

    /// Sends the reply that `put` writes when the journal is durable up to `position`, and receives nothing before.
    pub(crate) fn reply_when_durable(&mut self, position: Option<JournalPosition>, put: impl FnOnce(&mut Vec<u8>)) {
        match position {
            Some(position) if position > self.broker.engine.store.durable() => {
                let mut reply = Vec::new();
                put(&mut reply);
                self.awaited = Some(Awaited { position, reply, holds_deliveries: false, cancels: Vec::new() });
                self.wake_at(position);
            }
            _ => put(&mut self.out),
        }
    }

    /// Takes back what was written since `start` and sends it when the journal is durable up to `position`. It holds deliveries, or
    /// their end: none with a higher tag may leave before.
    pub(crate) fn send_when_durable(&mut self, position: Option<JournalPosition>, start: usize) {
        if position.is_some_and(|position| position > self.broker.engine.store.durable()) {
            let held = self.out.split_off(start);
            self.reply_when_durable(position, |out| out.extend_from_slice(&held));
            if let Some(awaited) = &mut self.awaited {
                awaited.holds_deliveries = true;
            }
        }
    }

    /// Does what the outbox and the journal ask for. True when something was done; else `waker` is woken when there is.
    pub(crate) fn drain_outbox(&mut self, waker: &Waker) -> bool {
        let mut taken = std::mem::take(&mut self.taken);
        taken.is_woken = false;
        let found = if self.pending.is_empty() {
            let found = self.outbox.take(&mut taken, &mut self.pending, waker);
            if found {
                self.hold(taken.hold_until);
            }
            found
        } else {
            self.outbox.take_news(&mut taken, waker)
        };
        if !taken.news.is_empty() {
            self.on_events(&mut taken.news);
        }
        let is_woken = taken.is_woken;
        self.taken = taken;
        let has_encoded = self.encode_deliveries();
        self.write_confirms();
        if is_woken {
            self.recheck_waits();
        }
        // Whatever was done above may have made room.
        self.resume_parked();
        found || has_encoded
    }

    #[cold]
    fn on_events(&mut self, all: &mut Vec<ConnectionEvent>) {
        let mut gone = Vec::new();
        for news in all.drain(..) {
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
    pub(crate) fn hold(&mut self, position: Option<JournalPosition>) {
        self.hold_until = self.hold_until.max(position);
        if let Some(position) = self.hold_until.filter(|&position| position > self.broker.engine.store.durable()) {
            self.wake_at(position);
        }
    }

    /// Something came that may be what the connection waits for. If it was not, whoever brings it is asked once more.
    fn recheck_waits(&mut self) {
        let durable = self.broker.engine.store.durable();
        match self.awaited.take() {
            Some(awaited) if awaited.position <= durable => {
                self.out.extend_from_slice(&awaited.reply);
                self.consumers_cancelled(awaited.cancels);
            }
            Some(awaited) => {
                self.wake_at(awaited.position);
                self.awaited = Some(awaited);
            }
            None => {}
        }
        self.hold(None);
        if self.is_congested {
            self.wait_if_congested();
        }
        if let Some(get) = self.awaited_get.take() {
            self.retry_get(get);
        }
    }

    /// Receives nothing more until the store has caught up.
    fn wait_if_congested(&mut self) {
        self.is_congested = self.broker.engine.store.is_congested();
        if self.is_congested {
            self.broker.engine.store.when_uncongested(Waker::from(self.outbox.clone()));
        }
    }
}

fn note(list: &mut Vec<u16>, channel: u16) {
    // The list is nearly always one long: most connections publish on one channel at a time.
    if list.last() != Some(&channel) && !list.contains(&channel) {
        list.push(channel);
    }
}
