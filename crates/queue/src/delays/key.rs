//! When a message is due, as its position says it.

use model::ids::{QueueId, QueueSeq};

use super::limits::{ARRIVAL_BITS, ARRIVAL_MAX, DUE_MAX, EPOCH_MS};

/// Which waiting message. Ids sort by generation; what is due first is found by [`DelayId::due_ms`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DelayId {
    /// The generation that it arrived in: by this the store knows it.
    pub generation: QueueId,
    /// Its position there.
    pub seq: QueueSeq,
}

impl DelayId {
    /// Comes before every message that is due at this time, in milliseconds since 1970, or later: where a listing may begin.
    #[must_use]
    pub fn before(due_ms: u64) -> DelayId {
        Key { due: due_of(due_ms), arrival: 0 }.id()
    }

    /// When it is due, in milliseconds since 1970.
    #[must_use]
    pub fn due_ms(self) -> u64 {
        Key::from(self).due_ms()
    }
}

/// A due time, counted from where due times begin.
#[inline]
pub(super) fn due_of(unix_ms: u64) -> u64 {
    unix_ms.saturating_sub(EPOCH_MS).min(DUE_MAX)
}

#[inline]
pub(super) fn seq_of(due: u64, arrival: u32) -> QueueSeq {
    QueueSeq(due << ARRIVAL_BITS | u64::from(arrival))
}

/// The due time in a seq.
#[inline]
pub(super) fn due_in(seq: QueueSeq) -> u64 {
    seq.0 >> ARRIVAL_BITS
}

/// The order in which messages are released: by due time, then by arrival, and generations arrive one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) due: u64,
    /// The generation, and the arrival in it.
    arrival: u64,
}

impl Key {
    /// Below all keys.
    pub(super) const MIN: Key = Key { due: 0, arrival: 0 };

    #[inline]
    pub(super) fn new(generation: QueueId, seq: QueueSeq) -> Self {
        let arrival = generation.0 << ARRIVAL_BITS | (seq.0 & u64::from(ARRIVAL_MAX));
        Key { due: due_in(seq), arrival }
    }

    #[inline]
    pub(super) fn id(self) -> DelayId {
        let arrival = (self.arrival & u64::from(ARRIVAL_MAX)) as u32;
        DelayId { generation: self.generation(), seq: seq_of(self.due, arrival) }
    }

    #[inline]
    pub(super) fn generation(self) -> QueueId {
        QueueId(self.arrival >> ARRIVAL_BITS)
    }

    /// In milliseconds since 1970.
    #[inline]
    pub(super) fn due_ms(self) -> u64 {
        self.due + EPOCH_MS
    }
}

impl From<DelayId> for Key {
    #[inline]
    fn from(id: DelayId) -> Self {
        Key::new(id.generation, id.seq)
    }
}

/// Whether a generation's id fits into keys. Ids are counted from one: they will.
pub(super) fn fits(generation: QueueId) -> bool {
    generation.0 < 1 << (u64::BITS - ARRIVAL_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(generation: u64, due: u64, arrival: u32) -> Key {
        Key::new(QueueId(generation), seq_of(due, arrival))
    }

    #[test]
    fn what_is_due_first_comes_first_then_what_arrived_first() {
        let in_order = [key(9, 1, 5), key(3, 2, 1), key(3, 2, ARRIVAL_MAX), key(4, 2, 1), key(1, 3, 1)];
        assert!(in_order.is_sorted_by(|left, right| left < right));
    }

    #[test]
    fn a_key_is_its_id() {
        for id in [key(9, 1, 5).id(), key(0, DUE_MAX, ARRIVAL_MAX).id()] {
            assert_eq!(Key::from(id).id(), id);
        }
        assert_eq!(key(9, 1, 5).id(), DelayId { generation: QueueId(9), seq: seq_of(1, 5) });
    }

    #[test]
    fn due_times_out_of_reach_are_the_first_and_the_last() {
        assert_eq!(due_of(0), 0);
        assert_eq!(due_of(u64::MAX), DUE_MAX);
        assert!(seq_of(DUE_MAX, ARRIVAL_MAX).0 < u64::MAX - 1);
        assert_eq!(due_of(EPOCH_MS + 77), 77);
    }
}
