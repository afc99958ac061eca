//! Deliveries of a connection that have left their queues and are not encoded.

use std::collections::VecDeque;
use std::task::Waker;

use super::unacked::UnackedDelivery;
use engine::Positions;
use engine::outbox::{ConnectionEvent, Outbox, Outgoing, Taken};
use engine::probe::DeliveryProbe;

/// Those that were taken from the outbox, and until when they are held.
#[derive(Debug, Default)]
pub(super) struct Deliveries {
    pending: VecDeque<Outgoing>,
    /// Reused: what was taken from the outbox besides.
    taken: Taken,
    /// They leave only when the journals are durable up to here.
    hold_until: Positions,
    /// Reused by acknowledgements.
    settled: Vec<UnackedDelivery>,
}

impl Deliveries {
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Bytes that they take.
    pub(super) fn memory_len(&self) -> usize {
        self.pending.capacity() * size_of::<Outgoing>() + self.settled.capacity() * size_of::<UnackedDelivery>()
    }

    /// Takes what the outbox has: its events, and deliveries where none are left of before. Else `waker` is woken when there is something.
    /// False when there was nothing.
    #[inline]
    pub(super) fn refill(&mut self, outbox: &Outbox, waker: &Waker) -> bool {
        self.taken.is_woken = false;
        if !self.pending.is_empty() {
            return outbox.take_events_only(&mut self.taken, waker);
        }
        let has_found = outbox.take(&mut self.taken, &mut self.pending, waker);
        if has_found {
            self.hold(self.taken.hold_until);
        }
        has_found
    }

    /// Takes the events that came with the last [`Deliveries::refill`]; nearly always none.
    #[inline]
    pub(super) fn take_events(&mut self) -> Option<Vec<ConnectionEvent>> {
        (!self.taken.events.is_empty()).then(|| std::mem::take(&mut self.taken.events))
    }

    /// Takes which of them are timed, after a [`Deliveries::refill`].
    #[inline]
    pub(super) fn take_timed(&mut self) -> Option<Vec<DeliveryProbe>> {
        (!self.taken.timed.is_empty()).then(|| std::mem::take(&mut self.taken.timed))
    }

    /// Whether the journal has woken the connection, as of the last [`Deliveries::refill`].
    pub(super) fn is_woken(&self) -> bool {
        self.taken.is_woken
    }

    /// They are to leave only when the journals are durable up to `position`, too.
    pub(super) fn hold(&mut self, position: Positions) {
        self.hold_until.add(position);
    }

    pub(super) fn hold_until(&self) -> Positions {
        self.hold_until
    }

    /// Takes them out, to work on them beside the rest of the session; [`Deliveries::put`] brings back what is left.
    #[inline]
    pub(super) fn take(&mut self) -> VecDeque<Outgoing> {
        std::mem::take(&mut self.pending)
    }

    #[inline]
    pub(super) fn put(&mut self, rest: VecDeque<Outgoing>) {
        self.pending = rest;
    }

    /// An empty list for deliveries that are settled; [`Deliveries::return_settled`] keeps its memory.
    #[inline]
    pub(super) fn borrow_settled(&mut self) -> Vec<UnackedDelivery> {
        std::mem::take(&mut self.settled)
    }

    #[inline]
    pub(super) fn return_settled(&mut self, mut settled: Vec<UnackedDelivery>) {
        settled.clear();
        self.settled = settled;
    }

    /// Gives memory back that is not needed while nothing happens.
    pub(super) fn shrink(&mut self) {
        if self.pending.is_empty() {
            self.pending = VecDeque::new();
        }
        self.taken = Taken::default();
    }
}
