//! From queues to connections: runs a queue's dispatch, journals what was settled by it, and fills outboxes.
//!
//! Everything here happens under the locks of the shards concerned, in three steps: queues are dispatched one after the
//! other, then the records that came of it are appended together with the batch's own, then the deliveries are put into
//! outboxes. Putting them in under the lock keeps each consumer's deliveries in the queue's order; wake-ups and the
//! freeing of content come after the locks are gone.

use std::sync::Arc;
use std::task::Waker;

use model::ids::{JournalPosition, Place, QueueId, QueueSeq};
use queue::{Delivery, Message, PagedRange};
use store::RecordBatch;

use crate::broker::Broker;
use crate::message::Held;
use crate::outbox::{Outbox, Outgoing};
use crate::shard::{Cell, Watermark};

/// Entries for which a thread's vectors keep their room.
const KEPT_COUNT: usize = 8192;

/// Deliveries to one consumer, back to back in [`Work::deliveries`].
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
    deliveries: Vec<Delivery<Held>>,
    runs: Vec<Run>,
    wanted: Vec<Wanted>,
    wakers: Vec<Waker>,
    /// Messages that left, freed after the locks are gone.
    pub(crate) settled: Vec<(QueueSeq, Held)>,
    places: Vec<Place>,
    ranges: Vec<PagedRange>,
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
    /// Hands out what the queue has ready to whoever can take it. `store` learns of it in [`Work::commit`].
    pub(crate) fn dispatch(&mut self, cell: &mut Cell, broker: &Broker) {
        let start = self.deliveries.len();
        if let Some(load) = cell.queue.dispatch(&mut self.deliveries) {
            self.wanted.push(Wanted { queue: cell.handle.id(), load });
        }
        if self.deliveries.len() == start {
            return;
        }
        let hold_until = self.open_watermark(cell, broker);
        let mut settled = Ranges::default();
        let id = cell.handle.id();
        let mut redelivered_count = 0;
        let mut current: Option<(queue::ConsumerId, usize)> = None;
        for (index, delivery) in self.deliveries.iter().enumerate().skip(start) {
            redelivered_count += u64::from(delivery.redelivered);
            if delivery.no_ack && delivery.message.is_journalled() {
                settled.push(delivery.seq, |first, last| self.records.settle(id, first, last));
                self.places.extend(delivery.message.place());
            } else if delivery.no_ack {
                self.places.extend(delivery.message.place());
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
        cell.handle.counters.delivered.add((self.deliveries.len() - start) as u64);
        cell.handle.counters.redelivered.add(redelivered_count);
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
    pub(crate) fn purge(&mut self, cell: &mut Cell) -> u64 {
        let id = cell.handle.id();
        let mut purged = queue::Purged::default();
        let count = cell.queue.purge(&mut purged);
        for range in purged.ranges.iter().filter(|range| !range.segment.is_transient()) {
            self.records.settle(id, range.first_seq, range.last_seq);
        }
        self.ranges.append(&mut purged.ranges);
        let from = self.settled.len();
        purged.messages.sort_unstable_by_key(|(seq, _)| *seq);
        self.settled.append(&mut purged.messages);
        self.settle(id, from);
        count
    }

    fn append(&mut self, broker: &Broker) -> JournalPosition {
        let position = broker.store.append(&mut self.records);
        self.position = Some(position);
        position
    }

    /// Notes messages that a consumer acknowledged: journals them and marks their slots.
    pub(crate) fn settle(&mut self, id: QueueId, from: usize) {
        let mut ranges = Ranges::default();
        for (seq, message) in &self.settled[from..] {
            if message.is_journalled() {
                ranges.push(*seq, |first, last| self.records.settle(id, first, last));
            }
            self.places.extend(message.place());
        }
        ranges.end(|first, last| self.records.settle(id, first, last));
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
        let mut deliveries = self.deliveries.drain(..);
        let mut start = 0;
        for run in self.runs.drain(..) {
            let outgoing = deliveries.by_ref().take(run.end - start).map(|delivery| Outgoing {
                consumer: run.consumer,
                is_redelivered: delivery.redelivered,
                seq: delivery.seq,
                content: delivery.message.into_content(),
            });
            self.wakers.extend(run.outbox.deliver(outgoing, run.hold_until));
            start = run.end;
        }
        self.position.take()
    }

    /// What is left to do once the locks are gone: wake connections, ask for reads, free content.
    pub(crate) fn finish(&mut self, broker: &Broker) {
        for waker in self.wakers.drain(..) {
            waker.wake();
        }
        for wanted in self.wanted.drain(..) {
            broker.store.load(wanted.queue, wanted.load);
        }
        self.settled.clear();
        // A thread does not keep the room of its largest purge for ever.
        self.settled.shrink_to(KEPT_COUNT);
        self.places.shrink_to(KEPT_COUNT);
        self.deliveries.shrink_to(KEPT_COUNT);
    }
}
