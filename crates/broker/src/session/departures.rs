//! How consumers leave their queues: cancelled by their client or by the broker, or gone with their channel or connection.
//!
//! What a consumer leaves behind goes before all that is ready, so its queue must not be dispatched before it is back: a single active
//! consumer's successor would handle later messages first. One visit to the queue therefore removes the consumer, takes what was on its
//! way to it out of the outbox, gives back what its channel had unacked if that ends, too, and dispatches only then.
//!
//! A channel may have very many consumers. Its end closes their gates, gives back all of one queue in the first visit to it, and removes
//! the consumers in as many visits as it takes: the queue serves others in between.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use amqp::frame::put_method;
use amqp::method::{Method, basic};
use model::ids::{QueueId, QueueSeq};
use queue::{ConsumerId, Return};
use rustc_hash::FxHashMap;

use crate::events::Event;
use crate::limits::{LEAVING_COUNT_MAX, SETTLED_COUNT_MAX};
use crate::long_turns::take_long;
use crate::refusal;
use crate::session::channel::Channel;
use crate::session::unacked::UnackedDelivery;
use crate::session::{Session, Site};
use engine::batch::still_held;
use engine::gate::window_cost;
use engine::outbox::Outgoing;
use engine::queue_handle::QueueHandle;

/// What leaves a queue at once.
struct Departure {
    queue: Arc<QueueHandle>,
    /// Consumers, and the session's numbers of them.
    consumers: Vec<(u32, ConsumerId)>,
    /// What their channels had unacked, in the order in which it was delivered.
    held: Vec<HeldDelivery>,
}

/// A delivery as its queue knows it: its seq, and the consumer that holds it.
pub(super) type HeldDelivery = (QueueSeq, Option<ConsumerId>);

/// Deliveries that are yet to go back, the last ones of those that do, and whether others have done so.
struct RestOfHeld<'h> {
    rest: &'h [HeldDelivery],
    has_begun: bool,
}

/// Deliveries between queues and the output to consumers that leave, by the session's number of the consumer.
#[derive(Default)]
struct Strays(FxHashMap<u32, Vec<Outgoing>>);

impl Departure {
    fn from(queue: &Arc<QueueHandle>) -> Self {
        Self { queue: queue.clone(), consumers: Vec::new(), held: Vec::new() }
    }
}

impl Session {
    /// A method ends consumers, and what the client has sent before it is yet to be brought to queues: that is not to bring these consumers
    /// anything more, for it would come back without ever having been sent.
    pub(super) fn stop_serving(&mut self, channel: u16, method: &Method<'_>) {
        match method {
            Method::BasicCancel(cancel) => self.cancel_early(channel, cancel.consumer_tag),
            Method::ChannelClose(_) => {
                if let Some(channel) = self.channels.get_mut(channel) {
                    channel.limit.close();
                }
            }
            _ => {}
        }
    }

    /// Ends a consumer before what came before its cancellation is applied. Not one that acknowledges nothing: what it is given is sent.
    fn cancel_early(&mut self, channel: u16, tag: &[u8]) {
        let Some(channel) = self.channels.get_mut(channel) else { return };
        let Some(&number) = channel.consumers.get(tag).filter(|_| channel.assembly.is_none()) else { return };
        if self.consumers.get(number).is_none_or(|slot| slot.no_ack) {
            return;
        }
        let number_of_channel = channel.number;
        let Some(mut channel) = self.channels.take(number_of_channel) else { return };
        channel.consumers.remove(tag);
        self.end_consumer(&mut channel, number);
        self.channels.put(channel);
    }

    /// Takes a consumer off its queue, while its channel goes on.
    pub(super) fn end_consumer(&mut self, channel: &mut Channel, number: u32) {
        let Some(slot) = self.consumers.get(number) else { return };
        let mut departure = Departure::from(&slot.queue);
        self.gather_consumer(number, &mut departure);
        let mut strays = Strays::default();
        self.leave(&departure, &mut strays);
        self.gather_strays(&mut strays);
        self.settle_strays(channel, number, &mut strays);
    }

    /// What was on its way to a consumer that has ended while its channel goes on: it has gone back, or, where nothing can go back because
    /// it needs no ack, is delivered.
    fn settle_strays(&mut self, channel: &mut Channel, number: u32, strays: &mut Strays) {
        let mine = strays.0.remove(&number).unwrap_or_default();
        if self.consumers.get(number).is_some_and(|slot| slot.no_ack) {
            mine.iter().for_each(|outgoing| self.encode_for(channel, outgoing));
        } else {
            channel.limit.release(mine.len() as u32);
        }
        self.handle.outbox.release(mine.iter().map(cost_of).sum());
        self.consumers.tidy(number);
    }

    /// A channel's end: its consumers go, and what it had unacked goes back.
    pub(super) fn release_channel(&mut self, channel: Box<Channel>) {
        self.release_channels(vec![*channel]);
    }

    /// The end of channels: all that they have of one queue leaves it at once.
    pub(super) fn release_channels(&mut self, channels: Vec<Channel>) {
        let unacked_count: usize = channels.iter().map(|channel| channel.unacked.len()).sum();
        if unacked_count > SETTLED_COUNT_MAX {
            take_long(|| self.release_all(channels));
        } else {
            self.release_all(channels);
        }
    }

    fn release_all(&mut self, mut channels: Vec<Channel>) {
        let mut departures: BTreeMap<QueueId, Departure> = BTreeMap::new();
        let mut numbers: Vec<u32> = Vec::new();
        for channel in &mut channels {
            self.end_reply_consumer(channel);
            channel.limit.close();
            let mut consumers: Vec<u32> = std::mem::take(&mut channel.consumers).into_values().collect();
            consumers.sort_unstable();
            for &number in &consumers {
                let Some(slot) = self.consumers.get(number) else { continue };
                let departure = departures.entry(slot.queue.id()).or_insert_with(|| Departure::from(&slot.queue));
                self.gather_consumer(number, departure);
            }
            numbers.append(&mut consumers);
            for delivery in take_unacked(channel) {
                let Some(slot) = self.consumers.get_mut(delivery.slot) else { continue };
                slot.unacked_count -= 1;
                numbers.push(delivery.slot);
                if !slot.is_void {
                    let departure = departures.entry(slot.queue.id()).or_insert_with(|| Departure::from(&slot.queue));
                    departure.held.push((delivery.seq, slot.consumer));
                }
            }
        }
        let mut strays = Strays::default();
        for departure in departures.values() {
            self.leave(departure, &mut strays);
        }
        self.gather_strays(&mut strays);
        self.handle.outbox.release(strays.0.values().flatten().map(cost_of).sum());
        numbers.sort_unstable();
        numbers.dedup();
        numbers.into_iter().for_each(|number| self.consumers.tidy(number));
        self.resume_parked();
        for channel in channels {
            self.channel_ended(channel);
        }
    }

    fn channel_ended(&mut self, mut channel: Channel) {
        channel.seat = None;
        if self.handle.channels.lock().remove(&channel.number).is_some() {
            channel.handle.end_history();
            self.broker.counters.channels_closed.add(1);
            self.broker.emit_if_wanted(|| Event::channel_closed(&self.handle, channel.number));
        }
    }

    /// A consumer is no longer listed, and leaves with the others.
    fn gather_consumer(&mut self, number: u32, departure: &mut Departure) {
        let Some(slot) = self.consumers.get_mut(number) else { return };
        let was_live = std::mem::replace(&mut slot.is_live, false);
        if let Some(consumer) = slot.consumer {
            departure.consumers.push((number, consumer));
        }
        if was_live {
            self.consumer_ended(number);
        }
    }

    /// A consumer is listed no longer.
    fn consumer_ended(&self, number: u32) {
        let ended = self.handle.consumers.lock().remove(&number);
        if let Some(consumer) = ended {
            self.broker.queue_consumers.remove(self.handle.id, number, &consumer);
            self.broker.emit_if_wanted(|| Event::consumer_deleted(&self.handle, &consumer));
        }
    }

    /// Consumers leave a queue, and what they and their channels had of it is back before anything of it is handed out.
    fn leave(&mut self, departure: &Departure, strays: &mut Strays) {
        let broker = self.broker.clone();
        let Departure { queue, consumers, held } = departure;
        let held = self.give_back_most(queue, held);
        let mut is_abandoned = false;
        let visit_count = consumers.len().div_ceil(LEAVING_COUNT_MAX).max(1);
        for visit in 0..visit_count {
            let start = visit * LEAVING_COUNT_MAX;
            let leaving = &consumers[start..consumers.len().min(start + LEAVING_COUNT_MAX)];
            let visited = broker.engine.with_queue(queue, |entry, work| {
                leaving.iter().for_each(|&(_, consumer)| drop(entry.queue.cancel(consumer)));
                if visit == 0 {
                    let seqs = still_held(&entry.queue, held.rest);
                    work.give_back(entry, &seqs, Return::Failed);
                    if held.has_begun {
                        entry.queue.end_return();
                    }
                    self.gather_strays(strays);
                    work.give_back(entry, &self.unsent(departure, strays), Return::Undelivered);
                }
                work.note_used(entry);
                if visit + 1 == visit_count {
                    // An exclusive consumer or the one with the highest priority may have been in the way of others.
                    work.dispatch(entry);
                }
                entry.queue.is_abandoned()
            });
            is_abandoned = visited.is_some_and(|(is_abandoned, _)| is_abandoned);
        }
        if is_abandoned && !consumers.is_empty() && self.broker.delete_abandoned(queue) {
            self.holdings.disown(queue.id());
        }
    }

    /// Where very many deliveries go back, most do so before the visit that everything else is done in, in pieces. The queue hands out
    /// nothing meanwhile: what comes back goes first.
    fn give_back_most<'h>(&self, queue: &QueueHandle, held: &'h [HeldDelivery]) -> RestOfHeld<'h> {
        let mut rest = RestOfHeld { rest: held, has_begun: false };
        while rest.rest.len() > SETTLED_COUNT_MAX {
            let (piece, after) = rest.rest.split_at(SETTLED_COUNT_MAX);
            self.broker.engine.with_queue(queue, |entry, work| {
                if !rest.has_begun {
                    entry.queue.begin_return();
                }
                let seqs = still_held(&entry.queue, piece);
                work.give_back(entry, &seqs, Return::Failed);
            });
            rest = RestOfHeld { rest: after, has_begun: true };
        }
        rest
    }

    /// Takes deliveries to consumers that leave from between queues and the output. Under a queue's lock these are all that it has handed
    /// out.
    fn gather_strays(&mut self, strays: &mut Strays) {
        let mut deliveries = self.deliveries.take();
        let hold_until = self.handle.outbox.take_deliveries(&mut deliveries);
        self.hold(hold_until);
        let leaves = |outgoing: &Outgoing| self.consumers.get(outgoing.consumer).is_some_and(|slot| !slot.is_live);
        if !deliveries.iter().any(leaves) {
            self.deliveries.put(deliveries);
            return;
        }
        let mut rest = VecDeque::new();
        for outgoing in deliveries {
            if leaves(&outgoing) {
                strays.0.entry(outgoing.consumer).or_default().push(outgoing);
            } else {
                rest.push_back(outgoing);
            }
        }
        self.deliveries.put(rest);
    }

    /// What was on its way to consumers that leave and can go back, in the order of its queue.
    fn unsent(&self, departure: &Departure, strays: &Strays) -> Vec<QueueSeq> {
        if strays.0.is_empty() {
            return Vec::new();
        }
        let goes_back = |number: u32| self.consumers.get(number).is_some_and(|slot| !slot.no_ack && !slot.is_void);
        let numbers = departure.consumers.iter().map(|(number, _)| *number).filter(|number| goes_back(*number));
        let mut seqs: Vec<QueueSeq> =
            numbers.filter_map(|number| strays.0.get(&number)).flatten().map(|outgoing| outgoing.seq).collect();
        seqs.sort_unstable();
        seqs
    }

    /// The queues of consumers are gone. Where the client itself has deleted one, it hears that first.
    pub(super) fn queues_gone(&mut self, consumers: Vec<(u32, QueueId)>) {
        let consumers = self.waits.cancel_after_reply(consumers);
        self.consumers_cancelled(consumers);
    }

    /// The server cancels consumers: their queue is gone, or the user may not read it any more.
    pub(super) fn consumers_cancelled(&mut self, consumers: Vec<(u32, QueueId)>) {
        if consumers.is_empty() {
            return;
        }
        let mut departures: BTreeMap<QueueId, Departure> = BTreeMap::new();
        let mut numbers = Vec::new();
        for (number, queue) in consumers {
            // The client may have been quicker, and the number may be another consumer's by now.
            let Some(slot) = self.consumers.get(number).filter(|slot| slot.is_live && slot.queue.id() == queue) else {
                continue;
            };
            let departure = departures.entry(queue).or_insert_with(|| Departure::from(&slot.queue));
            self.gather_consumer(number, departure);
            numbers.push(number);
        }
        let mut strays = Strays::default();
        for departure in departures.values() {
            self.leave(departure, &mut strays);
        }
        self.gather_strays(&mut strays);
        for number in numbers {
            let Some(slot) = self.consumers.get(number) else { continue };
            let (channel_number, tag) = (slot.channel, slot.tag.clone());
            let Some(mut channel) = self.channels.take(channel_number) else { continue };
            // Nothing of it may be left on its way when its number is given to another.
            self.settle_strays(&mut channel, number, &mut strays);
            channel.consumers.remove(&tag);
            self.channels.put(channel);
            if self.login().capabilities.consumer_cancel_notify {
                put_method(&mut self.out, channel_number, &basic::Cancel { consumer_tag: &tag, no_wait: true });
            }
        }
    }

    /// A consumer of ours held a message for too long: its queue has taken all back and knows it no longer. It is cancelled, or where the
    /// client cannot be told so, its channel is closed.
    pub(super) fn consumer_timed_out(&mut self, number: u32, queue: QueueId) {
        let Some(slot) = self.consumers.get_mut(number) else { return };
        if slot.queue.id() != queue || slot.is_void {
            return;
        }
        let (was_live, channel) = (slot.is_live, slot.channel);
        slot.is_void = true;
        if was_live && self.login().capabilities.consumer_cancel_notify {
            self.consumers_cancelled(vec![(number, queue)]);
            return;
        }
        let refused = refusal::precondition_failed::<()>(format!(
            "delivery acknowledgement on channel {channel} timed out. Timeout value used: -1 ms. This timeout value can be \
             configured, see consumers doc guide to learn more"
        ));
        if let Err(refusal) = refused {
            self.fail(&refusal, Site { channel, class_id: 0, method_id: 0 });
        }
    }
}

/// What a channel has unacked, in the order in which it was delivered, with what its transaction has settled.
fn take_unacked(channel: &mut Channel) -> Vec<UnackedDelivery> {
    let mut unacked = Vec::new();
    channel.unacked.take_up_to(0, &mut unacked);
    if let Some(tx) = channel.tx.take() {
        unacked.extend(tx.into_settled());
        unacked.sort_unstable_by_key(|delivery| delivery.tag);
    }
    unacked
}

fn cost_of(outgoing: &Outgoing) -> i64 {
    window_cost(outgoing.content.len())
}
