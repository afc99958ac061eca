//! The way of waiting messages from memory to segments, and from one segment to another.
//!
//! As for a queue: the store writes what [`Delays::in_memory`] gave it while the set continues, then reports with [`Delays::relocate`]
//! where everything lies. What left meanwhile has been written in vain: its place is dead, and the caller
//! settles it before anything else can be loaded from that segment (under the same lock).
//!
//! Unlike a queue's, a message here can leave from the middle of a run (it is cancelled), and a run does not show where. So
//! of what was copied, the caller has to take out what was settled in its old segment since; only the store knows.

use model::ids::{Place, QueueId, SegmentId};

use super::key::Key;
use super::runs::Run;
use super::{DelayId, Delays};
use crate::message::{Message, MovedMessage, PlacedMessage};
use crate::ranges::PagedRange;

impl<M: Message> Delays<M> {
    /// Calls `each` for every message that is in memory, waiting or leaving, has no place, and is old; in no order.
    pub fn in_memory(&self, is_old: &mut dyn FnMut(&M) -> bool, each: &mut dyn FnMut(DelayId, &M)) {
        let waiting = self.calendar.iter().map(|entry| (entry.key.id(), &entry.message));
        let wanted =
            waiting.chain(self.leaving.iter()).filter(|(_, message)| message.place().is_none() && is_old(message));
        wanted.for_each(|(id, message)| each(id, message));
    }

    /// For how many messages [`Delays::in_memory`] may call `each`, at most.
    #[must_use]
    pub fn unplaced_count(&self) -> u64 {
        self.calendar.unplaced_count() + self.leaving_count()
    }

    /// These messages of one generation, by rising seq, have been written to segments. Waiting ones leave memory, leaving ones get
    /// their place. Places of those that are no longer here are appended to `dead`.
    pub fn relocate(&mut self, generation: QueueId, placed: &[PlacedMessage], dead: &mut Vec<Place>) {
        let mut run: Option<PagedRange> = None;
        let keys: Vec<Key> = placed.iter().map(|placed| Key::new(generation, placed.seq)).collect();
        let (mut rest, leaving, runs) = (placed.iter(), &mut self.leaving, &mut self.runs);
        let is_unplaced = |message: &M| message.place().is_none();
        self.calendar.take_all(&keys, is_unplaced, |taken| {
            let Some(&PlacedMessage { seq, place }) = rest.next() else { return };
            if let Some(message) = taken {
                let range = PagedRange::of_one(seq, place, message.len());
                match &mut run {
                    Some(run) if run.is_followed_by(&range) => run.append(&range),
                    _ => run.replace(range).into_iter().for_each(|range| runs.insert(generation, range)),
                }
                return;
            }
            match leaving.get_mut(DelayId { generation, seq }).filter(|message| is_unplaced(message)) {
                Some(message) => {
                    message.set_place(place);
                    message.release_body();
                }
                None => {
                    dead.push(place);
                    // A run may go over dead slots.
                    if let Some(run) = run.as_mut().filter(|run| run.segment == place.segment) {
                        run.end_slot += u32::from(run.end_slot == place.slot);
                    }
                }
            }
        });
        self.insert_run(run.map(|range| (generation, range)));
    }

    /// Compaction has copied what was alive in the segments `from`: `moved` are the messages of this generation among it, by rising
    /// seq, but for those that have been settled in their old segment since. Places of those that are no longer here are
    /// appended to `dead`. Answers with the number of messages that were in runs of these segments and are not in `moved`:
    /// they are lost.
    pub fn move_ranges(
        &mut self,
        generation: QueueId,
        from: &[SegmentId],
        moved: &[MovedMessage],
        dead: &mut Vec<Place>,
    ) -> u64 {
        let runs = self.runs.take_in(generation, from);
        self.flights.give_up(|flight| flight.generation == generation && from.contains(&flight.load.segment));
        let mut left_count = runs.iter().map(|run| u64::from(run.range.count)).sum::<u64>();
        let mut open: Option<PagedRange> = None;
        for message in moved {
            let id = DelayId { generation, seq: message.seq };
            if !is_within(&runs, id, message.from) {
                self.move_in_memory(id, message, dead);
                continue;
            }
            left_count = left_count.saturating_sub(1);
            let range = PagedRange::of_one(message.seq, message.to, message.len);
            match &mut open {
                Some(run) if run.is_followed_by(&range) => run.append(&range),
                _ => self.insert_moved(generation, open.replace(range)),
            }
        }
        self.insert_moved(generation, open);
        self.generations.leave(generation, left_count);
        left_count
    }

    fn insert_moved(&mut self, generation: QueueId, run: Option<PagedRange>) {
        if let Some(range) = run {
            self.runs.insert(generation, range);
        }
    }

    fn move_in_memory(&mut self, id: DelayId, moved: &MovedMessage, dead: &mut Vec<Place>) {
        let waiting = self.calendar.get(Key::from(id)).and_then(M::place);
        if waiting == Some(moved.from) {
            self.calendar.change_placed(Key::from(id), |message| message.set_place(moved.to));
            return;
        }
        match self.leaving.get_mut(id).filter(|message| message.place() == Some(moved.from)) {
            Some(message) => message.set_place(moved.to),
            None => dead.push(moved.to),
        }
    }
}

/// Whether one of the runs, sorted by place, holds the message.
fn is_within(runs: &[Run], id: DelayId, place: Place) -> bool {
    let after = runs.partition_point(|run| (run.range.segment, run.range.first_slot) <= (place.segment, place.slot));
    after.checked_sub(1).is_some_and(|at| runs[at].holds(id, place))
}
