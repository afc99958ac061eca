//! Which deliveries have been published, confirmed and settled: what a shovel or a link owes to both of its ends. No I/O.
//!
//! ```text
//!  delivery ─► take ─► published ─► confirm ─► settled ─► acks of the source, as few as say it
//! ```
//!
//! A delivery is acknowledged at the source when the destination has taken responsibility for it, and never before
//! ([`AckMode::OnConfirm`]). So a message is at one of the ends whatever dies; one that was published and whose acknowledgement was
//! lost is at both, and the source gives it out again as redelivered.

use std::collections::VecDeque;

use amqp_client::Unconfirmed;
use model::shovel::AckMode;

/// What is to be done with a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// Publish it.
    Publish,
    /// Leave it: enough have been taken. It returns to its queue when the source is closed.
    Leave,
}

/// The destination's word on what it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It has it.
    Accepted,
    /// It does not take it now: it returns to its queue.
    Refused,
    /// It will never take it: its queue dead-letters it.
    Rejected,
}

/// What is to be sent to the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// Which delivery.
    pub tag: u64,
    /// All up to that one.
    pub is_multiple: bool,
    /// What has become of it.
    pub outcome: Outcome,
}

/// What has become of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeliveryState {
    Waiting,
    Settled(Outcome),
    /// The source knows.
    Reported,
    /// It was not taken: the source keeps it until it is closed.
    Left,
}

/// One life of a shovel or a link, from the first delivery to the last acknowledgement.
#[derive(Debug)]
pub struct Transfer {
    ack_mode: AckMode,
    /// What was published and waits for the destination's word, by the delivery that it was.
    unconfirmed: Unconfirmed<u64>,
    /// The tag of the delivery that is first in `states`.
    first: u64,
    states: VecDeque<DeliveryState>,
    /// Deliveries in `states` whose outcome has to be sent to the source.
    unreported_count: usize,
    /// If more than so many wait behind one without an outcome, they are settled one by one.
    unsettled_count_max: usize,
    /// How many are still to be taken; none: all that come.
    to_take: Option<u64>,
    /// How many are still to be moved, and the shovel is done.
    to_move: Option<u64>,
    forwarded_count: u64,
}

impl Transfer {
    /// A transfer of so many messages, or of all that come, at a source that gives out at most `prefetch` at a time.
    #[must_use]
    pub fn new(ack_mode: AckMode, count: Option<u64>, prefetch: u16) -> Self {
        Transfer {
            ack_mode,
            unconfirmed: Unconfirmed::new(),
            first: 1,
            states: VecDeque::new(),
            unreported_count: 0,
            unsettled_count_max: usize::from(prefetch) / 2,
            to_take: count,
            to_move: count,
            forwarded_count: 0,
        }
    }

    /// A delivery has come. Tags follow one another from 1.
    pub fn take(&mut self, tag: u64) -> Taken {
        if self.to_take == Some(0) {
            if self.ack_mode != AckMode::NoAck {
                self.note(tag, DeliveryState::Left);
            }
            return Taken::Leave;
        }
        if let Some(count) = &mut self.to_take {
            *count -= 1;
        }
        self.forwarded_count += 1;
        match self.ack_mode {
            AckMode::NoAck => self.moved(1),
            AckMode::OnPublish => {
                self.note(tag, DeliveryState::Settled(Outcome::Accepted));
                self.moved(1);
            }
            AckMode::OnConfirm => {
                self.unconfirmed.push(tag);
                self.note(tag, DeliveryState::Waiting);
            }
        }
        Taken::Publish
    }

    /// A delivery has come that is published nowhere: it is settled at the source.
    pub fn drop_delivery(&mut self, tag: u64) {
        if self.ack_mode != AckMode::NoAck {
            self.note(tag, DeliveryState::Settled(Outcome::Accepted));
        }
    }

    /// The destination has taken responsibility for publishes, or refused it.
    pub fn confirm(&mut self, tag: u64, is_multiple: bool, outcome: Outcome) {
        let (states, first) = (&mut self.states, self.first);
        let (mut settled_count, mut moved_count) = (0, 0);
        self.unconfirmed.settle(tag, is_multiple, |delivery| {
            let index = delivery.checked_sub(first).and_then(|index| usize::try_from(index).ok());
            if let Some(state) = index.and_then(|index| states.get_mut(index)) {
                *state = DeliveryState::Settled(outcome);
                settled_count += 1;
                moved_count += u64::from(outcome != Outcome::Refused);
            }
        });
        self.unreported_count += settled_count;
        self.moved(moved_count);
        // One that was refused is not moved, and another is taken for it.
        let refused_count = settled_count as u64 - moved_count;
        self.to_take = self.to_take.map(|count| count + refused_count);
    }

    /// The next settlement to send to the source; `None` when that is all.
    pub fn next_settlement(&mut self) -> Option<Settlement> {
        self.drop_told();
        match *self.states.front()? {
            DeliveryState::Settled(outcome) => {
                let is_like_it = |state: &&DeliveryState| **state == DeliveryState::Settled(outcome);
                let count = self.states.iter().take_while(is_like_it).count();
                self.states.drain(..count);
                self.unreported_count -= count;
                self.first += count as u64;
                Some(Settlement { tag: self.first - 1, is_multiple: count > 1, outcome })
            }
            DeliveryState::Waiting if self.unreported_count > self.unsettled_count_max => self.settle_behind(),
            DeliveryState::Left => self.settle_behind(),
            DeliveryState::Waiting | DeliveryState::Reported => None,
        }
    }

    /// One that is settled behind others that are not: the source is not to stop giving out messages for their sake.
    fn settle_behind(&mut self) -> Option<Settlement> {
        let settled = |(index, state): (usize, &DeliveryState)| match state {
            DeliveryState::Settled(outcome) => Some((index, *outcome)),
            DeliveryState::Waiting | DeliveryState::Reported | DeliveryState::Left => None,
        };
        let (index, outcome) = self.states.iter().enumerate().find_map(settled)?;
        self.states[index] = DeliveryState::Reported;
        self.unreported_count -= 1;
        Some(Settlement { tag: self.first + index as u64, is_multiple: false, outcome })
    }

    fn drop_told(&mut self) {
        while self.states.front() == Some(&DeliveryState::Reported) {
            self.states.pop_front();
            self.first += 1;
        }
    }

    fn note(&mut self, tag: u64, state: DeliveryState) {
        if self.states.is_empty() {
            self.first = tag;
        }
        self.unreported_count += usize::from(matches!(state, DeliveryState::Settled(_)));
        self.states.push_back(state);
    }

    fn moved(&mut self, count: u64) {
        self.to_move = self.to_move.map(|left| left.saturating_sub(count));
    }

    /// Takes no more: what is under way is settled, and what comes is returned.
    pub fn take_no_more(&mut self) {
        self.to_take = Some(0);
    }

    /// Whether all that was to be moved is at the destination. Settlements may still have to be sent to the source.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.to_move == Some(0)
    }

    /// How many messages were published in this life.
    #[must_use]
    pub fn forwarded_count(&self) -> u64 {
        self.forwarded_count
    }

    /// How many are still to be moved, and how many of them to be published; `None` where there is no end.
    #[must_use]
    pub fn remaining(&self) -> Option<(u64, u64)> {
        Some((self.to_move?, self.to_take?))
    }

    /// How many publishes wait for the destination's word.
    #[must_use]
    pub fn unconfirmed_count(&self) -> usize {
        self.unconfirmed.len()
    }
}

#[cfg(test)]
mod tests;
