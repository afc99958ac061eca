//! Copies what is alive in some segments to new ones, and notifies the queues.

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use model::ids::{Place, QueueId, SegmentId};
use queue::MovedMessage;

use super::RateLimiter;
use crate::QueueOwner;
use crate::catalog::Segment;
use crate::reserve::Purpose;
use crate::segment::{Footer, ReadAhead, ReadError, ReadMessage, SegmentFile, SegmentRange, SegmentWriter, SlotReader};
use crate::shared::Shared;
use crate::work_error::{WorkError, attempting};

/// Consecutive slots of an old segment that became consecutive slots of a new one.
#[derive(Debug, Clone, Copy)]
struct Run {
    from: Place,
    to: Place,
    count: u32,
}

/// One segment that is copied from. Its ranges are read nearly in the order in which they lie.
struct Old {
    segment: Arc<Segment>,
    file: Arc<SegmentFile>,
    reader: SlotReader,
}

/// A range to copy.
struct Part {
    range: SegmentRange,
    /// Index of its segment.
    old: usize,
    /// The runs of slots that are alive in it.
    runs: Vec<(u32, u32)>,
}

impl Shared {
    /// Copies; returns how many segments were written. What is alive in a source that turns out to be corrupt stays where it is.
    pub(super) fn copy(
        &self,
        from: &[Arc<Segment>],
        level: u8,
        owner: &dyn QueueOwner,
        pace: RateLimiter<'_>,
    ) -> Result<usize, WorkError> {
        let mut copy = Copy::new(self, from, level)?;
        if let Err(error) = copy.run(pace) {
            if let WorkError::Read(error) = &error {
                let Old { segment, .. } = &copy.old[copy.current];
                give_up(self, segment, error);
            }
            copy.abandon();
            return Err(error);
        }
        let footers: Result<Vec<_>, _> = copy.written.iter().map(|segment| Ok(self.handles.open(segment)?.1)).collect();
        let footers = footers.inspect_err(|_: &ReadError| copy.abandon())?;
        let Copy { written, runs, .. } = copy;
        let new: Vec<_> = written.into_iter().map(Arc::new).collect();

        let _checkpointer = self.checkpointer.lock();
        new.iter().for_each(|segment| self.catalog.insert(segment.clone()));
        tell_queues(&new, &footers, &runs, owner);
        for segment in from {
            self.catalog.settle_ranges(std::iter::once((segment.id, 0, u32::MAX)));
        }
        new.iter().for_each(|segment| segment.set_placed());
        Ok(new.len())
    }
}

/// Copies nothing more of this segment until the next start, if reading it would fail again: else the same would be tried
/// for ever, and no other segment's turn would come.
fn give_up(shared: &Shared, segment: &Segment, error: &ReadError) {
    if error.is_permanent() && segment.set_damaged() {
        // Which messages are lost the next one to ask for them finds out, or the scrub.
        shared.damages.note(segment, &shared.dir.paths().segment(segment.id), error, &[]);
        tracing::error!(segment = %segment.id, %error, "segment cannot be read and will not be compacted");
    }
}

/// A copy under way.
struct Copy<'a> {
    shared: &'a Shared,
    level: u8,
    old: Vec<Old>,
    written: Vec<Segment>,
    runs: Vec<Run>,
    /// Index of the segment that is being read.
    current: usize,
}

impl<'a> Copy<'a> {
    fn new(shared: &'a Shared, from: &[Arc<Segment>], level: u8) -> Result<Self, WorkError> {
        let mut old = Vec::new();
        for segment in from {
            let file = shared.handles.get(segment).inspect_err(|error| give_up(shared, segment, error))?;
            old.push(Old { segment: segment.clone(), file, reader: SlotReader::default() });
        }
        Ok(Copy { shared, level, old, written: Vec::new(), runs: Vec::new(), current: 0 })
    }

    fn abandon(&self) {
        for segment in &self.written {
            self.shared.remove_segment_file(segment.id);
        }
    }

    fn run(&mut self, pace: RateLimiter<'_>) -> Result<(), WorkError> {
        let shared = self.shared;
        let order = self.order();
        let mut rest = order.as_slice();
        while !rest.is_empty() {
            let id = shared.take_id(!self.old[0].segment.id.is_transient())?;
            let path = shared.dir.paths().segment(id);
            // Should the reserve be needed, the file is begun again from here.
            let (start, runs_start) = (rest, self.runs.len());
            let mut failure = None;
            let mut fill = |file| {
                rest = start;
                self.runs.truncate(runs_start);
                let mut writer = SegmentWriter::new(id, self.level, file);
                let filled = self.fill(&mut writer, &mut rest, pace);
                match filled {
                    Ok(()) => {}
                    Err(WorkError::Io { error, .. }) => return Err(error),
                    Err(error) => {
                        failure = Some(error);
                        return Err(io::Error::other("not written to its end"));
                    }
                }
                writer.finish(!id.is_transient())
            };
            let written = if id.is_transient() {
                shared.dir.disk().create(&path).and_then(fill)
            } else {
                // How much will be alive when it is read is not known; `has_room_to_copy` has looked.
                shared.reserve.create(Purpose::Segment, &path, 0, &mut fill)
            };
            match written {
                Ok(written) => self.written.push(Segment::written(written)),
                Err(error) => {
                    shared.remove_segment_file(id);
                    return Err(failure.unwrap_or_else(|| attempting("writing", &path)(error)));
                }
            }
        }
        Ok(())
    }

    /// The ranges to copy: by queue and lane, then by seq.
    fn order(&self) -> Vec<Part> {
        let mut order = Vec::new();
        for (old, Old { segment, .. }) in self.old.iter().enumerate() {
            let settled = segment.settled();
            for range in &*segment.ranges {
                let runs = settled.clear_runs(range.first_slot, range.end_slot());
                if !runs.is_empty() {
                    order.push(Part { range: *range, old, runs });
                }
            }
        }
        order.sort_by_key(|part| (part.range.queue, part.range.lane, part.range.first_seq));
        order
    }

    /// Fills one segment from the front of `rest`, which is left with what did not fit.
    fn fill(&mut self, writer: &mut SegmentWriter, rest: &mut &[Part], pace: RateLimiter<'_>) -> Result<(), WorkError> {
        let mut open: Option<SegmentRange> = None;
        while let Some((Part { range, old, runs }, after)) = rest.split_first() {
            if writer.slot_count() > 0 && writer.is_full(self.shared.options.segment_len) {
                break;
            }
            // Where seqs of two segments mix, each keeps a range of its own.
            let continues = open.is_some_and(|open: SegmentRange| {
                (open.queue, open.lane) == (range.queue, range.lane) && open.last_seq < range.first_seq
            });
            if !continues {
                writer.start_range(range.queue, range.lane);
            }
            open = Some(*range);
            self.current = *old;
            let before = writer.len();
            self.copy_range(runs, writer)?;
            *rest = after;
            if pace(writer.len() - before).is_break() {
                return Err(WorkError::Closing);
            }
        }
        Ok(())
    }

    fn copy_range(&mut self, runs: &[(u32, u32)], writer: &mut SegmentWriter) -> Result<(), WorkError> {
        let Old { segment, file, reader } = &mut self.old[self.current];
        let mut failure = None;
        let mut each = |message: ReadMessage<'_>| {
            let ReadMessage { slot, seq, body_len, content, source } = message;
            match writer.push(seq, body_len, content, source) {
                Ok(to) => {
                    let from = Place { segment: segment.id, slot };
                    note(&mut self.runs, from, Place { segment: writer.id(), slot: to });
                    ControlFlow::Continue(())
                }
                Err(error) => {
                    failure = Some(error);
                    ControlFlow::Break(())
                }
            }
        };
        reader.read(file, runs, ReadAhead::File, &mut each).map_err(|(_, error)| error)?;
        match failure {
            Some(error) => Err(attempting("writing", &self.shared.dir.paths().segment(writer.id()))(error)),
            None => Ok(()),
        }
    }
}

/// Adds a slot to the last run, or begins a new one.
fn note(runs: &mut Vec<Run>, from: Place, to: Place) {
    if let Some(last) = runs.last_mut() {
        let next = |place: Place| Place { slot: place.slot + last.count, ..place };
        if (next(last.from), next(last.to)) == (from, to) {
            last.count += 1;
            return;
        }
    }
    runs.push(Run { from, to, count: 1 });
}

/// Tells each queue, one old segment at a time: so no list is longer than what a queue has in one segment.
fn tell_queues(new: &[Arc<Segment>], footers: &[Footer], runs: &[Run], owner: &dyn QueueOwner) {
    let mut runs = runs.iter().copied();
    let mut run = runs.next();
    let mut told: Option<QueueId> = None;
    let mut moved: BTreeMap<SegmentId, Vec<MovedMessage>> = BTreeMap::new();
    for (segment, footer) in new.iter().zip(footers) {
        for (index, range) in footer.ranges().iter().enumerate() {
            if told.is_some_and(|queue| queue != range.queue) {
                tell(told, &mut moved, owner);
            }
            told = Some(range.queue);
            for slot in footer.slots(index) {
                let to = Place { segment: segment.id, slot: slot.slot };
                // Slots were written run by run, so they are found in the order of the runs.
                while run.is_some_and(|run| !run.holds(to)) {
                    run = runs.next();
                }
                let Some(run) = run else { unreachable!("slot {to} was written without a source") };
                let from = Place { slot: run.from.slot + (to.slot - run.to.slot), ..run.from };
                moved.entry(from.segment).or_default().push(MovedMessage {
                    seq: slot.seq,
                    from,
                    to,
                    len: slot.body_len,
                });
            }
        }
    }
    tell(told, &mut moved, owner);
}

impl Run {
    fn holds(&self, to: Place) -> bool {
        self.to.segment == to.segment && (self.to.slot..self.to.slot + self.count).contains(&to.slot)
    }
}

fn tell(queue: Option<QueueId>, moved: &mut BTreeMap<SegmentId, Vec<MovedMessage>>, owner: &dyn QueueOwner) {
    let Some(queue) = queue else { return };
    for (from, mut moved) in std::mem::take(moved) {
        moved.sort_by_key(|moved| moved.seq);
        owner.moved(queue, &[from], &moved);
    }
}
