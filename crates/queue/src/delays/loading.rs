//! Loads on their way, what their answers bring, and letting go of it again.

use std::collections::BTreeMap;

use model::ids::{QueueId, QueueSeq, SegmentId};

use super::calendar::CalendarEntry;
use super::key::{Key, due_in};
use super::limits::KEPT_MS;
use super::paging::{Page, PageNumber};
use super::runs::RunId;
use super::seek::SearchEnd;
use super::{DelayId, Delays};
use crate::lane::Load;
use crate::message::Message;
use crate::ranges::PagedRange;

/// A request to read messages, to be answered with [`Delays::loaded`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// The generation of the messages: the store knows it as a queue's.
    pub generation: QueueId,
    /// Which.
    pub load: Load,
}

/// What the answer to a load brought about. Release after it.
#[derive(Debug)]
pub struct LoadOutcome<M> {
    /// Messages that should have been there and were not: they are lost.
    pub lost_count: u64,
    /// One that was sought, or that turned out not to be here.
    pub sought: Option<SearchEnd<M>>,
    /// A page of a listing that has become complete.
    pub page: Option<(PageNumber, Page<M>)>,
}

impl<M> Default for LoadOutcome<M> {
    fn default() -> Self {
        LoadOutcome { lost_count: 0, sought: None, page: None }
    }
}

/// What a load is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To release what it brings: it leaves its run.
    Ahead(RunId),
    Seek(u32),
    Page(PageNumber),
}

/// A load on its way.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) generation: QueueId,
    pub(super) load: Load,
    pub(super) purpose: Purpose,
    /// Messages that left their run meanwhile; the answer may still bring them.
    pub(super) removed: Vec<QueueSeq>,
    /// What it reads has moved: what it does not bring may be elsewhere.
    pub(super) is_stale: bool,
}

#[derive(Debug, Default)]
pub(super) struct Flights {
    by_number: BTreeMap<u32, Flight>,
    last_number: u32,
    /// What those may bring that are made ahead.
    pub(super) ahead_bytes: u64,
}

impl Flights {
    pub(super) fn start(
        &mut self,
        generation: QueueId,
        purpose: Purpose,
        from_seq: Option<QueueSeq>,
        (range, bytes_max): (&PagedRange, u32),
    ) -> Ask {
        loop {
            self.last_number = self.last_number.wrapping_add(1);
            if !self.by_number.contains_key(&self.last_number) {
                break;
            }
        }
        let PagedRange { segment, first_slot, end_slot, .. } = *range;
        let load = Load { segment, first_slot, end_slot, bytes_max, lane: 0, from_seq, number: self.last_number };
        if let Purpose::Ahead(_) = purpose {
            self.ahead_bytes += u64::from(bytes_max);
        }
        let flight = Flight { generation, load: load.clone(), purpose, removed: Vec::new(), is_stale: false };
        self.by_number.insert(self.last_number, flight);
        Ask { generation, load }
    }

    /// The flight that this answers, unless it was given up.
    fn end(&mut self, load: &Load) -> Option<Flight> {
        self.by_number.get(&load.number).filter(|flight| flight.load == *load)?;
        let flight = self.by_number.remove(&load.number)?;
        if let Purpose::Ahead(_) = flight.purpose {
            self.ahead_bytes -= u64::from(flight.load.bytes_max);
        }
        Some(flight)
    }

    /// What was made ahead will not be taken; for the others some of what they read has moved.
    pub(super) fn give_up(&mut self, is_given_up: impl Fn(&Flight) -> bool) {
        let ahead_bytes = &mut self.ahead_bytes;
        self.by_number.retain(|_, flight| {
            if !is_given_up(flight) {
                return true;
            }
            flight.is_stale = true;
            let is_ahead = matches!(flight.purpose, Purpose::Ahead(_));
            if is_ahead {
                *ahead_bytes -= u64::from(flight.load.bytes_max);
            }
            !is_ahead
        });
    }

    pub(super) fn give_up_all(&mut self) {
        self.give_up(|_| true);
    }

    /// A message left its run.
    pub(super) fn note_gone(&mut self, id: DelayId, segment: SegmentId) {
        let concerned = |flight: &&mut Flight| flight.generation == id.generation && flight.load.segment == segment;
        self.by_number.values_mut().filter(concerned).for_each(|flight| flight.removed.push(id.seq));
    }

    /// No answer is wanted any longer.
    pub(super) fn forget(&mut self, purpose: Purpose) {
        self.by_number.retain(|_, flight| flight.purpose != purpose);
    }
}

impl<M: Message> Delays<M> {
    /// The answer to a load: the messages in its slots before `next_slot`, each with its place, by rising seq; of a load
    /// with a `from_seq`, those from there on. A load that failed is answered with no message and its own `first_slot`; it
    /// will be asked for again. Further loads may come of it.
    pub fn loaded(
        &mut self,
        load: &Load,
        entries: Vec<(QueueSeq, M)>,
        next_slot: u32,
        asks: &mut Vec<Ask>,
    ) -> LoadOutcome<M> {
        let Some(flight) = self.flights.end(load) else { return LoadOutcome::default() };
        let next_slot = next_slot.min(load.end_slot);
        let entries = well_formed(&flight, entries, next_slot);
        match flight.purpose {
            Purpose::Ahead(run) => {
                let lost_count = self.take_loaded(run, entries, next_slot);
                LoadOutcome { lost_count, ..LoadOutcome::default() }
            }
            Purpose::Seek(number) => {
                let sought = self.seek_answered(number, &flight, entries, next_slot);
                LoadOutcome { sought, ..LoadOutcome::default() }
            }
            Purpose::Page(number) => {
                let page = self.page_answered(number, &flight, entries, next_slot, asks);
                LoadOutcome { page: page.map(|page| (number, page)), ..LoadOutcome::default() }
            }
        }
    }

    /// Lets go of what lies in segments too and is not due yet, for when memory is short, and gives up what was to be
    /// read ahead. It will be asked for again by the next release.
    pub fn unload(&mut self) {
        let ids: Vec<RunId> = self.runs.iter().filter(|(_, run)| run.flight.is_some()).map(|(id, _)| id).collect();
        ids.into_iter().for_each(|id| self.runs.set_flight(id, None));
        self.flights.give_up(|flight| matches!(flight.purpose, Purpose::Ahead(_)));
        let mut pages: Vec<(Key, PagedRange)> = Vec::new();
        for CalendarEntry { key, message } in self.calendar.take_placed(self.now) {
            let Some(place) = message.place() else { continue };
            pages.push((key, PagedRange::of_one(key.id().seq, place, message.len())));
        }
        pages.sort_unstable_by_key(|(_, range)| (range.segment, range.first_slot));
        let mut run: Option<(QueueId, PagedRange)> = None;
        for (key, range) in pages {
            match &mut run {
                Some((generation, run)) if *generation == key.generation() && run.is_followed_by(&range) => {
                    run.append(&range);
                }
                _ => self.insert_run(run.replace((key.generation(), range))),
            }
        }
        self.insert_run(run);
    }

    /// Takes what is due soon into memory; the rest stays in the run. Answers with the number of messages that are lost.
    fn take_loaded(&mut self, id: RunId, mut entries: Vec<(QueueSeq, M)>, next_slot: u32) -> u64 {
        let Some(run) = self.runs.get(id) else { return 0 };
        let generation = run.generation;
        entries.retain(|(seq, _)| (run.range.first_seq..=run.range.last_seq).contains(seq));
        let kept_until = self.now + KEPT_MS;
        let kept_count = entries.partition_point(|(seq, _)| due_in(*seq) <= kept_until);
        let next = entries.get(kept_count).and_then(|(seq, message)| Some((*seq, message.place()?.slot)));
        entries.truncate(kept_count);
        let bytes = entries.iter().map(|(_, message)| u64::from(message.len())).sum::<u64>();
        let mut surplus = 0;
        let lost_count = self.runs.change(id, |run| {
            let PagedRange { count, bytes: run_bytes, first_slot, first_seq, .. } = &mut run.range;
            surplus = (entries.len() as u64).saturating_sub(u64::from(*count));
            *count = count.saturating_sub(entries.len() as u32);
            *run_bytes = run_bytes.saturating_sub(bytes);
            (*first_seq, *first_slot) = match (next, entries.last()) {
                (Some(next), _) => next,
                (None, Some((last, _))) => (last.next(), next_slot),
                (None, None) => (*first_seq, next_slot),
            };
            run.flight = None;
        });
        self.generations.add(generation, surplus);
        self.generations.leave(generation, lost_count);
        self.calendar.insert_rising(entries.into_iter().map(|(seq, message)| (Key::new(generation, seq), message)));
        lost_count
    }

    pub(super) fn insert_run(&mut self, run: Option<(QueueId, PagedRange)>) {
        if let Some((generation, range)) = run {
            self.runs.insert(generation, range);
        }
    }
}

/// What a load may have brought: in its slots, by rising seq, and still there.
fn well_formed<M: Message>(flight: &Flight, mut entries: Vec<(QueueSeq, M)>, next_slot: u32) -> Vec<(QueueSeq, M)> {
    let is_of_load = |message: &M| {
        message.place().is_some_and(|place| {
            place.segment == flight.load.segment && (flight.load.first_slot..next_slot).contains(&place.slot)
        })
    };
    entries.retain(|(seq, message)| is_of_load(message) && !flight.removed.contains(seq));
    if !entries.is_sorted_by(|left, right| left.0 < right.0) {
        entries.sort_by_key(|(seq, _)| *seq);
        entries.dedup_by_key(|(seq, _)| *seq);
    }
    entries
}
