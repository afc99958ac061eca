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
pub enum Fate {
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
    pub fate: Fate,
}

/// What has become of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Waiting,
    Settled(Fate),
    /// The source knows.
    Told,
    /// It was not taken: the source keeps it until it is closed.
    Left,
}

/// One life of a shovel or a link, from the first delivery to the last acknowledgement.
#[derive(Debug)]
pub struct Transfer {
    ack_mode: AckMode,
    /// What was published and waits for the destination's word, by the delivery that it was.
    unconfirmed: Unconfirmed<u64>,
    /// The tag of the delivery that is first in `outcomes`.
    first: u64,
    outcomes: VecDeque<Outcome>,
    /// Deliveries in `outcomes` whose outcome has to be sent to the source.
    untold_count: usize,
    /// If more than so many wait behind one without an outcome, they are settled one by one.
    patience: usize,
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
            outcomes: VecDeque::new(),
            untold_count: 0,
            patience: usize::from(prefetch) / 2,
            to_take: count,
            to_move: count,
            forwarded_count: 0,
        }
    }

    /// A delivery has come. Tags follow one another from 1.
    pub fn take(&mut self, tag: u64) -> Taken {
        if self.to_take == Some(0) {
            if self.ack_mode != AckMode::NoAck {
                self.note(tag, Outcome::Left);
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
                self.note(tag, Outcome::Settled(Fate::Accepted));
                self.moved(1);
            }
            AckMode::OnConfirm => {
                self.unconfirmed.push(tag);
                self.note(tag, Outcome::Waiting);
            }
        }
        Taken::Publish
    }

    /// A delivery has come that is published nowhere: it is settled at the source.
    pub fn drop_delivery(&mut self, tag: u64) {
        if self.ack_mode != AckMode::NoAck {
            self.note(tag, Outcome::Settled(Fate::Accepted));
        }
    }

    /// The destination has taken responsibility for publishes, or refused it.
    pub fn confirm(&mut self, tag: u64, is_multiple: bool, fate: Fate) {
        let (outcomes, first) = (&mut self.outcomes, self.first);
        let (mut settled_count, mut moved_count) = (0, 0);
        self.unconfirmed.settle(tag, is_multiple, |delivery| {
            let index = delivery.checked_sub(first).and_then(|index| usize::try_from(index).ok());
            if let Some(outcome) = index.and_then(|index| outcomes.get_mut(index)) {
                *outcome = Outcome::Settled(fate);
                settled_count += 1;
                moved_count += u64::from(fate != Fate::Refused);
            }
        });
        self.untold_count += settled_count;
        self.moved(moved_count);
        // One that was refused is not moved, and another is taken for it.
        let refused_count = settled_count as u64 - moved_count;
        self.to_take = self.to_take.map(|count| count + refused_count);
    }

    /// The next settlement to send to the source; `None` when that is all.
    pub fn next_settlement(&mut self) -> Option<Settlement> {
        self.drop_told();
        match *self.outcomes.front()? {
            Outcome::Settled(fate) => {
                let is_like_it = |outcome: &&Outcome| **outcome == Outcome::Settled(fate);
                let count = self.outcomes.iter().take_while(is_like_it).count();
                self.outcomes.drain(..count);
                self.untold_count -= count;
                self.first += count as u64;
                Some(Settlement { tag: self.first - 1, is_multiple: count > 1, fate })
            }
            Outcome::Waiting if self.untold_count > self.patience => self.tell_behind(),
            Outcome::Left => self.tell_behind(),
            Outcome::Waiting | Outcome::Told => None,
        }
    }

    /// One that is settled behind others that are not: the source is not to stop giving out messages for their sake.
    fn tell_behind(&mut self) -> Option<Settlement> {
        let settled = |(index, outcome): (usize, &Outcome)| match outcome {
            Outcome::Settled(fate) => Some((index, *fate)),
            Outcome::Waiting | Outcome::Told | Outcome::Left => None,
        };
        let (index, fate) = self.outcomes.iter().enumerate().find_map(settled)?;
        self.outcomes[index] = Outcome::Told;
        self.untold_count -= 1;
        Some(Settlement { tag: self.first + index as u64, is_multiple: false, fate })
    }

    fn drop_told(&mut self) {
        while self.outcomes.front() == Some(&Outcome::Told) {
            self.outcomes.pop_front();
            self.first += 1;
        }
    }

    fn note(&mut self, tag: u64, outcome: Outcome) {
        if self.outcomes.is_empty() {
            self.first = tag;
        }
        self.untold_count += usize::from(matches!(outcome, Outcome::Settled(_)));
        self.outcomes.push_back(outcome);
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
