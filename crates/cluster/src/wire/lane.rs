//! Lanes: what travels beside what.

use std::fmt;

use consensus::{Body, Message};

use crate::wire::limits::{
    CALLS_FRAME_LEN_MAX, COMMITS_FRAME_LEN_MAX, FILES_FRAME_LEN_MAX, FORWARD_FRAME_LEN_MAX, VOTES_FRAME_LEN_MAX,
};

/// A connection between two nodes for one sort of things. What is sent on one lane arrives in order; between lanes there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lane {
    /// Heartbeats, votes, acknowledgements: all messages of members but those with entries.
    Votes,
    /// Messages with entries, and their contents.
    Commits,
    /// Files, in pieces.
    Files,
    /// Questions with answers.
    Calls,
    /// One client's stream, passed on. A connection each.
    Forward,
}

impl Lane {
    /// All there are.
    pub const ALL: [Lane; 5] = [Lane::Votes, Lane::Commits, Lane::Files, Lane::Calls, Lane::Forward];

    /// The lane on which a member's message is sent. Messages that only report what is committed are sent with the entries, too: one that
    /// overtook them would be refused for want of what comes before.
    #[must_use]
    pub fn of(message: &Message) -> Self {
        match message.body {
            Body::Append { .. } => Lane::Commits,
            _ => Lane::Votes,
        }
    }

    /// Bytes of a frame.
    #[must_use]
    pub fn frame_len_max(self) -> u32 {
        match self {
            Lane::Votes => VOTES_FRAME_LEN_MAX,
            Lane::Commits => COMMITS_FRAME_LEN_MAX,
            Lane::Files => FILES_FRAME_LEN_MAX,
            Lane::Calls => CALLS_FRAME_LEN_MAX,
            Lane::Forward => FORWARD_FRAME_LEN_MAX,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Lane::Votes => "votes",
            Lane::Commits => "commits",
            Lane::Files => "files",
            Lane::Calls => "calls",
            Lane::Forward => "forward",
        }
    }

    pub(crate) fn code(self) -> u8 {
        match self {
            Lane::Votes => 1,
            Lane::Commits => 2,
            Lane::Files => 3,
            Lane::Calls => 4,
            Lane::Forward => 5,
        }
    }

    pub(crate) fn of_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|lane| lane.code() == code)
    }
}

impl fmt::Display for Lane {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.name())
    }
}
