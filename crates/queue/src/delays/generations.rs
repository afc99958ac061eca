//! Generations of a set: which there are, and how much of each is still here.

use std::collections::BTreeMap;

use model::ids::{QueueId, QueueSeq};

use super::key::{due_in, fits, seq_of};
use super::limits::{ARRIVAL_MAX, STEP_BACK_MS};

/// All generations that have messages, and the one that takes new ones.
#[derive(Debug, Default)]
pub(super) struct Generations {
    /// Messages in each, but for the open one.
    closed: BTreeMap<QueueId, u64>,
    open: Option<OpenGeneration>,
    /// Those that have ended and were not reported yet.
    ended: Vec<QueueId>,
}

#[derive(Debug)]
struct OpenGeneration {
    id: QueueId,
    next_arrival: u32,
    count: u64,
    /// Everything up to here is removed: a settlement may have named it all at once, and so nothing may come to be here.
    floor: QueueSeq,
}

impl Generations {
    /// A place for a message that just arrived, with its due time as near as it can be.
    #[inline]
    pub(super) fn arrive(&mut self, due: u64, next_id: impl FnOnce() -> QueueId) -> (QueueId, QueueSeq) {
        if self.open.as_ref().is_none_or(|open| !open.can_take(due)) {
            self.begin(next_id());
        }
        let open = self.open.as_mut().expect("one was just begun");
        let arrival = open.next_arrival;
        open.next_arrival += 1;
        open.count += 1;
        let mut seq = seq_of(due, arrival);
        if seq <= open.floor {
            seq = seq_of(due_in(open.floor), arrival);
        }
        (open.id, seq)
    }

    fn begin(&mut self, id: QueueId) {
        assert!(fits(id), "ids of generations are below 2^42, and this one is {id}");
        self.close();
        let last = self.closed.last_key_value().map(|(last, _)| *last);
        assert!(last.is_none_or(|last| last < id), "generation {id} comes after {last:?}");
        self.open = Some(OpenGeneration { id, next_arrival: 1, count: 0, floor: QueueSeq(0) });
    }

    /// Takes no more messages into the open generation.
    pub(super) fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        if open.count > 0 {
            self.closed.insert(open.id, open.count);
        } else {
            self.ended.push(open.id);
        }
    }

    /// A generation after a restart.
    pub(super) fn restore(&mut self, id: QueueId, count: u64) {
        assert!(fits(id), "ids of generations are below 2^42, and this one is {id}");
        if count > 0 {
            *self.closed.entry(id).or_default() += count;
        } else {
            self.ended.push(id);
        }
    }

    /// So many messages of a generation have left.
    #[inline]
    pub(super) fn leave(&mut self, id: QueueId, count: u64) {
        match &mut self.open {
            Some(open) if open.id == id => open.count = open.count.saturating_sub(count),
            _ => self.leave_closed(id, count),
        }
    }

    /// A segment holds more messages of a generation than was known.
    pub(super) fn add(&mut self, id: QueueId, count: u64) {
        match &mut self.open {
            Some(open) if open.id == id => open.count += count,
            _ if count > 0 => *self.closed.entry(id).or_default() += count,
            _ => {}
        }
    }

    fn leave_closed(&mut self, id: QueueId, count: u64) {
        let Some(left) = self.closed.get_mut(&id) else { return };
        *left = left.saturating_sub(count);
        if *left == 0 {
            self.closed.remove(&id);
            self.ended.push(id);
        }
    }

    /// Nothing of this generation up to `seq` is here, nor may it come to be.
    pub(super) fn raise_floor(&mut self, id: QueueId, seq: QueueSeq) {
        if let Some(open) = self.open.as_mut().filter(|open| open.id == id) {
            open.floor = open.floor.max(seq);
        }
    }

    /// All that have messages, and the open one.
    pub(super) fn iter(&self) -> impl Iterator<Item = (QueueId, u64)> {
        let open = self.open.as_ref().map(|open| (open.id, open.count));
        self.closed.iter().map(|(id, count)| (*id, *count)).chain(open)
    }

    pub(super) fn take_ended(&mut self) -> Vec<QueueId> {
        std::mem::take(&mut self.ended)
    }
}

impl OpenGeneration {
    #[inline]
    fn can_take(&self, due: u64) -> bool {
        self.next_arrival <= ARRIVAL_MAX && due.saturating_add(STEP_BACK_MS) >= due_in(self.floor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrive(generations: &mut Generations, due: u64, next_id: u64) -> (u64, u64, u32) {
        let (id, seq) = generations.arrive(due, || QueueId(next_id));
        (id.0, due_in(seq), (seq.0 & u64::from(ARRIVAL_MAX)) as u32)
    }

    #[test]
    fn a_full_generation_is_followed_by_another() {
        let mut generations = Generations::default();
        for arrival in 1..=ARRIVAL_MAX {
            assert_eq!(arrive(&mut generations, 5, 1), (1, 5, arrival));
        }
        assert_eq!(arrive(&mut generations, 5, 2), (2, 5, 1));
        generations.leave(QueueId(1), u64::from(ARRIVAL_MAX) - 1);
        assert!(generations.take_ended().is_empty());
        generations.leave(QueueId(1), 1);
        assert_eq!(generations.take_ended(), [QueueId(1)]);
        generations.leave(QueueId(2), 1);
        assert!(generations.take_ended().is_empty(), "the open one goes on");
    }

    #[test]
    fn nothing_arrives_below_what_is_gone() {
        let mut generations = Generations::default();
        arrive(&mut generations, 5_000, 1);
        generations.raise_floor(QueueId(1), seq_of(5_000, 1));
        assert_eq!(arrive(&mut generations, 4_000, 2), (1, 5_000, 2));
        assert_eq!(arrive(&mut generations, 3_999, 2), (2, 3_999, 1));
        assert_eq!(generations.iter().collect::<Vec<_>>(), [(QueueId(1), 2), (QueueId(2), 1)]);
    }
}
