//! What one thread gathers while it holds locks of queues, and what it does with that: journal it, fill outboxes, wake connections.
//!
//! A section has three steps. Under the locks of the shards concerned queues change and are dispatched, one after the other (`dispatch`).
//! The last thing under the locks is [`Work::commit`]: the records that came of it are appended as one batch, then the deliveries are put
//! into outboxes, which keeps each consumer's deliveries in the queue's order. When the locks are released, [`Work::finish`] wakes
//! connections, asks for reads, frees content and republishes dead letters.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

use model::ids::{Place, QueueId, QueueSeq};
use queue::{Effects, PagedRange};
use store::RecordBatch;

use crate::dead_letters::{self, Turn};
use crate::deduplication::KeyWork;
use crate::engine::Engine;
use crate::outbox::{EndedDrains, Outbox, Outgoing};
use crate::position::{Position, Positions};
use crate::probe::DeliveryProbe;
use crate::queue_handle::QueueHandle;
use crate::queued_message::QueuedMessage;
use crate::shard::QueueEntry;
use crate::statistics::ArrivalRun;
use crate::tap::{Client, Kinds, Note};
use crate::timers::Timed;

/// Entries for which a thread's vectors keep their room.
const KEPT_COUNT: usize = 8192;

/// Deliveries to one consumer, back to back among the effects.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) consumer: u32,
    pub(crate) end: usize,
    pub(crate) hold_until: Positions,
    /// Of a queue that hands out only what a majority has.
    pub(crate) waits_for_majority: bool,
}

/// A read of messages from a segment that a queue asks for.
#[derive(Debug)]
pub(crate) struct RequestedRead {
    pub(crate) queue: QueueId,
    pub(crate) load: queue::Load,
}

/// What one section gathers. Reused: its vectors keep their room.
#[derive(Debug, Default)]
pub(crate) struct SectionEffects {
    /// Records to append before the locks are released.
    pub(crate) records: RecordBatch,
    /// Where what has been appended in this section is durable.
    position: Positions,
    /// What queues have decided.
    pub(crate) queue_effects: Effects<QueuedMessage>,
    /// Queues that have given up what is to go elsewhere.
    pub(crate) giving_up: VecDeque<Arc<QueueHandle>>,
    /// What is to be looked after, and when.
    timers: Vec<(u64, Timed)>,
    /// The time, once it has been asked for.
    now_ms: Option<u64>,
    pub(crate) runs: Vec<Run>,
    /// Those of the deliveries that are timed.
    pub(crate) timed: Vec<(Arc<Outbox>, DeliveryProbe)>,
    pub(crate) wanted: Vec<RequestedRead>,
    wakers: Vec<Waker>,
    /// Messages that left, freed after the locks are released.
    pub settled: Vec<(QueueSeq, QueuedMessage)>,
    pub(crate) places: Vec<Place>,
    pub(crate) ranges: Vec<PagedRange>,
    /// What concerns duplicates.
    pub(crate) keys: KeyWork,
    /// Messages that have come in this section.
    pub(crate) arrivals: ArrivalRun,
    /// Where the message that is being added is to be journaled. Only room in between.
    pub(crate) refs: Vec<(QueueId, QueueSeq)>,
    /// Queues to dispatch at the section's end.
    pub(crate) touched: Vec<Arc<QueueHandle>>,
    /// What arrives now arrives with other things or not at all: see [`crate::section::Section::begin_whole`].
    pub(crate) is_whole: bool,
    /// Drains that have ended, if any have: connections get events of them when the locks are released.
    pub(crate) drained: Option<Box<EndedDrains>>,
    /// What is to be reported when the locks are released.
    pub(crate) notes: Vec<Note>,
    /// The client that causes it, where that is reported.
    pub(crate) client: Option<Arc<Client>>,
}

thread_local! {
    static SECTION_EFFECTS: Cell<Option<Box<SectionEffects>>> = const { Cell::new(None) };
}

/// The work of one section on one thread.
///
/// It is made by [`Engine`] alone, which gives it to a closure; from within there is no way back to the engine's doors, so that no section
/// can be entered inside another. See [`crate::section`].
#[derive(Debug)]
pub struct Work<'e> {
    pub(crate) engine: &'e Engine,
    pub(crate) section_effects: Box<SectionEffects>,
    /// What anyone wants to hear of.
    pub(crate) wanted: Kinds,
}

impl<'e> Work<'e> {
    /// Takes what the thread keeps for its sections.
    #[inline]
    pub(crate) fn begin(engine: &'e Engine) -> Self {
        Self { engine, section_effects: SECTION_EFFECTS.take().unwrap_or_default(), wanted: engine.taps.wanted() }
    }

    /// The time of this section, in milliseconds since 1970. The clock is looked at only where a queue has times, and once.
    pub fn now_ms(&mut self) -> u64 {
        *self.section_effects.now_ms.get_or_insert_with(|| self.engine.clock.now_ms())
    }

    /// Has the queue looked after when something is due, unless it is already by then.
    pub(crate) fn set_timer(&mut self, entry: &mut QueueEntry) {
        let Some(due_ms) = entry.next_due() else { return };
        if entry.timer_at_ms == 0 || due_ms < entry.timer_at_ms {
            entry.timer_at_ms = due_ms;
            self.section_effects.timers.push((due_ms, entry.handle.clone().into()));
        }
    }

    /// Has something looked after, once the locks are released.
    pub(crate) fn look_after_later(&mut self, due_ms: u64, timed: Timed) {
        self.section_effects.timers.push((due_ms, timed));
    }

    /// Asks for messages to be read once the locks are released.
    pub fn want(&mut self, queue: QueueId, load: queue::Load) {
        self.section_effects.wanted.push(RequestedRead { queue, load });
    }

    /// The records that the section's commit appends.
    pub fn records(&mut self) -> &mut RecordBatch {
        &mut self.section_effects.records
    }

    /// Appends what there is. Says where all that the section has appended is durable; empty: it has nothing.
    pub(crate) fn append_so_far(&mut self) -> Positions {
        if !self.section_effects.records.is_empty() {
            self.append();
        }
        self.section_effects.position
    }

    /// Appends records separately, before what has been gathered.
    pub(crate) fn append_before(&mut self, records: &mut RecordBatch) -> Position {
        let position = self.engine.append_some(records);
        self.section_effects.position.add(position);
        position
    }

    pub(crate) fn append(&mut self) -> Position {
        let position = self.engine.append_some(&mut self.section_effects.records);
        self.section_effects.position.add(position);
        position
    }

    /// Appends the records and fills the outboxes: the last thing under the locks. The position is where all of it is
    /// durable; empty when nothing was journaled.
    pub(crate) fn commit(&mut self) -> Positions {
        if !self.section_effects.records.is_empty() {
            self.append();
        }
        let section_effects = &mut *self.section_effects;
        if !section_effects.places.is_empty() {
            self.engine.store.settle_slots(&section_effects.places);
            section_effects.places.clear();
        }
        self.engine.store.settle_ranges(&std::mem::take(&mut section_effects.ranges));
        if !section_effects.timed.is_empty() {
            section_effects.timed.drain(..).for_each(|(outbox, probe)| outbox.time(probe));
        }
        let mut deliveries = section_effects.queue_effects.deliveries.drain(..);
        let mut start = 0;
        for run in section_effects.runs.drain(..) {
            let outgoing = deliveries.by_ref().take(run.end - start).map(|delivery| Outgoing {
                consumer: run.consumer,
                is_redelivered: delivery.redelivered,
                seq: delivery.seq,
                counts: delivery.counts,
                content: delivery.message.into_content(),
            });
            // By now all that is handed out has been appended.
            let hold_until = match run.waits_for_majority {
                true => run.hold_until.and(self.engine.journal_end()),
                false => run.hold_until,
            };
            section_effects.wakers.extend(run.outbox.deliver(outgoing, hold_until));
            start = run.end;
        }
        let position = std::mem::take(&mut section_effects.position);
        if std::mem::take(&mut section_effects.keys.awaits_originals) && position.is_empty() {
            // What duplicates were dropped for has been appended by now.
            return self.engine.journal_end();
        }
        position
    }

    /// What is left to do once the locks are released: wake connections, ask for reads, free content, republish dead letters. The thread
    /// keeps the memory for its next section.
    pub(crate) fn finish(mut self) {
        self.release();
        if !self.section_effects.giving_up.is_empty() {
            self.republish();
        }
        SECTION_EFFECTS.set(Some(self.section_effects));
    }

    /// Brings on what queues have given up, and what is given up by that, as far as a turn reaches.
    #[cold]
    fn republish(&mut self) {
        let mut turn = Turn::begin();
        while let Some(queue) = self.section_effects.giving_up.pop_front() {
            if dead_letters::republish(self, &queue, &mut turn) {
                self.section_effects.giving_up.push_back(queue);
            }
            self.release();
        }
    }

    /// Reports what was noted.
    #[cold]
    fn report_notes(&mut self) {
        self.section_effects.client = None;
        let mut notes = std::mem::take(&mut self.section_effects.notes);
        notes.drain(..).for_each(|note| note.report(&self.engine.taps));
        self.section_effects.notes = notes;
    }

    fn release(&mut self) {
        if !self.section_effects.notes.is_empty() {
            self.report_notes();
        }
        let section_effects = &mut *self.section_effects;
        for waker in section_effects.wakers.drain(..) {
            waker.wake();
        }
        if let Some(drained) = section_effects.drained.take() {
            drained.report();
        }
        for wanted in section_effects.wanted.drain(..) {
            self.engine.store.load(wanted.queue, wanted.load);
        }
        self.engine.timers.set(section_effects.timers.drain(..));
        section_effects.keys.sweep(&self.engine.store);
        section_effects.now_ms = None;
        section_effects.settled.clear();
        // A thread does not keep the room of its largest purge for ever.
        section_effects.settled.shrink_to(KEPT_COUNT);
        section_effects.places.shrink_to(KEPT_COUNT);
        section_effects.queue_effects.deliveries.shrink_to(KEPT_COUNT);
    }
}
