//! One first-in-first-out of ready messages, wherever they are: in memory, in segments, or on their way from there.
//!
//! ```text
//! returned   requeued, in memory        a map: consumers give back in any order
//! loaded     read ahead from a range    in memory, and still in the segment
//! paged      ranges in segments
//! fifo       published, in memory
//! ```
//!
//! The head is the lowest seq of the four. Usually all but `fifo` are empty, and then they take no space.
//!
//! A range's `first_seq` may be lower than its first message's, so a range precedes a message of the same seq. Thus nothing is handed out
//! that lies behind the beginning of a range, and ranges are not joined over what is unacked. Of one lane nothing unacked is inside a
//! range, but for what was in memory when the process ended and waits to be tried again: a purge leaves it out ([`PurgedMessages::kept`]).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;

use model::ids::{Place, QueueSeq, SegmentId};

use crate::fifo::{Fifo, FifoEntry};
use crate::limits::{LOAD_BYTES_MAX, LOAD_BYTES_MIN, MESSAGE_OVERHEAD, RETURNED_WITH_PLACE_MAX};
use crate::message::Message;
use crate::purged_messages::PurgedMessages;
use crate::ranges::{PagedRange, Ranges, Window};
use crate::tree_len::tree_len;
use crate::unacked::Unacked;

/// A request to read messages from a segment, to be answered with [`Queue::loaded`](crate::Queue::loaded).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// The file.
    pub segment: SegmentId,
    /// Read from here,
    pub first_slot: u32,
    /// up to before this one at most,
    pub end_slot: u32,
    /// and no more than about so many bytes, but at least one message.
    pub bytes_max: u32,
    /// For which lane: its messages' priority.
    pub lane: u8,
    /// Of the messages there, by rising seq, only those from this one on. The reader looks for it, and stops where it likes.
    pub from_seq: Option<QueueSeq>,
    pub(crate) number: u32,
}

/// The number of a load that is for one message, wherever its lane is with reading.
const SINGLE: u32 = 0;
/// The number of a load by which an operator looks at messages: its answer is not for the queue.
const LOOK: u32 = 1;

impl Load {
    /// A load of one message.
    pub(crate) fn single(place: Place, priority: u8) -> Self {
        let Place { segment, slot } = place;
        Load {
            segment,
            first_slot: slot,
            end_slot: slot.saturating_add(1),
            bytes_max: 1,
            lane: priority,
            from_seq: None,
            number: SINGLE,
        }
    }

    /// A load of messages of a range that an operator looks at, from a seq on.
    pub(crate) fn look(range: &PagedRange, priority: u8, from_seq: QueueSeq, bytes_max: u32) -> Self {
        let &PagedRange { segment, first_slot, end_slot, .. } = range;
        Load { segment, first_slot, end_slot, bytes_max, lane: priority, from_seq: Some(from_seq), number: LOOK }
    }

    /// A load of one message that an operator looks at.
    pub fn look_at(place: Place, priority: u8) -> Self {
        Load { number: LOOK, ..Load::single(place, priority) }
    }

    pub(crate) fn is_single(&self) -> bool {
        self.number == SINGLE
    }

    /// Whether its answer is for a caller that looks at messages or looks for one: the queue does not want it.
    pub fn is_look(&self) -> bool {
        self.number == LOOK
    }
}

/// Where the head of a lane is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Fifo,
    Returned,
    /// Returned, and not the first of those.
    ReturnedAt,
    Loaded,
    /// Somewhere in memory, not at the front.
    InMemory,
    /// Not in memory.
    Paged,
}

/// The message that is delivered next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    pub(crate) seq: QueueSeq,
    /// Bytes of its body; 0 if it is not in memory.
    pub(crate) len: u32,
    /// Bytes of a delivery of it; 0 if it is not in memory.
    pub(crate) delivered_len: u32,
    pub(crate) source: Source,
}

impl Head {
    #[inline]
    fn of<M: Message>(seq: QueueSeq, message: &M, source: Source) -> Self {
        Head { seq, len: message.len(), delivered_len: message.delivered_len(), source }
    }
}

#[derive(Debug)]
pub(crate) struct Lane<M> {
    fifo: Fifo<M>,
    aside: Option<Box<NonFifo<M>>>,
    /// Loads asked for, ever: distinguishes the answer to the last from answers to those that were given up.
    load_count: u32,
    /// Of all its messages.
    priority: u8,
}

/// All that is not in the fifo.
#[derive(Debug)]
struct NonFifo<M> {
    returned: BTreeMap<QueueSeq, M>,
    loaded: VecDeque<FifoEntry<M>>,
    loaded_bytes: u64,
    paged: Ranges,
    loading: Option<Window>,
    /// Messages of the ranges being read that have been taken since the load was asked for: the reader may have seen them.
    taken: BTreeSet<QueueSeq>,
    load_bytes: u32,
    /// A load was answered since the last `unload`.
    has_loaded: bool,
    /// A consumer found nothing loaded since the last load was asked for.
    is_starved: bool,
    /// When a message expires that may be in a segment by now.
    known_expiry: Option<(QueueSeq, u64)>,
}

impl<M: Message> Lane<M> {
    /// Bytes that it takes beside itself.
    pub(crate) fn memory_len(&self) -> usize {
        let of_aside = |aside: &NonFifo<M>| {
            size_of::<NonFifo<M>>()
                + tree_len::<QueueSeq, M>(aside.returned.len())
                + aside.loaded.capacity() * size_of::<FifoEntry<M>>()
                + aside.paged.memory_len()
                + tree_len::<QueueSeq, ()>(aside.taken.len())
        };
        self.fifo.memory_len() + self.aside.as_deref().map_or(0, of_aside)
    }

    pub(crate) fn new(priority: u8) -> Self {
        Lane { fifo: Fifo::new(), aside: None, load_count: 0, priority }
    }

    #[inline(always)]
    pub(crate) fn publish(&mut self, seq: QueueSeq, message: M) {
        self.fifo.push_back(FifoEntry { seq, message });
    }

    /// The message with the lowest seq.
    #[inline(always)]
    pub(crate) fn head(&self) -> Option<Head> {
        let in_fifo = self.fifo.front().map(|entry| Head::of(entry.seq, &entry.message, Source::Fifo));
        match &self.aside {
            None => in_fifo,
            Some(aside) => aside.head(in_fifo),
        }
    }

    /// The message with the lowest seq of those that have not come back.
    pub(crate) fn head_of_new(&self) -> Option<Head> {
        let in_fifo = self.fifo.front().map(|entry| Head::of(entry.seq, &entry.message, Source::Fifo));
        match &self.aside {
            None => in_fifo,
            Some(aside) => aside.head_of_new(in_fifo),
        }
    }

    /// The head, which is in memory.
    #[inline]
    pub(crate) fn peek(&self, head: &Head) -> Option<&M> {
        match (head.source, &self.aside) {
            (Source::Fifo, _) => self.fifo.front().map(|entry| &entry.message),
            (Source::Returned, Some(aside)) => aside.returned.first_key_value().map(|(_, message)| message),
            (Source::ReturnedAt, Some(aside)) => aside.returned.get(&head.seq),
            (Source::Loaded, Some(aside)) => aside.loaded.front().map(|entry| &entry.message),
            (Source::InMemory, _) => self.get(head.seq),
            (Source::Returned | Source::ReturnedAt | Source::Loaded, None) | (Source::Paged, _) => None,
        }
    }

    /// Remembers when a message expires, for when it is in a segment.
    pub(crate) fn remember_expiry(&mut self, seq: QueueSeq, at_ms: u64) {
        self.aside().known_expiry = Some((seq, at_ms));
    }

    /// When a message in a segment expires, if that is remembered.
    pub(crate) fn remembered_expiry(&self, seq: QueueSeq) -> Option<u64> {
        let (known_seq, at_ms) = self.aside.as_ref()?.known_expiry?;
        (known_seq == seq).then_some(at_ms)
    }

    /// Takes the head, which is in the fifo.
    #[inline(always)]
    pub(crate) fn take_first(&mut self) -> Option<M> {
        self.fifo.pop_front().map(|entry| entry.message)
    }

    /// Takes the head, which is in memory.
    pub(crate) fn take(&mut self, head: &Head) -> Option<M> {
        if head.source == Source::Fifo {
            return self.take_first();
        }
        if head.source == Source::InMemory {
            return self.take_from_memory(head.seq);
        }
        let aside = self.aside.as_mut()?;
        let taken = match head.source {
            Source::Returned => aside.returned.pop_first().map(|(_, message)| message),
            Source::ReturnedAt => aside.returned.remove(&head.seq),
            Source::Loaded => aside.take_loaded(),
            Source::Fifo | Source::InMemory | Source::Paged => None,
        };
        self.tidy();
        taken
    }

    /// The message with the lowest seq after this one, up to which there is nothing in segments only.
    pub(crate) fn head_after(&self, seq: QueueSeq) -> Option<Head> {
        let in_fifo = self.fifo.after(seq).map(|entry| Head::of(entry.seq, &entry.message, Source::InMemory));
        match &self.aside {
            None => in_fifo,
            Some(aside) => aside.head_after(seq, in_fifo),
        }
    }

    /// The place of a message that is in memory, wherever.
    pub(crate) fn find(&self, seq: QueueSeq) -> Option<Head> {
        self.get(seq).map(|message| Head::of(seq, message, Source::InMemory))
    }

    /// A message that is in memory, wherever.
    pub(crate) fn get(&self, seq: QueueSeq) -> Option<&M> {
        let in_fifo = self.fifo.get(seq);
        in_fifo.or_else(|| {
            let aside = self.aside.as_ref()?;
            let loaded = || aside.loaded.binary_search_by_key(&seq, |entry| entry.seq).ok();
            aside.returned.get(&seq).or_else(|| Some(&aside.loaded[loaded()?].message))
        })
    }

    /// A message that came back and is in memory.
    pub(crate) fn returned(&self, seq: QueueSeq) -> Option<Head> {
        let message = self.aside.as_ref()?.returned.get(&seq)?;
        Some(Head::of(seq, message, Source::ReturnedAt))
    }

    /// Puts an unacked message back to where it was.
    pub(crate) fn put_back(&mut self, seq: QueueSeq, message: M, unacked: &Unacked<M>) {
        let returned_count = self.aside.as_ref().map_or(0, |aside| aside.returned.len());
        match message.place() {
            Some(place) if !message.has_body() || returned_count >= RETURNED_WITH_PLACE_MAX => {
                self.page(PagedRange::of_one(seq, place, message.len()), unacked);
            }
            _ => {
                self.aside().returned.insert(seq, message);
            }
        }
    }

    /// Puts messages that lie in a segment among the ranges.
    pub(crate) fn page(&mut self, range: PagedRange, unacked: &Unacked<M>) {
        let (is_journaled, priority) = (!range.segment.is_transient(), self.priority);
        let NonFifo { paged, loading, .. } = self.aside();
        paged.insert(range, loading.as_ref(), |after, before| {
            let is_of_lane = |message: &M| message.is_journaled() == is_journaled && message.priority() == priority;
            unacked.is_clear(after, before, is_of_lane)
        });
    }

    /// Takes a message that is in memory and in no segment.
    pub(crate) fn take_unplaced(&mut self, seq: QueueSeq) -> Option<M> {
        if let Some(message) = self.fifo.remove(seq) {
            return Some(message);
        }
        let aside = self.aside.as_mut()?;
        aside.returned.get(&seq).filter(|message| message.place().is_none())?;
        let taken = aside.returned.remove(&seq);
        self.tidy();
        taken
    }

    /// Takes a message that is in memory.
    pub(crate) fn take_from_memory(&mut self, seq: QueueSeq) -> Option<M> {
        if let Some(message) = self.fifo.remove(seq) {
            return Some(message);
        }
        let aside = self.aside.as_mut()?;
        let taken = aside.returned.remove(&seq).or_else(|| aside.remove_loaded(seq))?;
        self.tidy();
        Some(taken)
    }

    pub(crate) fn has_in_memory(&self, seq: QueueSeq) -> bool {
        self.get(seq).is_some()
    }

    /// Appends to `out` the messages in memory from a seq on, about so many. Up to which seq these are all, if there are more.
    pub(crate) fn look(&self, from: QueueSeq, count_max: usize, out: &mut Vec<(QueueSeq, M)>) -> Option<QueueSeq> {
        let start = out.len();
        let copied = |entry: &FifoEntry<M>| (entry.seq, entry.message.clone());
        let mut until: Option<QueueSeq> = None;
        let mut add = |found: &mut dyn Iterator<Item = (QueueSeq, M)>, out: &mut Vec<(QueueSeq, M)>| {
            let before = out.len();
            out.extend(found.take(count_max));
            if out.len() - before == count_max && found.next().is_some() {
                let last = out.last().map_or(from, |(seq, _)| *seq);
                until = Some(until.map_or(last, |until| until.min(last)));
            }
        };
        add(&mut self.fifo.iter_from(from).map(copied), out);
        if let Some(aside) = &self.aside {
            let returned = aside.returned.range(from..);
            add(&mut returned.map(|(seq, message)| (*seq, message.clone())), out);
            let skipped = aside.loaded.partition_point(|entry| entry.seq < from);
            add(&mut aside.loaded.range(skipped..).map(copied), out);
        }
        if let Some(until) = until {
            let mut at = start;
            while at < out.len() {
                if out[at].0 > until { drop(out.swap_remove(at)) } else { at += 1 }
            }
        }
        until
    }

    /// The seqs of the last messages of each kind in memory, so many of each at most.
    pub(crate) fn last_seqs(&self, count_max: usize) -> impl Iterator<Item = QueueSeq> {
        let in_fifo = self.fifo.iter().rev().take(count_max).map(|entry| entry.seq);
        let aside = self.aside.iter().flat_map(move |aside| {
            let returned = aside.returned.keys().rev().take(count_max).copied();
            returned.chain(aside.loaded.iter().rev().take(count_max).map(|entry| entry.seq))
        });
        in_fifo.chain(aside)
    }

    /// Whether a message that lies at this place, if it is alive there, is only in a range.
    pub(crate) fn has_in_range(&self, seq: QueueSeq, place: Place) -> bool {
        self.aside.as_ref().is_some_and(|aside| aside.paged.holder_of(seq, place).is_some())
    }

    /// Takes a message out of its range, which continues without it.
    pub(crate) fn take_from_range(&mut self, seq: QueueSeq, place: Place, len: u32) {
        let Some(aside) = self.aside.as_mut() else { return };
        aside.paged.take_one(seq, place, len);
        if aside.loading.as_ref().is_some_and(|window| window.contains(seq, place)) {
            aside.taken.insert(seq);
        }
        if aside.paged.is_empty() {
            // What is being read is all taken, so its answer is not waited for.
            aside.loading = None;
        }
        // What is at the head now is not known.
        aside.known_expiry = aside.known_expiry.filter(|(known_seq, _)| *known_seq != seq);
        self.tidy();
    }

    /// What has to be read to find a message that may be in a range.
    pub(crate) fn seek(&self, seq: QueueSeq) -> impl Iterator<Item = Load> {
        let ranges = self.ranges().filter(move |range| range.may_hold(seq));
        ranges.map(move |range| Load::look(range, self.priority, seq, 1))
    }

    /// Appends to `out` the messages in memory that lie in no segment, up to the last one that is old.
    pub(crate) fn collect_old(&self, is_old: &mut dyn FnMut(&M) -> bool, out: &mut Vec<(QueueSeq, M)>) {
        let returned = self.aside.as_ref().map(|aside| &aside.returned);
        let all = || {
            let returned = returned.into_iter().flatten().map(|(seq, message)| (*seq, message));
            let in_fifo = self.fifo.iter().map(|entry| (entry.seq, &entry.message));
            returned.chain(in_fifo).filter(|(_, message)| message.place().is_none())
        };
        let Some(last) = all().filter(|(_, message)| is_old(message)).map(|(seq, _)| seq).max() else { return };
        out.extend(all().filter(|(seq, _)| *seq <= last).map(|(seq, message)| (seq, message.clone())));
    }

    /// Asks for the next messages, unless there are none in segments or they have been asked for. `is_starved` if
    /// a consumer waits for them.
    pub(crate) fn ask(&mut self, is_starved: bool) -> Option<Load> {
        let aside = self.aside.as_mut()?;
        // The first load always keeps a consumer waiting; that says nothing of its speed.
        aside.is_starved |= is_starved && aside.has_loaded;
        if aside.loading.is_some() {
            return None;
        }
        if std::mem::take(&mut aside.is_starved) {
            aside.load_bytes = aside.load_bytes.saturating_mul(2).min(LOAD_BYTES_MAX);
        }
        let window = aside.paged.first_window(u64::from(aside.load_bytes))?;
        aside.loading = Some(window);
        aside.taken.clear();
        self.load_count = self.load_count.max(LOOK).checked_add(1).unwrap_or(LOOK + 1);
        Some(Load {
            segment: window.segment,
            first_slot: window.first_slot,
            end_slot: window.end_slot,
            bytes_max: aside.load_bytes,
            lane: self.priority,
            from_seq: None,
            number: self.load_count,
        })
    }

    /// Asks for more before the loaded messages have run out.
    #[inline]
    pub(crate) fn ask_ahead(&mut self) -> Option<Load> {
        let aside = self.aside.as_ref()?;
        let loaded_bytes = aside.loaded_bytes + aside.loaded.len() as u64 * MESSAGE_OVERHEAD;
        let is_low = loaded_bytes < u64::from(aside.load_bytes / 2);
        if is_low && !aside.paged.is_empty() && aside.loading.is_none() { self.ask(false) } else { None }
    }

    /// The answer to `load`, unless that was given up meanwhile.
    pub(crate) fn loaded(&mut self, load: &Load, mut entries: Vec<(QueueSeq, M)>, next_slot: u32) {
        if load.number != self.load_count {
            return;
        }
        let Some(aside) = self.aside.as_mut() else { return };
        let Some(window) = aside.loading.take() else { return };
        aside.has_loaded = true;
        let taken = std::mem::take(&mut aside.taken);
        if !taken.is_empty() {
            entries.retain(|(seq, _)| !taken.contains(seq));
        }
        let next_slot = next_slot.min(window.end_slot);
        // Without a place it is nothing that was read.
        let slot = |message: &M| message.place().map_or(u32::MAX, |place| place.slot);
        if !entries.is_sorted_by_key(|(_, message)| slot(message)) {
            entries.sort_by_key(|(_, message)| slot(message));
        }
        aside.paged.take_read(&window, next_slot, &mut entries, slot, M::len);
        let is_ascending = entries.is_sorted_by(|left, right| left.0 < right.0);
        if !is_ascending {
            entries.sort_by_key(|(seq, _)| *seq);
            entries.dedup_by_key(|(seq, _)| *seq);
        }
        aside.add_loaded(entries);
        self.tidy();
    }

    /// Some of what `load` asks for cannot be read, unless it was given up meanwhile.
    pub(crate) fn lose(&mut self, load: &Load, lost: &[(u32, u32)]) {
        let Some(aside) = self.aside.as_mut().filter(|_| load.number == self.load_count) else { return };
        if let Some(window) = &aside.loading {
            aside.paged.lose(window, lost);
        }
    }

    /// A load was asked for and not answered.
    pub(crate) fn is_loading(&self) -> bool {
        self.aside.as_ref().is_some_and(|aside| aside.loading.is_some())
    }

    /// Lets go of all in memory that lies in segments too.
    pub(crate) fn unload(&mut self, unacked: &Unacked<M>) {
        let Some(aside) = self.aside.as_mut() else { return };
        aside.loading = None;
        aside.has_loaded = false;
        aside.load_bytes = LOAD_BYTES_MIN;
        aside.loaded_bytes = 0;
        let loaded = std::mem::take(&mut aside.loaded).into_iter().map(|entry| (entry.seq, entry.message));
        let returned = std::mem::take(&mut aside.returned);
        for (seq, message) in returned.into_iter().chain(loaded) {
            match message.place() {
                Some(place) => self.page(PagedRange::of_one(seq, place, message.len()), unacked),
                None => {
                    self.aside().returned.insert(seq, message);
                }
            }
        }
        self.tidy();
    }

    /// Takes out the ranges in these segments, and gives up reading them.
    pub(crate) fn take_ranges(&mut self, is_wanted: impl Fn(SegmentId) -> bool) -> Vec<PagedRange> {
        let Some(aside) = self.aside.as_mut() else { return Vec::new() };
        aside.loading = aside.loading.filter(|window| !is_wanted(window.segment));
        let taken = aside.paged.extract(|range| is_wanted(range.segment));
        self.tidy();
        taken
    }

    /// A message in memory that lies in a segment too.
    pub(crate) fn placed_mut(&mut self, seq: QueueSeq) -> Option<&mut M> {
        let aside = self.aside.as_mut()?;
        if aside.returned.contains_key(&seq) {
            return aside.returned.get_mut(&seq);
        }
        let found = aside.loaded.binary_search_by_key(&seq, |entry| entry.seq).ok()?;
        aside.loaded.get_mut(found).map(|entry| &mut entry.message)
    }

    /// Takes messages that are in memory, in no order, until `purged` has so many.
    pub(crate) fn purge_some(&mut self, count: usize, purged: &mut Vec<(QueueSeq, M)>) {
        while purged.len() < count {
            if let Some(entry) = self.fifo.pop_front() {
                purged.push((entry.seq, entry.message));
                continue;
            }
            let Some(aside) = self.aside.as_mut() else { return };
            if let Some(returned) = aside.returned.pop_first() {
                purged.push(returned);
                continue;
            }
            let Some(seq) = aside.loaded.front().map(|entry| entry.seq) else { break };
            purged.extend(aside.take_loaded().map(|message| (seq, message)));
        }
        self.tidy();
    }

    pub(crate) fn purge_into(&mut self, purged: &mut PurgedMessages<M>) {
        self.fifo.drain_into(&mut purged.messages);
        let Some(aside) = self.aside.take() else { return };
        purged.messages.extend(aside.returned);
        purged.messages.extend(aside.loaded.into_iter().map(|entry| (entry.seq, entry.message)));
        purged.ranges.extend(aside.paged.iter());
    }

    /// Messages in segments that are not in memory too.
    pub(crate) fn paged_count(&self) -> u64 {
        self.aside.as_ref().map_or(0, |aside| aside.paged.count())
    }

    pub(crate) fn paged_bytes(&self) -> u64 {
        self.aside.as_ref().map_or(0, |aside| aside.paged.bytes())
    }

    pub(crate) fn loaded_count(&self) -> u64 {
        self.aside.as_ref().map_or(0, |aside| aside.loaded.len() as u64)
    }

    pub(crate) fn loaded_bytes(&self) -> u64 {
        self.aside.as_ref().map_or(0, |aside| aside.loaded_bytes)
    }

    pub(crate) fn ranges(&self) -> impl Iterator<Item = &PagedRange> {
        self.aside.iter().flat_map(|aside| aside.paged.iter())
    }

    fn aside(&mut self) -> &mut NonFifo<M> {
        self.aside.get_or_insert_with(Box::default)
    }

    fn tidy(&mut self) {
        if self.aside.as_ref().is_some_and(|aside| aside.is_empty()) {
            self.aside = None;
        }
    }
}

impl<M> Default for NonFifo<M> {
    fn default() -> Self {
        NonFifo {
            returned: BTreeMap::new(),
            loaded: VecDeque::new(),
            loaded_bytes: 0,
            paged: Ranges::default(),
            loading: None,
            taken: BTreeSet::new(),
            load_bytes: LOAD_BYTES_MIN,
            has_loaded: false,
            is_starved: false,
            known_expiry: None,
        }
    }
}

impl<M: Message> NonFifo<M> {
    fn head(&self, in_fifo: Option<Head>) -> Option<Head> {
        let paged = self.paged.first_seq().map(|seq| Head { seq, len: 0, delivered_len: 0, source: Source::Paged });
        let returned = self.returned.first_key_value().map(|(seq, message)| Head::of(*seq, message, Source::Returned));
        let loaded = self.loaded.front().map(|entry| Head::of(entry.seq, &entry.message, Source::Loaded));
        // The first of equals wins: a range, see above.
        [paged, returned, loaded, in_fifo].into_iter().flatten().min_by_key(|head| head.seq)
    }

    fn head_of_new(&self, in_fifo: Option<Head>) -> Option<Head> {
        let paged = self.paged.first_seq().map(|seq| Head { seq, len: 0, delivered_len: 0, source: Source::Paged });
        let loaded = self.loaded.front().map(|entry| Head::of(entry.seq, &entry.message, Source::Loaded));
        [paged, loaded, in_fifo].into_iter().flatten().min_by_key(|head| head.seq)
    }

    fn head_after(&self, seq: QueueSeq, in_fifo: Option<Head>) -> Option<Head> {
        let paged = self.paged.first_seq().map(|seq| Head { seq, len: 0, delivered_len: 0, source: Source::Paged });
        let returned = self.returned.range((Bound::Excluded(seq), Bound::Unbounded)).next();
        let returned = returned.map(|(seq, message)| Head::of(*seq, message, Source::InMemory));
        let loaded = self.loaded.get(self.loaded.partition_point(|entry| entry.seq <= seq));
        let loaded = loaded.map(|entry| Head::of(entry.seq, &entry.message, Source::InMemory));
        [paged, returned, loaded, in_fifo].into_iter().flatten().min_by_key(|head| head.seq)
    }

    fn remove_loaded(&mut self, seq: QueueSeq) -> Option<M> {
        let found = self.loaded.binary_search_by_key(&seq, |entry| entry.seq).ok()?;
        let entry = self.loaded.remove(found)?;
        self.loaded_bytes -= u64::from(entry.message.len());
        if self.loaded.is_empty() {
            self.loaded = VecDeque::new();
        }
        Some(entry.message)
    }

    fn take_loaded(&mut self) -> Option<M> {
        let entry = self.loaded.pop_front()?;
        self.loaded_bytes -= u64::from(entry.message.len());
        if self.loaded.is_empty() {
            self.loaded = VecDeque::new();
        }
        Some(entry.message)
    }

    fn add_loaded(&mut self, entries: Vec<(QueueSeq, M)>) {
        let Some((first, _)) = entries.first() else { return };
        let is_behind = self.loaded.back().is_none_or(|last| last.seq < *first);
        self.loaded_bytes += entries.iter().map(|(_, message)| u64::from(message.len())).sum::<u64>();
        self.loaded.extend(entries.into_iter().map(|(seq, message)| FifoEntry { seq, message }));
        if !is_behind {
            self.loaded.make_contiguous().sort_by_key(|entry| entry.seq);
        }
    }

    fn is_empty(&self) -> bool {
        self.returned.is_empty() && self.loaded.is_empty() && self.paged.is_empty()
    }
}
