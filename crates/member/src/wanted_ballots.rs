//! Which ballots are to be written, and which have been.

use consensus::Ballot;

/// Ballots that are to be written, by a thread that may wait for a disk. A later one says all that an earlier one did: only the last is
/// written.
#[derive(Debug, Default)]
pub(crate) struct WantedBallots {
    last: Option<Ballot>,
    wanted: BallotNumber,
    written: BallotNumber,
}

/// How many ballots have been wanted, up to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct BallotNumber(u64);

impl WantedBallots {
    /// The next one is wanted.
    pub(crate) fn want(&mut self, ballot: Ballot) {
        self.last = Some(ballot);
        self.wanted.0 += 1;
    }

    /// The last one that is wanted.
    pub(crate) fn number(&self) -> BallotNumber {
        self.wanted
    }

    /// What is to be written now; `None`: the last one has been.
    pub(crate) fn next(&self) -> Option<(BallotNumber, Ballot)> {
        self.last.filter(|_| self.written < self.wanted).map(|ballot| (self.wanted, ballot))
    }

    /// That one lasts.
    pub(crate) fn note_written(&mut self, number: BallotNumber) {
        self.written = self.written.max(number);
    }

    /// Whether that one lasts, or a later one.
    pub(crate) fn has_written(&self, number: BallotNumber) -> bool {
        number <= self.written
    }
}
