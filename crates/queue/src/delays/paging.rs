//! Listing what waits, page by page, in the order in which it is due.

use std::collections::BTreeMap;

use model::ids::QueueSeq;

use super::key::{Key, seq_of};
use super::limits::PAGE_LOAD_BYTES;
use super::loading::{Flight, Purpose};
use super::runs::Run;
use super::{Ask, DelayId, Delays};
use crate::lane::Load;
use crate::message::Message;
use crate::ranges::PagedRange;

/// Names a page that is being gathered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageNumber(pub u32);

/// Some waiting messages, in the order in which they are due.
#[derive(Debug, PartialEq, Eq)]
pub struct Page<M> {
    /// The messages. One of them may have left since it was read.
    pub messages: Vec<(DelayId, M)>,
    /// Nothing waits behind the last of them.
    pub is_last: bool,
    /// Messages were moved while it was gathered, or could not be read: some may be missing.
    pub is_interrupted: bool,
}

#[derive(Debug)]
pub(super) struct Pages<M> {
    by_number: BTreeMap<PageNumber, PageRead<M>>,
    last_number: u32,
}

impl<M> Default for Pages<M> {
    fn default() -> Self {
        Pages { by_number: BTreeMap::new(), last_number: 0 }
    }
}

#[derive(Debug)]
struct PageRead<M> {
    after: Option<Key>,
    count_max: usize,
    found: Vec<(Key, M)>,
    /// There may be more behind this that was not read.
    end: Option<Key>,
    /// Loads that are not answered.
    pending_count: usize,
    is_interrupted: bool,
}

impl<M: Message> Delays<M> {
    /// Gathers the next messages after one, or from the first on. `Err`: some must be read for it; an
    /// [`LoadOutcome::page`](super::Answered::page) of this number will have it.
    pub fn page(
        &mut self,
        after: Option<DelayId>,
        count_max: usize,
        asks: &mut Vec<Ask>,
    ) -> Result<Page<M>, PageNumber> {
        let after = after.map(Key::from);
        let is_wanted = |key: Key| after.is_none_or(|after| after < key);
        // One more than is asked for shows whether there are more; and one may be where it begins.
        let mut found = self.calendar.copy_from(after.unwrap_or(Key::MIN), count_max.saturating_add(2));
        found.retain(|(key, _)| is_wanted(*key));
        let enough = found.get(count_max).map(|(key, _)| *key);
        let mut gathering = PageRead { after, count_max, found, end: None, pending_count: 0, is_interrupted: false };
        let has_some = |run: &Run| {
            is_wanted(Key::new(run.generation, run.range.last_seq)) && enough.is_none_or(|enough| run.bound() < enough)
        };
        let runs: Vec<_> = self.runs.iter().map(|(_, run)| run).filter(|run| has_some(run)).collect();
        if runs.is_empty() {
            return Ok(gathering.finish());
        }
        self.pages.last_number = self.pages.last_number.wrapping_add(1);
        let number = PageNumber(self.pages.last_number);
        for run in runs {
            let from_seq = gathering.first_seq().max(run.range.first_seq);
            let reading = (&run.range, PAGE_LOAD_BYTES);
            asks.push(self.flights.start(run.generation, Purpose::Page(number), Some(from_seq), reading));
            gathering.pending_count += 1;
        }
        self.pages.by_number.insert(number, gathering);
        Err(number)
    }

    /// One of a page's loads was answered. Answers with the page if that was the last.
    pub(super) fn page_answered(
        &mut self,
        number: PageNumber,
        flight: &Flight,
        entries: Vec<(QueueSeq, M)>,
        next_slot: u32,
        asks: &mut Vec<Ask>,
    ) -> Option<Page<M>> {
        let gathering = self.pages.by_number.get_mut(&number)?;
        gathering.pending_count -= 1;
        let Load { segment, first_slot, end_slot, bytes_max, .. } = flight.load;
        let has_read = next_slot > first_slot;
        gathering.is_interrupted |= flight.is_stale || !has_read;
        let before = gathering.found.len();
        let entries = entries.into_iter().map(|(seq, message)| (Key::new(flight.generation, seq), message));
        let after = gathering.after;
        gathering.found.extend(entries.filter(|(key, _)| after.is_none_or(|after| after < *key)));
        if has_read && next_slot < end_slot {
            match gathering.found[before..].last().map(|(key, _)| *key) {
                Some(last) => gathering.end = Some(gathering.end.map_or(last, |end| end.min(last))),
                // All that was read has left, or comes before the page.
                None => {
                    let first_seq = gathering.first_seq();
                    let range = PagedRange {
                        segment,
                        first_slot: next_slot,
                        end_slot,
                        count: end_slot - next_slot,
                        bytes: 0,
                        first_seq,
                        last_seq: QueueSeq(u64::MAX),
                    };
                    let reading = (&range, bytes_max);
                    let purpose = Purpose::Page(number);
                    asks.push(self.flights.start(flight.generation, purpose, Some(first_seq), reading));
                    gathering.pending_count += 1;
                }
            }
        }
        if gathering.pending_count > 0 {
            return None;
        }
        self.pages.by_number.remove(&number).map(PageRead::finish)
    }
}

impl<M> PageRead<M> {
    /// No message of the page has a lower seq.
    fn first_seq(&self) -> QueueSeq {
        self.after.map_or(QueueSeq(0), |after| seq_of(after.due, 0))
    }

    fn finish(mut self) -> Page<M> {
        self.found.sort_by_key(|(key, _)| *key);
        self.found.dedup_by_key(|(key, _)| *key);
        if let Some(end) = self.end {
            self.found.retain(|(key, _)| *key <= end);
        }
        let is_last = self.end.is_none() && self.found.len() <= self.count_max;
        self.found.truncate(self.count_max);
        let messages = self.found.into_iter().map(|(key, message)| (key.id(), message)).collect();
        Page { messages, is_last, is_interrupted: self.is_interrupted }
    }
}
