//! Looking at ready messages in the order in which they would be delivered, without changing anything.
//!
//! A [`Look`] is a snapshot of one piece of the queue: what is in memory from a position on, and the ranges that may have messages
//! there, too. The caller reads these one after the other and hands in what was found, while the queue continues; at the end all of it is
//! sorted, up to where everything is known.
//!
//! ```text
//! in memory        5 . . 8 9 . . . 13 .│            up to 13: there are more
//! a range          . 6 7 . . . . . . . . . . 20     read up to 12
//!                                   ^ all is known up to here: the next look begins at 13
//! ```
//!
//! Ranges overlap where recovery made them. All that overlap the beginning are read, however many; of the others as many as there is room
//! for.

use std::collections::VecDeque;

use model::ids::QueueSeq;

use crate::consumers::Gate;
use crate::lane::Load;
use crate::limits::LOOK_RANGES_MAX;
use crate::message::Message;
use crate::queue::Queue;
use crate::ranges::PagedRange;

/// Where a ready message stands: high priorities come first, then low seqs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Its priority.
    pub priority: u8,
    /// Its seq.
    pub seq: QueueSeq,
}

impl Position {
    /// Before all others.
    pub const FIRST: Position = Position { priority: u8::MAX, seq: QueueSeq(0) };

    /// The next one that a message may have.
    #[must_use]
    pub fn next(self) -> Position {
        Position { seq: self.seq.next(), ..self }
    }
}

/// A message that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenMessage<M> {
    /// Where it stands.
    pub position: Position,
    /// The message, with its body.
    pub message: M,
    /// It may have been handed out before.
    pub redelivered: bool,
}

/// What a look has come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookOutcome<M> {
    /// The messages, in the order of delivery.
    pub messages: Vec<SeenMessage<M>>,
    /// Where to go on; `None` at the end of the queue.
    pub next: Option<Position>,
}

/// What was to be read lies elsewhere by now, or cannot be read: look again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LookFailure;

/// A look at a queue. See the module's page.
#[derive(Debug)]
pub struct Look<M> {
    priority: u8,
    first: QueueSeq,
    /// All messages up to here are known, or in `ranges`.
    until: QueueSeq,
    messages: Vec<(QueueSeq, M)>,
    /// By the seq from which on they are wanted.
    ranges: VecDeque<(QueueSeq, PagedRange)>,
    read_bytes: u64,
    bytes_max: u32,
    /// The highest seq of the priority that was ever handed out.
    delivered: QueueSeq,
    /// Lower ones that have never been, by rising seq: later ones of other groups went before them.
    overtaken: Vec<QueueSeq>,
    next_priority: Option<u8>,
    /// See [`Queue::is_as_seen`].
    move_count: u32,
}

const ALL: QueueSeq = QueueSeq(u64::MAX);

impl<M: Message> Look<M> {
    /// What has to be read next.
    pub fn next_load(&mut self) -> Option<Load> {
        let (from, range) = self.ranges.front()?;
        if *from > self.first && self.read_bytes >= u64::from(self.bytes_max) {
            // There is enough: the rest is for the next look.
            self.until = self.until.min(QueueSeq(from.0 - 1));
        }
        if *from > self.until {
            self.ranges.clear();
            return None;
        }
        Some(Load::look(range, self.priority, *from, self.bytes_max))
    }

    /// The answer to the last load: messages by rising seq, of the slots before `next_slot`.
    pub fn loaded(&mut self, entries: Vec<(QueueSeq, M)>, next_slot: u32) -> Result<(), LookFailure> {
        let Some((from, mut range)) = self.ranges.pop_front() else { return Ok(()) };
        if next_slot <= range.first_slot && range.first_slot < range.end_slot {
            return Err(LookFailure);
        }
        let is_whole = next_slot >= range.end_slot;
        let mut last = None;
        for (seq, message) in entries {
            if from <= seq && range.may_hold(seq) {
                last = Some(seq);
                self.read_bytes += u64::from(message.len());
                self.messages.push((seq, message));
            }
        }
        match last {
            _ if is_whole => {}
            Some(last) => self.until = self.until.min(last),
            None => {
                // No message in these slots is alive any longer: the range continues behind them.
                range.first_slot = next_slot;
                self.ranges.push_front((from, range));
            }
        }
        Ok(())
    }

    /// All that was found.
    #[must_use]
    pub fn end(self) -> LookOutcome<M> {
        let Look { priority, until, mut messages, delivered, overtaken, next_priority, .. } = self;
        messages.retain(|(seq, _)| *seq <= until);
        messages.sort_by_key(|(seq, _)| *seq);
        messages.dedup_by_key(|(seq, _)| *seq);
        let seen = messages.into_iter().map(|(seq, message)| SeenMessage {
            position: Position { priority, seq },
            message,
            redelivered: seq <= delivered && overtaken.binary_search(&seq).is_err(),
        });
        let next = match until {
            ALL => next_priority.map(|priority| Position { priority, seq: QueueSeq(0) }),
            until => Some(Position { priority, seq: until.next() }),
        };
        LookOutcome { messages: seen.collect(), next }
    }
}

impl<M: Message, G: Gate> Queue<M, G> {
    /// Looks at the ready messages from a position on: about so many of those in memory, and about so many bytes of what must be read
    /// from segments. `None`: there are none. What waits since before the process began, to be tried again later, counts as ready.
    pub fn look(&self, from: Position, count_max: usize, bytes_max: u32) -> Option<Look<M>> {
        let mut levels = self.ready.bands_from(from.priority).peekable();
        while let Some(level) = levels.next() {
            let first = if level.priority() == from.priority { from.seq } else { QueueSeq(0) };
            let (mut messages, mut ranges) = (Vec::new(), Vec::new());
            let mut until = ALL;
            for lane in level.lanes() {
                if let Some(last) = lane.look(first, count_max, &mut messages) {
                    until = until.min(last);
                }
                let wanted = lane.ranges().filter(|range| range.last_seq >= first);
                ranges.extend(wanted.map(|range| (range.first_seq.max(first), *range)));
            }
            if messages.is_empty() && ranges.is_empty() {
                continue;
            }
            ranges.sort_by_key(|(from, range)| (*from, range.segment, range.first_slot));
            let overlapping_count = ranges.partition_point(|(from, _)| *from <= first);
            if let Some((from, _)) = ranges.get(overlapping_count.max(LOOK_RANGES_MAX)) {
                until = until.min(QueueSeq(from.0 - 1));
                ranges.truncate(overlapping_count.max(LOOK_RANGES_MAX));
            }
            let groups = self.ready.groups.iter();
            let overtaken = groups.flat_map(|groups| groups.overtaken(level.priority(), first, until)).collect();
            return Some(Look {
                priority: level.priority(),
                first,
                until,
                messages,
                ranges: ranges.into(),
                read_bytes: 0,
                bytes_max,
                delivered: level.delivered(),
                overtaken,
                next_priority: levels.peek().map(|level| level.priority()),
                move_count: self.move_count,
            });
        }
        None
    }

    /// The message that came first of those that have a holder. None, too, if very many have been set aside before it.
    pub fn oldest_unacked(&self) -> Option<&M> {
        let is_held = |seq| !self.set_aside.as_ref().is_some_and(|set_aside| set_aside.contains(seq));
        self.unacked.first(is_held).map(|(_, message)| message)
    }

    /// The ready message that came first, whatever its priority: where it stands, or stood last if it lies in a segment; and the message
    /// itself if it is in memory.
    pub fn oldest(&self) -> Option<(Position, Option<&M>)> {
        let front = self.ready.heads().min_by_key(|front| front.head.seq)?;
        let priority = self.ready.priority_of(&front);
        Some((Position { priority, seq: front.head.seq }, self.ready.peek(&front)))
    }

    /// Whether no message has been moved from one segment to another since a look began. Otherwise what it has read may lack some that
    /// were moved before: look again.
    pub fn is_as_seen(&self, look: &Look<M>) -> bool {
        self.move_count == look.move_count
    }

    /// From where on there are about so many messages to the end, and never more: fewer where some have been taken out of the middle.
    pub fn position_from_end(&self, count_max: u64) -> Position {
        let mut rest = count_max;
        let mut position = Position { priority: 0, seq: ALL };
        let levels: Vec<_> = self.ready.bands_from(u8::MAX).collect();
        for level in levels.into_iter().rev() {
            // One more than there is room for, to know that there are more.
            let room = usize::try_from(rest).unwrap_or(usize::MAX).saturating_add(1);
            let mut seqs: Vec<QueueSeq> = level.lanes().iter().flat_map(|lane| lane.last_seqs(room)).collect();
            seqs.sort_unstable();
            let ranges: Vec<&PagedRange> = level.lanes().iter().flat_map(|lane| lane.ranges()).collect();
            // At most so many are at a seq or behind it: a range may have a message at each of its last seqs.
            let count_from = |seq: QueueSeq| -> u64 {
                let in_memory = seqs.len() - seqs.partition_point(|other| *other < seq);
                let paged = ranges.iter().filter(|range| seq <= range.last_seq);
                let paged = paged.map(|range| u64::from(range.count).min(range.last_seq.0 - seq.0 + 1));
                in_memory as u64 + paged.sum::<u64>()
            };
            let (mut low, mut high) = (0, self.next_seq.0);
            while low < high {
                let middle = low + (high - low) / 2;
                if count_from(QueueSeq(middle)) <= rest { high = middle } else { low = middle + 1 }
            }
            position = Position { priority: level.priority(), seq: QueueSeq(low) };
            rest -= count_from(QueueSeq(low)).min(rest);
            if low > 0 {
                break;
            }
        }
        position
    }
}
