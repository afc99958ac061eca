//! From the outbox to bytes: basic.deliver, basic.get-ok, basic.return's content, server-sent cancels.

use std::collections::VecDeque;

use amqp::content::ContentHeader;
use amqp::frame::{FRAME_END, FrameKind, frame_head, put_method};
use amqp::method::basic;
use amqp::table::{Table, Value};
use queue::Counts;

use crate::limits::OUTPUT_LEN;
use crate::session::Session;
use crate::session::channel::Channel;
use crate::session::consumer_slots::ConsumerSlot;
use crate::session::told;
use crate::session::unacked::UnackedDelivery;
use crate::statistics::{ChannelNumber, WaitRun};
use engine::gate::window_cost;
use engine::message::{Parts, address_of};
use engine::outbox::OUTBOX_OVERDRAFT_LEN;
use engine::outbox::{ConnectionEvent, HANDED_OUT_AT_ONCE, Outgoing};

impl Session {
    /// Encodes deliveries until the output is full or none are left. True when something was done.
    pub(super) fn encode_deliveries(&mut self) -> bool {
        let is_held = self.deliveries.hold_until() > Some(self.broker.engine.store.durable());
        if self.deliveries.is_empty() || is_held || self.waits.holds_deliveries() {
            return false;
        }
        // A delivery keeps the whole chunk of its content alive. When memory is short a copy for a client that does not read costs
        // less: at most a window.
        let output_len = if self.broker.engine.store.is_memory_short() { usize::MAX } else { OUTPUT_LEN };
        let now_ms = self.broker.engine.statistics.options.has_histograms.then(|| self.broker.engine.clock.now_ms());
        // Where they lie: a message that is taken out by itself costs more than what is encoded of it.
        let mut pending = self.deliveries.take();
        let (count, released_len) = self.encode_each(&pending, output_len, now_ms);
        if self.broker.engine.taps.want(told::DELIVERED) {
            self.tell_encoded(&pending, count);
        }
        self.note_encoded(pending.range(..count));
        pending.drain(..count);
        self.deliveries.put(pending);
        self.handle.outbox.release(released_len);
        self.resume_parked();
        count > 0
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
            && let Some(channel) = self.channels.get_mut(slot.channel)
        {
            if outgoing.is_redelivered {
                run.redelivered_count += 1;
            }
            if let Some(now_ms) = now_ms
                && !run.waits.takes(parts.published_at_ms)
            {
                run.change_wait(slot, parts.published_at_ms, now_ms);
            }
            put_delivery(&mut self.out, self.frame_len_max, channel, slot, outgoing, &parts);
        }
        window_cost(content_len)
    }

    /// Encodes a delivery for a channel that is taken out of the session.
    pub(super) fn encode_for(&mut self, channel: &mut Channel, outgoing: &Outgoing) {
        if let Some(slot) = self.consumers.get_mut(outgoing.consumer)
            && let Some(parts) = Parts::read(outgoing.content.bytes())
        {
            put_delivery(&mut self.out, self.frame_len_max, channel, slot, outgoing, &parts);
            count_in(slot, channel, 1, outgoing.is_redelivered.into());
            if self.broker.engine.taps.want(told::DELIVERED) {
                self.tell_delivered(std::iter::once(outgoing));
            }
        }
    }

    /// Counts what a consumer has been handed, up to so many of this turn. `now_ms`: None where waiting times are not counted.
    fn count_handed(&mut self, run: &HandedRun, end: usize, now_ms: Option<u64>) {
        let Some(slot) = self.consumers.get(run.consumer).filter(|_| end > run.start) else { return };
        if let Some(now_ms) = now_ms {
            slot.queue.counters.waited(&run.waits, now_ms);
        }
        if let Some(channel) = self.channels.get_mut(slot.channel) {
            count_in(slot, channel, (end - run.start) as u64, run.redelivered_count);
        }
    }

    /// The header frame and the body frames of a message.
    pub(super) fn put_content(&mut self, channel: u16, header: &[u8], body: &[u8]) {
        put_content(&mut self.out, self.frame_len_max, channel, header, body);
    }

    /// basic.get-ok with its content.
    pub(super) fn put_get_ok(
        &mut self,
        channel: u16,
        tag: u64,
        is_redelivered: bool,
        remaining_count: u64,
        parts: &Parts<'_>,
        counts: Option<Counts>,
    ) {
        let method = basic::GetOk {
            delivery_tag: tag,
            redelivered: is_redelivered || parts.history.counts.delivery_count > 0,
            exchange: parts.exchange,
            routing_key: parts.routing_key,
            message_count: u32::try_from(remaining_count).unwrap_or(u32::MAX),
        };
        put_method(&mut self.out, channel, &method);
        match counted_header(parts, counts) {
            Some(header) => self.put_content(channel, &header, parts.body),
            None => self.put_content(channel, parts.header, parts.body),
        }
    }

    /// Takes what the connection is told.
    pub(crate) fn on_event(&mut self, news: ConnectionEvent) {
        match news {
            ConnectionEvent::ConsumerCancelled { consumer, queue } => self.queues_gone(vec![(consumer, queue)]),
            ConnectionEvent::ConsumerTimedOut { consumer, queue } => self.consumer_timed_out(consumer, queue),
            ConnectionEvent::Reply { channel, address, content } => self.deliver_reply(channel, &address, &content),
            ConnectionEvent::AlarmsChanged => self.alarms_changed(),
            ConnectionEvent::AccessChanged => self.access_changed(),
            ConnectionEvent::Close { reason } => self.close_by_server(&reason),
            ConnectionEvent::Pause { unheard } => self.pause(unheard),
            ConnectionEvent::Cut => self.end_at_once(),
        }
    }

    fn deliver_reply(&mut self, number: u16, address: &str, content: &store::Content) {
        self.handle.outbox.release(window_cost(content.len()));
        let Some(parts) = Parts::read(content.bytes()) else { return };
        if self.out.len() > OUTBOX_OVERDRAFT_LEN as usize {
            return; // the requester does not read
        }
        let Some(channel) = self.channels.get_mut(number) else { return };
        let delivery_tag = channel.next_delivery_tag;
        let Some(consumer) = channel.reply_consumer.as_ref().filter(|consumer| *consumer.address == *address) else {
            return;
        };
        channel.next_delivery_tag += 1;
        let method = basic::Deliver {
            consumer_tag: &consumer.tag,
            delivery_tag,
            redelivered: false,
            exchange: parts.exchange,
            routing_key: parts.routing_key,
        };
        put_method(&mut self.out, number, &method);
        if self.broker.engine.taps.want(told::DELIVERED) {
            let tag = consumer.tag.clone();
            self.tell_reply_delivered(number, &tag, address, &parts);
        }
        self.put_content(number, parts.header, parts.body);
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
fn count_in(slot: &ConsumerSlot, channel: &mut Channel, count: u64, redelivered_count: u64) {
    let number = if slot.no_ack { ChannelNumber::DeliveredNoAck } else { ChannelNumber::Delivered };
    channel.counts.add(number, count);
    channel.counts.add(ChannelNumber::Redelivered, redelivered_count);
    slot.counters.delivered.add(count);
    slot.counters.redelivered.add(redelivered_count);
}

/// basic.deliver with its content; what needs an ack is noted as unacked.
#[inline(always)]
fn put_delivery(
    out: &mut Vec<u8>,
    frame_len_max: u32,
    channel: &mut Channel,
    slot: &mut ConsumerSlot,
    outgoing: &Outgoing,
    parts: &Parts<'_>,
) {
    let tag = channel.take_delivery_tag();
    if !slot.no_ack {
        slot.unacked_count += 1;
        channel.unacked.push(UnackedDelivery { tag, seq: outgoing.seq, slot: outgoing.consumer });
    }
    // By hand: exchange and routing key lie in the content as they have to be sent.
    let address = address_of(outgoing.content.bytes(), parts);
    let payload_len = 4 + 1 + slot.tag.len() + 8 + 1 + address.len();
    out.reserve(payload_len + parts.header.len() + parts.body.len() + 64);
    out.extend_from_slice(&frame_head(FrameKind::Method, channel.number, payload_len as u32));
    out.extend_from_slice(&[0, 60, 0, 60, slot.tag.len() as u8]);
    out.extend_from_slice(&slot.tag);
    out.extend_from_slice(&tag.to_be_bytes());
    let had_failed = parts.history.counts.delivery_count > 0 && shows_failures(slot, outgoing);
    out.push(u8::from(outgoing.is_redelivered || had_failed));
    out.extend_from_slice(address);
    out.push(FRAME_END);
    let counts = slot.queue.is_quorum().then_some(outgoing.counts);
    match counted_header(parts, counts) {
        Some(header) => put_content(out, frame_len_max, channel.number, &header, parts.body),
        None => put_content(out, frame_len_max, channel.number, parts.header, parts.body),
    }
}

/// Whether a message that failed in another queue comes marked for that.
#[cold]
fn shows_failures(slot: &ConsumerSlot, outgoing: &Outgoing) -> bool {
    slot.queue.is_quorum() || !outgoing.is_at_once()
}

/// The header of a message that a quorum queue has had back, or that another had before it was dead-lettered: with how often. `None` if
/// it is as it was published.
#[inline(always)]
fn counted_header(parts: &Parts<'_>, counts: Option<Counts>) -> Option<Vec<u8>> {
    let (here, before) = (counts?, parts.history.counts);
    if here == Counts::default() && before == Counts::default() {
        return None;
    }
    with_counts(parts.header, here, before)
}

#[cold]
fn with_counts(header: &[u8], here: Counts, before: Counts) -> Option<Vec<u8>> {
    let delivery_count = u64::from(here.delivery_count) + u64::from(before.delivery_count);
    let is_known = here.acquired_count > 0 && here.acquired_count != HANDED_OUT_AT_ONCE;
    let acquired_count = u64::from(if is_known { here.acquired_count } else { before.acquired_count });
    let mut header = ContentHeader::decode(header).ok()?;
    let mut headers = header.properties.headers.unwrap_or(Table::EMPTY).to_owned();
    for (name, count) in [("x-acquired-count", acquired_count), ("x-delivery-count", delivery_count)] {
        if count > 0 {
            headers.set(name.as_bytes(), Value::I64(count.cast_signed())).ok()?;
        }
    }
    header.properties.headers = Some(headers.as_table());
    let mut payload = Vec::new();
    header.encode(&mut payload);
    Some(payload)
}

#[inline(always)]
fn put_content(out: &mut Vec<u8>, frame_len_max: u32, channel: u16, header: &[u8], body: &[u8]) {
    out.extend_from_slice(&frame_head(FrameKind::Header, channel, header.len() as u32));
    out.extend_from_slice(header);
    out.push(FRAME_END);
    amqp::content::put_body_frames(out, channel, body, frame_len_max);
}
