//! How consumers leave their queues: cancelled by their client or by the broker, or ended with their lane or connection.
//!
//! What a consumer leaves behind precedes all that is ready, so its queue must not be dispatched before it is back: a single active
//! consumer's successor would handle later messages first. One visit to the queue therefore removes the consumer, takes what was on its way
//! to it out of the outbox, gives back what its lane had unacked if that ends, too, and dispatches only then.
//!
//! A lane may have very many consumers. Its end closes their gates, gives back all of one queue in the first visit to it, and removes
//! the consumers in as many visits as it takes: the queue serves others in between.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use engine::batch::still_held;
use engine::gate::window_cost;
use engine::lane::LaneNumber;
use engine::outbox::Outgoing;
use engine::queue_handle::QueueHandle;
use model::ids::{QueueId, QueueSeq};
use queue::{ConsumerId, Return};
use rustc_hash::FxHashMap;

use super::lane::Lane;
use super::unacked::UnackedDelivery;
use super::{Front, Protocol};
use crate::events::Event;
use crate::limits::{LEAVING_COUNT_MAX, SETTLED_COUNT_MAX};
use crate::long_turns::take_long;

/// What leaves a queue at once.
struct Departure {
    queue: Arc<QueueHandle>,
    /// Consumers, and the session's numbers of them.
    consumers: Vec<(u32, ConsumerId)>,
    /// What their lanes had unacked, in the order in which it was delivered.
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
struct Unsent(FxHashMap<u32, Vec<Outgoing>>);

impl Departure {
    fn from(queue: &Arc<QueueHandle>) -> Self {
        Self { queue: queue.clone(), consumers: Vec::new(), held: Vec::new() }
    }
}

impl<P: Protocol> Front<P> {
    /// Ends a consumer before what came before its cancellation is applied. Not one that acknowledges nothing: what it is given is sent.
    pub(crate) fn cancel_early(&mut self, lane: LaneNumber, tag: &[u8]) {
        let Some(lane) = self.lanes.get_mut(lane) else { return };
        let Some(&number) = lane.consumers.get(tag) else { return };
        if self.consumers.get(number).is_none_or(|slot| slot.no_ack) {
            return;
        }
        let lane_number = lane.number;
        let Some(mut lane) = self.lanes.take(lane_number) else { return };
        lane.consumers.remove(tag);
        self.end_consumer(&mut lane, number);
        self.lanes.put(lane);
    }

    /// Takes a consumer off its queue, while its lane stays.
    pub(super) fn end_consumer(&mut self, lane: &mut Lane<P::Lane>, number: u32) {
        let Some(slot) = self.consumers.get(number) else { return };
        let mut departure = Departure::from(&slot.queue);
        self.gather_consumer(number, &mut departure);
        let mut unsent = Unsent::default();
        self.leave(&departure, &mut unsent);
        self.gather_unsent(&mut unsent);
        self.settle_unsent(lane, number, &mut unsent);
    }

    /// What was on its way to a consumer that has ended while its lane stays: it is back in its queue, or, where nothing can go back
    /// because it needs no ack, is delivered.
    fn settle_unsent(&mut self, lane: &mut Lane<P::Lane>, number: u32, unsent: &mut Unsent) {
        let mine = unsent.0.remove(&number).unwrap_or_default();
        if self.consumers.get(number).is_some_and(|slot| slot.no_ack) {
            mine.iter().for_each(|outgoing| self.encode_for(lane, outgoing));
        } else {
            lane.limit.release(mine.len() as u32);
        }
        self.handle.outbox.release(mine.iter().map(cost_of).sum());
        self.consumers.tidy(number);
    }

    /// A lane's end: its consumers leave, and what it had unacked returns to its queues.
    pub(crate) fn release_lane(&mut self, lane: Lane<P::Lane>) {
        self.release_lanes(vec![lane]);
    }

    /// The end of lanes: all that they have of one queue leaves it at once.
    pub(super) fn release_lanes(&mut self, lanes: Vec<Lane<P::Lane>>) {
        let unacked_count: usize = lanes.iter().map(|lane| lane.unacked.len()).sum();
        if unacked_count > SETTLED_COUNT_MAX {
            take_long(|| self.release_all(lanes));
        } else {
            self.release_all(lanes);
        }
    }

    fn release_all(&mut self, mut lanes: Vec<Lane<P::Lane>>) {
        let mut departures: BTreeMap<QueueId, Departure> = BTreeMap::new();
        let mut numbers: Vec<u32> = Vec::new();
        for lane in &mut lanes {
            self.end_reply_consumer(lane);
            lane.limit.close();
            let mut consumers: Vec<u32> = std::mem::take(&mut lane.consumers).into_values().collect();
            consumers.sort_unstable();
            for &number in &consumers {
                let Some(slot) = self.consumers.get(number) else { continue };
                let departure = departures.entry(slot.queue.id()).or_insert_with(|| Departure::from(&slot.queue));
                self.gather_consumer(number, departure);
            }
            numbers.append(&mut consumers);
            for delivery in take_unacked(lane) {
                let Some(slot) = self.consumers.get_mut(delivery.slot) else { continue };
                slot.unacked_count -= 1;
                numbers.push(delivery.slot);
                if !slot.is_void {
                    let departure = departures.entry(slot.queue.id()).or_insert_with(|| Departure::from(&slot.queue));
                    departure.held.push((delivery.seq, slot.consumer));
                }
            }
        }
        let mut unsent = Unsent::default();
        for departure in departures.values() {
            self.leave(departure, &mut unsent);
        }
        self.gather_unsent(&mut unsent);
        self.handle.outbox.release(unsent.0.values().flatten().map(cost_of).sum());
        numbers.sort_unstable();
        numbers.dedup();
        numbers.into_iter().for_each(|number| self.consumers.tidy(number));
        self.resume_parked();
        for lane in lanes {
            self.lane_ended(lane);
        }
    }

    fn lane_ended(&mut self, mut lane: Lane<P::Lane>) {
        lane.permit = None;
        if self.handle.channels.lock().remove(&lane.number.0).is_some() {
            lane.handle.end_history();
            self.broker.counters.channels_closed.add(1);
            self.broker.emit_if_wanted(|| Event::channel_closed(&self.handle, lane.number));
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

    /// Consumers leave a queue, and what they and their lanes had of it is back before anything of it is handed out.
    fn leave(&mut self, departure: &Departure, unsent: &mut Unsent) {
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
                    self.gather_unsent(unsent);
                    work.give_back(entry, &self.unsent_seqs(departure, unsent), Return::Undelivered);
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
            self.resources.disown(queue.id());
        }
    }

    /// Where very many deliveries go back, most do so before the visit that everything else is done in, in pieces. The queue hands out
    /// nothing meanwhile: what comes back precedes the rest.
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
    fn gather_unsent(&mut self, unsent: &mut Unsent) {
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
                unsent.0.entry(outgoing.consumer).or_default().push(outgoing);
            } else {
                rest.push_back(outgoing);
            }
        }
        self.deliveries.put(rest);
    }

    /// What was on its way to consumers that leave and can go back, in the order of its queue.
    fn unsent_seqs(&self, departure: &Departure, unsent: &Unsent) -> Vec<QueueSeq> {
        if unsent.0.is_empty() {
            return Vec::new();
        }
        let goes_back = |number: u32| self.consumers.get(number).is_some_and(|slot| !slot.no_ack && !slot.is_void);
        let numbers = departure.consumers.iter().map(|(number, _)| *number).filter(|number| goes_back(*number));
        let mut seqs: Vec<QueueSeq> =
            numbers.filter_map(|number| unsent.0.get(&number)).flatten().map(|outgoing| outgoing.seq).collect();
        seqs.sort_unstable();
        seqs
    }

    /// The queues of consumers are deleted. Where the client itself has deleted one, it gets that reply first.
    pub(crate) fn queues_deleted(&mut self, consumers: Vec<(u32, QueueId)>) {
        let consumers = self.waits.cancel_after_reply(consumers);
        self.consumers_cancelled(consumers);
    }

    /// The server cancels consumers: their queue is deleted, or the user may no longer read it.
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
        let mut unsent = Unsent::default();
        for departure in departures.values() {
            self.leave(departure, &mut unsent);
        }
        self.gather_unsent(&mut unsent);
        for number in numbers {
            let Some(slot) = self.consumers.get(number) else { continue };
            let (lane_number, tag) = (slot.lane, slot.tag.clone());
            let Some(mut lane) = self.lanes.take(lane_number) else { continue };
            // Nothing of it may be left on its way when its number is given to another.
            self.settle_unsent(&mut lane, number, &mut unsent);
            lane.consumers.remove(&tag);
            self.lanes.put(lane);
            if P::understands_cancellations(&self.agreed) {
                P::put_cancelled(&mut self.out, lane_number, &tag);
            }
        }
    }

    /// A consumer of ours held a message for too long: its queue has taken all back and knows it no longer. It is cancelled, or where the
    /// client does not understand cancellations, its lane has to be closed: then this gives the lane.
    pub(super) fn consumer_timed_out(&mut self, number: u32, queue: QueueId) -> Option<LaneNumber> {
        let slot = self.consumers.get_mut(number)?;
        if slot.queue.id() != queue || slot.is_void {
            return None;
        }
        let (was_live, lane) = (slot.is_live, slot.lane);
        slot.is_void = true;
        if was_live && P::understands_cancellations(&self.agreed) {
            self.consumers_cancelled(vec![(number, queue)]);
            return None;
        }
        Some(lane)
    }
}

/// What a lane has unacked, in the order in which it was delivered, with what its transaction has settled.
fn take_unacked<S>(lane: &mut Lane<S>) -> Vec<UnackedDelivery> {
    let mut unacked = Vec::new();
    lane.unacked.take_up_to(0, &mut unacked);
    if let Some(tx) = lane.tx.take() {
        unacked.extend(tx.into_settled());
        unacked.sort_unstable_by_key(|delivery| delivery.tag);
    }
    unacked
}

fn cost_of(outgoing: &Outgoing) -> i64 {
    window_cost(outgoing.content.len())
}
