//! Reads messages back from segments when their queue is about to need them.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use model::ids::{Place, QueueId};
use parking_lot::{Condvar, Mutex};
use queue::Load;

use crate::catalog::Segment;
use crate::residents::{Loaded, LoadedMessage};
use crate::segment::{ANCHOR_SLOTS, ReadAhead, ReadError, ReadMessage, SegmentRange, SlotReader};
use crate::shared::Shared;
use crate::{ChunkWriter, Residents};

/// When nothing could be read, a queue is answered so much later: it will ask for the same again.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// A load that begins where a seq is looks no further than so many slots: its asker cannot know how many are alive.
const SOUGHT_SLOTS_MAX: u32 = 4096;

/// Loads that have been asked for, and answers that have to wait. Each queue has one of them, and those that it gave up.
#[derive(Default)]
pub(crate) struct Loads {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
}

#[derive(Default)]
struct Waiting {
    loads: VecDeque<(QueueId, Load)>,
    /// In the order in which they are due: all wait equally long. So readers go on with what can be read.
    answers: VecDeque<(Instant, QueueId, Loaded)>,
    is_closed: bool,
}

/// What a reader does next.
enum Task {
    Load(QueueId, Load),
    Answer(QueueId, Loaded),
}

impl Loads {
    pub(crate) fn push(&self, queue: QueueId, load: Load) {
        self.waiting.lock().loads.push_back((queue, load));
        self.arrived.notify_one();
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.lock().loads.len()
    }

    pub(crate) fn close(&self) {
        self.waiting.lock().is_closed = true;
        self.arrived.notify_all();
    }

    #[cfg(any(test, feature = "simulation"))]
    fn try_pop(&self) -> Option<(QueueId, Load)> {
        self.waiting.lock().loads.pop_front()
    }

    /// Has a queue answered later.
    fn answer_at(&self, at: Instant, queue: QueueId, loaded: Loaded) {
        self.waiting.lock().answers.push_back((at, queue, loaded));
        self.arrived.notify_one(); // whoever waits must learn until when
    }

    /// Waits for something to do. `None`: closed.
    fn pop(&self) -> Option<Task> {
        let mut waiting = self.waiting.lock();
        while !waiting.is_closed {
            let due = waiting.answers.front().map(|(at, ..)| at.saturating_duration_since(Instant::now()));
            if due == Some(Duration::ZERO) {
                let (_, queue, loaded) = waiting.answers.pop_front()?;
                return Some(Task::Answer(queue, loaded));
            }
            if let Some((queue, load)) = waiting.loads.pop_front() {
                return Some(Task::Load(queue, load));
            }
            match due {
                Some(due) => drop(self.arrived.wait_for(&mut waiting, due)),
                None => self.arrived.wait(&mut waiting),
            }
        }
        None
    }
}

/// One who reads, with memory of its own.
pub(crate) struct Loader {
    reader: SlotReader,
    contents: ChunkWriter,
}

impl Loader {
    pub(crate) fn new(shared: &Shared) -> Self {
        Loader { reader: SlotReader::default(), contents: ChunkWriter::new(shared.budget.clone()) }
    }

    /// Answers loads until the store closes.
    pub(crate) fn run(&mut self, shared: &Shared, residents: &dyn Residents) {
        while let Some(task) = shared.loads.pop() {
            match task {
                Task::Answer(queue, loaded) => residents.loaded(queue, loaded),
                Task::Load(queue, load) => match self.load(shared, queue, load) {
                    Outcome::Loaded(loaded) => residents.loaded(queue, loaded),
                    Outcome::Stuck(loaded) => shared.loads.answer_at(Instant::now() + RETRY_DELAY, queue, loaded),
                },
            }
        }
    }

    /// Answers one load, if one was asked for.
    #[cfg(any(test, feature = "simulation"))]
    pub(crate) fn load_once(&mut self, shared: &Shared, residents: &dyn Residents) -> bool {
        let Some((queue, load)) = shared.loads.try_pop() else { return false };
        let (Outcome::Loaded(loaded) | Outcome::Stuck(loaded)) = self.load(shared, queue, load);
        residents.loaded(queue, loaded);
        true
    }

    pub(crate) fn load(&mut self, shared: &Shared, queue: QueueId, load: Load) -> Outcome {
        if shared.is_memory_short() {
            // Nobody may be publishing who would see it.
            shared.signals.retire.raise();
        }
        let next_slot = load.first_slot;
        let nothing = |error| Loaded { load: load.clone(), entries: Vec::new(), next_slot, error };
        // A segment that is gone was compacted; the queue has been told, and asked again.
        let Some(segment) = shared.catalog.get(load.segment) else { return Outcome::Loaded(nothing(None)) };
        match self.read(shared, queue, &load, &segment) {
            Ok(loaded) => Outcome::Loaded(loaded),
            // Said once a segment: whoever is told writes it to the log.
            Err(error) => {
                let is_new = segment.note_unreadable();
                Outcome::Stuck(nothing(is_new.then_some(error)))
            }
        }
    }

    /// An error: nothing could be read, and the next attempt would not get further either.
    fn read(&mut self, shared: &Shared, queue: QueueId, load: &Load, segment: &Segment) -> Result<Loaded, ReadError> {
        let file = shared.handles.get(segment)?;
        let (first_slot, end_slot) = match load.from_seq {
            Some(seq) => {
                let first_slot = self.reader.seek(&file, (load.first_slot, load.end_slot), seq)?;
                (first_slot, first_slot.saturating_add(SOUGHT_SLOTS_MAX).min(load.end_slot))
            }
            None => (load.first_slot, load.end_slot),
        };
        let runs = segment.live_runs(first_slot, end_slot);
        let bytes_max = shared.load_len_max().min(u64::from(load.bytes_max));
        let mut gathered =
            Gathered { queue, load: load.clone(), bytes_max, entries: Vec::new(), len: 0, next_slot: None };
        let (contents, mut range) = (&mut self.contents, None);
        let outcome = self.reader.read(&file, &runs, ReadAhead::Bytes(bytes_max), &mut |message| {
            let is_known = range.is_some_and(|range: SegmentRange| range.contains_slot(message.slot));
            if !is_known {
                range = file.index().range_of(message.slot).copied();
            }
            gathered.take(&message, range, contents)
        });
        match outcome {
            Ok(()) => Ok(gathered.loaded(end_slot, None)),
            // What was read is worth having; the next load will begin with the one that was not.
            Err((slot, _)) if !gathered.entries.is_empty() => Ok(gathered.loaded(slot, None)),
            Err((slot, error @ ReadError::Corrupt { .. })) => {
                self.read_around(shared, segment, &runs, slot, gathered, error)
            }
            Err((_, error)) => Err(error),
        }
    }

    /// Where walking from slot to slot met damage, the next ones are read one by one, each where the footer says that it is: up to
    /// the next whose offset is known anyway.
    fn read_around(
        &mut self,
        shared: &Shared,
        segment: &Segment,
        runs: &[(u32, u32)],
        slot: u32,
        gathered: Gathered,
        error: ReadError,
    ) -> Result<Loaded, ReadError> {
        let (file, footer) = shared.handles.open(segment)?;
        let mut gathered = gathered;
        let first = slot.max(gathered.load.first_slot);
        let end = (first - first % ANCHOR_SLOTS + ANCHOR_SLOTS).min(gathered.load.end_slot);
        let is_asked_for = |slot: u32| slot < end && runs.iter().any(|(first, end)| (*first..*end).contains(&slot));
        let mut lost = None;
        'ranges: for (index, range) in segment.ranges.iter().enumerate() {
            if range.first_slot >= end || range.end_slot() <= gathered.load.first_slot {
                continue;
            }
            for slot in footer.slots(index).filter(|slot| is_asked_for(slot.slot)) {
                match self.reader.read_at(&file, slot) {
                    Ok(message) => {
                        if gathered.take(&message, Some(*range), &mut self.contents).is_break() {
                            break 'ranges;
                        }
                    }
                    Err(ReadError::Corrupt { .. }) => lost = Some(slot.slot),
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(gathered.loaded(end, lost.map(|_| error)))
    }
}

/// What became of a load.
#[derive(Debug)]
pub(crate) enum Outcome {
    Loaded(Loaded),
    /// Nothing could be read: to be answered, but not at once.
    Stuck(Loaded),
}

/// Messages that have been read for a load.
struct Gathered {
    queue: QueueId,
    load: Load,
    bytes_max: u64,
    entries: Vec<LoadedMessage>,
    len: u64,
    next_slot: Option<u32>,
}

impl Gathered {
    fn take(
        &mut self,
        message: &ReadMessage<'_>,
        range: Option<SegmentRange>,
        contents: &mut ChunkWriter,
    ) -> ControlFlow<()> {
        let slot = message.slot;
        let is_wanted = self.load.from_seq.is_none_or(|from| from <= message.seq);
        if is_wanted && range.is_some_and(|range| range.queue == self.queue) {
            self.entries.push(LoadedMessage {
                seq: message.seq,
                place: Place { segment: self.load.segment, slot },
                body_len: message.body_len,
                content: contents.copy(&[message.content]),
            });
            self.len += message.content.len() as u64;
        }
        if self.len < self.bytes_max {
            return ControlFlow::Continue(());
        }
        self.next_slot = Some(slot + 1);
        ControlFlow::Break(())
    }

    /// The answer; `next_slot` unless there was enough before.
    fn loaded(self, next_slot: u32, error: Option<ReadError>) -> Loaded {
        let Gathered { load, entries, .. } = self;
        Loaded { load, entries, next_slot: self.next_slot.unwrap_or(next_slot), error }
    }
}
