//! What members of a group say to each other. `wire` has it as bytes.
//!
//! A message names entries; their contents are not in it. The sender of an `Append` puts the commits' bytes behind it on the link, found by
//! the entries' ids in its journal: the log has them when [`Ready::send`](crate::Ready) names them, and if it is compacted before they are
//! sent, nothing is sent. The receiver keeps the bytes aside until [`Ready::append`](crate::Ready) has named the same ids, or has not.

use crate::entry::Entry;
use crate::ids::{Index, LogId, MemberId, Term};
use crate::members::Base;

/// A message, with its envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its sender.
    pub from: MemberId,
    /// Its receiver.
    pub to: MemberId,
    /// The sender's term; of a question for votes, the term they are for.
    pub term: Term,
    /// What it says.
    pub body: Body,
}

/// Which of the two votes of an election.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Round {
    /// Whether an election would be won: binds no member to anything.
    Trial,
    /// The election: a vote is written down before it is given.
    Election,
}

/// What a message says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// The leader's entries after `previous`, which the receiver must have. Their indexes follow on one another.
    Append {
        /// What comes before the first.
        previous: LogId,
        /// How far the leader knows to be committed.
        committed: Index,
        /// Without contents; none to say only what is committed.
        entries: Vec<Entry>,
    },
    /// The log equals the leader's up to here and is durable.
    Appended {
        /// Up to there, inclusive.
        upto: Index,
        /// How far the sender knows to be committed.
        committed: Index,
    },
    /// The sender does not have `previous`.
    Refused {
        /// The index of `previous`.
        previous: Index,
        /// Where the two logs may still be equal.
        hint: LogId,
        /// How far the sender knows to be committed.
        committed: Index,
    },
    /// Asks for a vote.
    Ask {
        /// Which.
        round: Round,
        /// The sender's last entry.
        last: LogId,
        /// How far the sender knows to be committed.
        committed: LogId,
        /// Whether a leader wants this: then a living one is no reason to refuse.
        is_handed_over: bool,
    },
    /// Answers a question for a vote.
    Vote {
        /// Which.
        round: Round,
        /// Whether it is given.
        is_granted: bool,
        /// Where it is not: how far the sender knows to be committed.
        committed: LogId,
    },
    /// The leader lives.
    Heartbeat {
        /// How far the receiver may take its log to be committed.
        committed: Index,
    },
    /// So does the follower.
    HeartbeatAnswer {
        /// How far the sender knows to be committed.
        committed: Index,
    },
    /// All files that the leader has at `base` have been shipped: the receiver's log is to begin there.
    Restore {
        /// Where, and with which members.
        base: Base,
    },
    /// The leader hands over: the receiver is to hold an election now.
    CampaignNow,
}
