//! The state machine: insert, release, settle, purge.

use std::collections::BTreeMap;

use model::ids::{QueueId, QueueSeq};

use super::calendar::Calendar;
use super::generations::Generations;
use super::key::{DelayId, Key, due_of};
use super::loading::{Ask, Flights};
use super::paging::Pages;
use super::released_messages::ReleasedMessages;
use super::runs::Runs;
use super::seek::Seeks;
use crate::message::Message;
use crate::ranges::PagedRange;

/// What recovery knows of one generation. Nothing of it is trusted to be sorted.
#[derive(Debug)]
pub struct RestoredGeneration<M> {
    /// Which one.
    pub generation: QueueId,
    /// Messages in segments.
    pub ranges: Vec<PagedRange>,
    /// Messages in memory.
    pub messages: Vec<(QueueSeq, M)>,
}

/// How far a release came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Nothing else is due. Release again at [`Delays::wake_at_ms`].
    Done,
    /// More is due than could be taken at once: release again soon.
    More,
    /// More is due or may be, and is being read: release again after the answer.
    Loading,
}

/// Messages that have left for good.
#[derive(Debug)]
pub struct SettledDelays<M> {
    /// They, and where they lie: their slots are to be settled.
    pub messages: Vec<(DelayId, M)>,
    /// What the journal has to record: of this generation, everything from the first to the last is removed.
    pub records: Vec<(QueueId, QueueSeq, QueueSeq)>,
}

impl<M> Default for SettledDelays<M> {
    fn default() -> Self {
        SettledDelays { messages: Vec::new(), records: Vec::new() }
    }
}

/// Messages that a purge took out.
#[derive(Debug)]
pub struct PurgedDelays<M> {
    /// Those that were in memory, in no order; the slots of those that have one are to be settled.
    pub messages: Vec<(DelayId, M)>,
    /// Those that were only in segments: all that is alive in these slots.
    pub ranges: Vec<PagedRange>,
    /// What the journal has to record: of this generation, everything from the first to the last is removed.
    pub records: Vec<(QueueId, QueueSeq, QueueSeq)>,
}

impl<M> Default for PurgedDelays<M> {
    fn default() -> Self {
        PurgedDelays { messages: Vec::new(), ranges: Vec::new(), records: Vec::new() }
    }
}

/// Messages that wait until they are due. See the module's page.
///
/// All times are milliseconds since 1970. They may step back: nothing is lost or released early by the clock that is given.
#[derive(Debug)]
pub struct Delays<M> {
    pub(super) generations: Generations,
    pub(super) calendar: Calendar<M>,
    pub(super) runs: Runs,
    /// Released and not settled.
    pub(super) leaving: ReleasedMessages<M>,
    pub(super) flights: Flights,
    pub(super) seeks: Seeks,
    pub(super) pages: Pages<M>,
    /// The time that was given last.
    pub(super) now: u64,
}

impl<M: Message> Default for Delays<M> {
    fn default() -> Self {
        Delays::new()
    }
}

impl<M: Message> Delays<M> {
    /// A set in which nothing waits.
    #[must_use]
    pub fn new() -> Self {
        Delays {
            generations: Generations::default(),
            calendar: Calendar::new(),
            runs: Runs::default(),
            leaving: ReleasedMessages::new(),
            flights: Flights::default(),
            seeks: Seeks::default(),
            pages: Pages::default(),
            now: 0,
        }
    }

    /// A set after a restart. None of these generations takes more messages; the empty ones have ended.
    #[must_use]
    pub fn restore(generations: impl IntoIterator<Item = RestoredGeneration<M>>) -> Self {
        let mut set = Delays::new();
        for RestoredGeneration { generation, ranges, mut messages } in generations {
            messages.sort_by_key(|(seq, _)| *seq);
            messages.dedup_by_key(|(seq, _)| *seq);
            let in_ranges = ranges.iter().map(|range| u64::from(range.count)).sum::<u64>();
            set.generations.restore(generation, in_ranges + messages.len() as u64);
            for (seq, message) in messages {
                set.calendar.insert(Key::new(generation, seq), message);
            }
            for range in ranges.into_iter().filter(|range| range.count > 0) {
                set.runs.insert(generation, range);
            }
        }
        set
    }

    /// Adds a message, to be released at `due_ms` or, if that is past, at once. `next_id` gives the id of a generation, higher than all
    /// before, when one must begin: the caller records whose it is before, or with, the message.
    #[inline]
    pub fn insert(&mut self, due_ms: u64, message: M, next_id: impl FnOnce() -> QueueId) -> DelayId {
        let due = due_of(due_ms).max(self.now);
        let (generation, seq) = self.generations.arrive(due, next_id);
        self.calendar.insert(Key::new(generation, seq), message);
        DelayId { generation, seq }
    }

    /// Whether what is due at this time would be released as late as what was due when [`Delays::release`] was called last: so it is if the
    /// clock has been set back since.
    #[must_use]
    pub fn is_behind(&self, due_ms: u64) -> bool {
        due_of(due_ms) < self.now
    }

    /// The clock may have been set back since the last release: it is no later than this.
    pub fn set_back(&mut self, now_ms: u64) {
        self.now = self.now.min(due_of(now_ms));
    }

    /// Takes out what is due, in order, and appends it to `out`. It is leaving until it is settled or put back. What must be
    /// read for this, or will soon have to be, is appended to `asks`, each only once.
    pub fn release(
        &mut self,
        now_ms: u64,
        count_max: usize,
        out: &mut Vec<(DelayId, M)>,
        asks: &mut Vec<Ask>,
    ) -> Progress {
        self.now = due_of(now_ms);
        let bound = self.runs.first_bound();
        let end = out.len() + count_max;
        let progress = loop {
            let is_due = |key: &Key| key.due <= self.now;
            let first = self.calendar.first_key().filter(is_due);
            match first.filter(|key| bound.is_none_or(|bound| *key < bound)) {
                None if bound.as_ref().is_some_and(is_due) => break Progress::Loading,
                None => break Progress::Done,
                Some(_) if out.len() == end => break Progress::More,
                Some(_) => {}
            }
            let Some(entry) = self.calendar.pop_first() else { break Progress::Done };
            let id = entry.key.id();
            self.leaving.insert(entry.key, entry.message.without_body());
            out.push((id, entry.message));
        };
        self.look_ahead(asks);
        progress
    }

    /// When [`Delays::release`] should be called next, in milliseconds since 1970; `None`: not before something is
    /// inserted or a load is answered. It may be in the past.
    #[must_use]
    pub fn wake_at_ms(&self) -> Option<u64> {
        let bound = self.runs.first_bound();
        let first = self.calendar.first_key().filter(|key| bound.is_none_or(|bound| *key < bound));
        first.map(Key::due_ms).into_iter().chain(self.next_load_ms()).min()
    }

    /// When the first message is due, in milliseconds since 1970, or a little earlier if that is not in memory.
    #[must_use]
    pub fn next_due_ms(&self) -> Option<u64> {
        self.calendar.first_key().into_iter().chain(self.runs.first_bound()).min().map(Key::due_ms)
    }

    /// Released messages have left for good: those of `ids` that are leaving are appended to `settled`.
    pub fn settle(&mut self, ids: impl IntoIterator<Item = DelayId>, settled: &mut SettledDelays<M>) {
        let (start, records_start) = (settled.messages.len(), settled.records.len());
        settled.messages.extend(ids.into_iter().filter_map(|id| Some((id, self.leaving.remove(id)?))));
        let messages = &mut settled.messages[start..];
        messages.sort_unstable_by_key(|(id, _)| *id);
        let first_waiting = self.calendar.first_key().into_iter().chain(self.runs.first_bound()).min();
        let mut open: Option<(QueueId, QueueSeq, QueueSeq)> = None;
        for (id, message) in messages.iter() {
            self.generations.leave(id.generation, 1);
            if !message.is_journaled() {
                continue;
            }
            match &mut open {
                Some((generation, _, last))
                    if *generation == id.generation && is_all_gone(&self.leaving, first_waiting, *last, *id) =>
                {
                    *last = id.seq;
                }
                _ => settled.records.extend(open.replace((id.generation, id.seq, id.seq))),
            }
        }
        settled.records.extend(open);
        for (generation, first, last) in &settled.records[records_start..] {
            if first < last {
                self.generations.raise_floor(*generation, *last);
            }
        }
    }

    /// Released messages did not leave after all: they are due as before, and will be released again.
    pub fn put_back(&mut self, ids: &[DelayId]) {
        for id in ids {
            let Some(message) = self.leaving.remove(*id) else { continue };
            match message.place() {
                Some(place) if !message.has_body() => {
                    let range = PagedRange::of_one(id.seq, place, message.len());
                    self.runs.insert(id.generation, range);
                }
                _ => self.calendar.insert(Key::from(*id), message),
            }
        }
    }

    /// Removes all that waits, and says how many that were. What is leaving stays so. The next message begins a generation.
    pub fn purge(&mut self, purged: &mut PurgedDelays<M>) -> u64 {
        let count = self.count();
        let mut removed: BTreeMap<QueueId, u64> = BTreeMap::new();
        for entry in self.calendar.drain() {
            let id = entry.key.id();
            *removed.entry(id.generation).or_default() += 1;
            purged.messages.push((id, entry.message));
        }
        for run in self.runs.drain() {
            *removed.entry(run.generation).or_default() += u64::from(run.range.count);
            purged.ranges.push(run.range);
        }
        self.flights.give_up_all();
        // No message may come to be where a record removes all.
        self.generations.close();
        for (generation, count) in removed {
            let mut first = QueueSeq(0);
            for seq in self.leaving.between(generation, QueueSeq(0), QueueSeq(u64::MAX)) {
                if first < seq {
                    purged.records.push((generation, first, QueueSeq(seq.0 - 1)));
                }
                first = seq.next();
            }
            purged.records.push((generation, first, QueueSeq(u64::MAX - 1)));
            self.generations.leave(generation, count);
        }
        count
    }

    /// Generations that have ended since this was asked last: nothing waits or leaves there, and nothing ever will. The owner of the ids
    /// may
    /// forget it, and drop it from the journal as a queue is dropped.
    pub fn take_ended(&mut self) -> Vec<QueueId> {
        self.generations.take_ended()
    }

    /// The generations that there are, each with its messages, waiting or leaving.
    pub fn generations(&self) -> impl Iterator<Item = (QueueId, u64)> {
        self.generations.iter()
    }

    /// Messages that wait.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.calendar.count() + self.runs.count()
    }

    /// Bytes of their bodies.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.calendar.bytes() + self.runs.bytes()
    }

    /// Messages that have been released and are not settled.
    #[must_use]
    pub fn leaving_count(&self) -> u64 {
        self.leaving.len() as u64
    }

    /// Waiting messages that are in a segment and not in memory.
    #[must_use]
    pub fn paged_count(&self) -> u64 {
        self.runs.count()
    }

    /// Bytes of their bodies.
    #[must_use]
    pub fn paged_bytes(&self) -> u64 {
        self.runs.bytes()
    }

    /// The waiting messages that are in a segment and not in memory.
    pub fn ranges(&self) -> impl Iterator<Item = (QueueId, &PagedRange)> {
        self.runs.iter().map(|(_, run)| (run.generation, &run.range))
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }
}

/// Whether nothing of the generation is left between `last` and `next`, which has just left.
fn is_all_gone<M>(leaving: &ReleasedMessages<M>, first_waiting: Option<Key>, last: QueueSeq, next: DelayId) -> bool {
    let is_waiting = first_waiting.is_some_and(|first| first <= Key::from(next));
    !is_waiting && leaving.between(next.generation, last, next.seq).next().is_none()
}
