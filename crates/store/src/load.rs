//! Reads messages back from segments when their queue is about to need them.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use model::ids::{Place, QueueId};
use queue::Load;

use crate::catalog::Segment;
use crate::damages::SlotRun;
use crate::loads::Task;
use crate::queue_owner::{LoadAnswer, LoadedMessage};
use crate::segment::{
    ANCHOR_SLOTS, Flaw, Footer, ReadAhead, ReadError, ReadMessage, SegmentFile, SegmentRange, SlotReader,
};
use crate::shared::Shared;
use crate::trace_points::READ;
use crate::{ChunkWriter, QueueOwner};

/// When nothing could be read, a queue is answered so much later: it will ask for the same again.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// What the disk cannot read is asked for so often, that much later each time, before it is lost.
pub(crate) const ATTEMPT_COUNT_MAX: u32 = 5;

/// A load that begins where a seq is looks no further than so many slots: its asker cannot know how many are alive.
const SOUGHT_SLOTS_MAX: u32 = 4096;

/// A reader, with memory of its own.
pub(crate) struct Loader {
    reader: SlotReader,
    contents: ChunkWriter,
}

impl Loader {
    pub(crate) fn new(shared: &Shared) -> Self {
        Loader { reader: SlotReader::default(), contents: ChunkWriter::new(shared.memory.budget().clone()) }
    }

    /// Answers loads until the store closes.
    pub(crate) fn run(&mut self, shared: &Shared, owner: &dyn QueueOwner) {
        while let Some(task) = shared.loads.pop() {
            match task {
                Task::Answer(queue, loaded) => owner.loaded(queue, loaded),
                Task::Load(queue, load) => match self.load(shared, queue, load) {
                    LoadOutcome::Loaded(loaded) => owner.loaded(queue, loaded),
                    LoadOutcome::Stuck(loaded) => shared.loads.answer_at(Instant::now() + RETRY_DELAY, queue, loaded),
                },
            }
        }
    }

    /// Answers one load, if one was asked for.
    #[cfg(any(test, feature = "simulation"))]
    pub(crate) fn load_once(&mut self, shared: &Shared, owner: &dyn QueueOwner) -> bool {
        let Some((queue, load)) = shared.loads.try_pop() else { return false };
        let (LoadOutcome::Loaded(loaded) | LoadOutcome::Stuck(loaded)) = self.load(shared, queue, load);
        owner.loaded(queue, loaded);
        true
    }

    pub(crate) fn load(&mut self, shared: &Shared, queue: QueueId, load: Load) -> LoadOutcome {
        if shared.memory.is_short() {
            // There may be no publisher that would see it.
            shared.signals.retire.raise();
        }
        let (first_slot, end_slot) = (load.first_slot, load.end_slot);
        let mut call = READ.enter(|arguments| {
            arguments.number("segment", load.segment.0).number("queue_id", queue.0);
            arguments.number("first_slot", first_slot).number("end_slot", end_slot);
        });
        let nothing =
            |next_slot, lost, error| LoadAnswer { load: load.clone(), entries: Vec::new(), next_slot, lost, error };
        // A segment that no longer exists was compacted; the queue has been notified, and has asked again.
        let Some(segment) = shared.catalog.get(load.segment) else {
            return LoadOutcome::Loaded(nothing(first_slot, Vec::new(), None));
        };
        let loaded = match self.read(shared, queue, &load, &segment) {
            Ok(loaded) => loaded,
            Err(_) if shared.catalog.get(load.segment).is_none() => nothing(first_slot, Vec::new(), None),
            // Returned once per load: the broker that receives it writes it to the log.
            Err(ReadFailure::ForNow { error, is_new }) => {
                return LoadOutcome::Stuck(nothing(first_slot, Vec::new(), is_new.then_some(error)));
            }
            Err(ReadFailure::Lost(error)) => nothing(end_slot, segment.live_runs(first_slot, end_slot), Some(error)),
        };
        segment.note_success(first_slot);
        call.returns(|| format!("{} messages", loaded.entries.len()));
        if let Some(error) = loaded.error.as_ref().filter(|_| !loaded.lost.is_empty()) {
            shared.damages.note(&segment, &shared.dir.paths().segment(segment.id), error, &loaded.lost);
        }
        LoadOutcome::Loaded(loaded)
    }

    /// An error: nothing of it could be read.
    fn read(
        &mut self,
        shared: &Shared,
        queue: QueueId,
        load: &Load,
        segment: &Segment,
    ) -> Result<LoadAnswer, ReadFailure> {
        let unread = |error| ReadFailure::new(segment, load.first_slot, error);
        let file = shared.handles.get(segment).map_err(unread)?;
        note_flaw(shared, segment, &file);
        let (stop, error) = match self.read_from(&file, shared, queue, load, segment) {
            Ok(loaded) => return Ok(loaded),
            Err((stop, error)) => match unread(error) {
                ReadFailure::Lost(error) => (stop, error),
                for_now @ ReadFailure::ForNow { .. } => return Err(for_now),
            },
        };
        if file.flaw().is_some_and(|flaw| !flaw.has_footer) {
            return Ok(self.pass_over(&file, *stop, error));
        }
        // The file may have become another one since it was opened.
        match shared.handles.renew(segment) {
            Ok((file, Some(footer))) => self.read_around(&file, &footer, segment, *stop, error),
            Ok((file, None)) => {
                note_flaw(shared, segment, &file);
                self.reader = SlotReader::default();
                match self.read_from(&file, shared, queue, load, segment) {
                    Ok(loaded) => Ok(loaded),
                    Err((stop, error)) => Ok(self.pass_over(&file, *stop, error)),
                }
            }
            Err(_) => Ok(self.pass_over(&file, *stop, error)),
        }
    }

    /// Reads until there is enough, or until something cannot be read. An error: that is the first message.
    fn read_from(
        &mut self,
        file: &SegmentFile,
        shared: &Shared,
        queue: QueueId,
        load: &Load,
        segment: &Segment,
    ) -> Result<LoadAnswer, (Box<ReadStop>, ReadError)> {
        // Where the seq cannot be sought, it is looked for from the start.
        let sought = load.from_seq.and_then(|seq| self.reader.seek(file, (load.first_slot, load.end_slot), seq).ok());
        let (first_slot, end_slot) = match sought {
            Some(first_slot) => (first_slot, first_slot.saturating_add(SOUGHT_SLOTS_MAX).min(load.end_slot)),
            None => (load.first_slot, load.end_slot),
        };
        let runs = segment.live_runs(first_slot, end_slot);
        let bytes_max = shared.memory.load_len_max().min(u64::from(load.bytes_max));
        let mut gathered =
            LoadBuffer { queue, load: load.clone(), bytes_max, entries: Vec::new(), len: 0, next_slot: None };
        let (contents, mut range) = (&mut self.contents, None);
        let outcome = self.reader.read(file, &runs, ReadAhead::Bytes(bytes_max), &mut |message| {
            let is_known = range.is_some_and(|range: SegmentRange| range.contains_slot(message.slot));
            if !is_known {
                range = file.index().range_of(message.slot).copied();
            }
            gathered.take(&message, range, contents)
        });
        match outcome {
            Ok(()) => Ok(gathered.loaded(end_slot, Vec::new(), None)),
            // What was read is worth having; the next load will begin with the one that was not.
            Err((slot, _)) if !gathered.entries.is_empty() => Ok(gathered.loaded(slot, Vec::new(), None)),
            Err((slot, error)) => Err((Box::new(ReadStop { slot, runs, gathered }), error)),
        }
    }

    /// Where walking from slot to slot met damage, the next ones are read one by one, each where the footer says that it is: up to
    /// the next whose offset is known.
    fn read_around(
        &mut self,
        file: &SegmentFile,
        footer: &Footer,
        segment: &Segment,
        stop: ReadStop,
        error: ReadError,
    ) -> Result<LoadAnswer, ReadFailure> {
        let ReadStop { slot: first, runs, mut gathered } = stop;
        let end = (first - first % ANCHOR_SLOTS + ANCHOR_SLOTS).min(gathered.load.end_slot);
        let is_asked_for = |slot: u32| slot < end && runs.iter().any(|(first, end)| (*first..*end).contains(&slot));
        let mut lost = Vec::new();
        for (index, range) in segment.ranges.iter().enumerate() {
            if range.first_slot >= end || range.end_slot() <= first {
                continue;
            }
            for slot in footer.slots(index).filter(|slot| is_asked_for(slot.slot)) {
                let number = slot.slot;
                match self.reader.read_again_at(file, number, slot.offset, ATTEMPT_COUNT_MAX) {
                    Ok(message) => {
                        if gathered.take(&message, Some(*range), &mut self.contents).is_break() {
                            return Ok(gathered.loaded(end, lost, Some(error)));
                        }
                    }
                    Err(error) if error.is_permanent() => lost.push((number, number + 1)),
                    // The next load begins here.
                    Err(_) if number > first => return Ok(gathered.loaded(number, lost, Some(error))),
                    Err(error) => return Err(ReadFailure::new(segment, gathered.load.first_slot, error)),
                }
            }
        }
        Ok(gathered.loaded(end, lost, Some(error)))
    }

    /// Passes over what cannot be read, up to the next message that is known to lie where it should.
    fn pass_over(&mut self, file: &SegmentFile, stop: ReadStop, error: ReadError) -> LoadAnswer {
        let ReadStop { slot: first, runs, gathered } = stop;
        let next = self.reader.next_readable(file, first, gathered.load.end_slot);
        let runs = runs.into_iter().map(|(start, end)| (start.max(first), end.min(next)));
        gathered.loaded(next, runs.filter(|(first, end)| first < end).collect(), Some(error))
    }
}

fn note_flaw(shared: &Shared, segment: &Segment, file: &SegmentFile) {
    if let Some(Flaw { error, .. }) = file.flaw() {
        shared.damages.note(segment, file.path(), error, &[]);
    }
}

/// Where reading came to an end too early, and what had been read by then.
struct ReadStop {
    slot: u32,
    /// The slots that are asked for.
    runs: Vec<SlotRun>,
    gathered: LoadBuffer,
}

/// Why nothing was read.
enum ReadFailure {
    /// It is tried again later.
    ForNow {
        error: ReadError,
        is_new: bool,
    },
    Lost(ReadError),
}

impl ReadFailure {
    /// What this process lacked it may have later; and what the disk says a few times, it may not say again.
    fn new(segment: &Segment, first_slot: u32, error: ReadError) -> Self {
        let count = segment.note_failure(first_slot);
        let may_pass = error.may_pass() && count < ATTEMPT_COUNT_MAX;
        if may_pass || !error.is_permanent() {
            return ReadFailure::ForNow { error, is_new: count == 1 };
        }
        ReadFailure::Lost(error)
    }
}

/// What became of a load.
#[derive(Debug)]
pub(crate) enum LoadOutcome {
    Loaded(LoadAnswer),
    /// Nothing could be read, for now: to be answered, but not at once.
    Stuck(LoadAnswer),
}

/// Messages that have been read for a load.
struct LoadBuffer {
    queue: QueueId,
    load: Load,
    bytes_max: u64,
    entries: Vec<LoadedMessage>,
    len: u64,
    next_slot: Option<u32>,
}

impl LoadBuffer {
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
    fn loaded(self, next_slot: u32, lost: Vec<SlotRun>, error: Option<ReadError>) -> LoadAnswer {
        let LoadBuffer { load, entries, .. } = self;
        let error = error.filter(|_| !lost.is_empty());
        LoadAnswer { load, entries, next_slot: self.next_slot.unwrap_or(next_slot), lost, error }
    }
}
