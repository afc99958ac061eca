//! Reads messages back from segments when their queue is about to need them.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::time::Duration;

use model::ids::{Place, QueueId};
use parking_lot::{Condvar, Mutex};
use queue::Load;

use crate::residents::{Loaded, LoadedMessage};
use crate::segment::{ReadAhead, ReadError, SlotReader};
use crate::shared::Shared;
use crate::{ChunkWriter, Residents};

/// How long a reader waits after a disk did not answer, before the queue asks again.
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// Loads that have been asked for. Bounded by the queues: each asks for one at a time.
#[derive(Default)]
pub(crate) struct Loads {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
}

#[derive(Default)]
struct Waiting {
    loads: VecDeque<(QueueId, Load)>,
    is_closed: bool,
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

    /// Waits for a load. `None`: closed.
    fn pop(&self) -> Option<(QueueId, Load)> {
        let mut waiting = self.waiting.lock();
        while !waiting.is_closed {
            if let Some(load) = waiting.loads.pop_front() {
                return Some(load);
            }
            self.arrived.wait(&mut waiting);
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
        while let Some((queue, load)) = shared.loads.pop() {
            let loaded = self.load(shared, queue, load);
            if matches!(loaded.error, Some(ReadError::Io { .. })) {
                std::thread::sleep(RETRY_DELAY);
            }
            residents.loaded(queue, loaded);
        }
    }

    /// Answers one load, if one was asked for.
    #[cfg(any(test, feature = "simulation"))]
    pub(crate) fn load_once(&mut self, shared: &Shared, residents: &dyn Residents) -> bool {
        let Some((queue, load)) = shared.loads.try_pop() else { return false };
        let loaded = self.load(shared, queue, load);
        residents.loaded(queue, loaded);
        true
    }

    fn load(&mut self, shared: &Shared, queue: QueueId, load: Load) -> Loaded {
        let first_slot = load.first_slot;
        let answer = |load, entries, next_slot, error| Loaded { load, entries, next_slot, error };
        // A segment that is gone was compacted; the queue has been told, and asked again.
        let Some(segment) = shared.catalog.get(load.segment) else { return answer(load, Vec::new(), first_slot, None) };
        let runs = segment.live_runs(first_slot, load.end_slot);
        let file = match shared.handles.get(&segment) {
            Ok(file) => file,
            Err(error) => return answer(load, Vec::new(), first_slot, Some(error)),
        };
        let bytes_max = shared.load_len_max().min(u64::from(load.bytes_max));
        let mut entries = Vec::new();
        let mut len = 0u64;
        let mut next_slot = None;
        let mut range = None;
        let outcome = self.reader.read(&file, &runs, ReadAhead::Bytes(bytes_max), &mut |message| {
            let slot = message.slot;
            let is_known = range.is_some_and(|range: crate::segment::SegmentRange| range.contains_slot(slot));
            if !is_known {
                range = file.index().range_of(slot).copied();
            }
            if range.is_some_and(|range| range.queue == queue) {
                entries.push(LoadedMessage {
                    seq: message.seq,
                    place: Place { segment: load.segment, slot },
                    body_len: message.body_len,
                    content: self.contents.copy(&[message.content]),
                });
                len += message.content.len() as u64;
            }
            if len < bytes_max {
                return ControlFlow::Continue(());
            }
            next_slot = Some(slot + 1);
            ControlFlow::Break(())
        });
        match outcome {
            Ok(()) => {
                let next_slot = next_slot.unwrap_or(load.end_slot);
                answer(load, entries, next_slot, None)
            }
            // What was read is worth having; the next load will begin with the one that was not.
            Err((slot, _)) if !entries.is_empty() => answer(load, entries, slot, None),
            Err((slot, error @ ReadError::Corrupt { .. })) => {
                answer(load, entries, slot.saturating_add(1), Some(error))
            }
            Err((_, error)) => answer(load, entries, first_slot, Some(error)),
        }
    }
}
