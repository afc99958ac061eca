//! Finding one message by its id, to see it or to cancel it.
//!
//! One that lies only in a segment is sought by loads, one for each run that may hold it: the store looks it up by its seq.

use std::collections::BTreeMap;

use model::ids::QueueSeq;

use super::key::Key;
use super::loading::{Flight, Purpose};
use super::{Ask, DelayId, Delays};
use crate::message::Message;
use crate::ranges::PagedRange;

/// What [`Delays::cancel`] did.
#[derive(Debug)]
pub enum Cancel<M> {
    /// No such message waits.
    Unknown,
    /// Here it is; it waits no more. It is to be settled in the journal, and its slot if it has one.
    Taken(M),
    /// It may be in a segment: an [`LoadOutcome::sought`](super::Answered::sought) will show.
    Loading,
}

/// What [`Delays::find`] found.
#[derive(Debug)]
pub enum Find<'a, M> {
    /// No such message waits.
    Unknown,
    /// Here it is.
    Here(&'a M),
    /// It may be in a segment: an [`LoadOutcome::sought`](super::Answered::sought) will show.
    Loading,
}

/// The end of a search in segments.
#[derive(Debug)]
pub struct SearchEnd<M> {
    /// Which message was sought.
    pub id: DelayId,
    /// To be cancelled, or only to be seen.
    pub is_cancel: bool,
    /// What came of it.
    pub found: SearchOutcome<M>,
}

/// What came of a search.
#[derive(Debug)]
pub enum SearchOutcome<M> {
    /// Here it is. If it was to be cancelled it waits no more, as with [`Cancel::Taken`].
    Message(M),
    /// No such message waits.
    Missing,
    /// Messages were moved meanwhile, or could not be read: ask again.
    Interrupted,
}

/// A load reads at least one message.
const BYTES_OF_ONE: u32 = 1;

#[derive(Debug, Default)]
pub(super) struct Seeks {
    by_number: BTreeMap<u32, Seek>,
    last_number: u32,
}

#[derive(Debug)]
struct Seek {
    id: DelayId,
    is_cancel: bool,
    /// Loads that are not answered.
    pending_count: u32,
    is_interrupted: bool,
}

impl<M: Message> Delays<M> {
    /// Takes one waiting message out.
    pub fn cancel(&mut self, id: DelayId, asks: &mut Vec<Ask>) -> Cancel<M> {
        if let Some(message) = self.cancel_in_memory(id) {
            return Cancel::Taken(message);
        }
        if self.seek(id, true, asks) { Cancel::Loading } else { Cancel::Unknown }
    }

    /// Looks for one waiting message.
    pub fn find(&mut self, id: DelayId, asks: &mut Vec<Ask>) -> Find<'_, M> {
        let key = Key::from(id);
        if self.calendar.get(key).is_none() {
            return if self.seek(id, false, asks) { Find::Loading } else { Find::Unknown };
        }
        self.calendar.get(key).map_or(Find::Unknown, Find::Here)
    }

    fn cancel_in_memory(&mut self, id: DelayId) -> Option<M> {
        let message = self.calendar.remove(Key::from(id), |_| true)?;
        self.generations.leave(id.generation, 1);
        Some(message)
    }

    /// Asks for the slots where a message may be. False if there are none.
    fn seek(&mut self, id: DelayId, is_cancel: bool, asks: &mut Vec<Ask>) -> bool {
        if self.leaving.contains(id) {
            return false;
        }
        let may_hold = |range: &PagedRange| (range.first_seq..=range.last_seq).contains(&id.seq);
        let runs = self.runs.iter().filter(|(_, run)| run.generation == id.generation && may_hold(&run.range));
        let ranges: Vec<PagedRange> = runs.map(|(_, run)| run.range).collect();
        if ranges.is_empty() {
            return false;
        }
        let seeks = &mut self.seeks;
        seeks.last_number = seeks.last_number.wrapping_add(1);
        let number = seeks.last_number;
        let seek = Seek { id, is_cancel, pending_count: ranges.len() as u32, is_interrupted: false };
        seeks.by_number.insert(number, seek);
        for range in ranges {
            let reading = (&range, BYTES_OF_ONE);
            asks.push(self.flights.start(id.generation, Purpose::Seek(number), Some(id.seq), reading));
        }
        true
    }

    /// One of the loads of a search was answered. Answers with its end, if it is that.
    pub(super) fn seek_answered(
        &mut self,
        number: u32,
        flight: &Flight,
        entries: Vec<(QueueSeq, M)>,
        next_slot: u32,
    ) -> Option<SearchEnd<M>> {
        let seek = self.seeks.by_number.get_mut(&number)?;
        let (id, is_cancel) = (seek.id, seek.is_cancel);
        seek.pending_count -= 1;
        let has_read = next_slot > flight.load.first_slot;
        seek.is_interrupted |= flight.is_stale || !has_read;
        // Should it be put back before the last answer, it may be where the others have not looked.
        let is_leaving = self.leaving.contains(id);
        seek.is_interrupted |= is_leaving;
        let (is_last, is_interrupted) = (seek.pending_count == 0, seek.is_interrupted);
        let brought = entries.into_iter().find(|(seq, _)| *seq == id.seq);
        let in_run = brought.and_then(|(_, message)| self.take_sought(id, is_cancel, message));
        let found = match in_run.or_else(|| self.find_in_memory(id, is_cancel)) {
            Some(message) => SearchOutcome::Message(message),
            None if !is_last => return None,
            None if is_interrupted && !is_leaving => SearchOutcome::Interrupted,
            None => SearchOutcome::Missing,
        };
        self.seeks.by_number.remove(&number);
        self.flights.forget(Purpose::Seek(number));
        Some(SearchEnd { id, is_cancel, found })
    }

    /// A message that was read is still in its run: takes it from there, if it is to be cancelled.
    fn take_sought(&mut self, id: DelayId, is_cancel: bool, message: M) -> Option<M> {
        let place = message.place()?;
        let (run, _) = self.runs.at(place).filter(|(_, run)| run.holds(id, place))?;
        if is_cancel {
            self.runs.change(run, |run| {
                run.range.count -= 1;
                run.range.bytes = run.range.bytes.saturating_sub(u64::from(message.len()));
            });
            self.flights.note_gone(id, place.segment);
            self.generations.leave(id.generation, 1);
        }
        Some(message)
    }

    /// It may have been read ahead meanwhile.
    fn find_in_memory(&mut self, id: DelayId, is_cancel: bool) -> Option<M> {
        if is_cancel { self.cancel_in_memory(id) } else { self.calendar.get(Key::from(id)).cloned() }
    }
}
