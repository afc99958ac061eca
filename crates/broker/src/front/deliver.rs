//! From the outbox to the protocol: deliveries, and direct replies.

use std::collections::VecDeque;

use engine::gate::window_cost;
use engine::lane::LaneNumber;
use engine::outbox::{OUTBOX_OVERDRAFT_LEN, Outgoing};
use message::Parts;

use super::consumer_slots::ConsumerSlot;
use super::lane::Lane;
use super::tracer::DELIVERED;
use super::unacked::UnackedDelivery;
use super::{Delivery, Front, Protocol};
use crate::limits::OUTPUT_LEN;
use crate::statistics::{ChannelNumber, WaitRun};

impl<P: Protocol> Front<P> {
    /// Encodes deliveries until the output is full or none are left. True when something was done.
    pub(super) fn encode_deliveries(&mut self) -> bool {
        let is_held = !self.broker.engine.durable().reach_all(self.deliveries.hold_until());
        if self.deliveries.is_empty() || is_held || self.waits.holds_deliveries() {
            return false;
        }
        // A delivery keeps the whole chunk of its content alive. When memory is short a copy for a client that does not read costs
        // less: at most a window.
        let output_len = if self.broker.engine.store.is_memory_short() { usize::MAX } else { OUTPUT_LEN };
        let now_ms = self.broker.engine.statistics.options.has_histograms.then(|| self.broker.engine.clock.now_ms());
        // Where they lie: taking out a single message costs more than what is encoded of it.
        let mut pending = self.deliveries.take();
        let (count, released_len) = self.encode_each(&pending, output_len, now_ms);
        let is_sampled = count > 0 && self.stages.times_next_deliveries();
        if self.stages.watchers().with(self.broker.engine.taps.wanted_among(DELIVERED)).with(is_sampled).are_there() {
            self.watch_encoded(&pending, count);
        }
        pending.drain(..count);
        self.deliveries.put(pending);
        self.handle.outbox.release(released_len);
        self.resume_parked();
        count > 0
    }

    /// The first of these have been encoded: for those that watch.
    #[cold]
    #[inline(never)]
    fn watch_encoded(&mut self, pending: &VecDeque<Outgoing>, count: usize) {
        if self.broker.engine.taps.want(DELIVERED) {
            self.report_encoded(pending, count);
        }
        if count > 0 {
            self.time_encoded(pending.range(..count));
        }
    }

    /// Encodes these until the output has so many bytes. Gives how many, and what they took of the window.
    // By itself: what else a turn does would take registers from this loop, twenty instructions a message.
    #[inline(never)]
    fn encode_each(&mut self, pending: &VecDeque<Outgoing>, output_len: usize, now_ms: Option<u64>) -> (usize, i64) {
        let (mut count, mut released_len) = (0, 0);
        let mut run = HandedRun::new(u32::MAX, 0);
        for outgoing in pending {
            if self.out.len() >= output_len {
                break;
            }
            if run.consumer != outgoing.consumer {
                self.count_handed(&run, count, now_ms);
                run = HandedRun::new(outgoing.consumer, count);
            }
            released_len += self.encode_delivery(outgoing, now_ms, &mut run);
            count += 1;
        }
        self.count_handed(&run, count, now_ms);
        (count, released_len)
    }

    /// Encodes one delivery. Gives what it took of the window.
    // Always, with all that it calls: what is read of a message is then never written to memory.
    #[inline(always)]
    fn encode_delivery(&mut self, outgoing: &Outgoing, now_ms: Option<u64>, run: &mut HandedRun) -> i64 {
        let content = outgoing.content.bytes();
        let content_len = outgoing.content.len();
        let Some(parts) = Parts::read(content) else {
            tracing::error!(len = content_len, "a message's content was unreadable and was not delivered");
            return window_cost(content_len);
        };
        if let Some(slot) = self.consumers.get_mut(outgoing.consumer)
            && let Some(lane) = self.lanes.get_mut(slot.lane)
        {
            if outgoing.is_redelivered {
                run.redelivered_count += 1;
            }
            if let Some(now_ms) = now_ms
                && !run.waits.takes(parts.published_at_ms)
            {
                run.change_wait(slot, parts.published_at_ms, now_ms);
            }
            put_delivery::<P>(&mut self.out, &self.agreed, lane, slot, outgoing, &parts);
        }
        window_cost(content_len)
    }

    /// Encodes a delivery for a lane that is taken out of the session.
    pub(super) fn encode_for(&mut self, lane: &mut Lane<P::Lane>, outgoing: &Outgoing) {
        if let Some(slot) = self.consumers.get_mut(outgoing.consumer)
            && let Some(parts) = Parts::read(outgoing.content.bytes())
        {
            put_delivery::<P>(&mut self.out, &self.agreed, lane, slot, outgoing, &parts);
            count_in(slot, lane, 1, outgoing.is_redelivered.into());
            if self.broker.engine.taps.want(DELIVERED) {
                self.report_delivered(std::iter::once(outgoing));
            }
        }
    }

    /// Counts what a consumer has been handed, up to so many of this turn. `now_ms`: None where waiting times are not counted.
    fn count_handed(&mut self, run: &HandedRun, end: usize, now_ms: Option<u64>) {
        let Some(slot) = self.consumers.get(run.consumer).filter(|_| end > run.start) else { return };
        if let Some(now_ms) = now_ms {
            slot.queue.counters.waited(&run.waits, now_ms);
        }
        if let Some(lane) = self.lanes.get_mut(slot.lane) {
            count_in(slot, lane, (end - run.start) as u64, run.redelivered_count);
        }
    }

    pub(super) fn deliver_reply(&mut self, number: LaneNumber, address: &str, content: &store::Content) {
        self.handle.outbox.release(window_cost(content.len()));
        let Some(parts) = Parts::read(content.bytes()) else { return };
        if self.out.len() > OUTBOX_OVERDRAFT_LEN as usize {
            return; // the requester does not read
        }
        let Some(lane) = self.lanes.get_mut(number) else { return };
        if lane.reply_consumer.as_ref().is_none_or(|consumer| *consumer.address != *address) {
            return;
        }
        let tag = lane.take_delivery_tag();
        let Some(consumer) = &lane.reply_consumer else { return };
        let (consumer_tag, content) = (&consumer.tag[..], content.bytes());
        let delivery = Delivery { consumer_tag, tag, is_redelivered: false, counts: None, content, parts: &parts };
        P::put_delivery(&mut self.out, &self.agreed, number, &delivery);
        if self.broker.engine.taps.want(DELIVERED) {
            let consumer_tag = consumer.tag.clone();
            self.report_reply_delivered(number, &consumer_tag, address, &parts);
        }
    }
}

/// Deliveries to one consumer, one after the other: counted together.
#[derive(Debug)]
struct HandedRun {
    consumer: u32,
    /// Which of this turn is the first.
    start: usize,
    redelivered_count: u64,
    waits: WaitRun,
}

impl HandedRun {
    fn new(consumer: u32, start: usize) -> Self {
        Self { consumer, start, redelivered_count: 0, waits: WaitRun::default() }
    }

    /// A message has waited for a rather different time than those before.
    #[inline(never)]
    fn change_wait(&mut self, slot: &ConsumerSlot, published_at_ms: u64, now_ms: u64) {
        slot.queue.counters.waited(&self.waits, now_ms);
        self.waits = WaitRun::around(published_at_ms, now_ms);
        self.waits.takes(published_at_ms);
    }
}

/// So many messages have been sent to a consumer, and so many of them had been handed out before.
fn count_in<S>(slot: &ConsumerSlot, lane: &mut Lane<S>, count: u64, redelivered_count: u64) {
    let number = if slot.no_ack { ChannelNumber::DeliveredNoAck } else { ChannelNumber::Delivered };
    lane.counts.add(number, count);
    lane.counts.add(ChannelNumber::Redelivered, redelivered_count);
    slot.counters.delivered.add(count);
    slot.counters.redelivered.add(redelivered_count);
}

/// Hands a delivery to the protocol; what needs an ack is noted as unacked.
#[inline(always)]
fn put_delivery<P: Protocol>(
    out: &mut Vec<u8>,
    agreed: &P::Agreed,
    lane: &mut Lane<P::Lane>,
    slot: &mut ConsumerSlot,
    outgoing: &Outgoing,
    parts: &Parts<'_>,
) {
    let tag = lane.take_delivery_tag();
    if !slot.no_ack {
        slot.unacked_count += 1;
        lane.unacked.push(UnackedDelivery { tag, seq: outgoing.seq, slot: outgoing.consumer });
    }
    let had_failed = parts.history.counts.delivery_count > 0 && shows_failures(slot, outgoing);
    let delivery = Delivery {
        consumer_tag: &slot.tag,
        tag,
        is_redelivered: outgoing.is_redelivered || had_failed,
        counts: slot.queue.is_quorum().then_some(outgoing.counts),
        content: outgoing.content.bytes(),
        parts,
    };
    P::put_delivery(out, agreed, lane.number, &delivery);
}

/// Whether a message that failed in another queue comes marked for that.
#[cold]
fn shows_failures(slot: &ConsumerSlot, outgoing: &Outgoing) -> bool {
    slot.queue.is_quorum() || !outgoing.is_at_once()
}
