//! From queues to connections: runs a queue's dispatch, journals what was settled by it, and fills outboxes.
//!
//! Everything here happens under the locks of the shards concerned, in three steps: queues are dispatched one after the
//! other, then the records that came of it are appended together with the batch's own, then the deliveries are put into
//! outboxes. Putting them in under the lock keeps each consumer's deliveries in the queue's order; wake-ups and the
//! freeing of content come after the locks are gone.

use std::sync::Arc;
use std::task::Waker;

use model::ids::{JournalPosition, Place, QueueId, QueueSeq};
use queue::{Dropped, Effects, Message, PagedRange, Return};
use store::{RecordBatch, Returns};

use crate::broker::Broker;
use crate::dead_letters::{self, Leaver};
use crate::deduplication::KeyWork;
use crate::message::Held;
use crate::outbox::{News, Outbox, Outgoing};
use crate::queue_handle::QueueHandle;
use crate::shard::{Cell, Watermark};
use crate::statistics::ArrivalRun;
use crate::timers::Timed;

/// Entries for which a thread's vectors keep their room.
const KEPT_COUNT: usize = 8192;

/// Deliveries to one consumer, back to back among the effects.
#[derive(Debug)]
struct Run {
    outbox: Arc<Outbox>,
    consumer: u32,
    end: usize,
    hold_until: Option<JournalPosition>,
}

/// A read of messages from a segment that a queue asks for.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) queue: QueueId,
    pub(crate) load: queue::Load,
}

/// What one locked section gathers. Reused: its vectors keep their room.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Records to append before the locks are released.
    pub(crate) records: RecordBatch,
    /// Where what has been appended in this section is durable.
    position: Option<JournalPosition>,
    effects: Effects<Held>,
    /// Queues that have given up what is to go elsewhere.
    pub(crate) giving_up: Vec<Arc<QueueHandle>>,
    /// What is to be looked after, and when.
    timers: Vec<(u64, Timed)>,
    /// The time, once somebody has asked for it.
    now_ms: Option<u64>,
    runs: Vec<Run>,
    wanted: Vec<Wanted>,
    wakers: Vec<Waker>,
    /// Messages that left, freed after the locks are gone.
    pub(crate) settled: Vec<(QueueSeq, Held)>,
    places: Vec<Place>,
    ranges: Vec<PagedRange>,
    /// What concerns duplicates.
    pub(crate) keys: KeyWork,
    /// Messages that have come in this section.
    pub(crate) arrivals: ArrivalRun,
}

/// Whether messages are given up for the first time, or have found no place then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    First,
    Again,
}

/// Joins neighbours into ranges, so that a thousand acks in a row are one record.
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    current: Option<(QueueSeq, QueueSeq)>,
}

impl Ranges {
    #[inline]
    pub(crate) fn push(&mut self, seq: QueueSeq, mut emit: impl FnMut(QueueSeq, QueueSeq)) {
        match &mut self.current {
            Some((_, last)) if last.0 + 1 == seq.0 => *last = seq,
            current => {
                if let Some((first, last)) = current.replace((seq, seq)) {
                    emit(first, last);
                }
            }
        }
    }

    pub(crate) fn end(self, mut emit: impl FnMut(QueueSeq, QueueSeq)) {
        if let Some((first, last)) = self.current {
            emit(first, last);
        }
    }
}

impl Work {
    /// The time of this section. The clock is looked at only where a queue has times, and once.
    pub(crate) fn now_ms(&mut self, broker: &Broker) -> u64 {
        *self.now_ms.get_or_insert_with(|| broker.clock.now_ms())
    }

    /// Hands out what the queue has ready to whoever can take it, and lets go what has expired or is too much. `store` learns of it
    /// in [`Work::commit`].
    pub(crate) fn dispatch(&mut self, cell: &mut Cell, broker: &Broker) {
        let start = self.effects.deliveries.len();
        let now_ms = if cell.queue.is_timed() { self.now_ms(broker) } else { 0 };
        cell.queue.dispatch(now_ms, &mut self.effects);
        self.take_effects(cell);
        if cell.queue.is_timed() {
            self.set_timer(cell);
        }
        if self.effects.deliveries.len() == start {
            return;
        }
        let hold_until = self.open_watermark(cell, broker);
        let mut settled = Ranges::default();
        let id = cell.handle.id();
        let (mut redelivered_count, mut no_ack_count) = (0, 0);
        let mut current: Option<(queue::ConsumerId, usize)> = None;
        for (index, delivery) in self.effects.deliveries.iter().enumerate().skip(start) {
            redelivered_count += u64::from(delivery.redelivered);
            no_ack_count += u64::from(delivery.no_ack);
            if delivery.no_ack && delivery.message.is_journalled() {
                settled.push(delivery.seq, |first, last| self.records.settle(id, first, last));
                self.places.extend(delivery.message.place());
            } else if delivery.no_ack {
                self.places.extend(delivery.message.place());
            }
            if delivery.no_ack
                && let Some(set) = &mut cell.key_set
            {
                set.free(delivery.seq, &mut self.records);
            }
            match current {
                Some((consumer, run)) if consumer == delivery.consumer => self.runs[run].end = index + 1,
                _ => {
                    let gate =
                        &cell.queue.consumer(delivery.consumer).expect("a delivery has a consumer").consumer.gate;
                    current = Some((delivery.consumer, self.runs.len()));
                    self.runs.push(Run {
                        outbox: gate.outbox.clone(),
                        consumer: gate.consumer,
                        end: index + 1,
                        hold_until,
                    });
                }
            }
        }
        settled.end(|first, last| self.records.settle(id, first, last));
        let count = (self.effects.deliveries.len() - start) as u64;
        cell.handle.count_delivered(count, no_ack_count, redelivered_count);
    }

    /// Gives messages back that were handed out. Dispatch after it.
    pub(crate) fn give_back(&mut self, cell: &mut Cell, broker: &Broker, seqs: &[QueueSeq], how: Return) {
        let now_ms = if cell.queue.is_timed() { self.now_ms(broker) } else { 0 };
        cell.queue.requeue(seqs, how, now_ms, &mut self.effects);
        self.take_effects(cell);
    }

    /// The same, and hands them out again.
    pub(crate) fn requeue(&mut self, cell: &mut Cell, broker: &Broker, seqs: &[QueueSeq], how: Return) {
        self.give_back(cell, broker, seqs, how);
        self.dispatch(cell, broker);
    }

    /// Takes messages away from whoever has them, so that nobody gets them again.
    pub(crate) fn reject(&mut self, cell: &mut Cell, seqs: &[QueueSeq], has_failed: bool) {
        cell.queue.reject(seqs, has_failed, &mut self.effects);
        self.take_effects(cell);
    }

    /// The answer to a load. Dispatch after it. Says how many messages are lost.
    pub(crate) fn loaded(
        &mut self,
        cell: &mut Cell,
        load: &queue::Load,
        entries: Vec<(QueueSeq, Held)>,
        next_slot: u32,
        lost: &[(u32, u32)],
    ) -> u64 {
        cell.handle.count_read(entries.len() as u64);
        let lost_count = cell.queue.lose(load, lost) + cell.queue.loaded(load, entries, next_slot, &mut self.effects);
        self.take_effects(cell);
        if lost_count > 0 && !cell.line.is_empty() {
            // Those behind a lost one wait for it no longer.
            self.bring_later(cell);
        }
        lost_count
    }

    /// Gives up messages once more that were set aside and could not be brought elsewhere.
    pub(crate) fn drop_again(&mut self, cell: &mut Cell, seqs: &[QueueSeq]) {
        cell.queue.drop_again(seqs, &mut self.effects);
        self.take_effects_of(cell, Why::Again);
    }

    /// Takes everything back from consumers that hold a message for too long, and tells them.
    pub(crate) fn time_out(&mut self, cell: &mut Cell, now_ms: u64) {
        for consumer in cell.queue.time_out(now_ms, &mut self.effects) {
            let (consumer, outbox) = (consumer.gate.consumer, consumer.gate.outbox);
            outbox.tell(News::ConsumerTimedOut { consumer, queue: cell.handle.id() });
        }
        self.take_effects(cell);
    }

    /// Somebody has used the queue: it expires later.
    pub(crate) fn note_used(&mut self, cell: &mut Cell, broker: &Broker) {
        if cell.queue.is_timed() {
            cell.queue.note_used(self.now_ms(broker));
            self.set_timer(cell);
        }
    }

    /// Takes the head.
    pub(crate) fn get(&mut self, cell: &mut Cell, broker: &Broker, no_ack: bool) -> queue::Get<Held> {
        let now_ms = if cell.queue.is_timed() { self.now_ms(broker) } else { 0 };
        cell.queue.note_used(now_ms);
        let got = cell.queue.get(no_ack, now_ms, &mut self.effects);
        self.take_effects(cell);
        if cell.queue.is_timed() {
            self.set_timer(cell);
        }
        got
    }

    /// Carries out what a queue asks for besides deliveries.
    pub(crate) fn take_effects(&mut self, cell: &mut Cell) {
        self.take_effects_of(cell, Why::First);
    }

    fn take_effects_of(&mut self, cell: &mut Cell, why: Why) {
        let id = cell.handle.id();
        self.wanted.extend(self.effects.loads.drain(..).map(|load| Wanted { queue: id, load }));
        for returned in self.effects.returned.drain(..).filter(|returned| returned.is_journalled) {
            let returns = Returns { counts: returned.counts, waits_until_ms: returned.waits_until_ms };
            self.records.returned(id, returned.seq, returns);
        }
        if !self.effects.dropped.is_empty() || !self.effects.leaving.is_empty() {
            self.take_dropped(cell, why);
        }
    }

    fn take_dropped(&mut self, cell: &mut Cell, why: Why) {
        let from = self.settled.len();
        let is_kept = cell.queue.rules().keeps_dropped;
        if why == Why::First {
            self.effects.dropped.iter().for_each(|dropped| cell.handle.count_died(dropped.reason));
        }
        if !is_kept {
            self.settled.extend(self.effects.dropped.drain(..).map(|dropped| (dropped.seq, dropped.message)));
        }
        self.line_up(cell);
        self.settled[from..].sort_unstable_by_key(|(seq, _)| *seq);
        self.settle(cell, from);
    }

    /// What leaves takes its place in the queue's line.
    fn line_up(&mut self, cell: &mut Cell) {
        let handle = cell.handle.clone();
        let leaver = |dropped: Dropped<Held>| {
            let Dropped { seq, message, reason, counts } = dropped;
            Leaver { queue: handle.clone(), seq: Some(seq), content: message.into_content(), reason, counts }
        };
        let mut dropped = self.effects.dropped.drain(..).peekable();
        for seq in self.effects.leaving.drain(..) {
            match dropped.next_if(|dropped| dropped.seq == seq) {
                Some(dropped) => cell.line.push(leaver(dropped)),
                None => cell.line.announce(seq),
            }
        }
        dropped.for_each(|dropped| cell.line.fill(leaver(dropped)));
        if !cell.line.is_empty() {
            self.bring_later(cell);
        }
    }

    /// Has the queue looked after when something is due, unless it is already by then.
    pub(crate) fn set_timer(&mut self, cell: &mut Cell) {
        let Some(due_ms) = cell.next_due() else { return };
        if cell.timer_at_ms == 0 || due_ms < cell.timer_at_ms {
            cell.timer_at_ms = due_ms;
            self.timers.push((due_ms, cell.handle.clone().into()));
        }
    }

    /// Has something looked after, once the locks are gone.
    pub(crate) fn look_after_later(&mut self, due_ms: u64, timed: Timed) {
        self.timers.push((due_ms, timed));
    }

    /// Notes delayed messages that have left for good: journals them and marks their slots.
    pub(crate) fn settle_delayed<'m>(
        &mut self,
        records: &[(QueueId, QueueSeq, QueueSeq)],
        messages: impl Iterator<Item = &'m Held>,
    ) {
        records.iter().for_each(|(generation, first, last)| self.records.settle(*generation, *first, *last));
        self.places.extend(messages.filter_map(Message::place));
    }

    /// Journals that the queue delivers beyond its closed watermark, and says until when its deliveries must wait for
    /// that. Appended at once, for whoever dispatches next must know the position; it is rare.
    pub(crate) fn open_watermark(&mut self, cell: &mut Cell, broker: &Broker) -> Option<JournalPosition> {
        let position = match cell.watermark {
            Watermark::None => return None,
            Watermark::Closed(mark) if cell.queue.last_delivered() <= mark => return None,
            Watermark::Closed(_) => self.open(cell, broker),
            Watermark::Open(position) => position,
        };
        (position > broker.store.durable()).then_some(position)
    }

    fn open(&mut self, cell: &mut Cell, broker: &Broker) -> JournalPosition {
        self.records.watermark(cell.handle.id(), None);
        let position = self.append(broker);
        cell.watermark = Watermark::Open(position);
        broker.opened.lock().push(cell.handle.clone());
        position
    }

    /// A consumer came to a queue with a closed watermark: opens it now, so that it is durable by the time a message comes.
    pub(crate) fn foresee_delivery(&mut self, cell: &mut Cell, broker: &Broker) {
        if let Watermark::Closed(_) = cell.watermark {
            self.open(cell, broker);
        }
    }

    /// Asks for messages to be read once the locks are gone.
    pub(crate) fn want(&mut self, queue: QueueId, load: queue::Load) {
        self.wanted.push(Wanted { queue, load });
    }

    /// Removes all that is ready from the queue, and says how much that was.
    pub(crate) fn purge(&mut self, cell: &mut Cell, broker: &Broker) -> u64 {
        let id = cell.handle.id();
        let mut purged = queue::Purged::default();
        let count = cell.queue.purge(&mut purged);
        if let Some(set) = &mut cell.key_set
            && set.is_while_waiting()
        {
            set.forget_all_but(&purged.kept, broker, &mut self.keys, &mut self.records);
        }
        for range in purged.ranges.iter().filter(|range| !range.segment.is_transient()) {
            let mut first = range.first_seq;
            let start = purged.kept.partition_point(|kept| *kept < first);
            for &kept in purged.kept[start..].iter().take_while(|kept| **kept <= range.last_seq) {
                if first < kept {
                    self.records.settle(id, first, QueueSeq(kept.0 - 1));
                }
                first = kept.next();
            }
            if first <= range.last_seq {
                self.records.settle(id, first, range.last_seq);
            }
        }
        self.ranges.append(&mut purged.ranges);
        let from = self.settled.len();
        self.settled.append(&mut purged.messages);
        // Dead letters that have found no queue are nobody's but the queue's.
        let stuck = std::mem::take(&mut cell.stuck);
        cell.queue.depart(&stuck, &mut self.settled);
        self.settled[from..].sort_unstable_by_key(|(seq, _)| *seq);
        self.settle(cell, from);
        count + stuck.len() as u64
    }

    fn append(&mut self, broker: &Broker) -> JournalPosition {
        let position = broker.store.append(&mut self.records);
        self.position = Some(position);
        position
    }

    /// Notes messages that have left a queue for good: journals them, marks their slots and frees their keys.
    pub(crate) fn settle(&mut self, cell: &mut Cell, from: usize) {
        let id = cell.handle.id();
        let mut ranges = Ranges::default();
        for (seq, message) in &self.settled[from..] {
            if message.is_journalled() {
                ranges.push(*seq, |first, last| self.records.settle(id, first, last));
            }
            self.places.extend(message.place());
        }
        ranges.end(|first, last| self.records.settle(id, first, last));
        if let Some(set) = &mut cell.key_set {
            self.settled[from..].iter().for_each(|(seq, _)| set.free(*seq, &mut self.records));
            let queue = &cell.queue;
            let is_empty = queue.is_empty() && queue.unacked_count() + queue.set_aside_count() == 0;
            if is_empty && set.is_while_waiting() && !set.is_empty() {
                // Those of messages that a damaged segment has lost, and of others that leave with these.
                set.forget_all(&mut self.keys, &mut self.records);
            }
        }
    }

    /// Appends the records and fills the outboxes: the last thing under the locks. The position is where all of it is
    /// durable; `None` when nothing was journalled.
    pub(crate) fn commit(&mut self, broker: &Broker) -> Option<JournalPosition> {
        if !self.records.is_empty() {
            self.append(broker);
        }
        if !self.places.is_empty() {
            broker.store.settle_slots(&self.places);
            self.places.clear();
        }
        broker.store.settle_ranges(&std::mem::take(&mut self.ranges));
        let mut deliveries = self.effects.deliveries.drain(..);
        let mut start = 0;
        for run in self.runs.drain(..) {
            let outgoing = deliveries.by_ref().take(run.end - start).map(|delivery| Outgoing {
                consumer: run.consumer,
                is_redelivered: delivery.redelivered,
                seq: delivery.seq,
                counts: delivery.counts,
                content: delivery.message.into_content(),
            });
            self.wakers.extend(run.outbox.deliver(outgoing, run.hold_until));
            start = run.end;
        }
        let position = self.position.take();
        if std::mem::take(&mut self.keys.awaits_originals) {
            // What duplicates were dropped for has been appended by now.
            return position.or_else(|| broker.all_so_far());
        }
        position
    }

    /// What is left to do once the locks are gone: wake connections, ask for reads, free content, bring dead letters on.
    pub(crate) fn finish(&mut self, broker: &Broker) {
        self.release(broker);
        while !self.giving_up.is_empty() {
            let queue = self.giving_up.remove(0);
            if dead_letters::bring(self, broker, &queue) {
                self.giving_up.push(queue);
            }
            self.release(broker);
        }
    }

    fn release(&mut self, broker: &Broker) {
        for waker in self.wakers.drain(..) {
            waker.wake();
        }
        for wanted in self.wanted.drain(..) {
            broker.store.load(wanted.queue, wanted.load);
        }
        broker.timers.set(self.timers.drain(..));
        self.keys.sweep(broker);
        self.now_ms = None;
        self.settled.clear();
        // A thread does not keep the room of its largest purge for ever.
        self.settled.shrink_to(KEPT_COUNT);
        self.places.shrink_to(KEPT_COUNT);
        self.effects.deliveries.shrink_to(KEPT_COUNT);
    }
}
